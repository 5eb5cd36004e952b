//! The settings of listeners by name: how they are shown, and those that SET changes.
//!
//! Names are MySQL's own where it has one, and the options' with underscores otherwise.
//! Not here: what they do (crate `proxy`).

use codec::{Algorithm, AlgorithmSet, ZlibLevel, ZstdLevel};
use proxy::{COST_PERCENT_MAX, Change, ListenerConfig, Policy};

/// A setting's name, its value, and whether SET changes it.
pub(crate) type Setting = (&'static str, Option<String>, bool);

/// The CPU budget, which all listeners share.
pub(crate) const CPU_PERCENT: &str = "cost_cpu_percent";
const P99_PERCENT: &str = "cost_p99_percent";

/// The settings of a listener.
pub(crate) fn all(config: &ListenerConfig) -> Vec<Setting> {
    let list = |algorithms: &[Algorithm]| algorithms.iter().map(|it| it.name()).collect::<Vec<_>>().join(",");
    let wishes =
        if config.server_algorithms_are_free { "auto".to_owned() } else { list(&config.server_algorithms) };
    let seconds = |limit: std::time::Duration| Some(limit.as_secs().to_string());
    vec![
        ("compression_algorithms", Some(wishes), false),
        (P99_PERCENT, Some(config.cost_p99_percent.to_string()), true),
        ("connect_timeout", seconds(config.connect_timeout), false),
        ("idle_timeout", config.idle_timeout.and_then(seconds), false),
        ("intercept_session_status", Some(on_off(config.intercept_session_status)), true),
        ("login_timeout", seconds(config.login_timeout), false),
        ("net_read_timeout", seconds(config.net_read_timeout), false),
        ("policy", Some(config.policy.name().to_owned()), true),
        ("protocol_compression_algorithms", Some(config.permitted.to_string()), true),
        ("query_text", Some(config.query_text_len_max.to_string()), false),
        ("ssl_mode", Some(config.server_tls.mode().name().to_owned()), false),
        ("tcp_user_timeout", seconds(config.tcp_user_timeout), false),
        ("tls", Some(config.tls.as_ref().map_or("off", |tls| tls.mode.name()).to_owned()), false),
        ("zlib_compression_level", Some(config.zlib_level.to_string()), true),
        ("zstd_compression_level", Some(config.zstd_level().to_string()), true),
        ("zstd_compression_level_max", Some(config.zstd_level_max().to_string()), true),
    ]
}

/// What SET of a setting asks for; `None` if it isn't one of these.
///
/// Errors: what is wrong with the value.
pub(crate) fn change(name: &str, value: &str) -> Option<Result<Change, String>> {
    let zstd = || value.parse::<ZstdLevel>().map_err(|error| error.to_string());
    Some(match name.to_ascii_lowercase().as_str() {
        "intercept_session_status" => switch(value).map(Change::InterceptSessionStatus),
        P99_PERCENT => percent(value).map(Change::CostP99Percent),
        "policy" => policy(value).map(Change::Policy),
        "protocol_compression_algorithms" => algorithms(value).map(Change::Permitted),
        "zlib_compression_level" => {
            value.parse::<ZlibLevel>().map(Change::ZlibLevel).map_err(|error| error.to_string())
        }
        "zstd_compression_level" => zstd().map(Change::ZstdLevel),
        "zstd_compression_level_max" => zstd().map(Change::ZstdLevelMax),
        _ => return None,
    })
}

fn algorithms(value: &str) -> Result<AlgorithmSet, String> {
    let parsed: Result<Vec<Algorithm>, _> = value.split(',').map(|name| name.trim().parse()).collect();
    parsed.map(|list| AlgorithmSet::of(&list)).map_err(|error| error.to_string())
}

fn policy(value: &str) -> Result<Policy, String> {
    let named = Policy::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(value));
    named.ok_or_else(|| "neither fixed, latency nor cost".to_owned())
}

/// A budget of `--policy cost`.
///
/// Errors: what is wrong with it.
pub(crate) fn percent(value: &str) -> Result<u32, String> {
    let percent = value.parse().ok().filter(|percent| *percent <= COST_PERCENT_MAX);
    percent.ok_or_else(|| format!("no whole number of per cent from 0 to {COST_PERCENT_MAX}"))
}

fn switch(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err("neither ON nor OFF".to_owned()),
    }
}

fn on_off(on: bool) -> String {
    if on { "ON" } else { "OFF" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_dynamic_settings_can_be_set() {
        let config = ListenerConfig::new("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        for (name, value, is_dynamic) in all(&config) {
            let changed = change(name, value.as_deref().unwrap_or_default());
            assert_eq!(changed.is_some(), is_dynamic, "{name}");
            assert!(changed.is_none_or(|changed| changed.is_ok()), "{name} does not take its own value");
        }
        assert!(change("protocol_compression_algorithms", "zlib,lz4").unwrap().is_err());
        assert!(change("ZSTD_COMPRESSION_LEVEL", "23").unwrap().is_err());
        assert_eq!(change("policy", "Fixed"), Some(Ok(Change::Policy(Policy::Fixed))));
        assert_eq!(change("policy", "cost"), Some(Ok(Change::Policy(Policy::Cost))));
        assert!(change("policy", "cheap").unwrap().is_err());
        assert!(change("cost_p99_percent", "-1").unwrap().is_err());
        assert!(change("no_such", "1").is_none());
    }
}
