//! zstd's `-1` to `-22`, which clap would take for one-letter options.
//!
//! Not here: what levels there are (`pack_args`).

use std::ffi::OsString;

/// The arguments, with a level as `--level=N` where a command takes levels.
pub(crate) fn with_levels_named(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let args: Vec<OsString> = args.collect();
    let takes_levels = args.get(1).is_some_and(|command| COMMANDS.iter().any(|it| command == it));
    let mut is_option = takes_levels;
    args.into_iter()
        .map(|arg| {
            // Behind `--` stands somebody else's command line.
            is_option &= arg != "--";
            match arg.to_str().and_then(|text| text.strip_prefix('-')) {
                Some(level) if is_option && is_number(level) => format!("--level={level}").into(),
                _ => arg,
            }
        })
        .collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

const COMMANDS: [&str; 2] = ["pack", "send"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_named_where_levels_are_taken() {
        for (given, wanted) in [
            ("wirepress pack -1 -T2", "wirepress pack --level=1 -T2"),
            ("wirepress pack -19", "wirepress pack --level=19"),
            ("wirepress proxy -1", "wirepress proxy -1"),
            ("wirepress pack --size -", "wirepress pack --size -"),
            ("wirepress send -3 -- head -1", "wirepress send --level=3 -- head -1"),
        ] {
            let args = given.split(' ').map(OsString::from);
            let wanted: Vec<_> = wanted.split(' ').map(OsString::from).collect();
            assert_eq!(with_levels_named(args), wanted);
        }
    }
}
