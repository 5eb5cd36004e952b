//! What we depend on is what `deny.toml` permits: licences, one version of each crate, crates.io alone.
//!
//! It reads cargo-deny's own form, of which it knows what is used there, and asks `cargo tree`, so that nothing has to
//! be installed.
//! Not here: known vulnerabilities, which would need the network (`cargo deny check advisories`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
    sources: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: String,
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    /// `name@version`, whose end may be missing.
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
}

/// Name, version and licence.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package(String, String, String);

/// Crates of one lock file.
type Packages = BTreeSet<Package>;

/// Everything that is wrong, a line each.
fn complaints(deny: &Deny, lock_files: &[Packages]) -> Vec<String> {
    let mut said = Vec::new();
    let all: Packages = lock_files.iter().flatten().cloned().collect();
    let (mut named, mut used) = (BTreeSet::new(), BTreeSet::new());
    for Package(name, version, license) in &all {
        named.extend(words(license));
        let exception = deny.licenses.exceptions.iter().find(|exception| exception.name == *name);
        let own = exception.map(|exception| exception.allow.as_slice()).unwrap_or_default();
        let permits = |id: &str, own: &[String]| deny.licenses.allow.iter().chain(own).any(|it| it == id);
        if !is_permitted(license, &|id| permits(id, own)) {
            said.push(format!("{name} {version}: the licence '{license}' is not permitted"));
        } else if !is_permitted(license, &|id| permits(id, &[])) {
            used.insert(name.clone());
        }
    }
    for exception in deny.licenses.exceptions.iter().filter(|exception| !used.contains(&exception.name)) {
        said.push(format!("{}: no exception is needed for its licence", exception.name));
    }
    for id in deny.licenses.allow.iter().filter(|id| !named.contains(*id)) {
        said.push(format!("{id}: no crate has this licence"));
    }

    let mut needed = BTreeSet::new();
    for packages in lock_files {
        let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
        for Package(name, version, _) in packages {
            versions.entry(name).or_default().insert(version);
        }
        for (name, versions) in versions.into_iter().filter(|(_, versions)| versions.len() > 1) {
            let skips =
                |version: &str| deny.bans.skip.iter().position(|skip| is_of(&skip.spec, name, version));
            let left = versions.iter().filter(|version| skips(version).is_none()).count();
            needed.extend(versions.iter().filter_map(|version| skips(version)));
            if left > 1 {
                said.push(format!("{name}: several versions, {versions:?}"));
            }
        }
    }
    for (index, skip) in deny.bans.skip.iter().enumerate() {
        if !needed.contains(&index) {
            said.push(format!("{}: no second version to be passed over", skip.spec));
        }
        if skip.reason.is_empty() {
            said.push(format!("{}: no reason is given", skip.spec));
        }
    }
    said
}

/// Whether `name@version` of the list means this one.
fn is_of(spec: &str, name: &str, version: &str) -> bool {
    spec.split_once('@').is_some_and(|(its_name, start)| {
        its_name == name
            && version.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The licences that an SPDX expression names; what stands behind WITH belongs to the one before it.
fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.replace(" WITH ", "+WITH+").split_whitespace().map(|word| word.replace('+', " ")).collect()
}

/// Whether an SPDX expression can be met by permitted licences; none can't.
fn is_permitted(expression: &str, permits: &dyn Fn(&str) -> bool) -> bool {
    let words = words(expression);
    let mut rest = words.iter().map(String::as_str).peekable();
    let met = any_of(&mut rest, permits);
    met && rest.next().is_none()
}

/// `a OR b`, where AND binds closer. Both sides are read whatever they say.
fn any_of<'a, I: Iterator<Item = &'a str>>(
    rest: &mut std::iter::Peekable<I>,
    permits: &dyn Fn(&str) -> bool,
) -> bool {
    let mut met = all_of(rest, permits);
    while rest.next_if_eq(&"OR").is_some() {
        met |= all_of(rest, permits);
    }
    met
}

fn all_of<'a, I: Iterator<Item = &'a str>>(
    rest: &mut std::iter::Peekable<I>,
    permits: &dyn Fn(&str) -> bool,
) -> bool {
    let mut met = one(rest, permits);
    while rest.next_if_eq(&"AND").is_some() {
        met &= one(rest, permits);
    }
    met
}

fn one<'a, I: Iterator<Item = &'a str>>(
    rest: &mut std::iter::Peekable<I>,
    permits: &dyn Fn(&str) -> bool,
) -> bool {
    match rest.next() {
        Some("(") => {
            let met = any_of(rest, permits);
            rest.next_if_eq(&")").is_some() && met
        }
        Some(id) => permits(id),
        None => false,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a manifest's lock file says, with build and test dependencies, on this machine's target.
fn packages(manifest: &str) -> Packages {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--locked", "--workspace", "--edges", "normal,build,dev"]);
    cargo.args(["--prefix", "none", "--format", "{p}|{l}", "--manifest-path", manifest]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    let package = |line: &str| {
        let (package, license) = line.split_once('|')?;
        let mut parts = package.split(' ');
        Some(Package(
            parts.next()?.to_owned(),
            parts.next()?.strip_prefix('v')?.to_owned(),
            license.to_owned(),
        ))
    };
    lines.map(|line| package(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn deny() -> Deny {
    toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap()
}

#[test]
fn licences_and_versions_are_those_that_deny_toml_permits() {
    let deny = deny();
    assert_eq!(deny.bans.multiple_versions, "deny");
    let lock_files = ["Cargo.toml", "fuzz/Cargo.toml"].map(packages);
    assert!(lock_files[0].len() > 100 && lock_files[1].len() > 10, "cargo tree says less than it did");
    let said = complaints(&deny, &lock_files);
    assert!(said.is_empty(), "{}", said.join("\n"));
}

#[test]
fn every_crate_comes_from_crates_io() {
    assert!(deny().sources.values().all(|rule| rule == "deny"));
    for lock_file in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = std::fs::read_to_string(root().join(lock_file)).unwrap();
        let sources: BTreeSet<&str> = text.lines().filter(|line| line.starts_with("source = ")).collect();
        let crates_io = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(sources.into_iter().collect::<Vec<_>>(), [crates_io], "{lock_file}");
    }
}

#[test]
fn expressions_mean_what_spdx_says() {
    let permits = |id: &str| ["MIT", "ISC"].contains(&id);
    for (expression, is_met) in [
        ("MIT", true),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("MIT OR GPL-3.0-only AND Apache-2.0", true),
        ("(MIT OR GPL-3.0-only) AND ISC", true),
        ("ISC AND (GPL-3.0-only OR Apache-2.0)", false),
        ("MIT WITH LLVM-exception", false),
        ("MIT WITH LLVM-exception OR ISC", true),
        ("", false),
        ("(MIT", false),
        ("MIT ISC", false),
    ] {
        assert_eq!(is_permitted(expression, &permits), is_met, "'{expression}'");
    }
}

#[test]
fn what_is_not_permitted_and_what_is_not_needed_is_named() {
    let package = |name: &str, version: &str, license: &str| {
        Package(name.to_owned(), version.to_owned(), license.to_owned())
    };
    let good = [package("a", "1.0.0", "MIT"), package("b", "1.0.0", "NCSA")];
    let twice = [package("c", "0.2.9", "MIT"), package("c", "0.20.1", "MIT")];
    let deny = |text: &str| -> Deny {
        let rest = "bans.multiple-versions = 'deny'\nsources = {}\n";
        toml::from_str(&format!("{rest}{text}")).unwrap()
    };
    let listed = deny(
        "licenses.allow = ['MIT']\nlicenses.exceptions = [{ crate = 'b', allow = ['NCSA'] }]\n\
         bans.skip = [{ crate = 'c@0.2', reason = 'because' }]",
    );
    let said = |packages: &[&[Package]]| {
        let packages = packages.iter().flat_map(|some| some.iter().cloned()).collect();
        complaints(&listed, &[packages])
    };
    assert!(said(&[&good, &twice]).is_empty());
    let unknown = said(&[&good, &twice, &[package("d", "1.0.0", "")]]);
    assert_eq!(unknown, ["d 1.0.0: the licence '' is not permitted"]);
    let copyleft = said(&[&good, &twice, &[package("d", "1.0.0", "GPL-3.0-only")]]);
    assert_eq!(copyleft, ["d 1.0.0: the licence 'GPL-3.0-only' is not permitted"]);
    let third = said(&[&good, &twice, &[package("c", "1.0.0", "MIT")]]);
    assert!(third.len() == 1 && third[0].starts_with("c: several versions"), "{third:?}");
    assert_eq!(said(&[&good]), ["c@0.2: no second version to be passed over"]);
    assert_eq!(said(&[&good[..1], &twice]), ["b: no exception is needed for its licence"]);
    let unused = deny("licenses.allow = ['MIT', 'Zlib', 'NCSA']\nlicenses.exceptions = []\nbans.skip = []");
    assert_eq!(complaints(&unused, &[good.into_iter().collect()]), ["Zlib: no crate has this licence"]);
}
