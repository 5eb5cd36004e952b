//! The list of `unsafe` in `docs/threat-model.md` is what is there, each place with its reasons.
//!
//! Not here: that nothing else may be (the workspace's lint `unsafe_code`), what libraries do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rust files below a folder, build output and drivers' own packages aside.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a line of code has the keyword; attributes and comments talk of it.
fn is_unsafe(line: &str) -> bool {
    let code = line.trim_start();
    let words = ["{", "fn", "impl", "extern", "trait"].map(|next| format!("{KEYWORD} {next}"));
    !code.starts_with("//") && !code.contains('"') && words.iter().any(|word| code.contains(word.as_str()))
}

/// In two halves, or this file would be on the list.
const KEYWORD: &str = concat!("un", "safe");

#[test]
fn the_list_of_unsafe_code_is_complete_and_has_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let section = page.split(&format!("\n## `{KEYWORD}`\n")).nth(1).unwrap();
    // `file` `function` | why
    let mut listed = BTreeMap::<String, Vec<String>>::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let mut words = row.split('`').skip(1).step_by(2);
        let (file, function) = (words.next().unwrap(), words.next().unwrap());
        listed.entry(file.to_owned()).or_default().push(function.to_owned());
        let why = row.split('|').nth(2).unwrap();
        assert!(why.trim().len() > 20, "no reason in {row}");
    }

    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files);
    rust_files(&root.join("fuzz"), &mut files);
    assert!(files.len() > 100);
    let mut there = BTreeMap::<String, Vec<String>>::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (number, _) in lines.iter().enumerate().filter(|(_, line)| is_unsafe(line)) {
            let place = format!("{}:{}", file.display(), number + 1);
            let above = &lines[number.saturating_sub(6)..number];
            assert!(above.iter().any(|line| line.contains("// SAFETY: ")), "{place}: no SAFETY comment");
            let lint = "expect(unsafe_code, reason = ";
            assert!(above.iter().any(|line| line.contains(lint)), "{place}: no reason for the lint");
            let function = lines[..number].iter().rev().find_map(|line| line.split_once("fn ")).unwrap().1;
            let function = function.split(['(', '<']).next().unwrap();
            let file = file.strip_prefix(root.join("crates")).unwrap_or(&file);
            there.entry(file.display().to_string()).or_default().push(function.to_owned());
        }
    }
    assert_eq!(there, listed, "docs/threat-model.md, section `{KEYWORD}`");
}
