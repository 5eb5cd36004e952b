//! Pictures of a page that needs nothing else, such as a report: light, dark, and as narrow as a phone.
//!
//! ```text
//! cargo run --package wirepress-lab --example page_pictures -- run/report.html docs/images report [HEIGHT]
//! ```
//! `scripts/screenshot-report` runs it. It fails where the page complains; the pictures are made all the same.
//!
//! Not here: testing the page (`crates/bench/tests/it/page.rs`).

#![allow(clippy::unwrap_used, reason = "an example that cannot go on should stop")]

use std::path::PathBuf;

use lab::browser::Browser;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, out, name, height @ ..] = arguments.as_slice() else {
        eprintln!("page_pictures: give the page, a folder for the pictures, and their name");
        std::process::exit(2);
    };
    let Some(chromium) = Browser::find() else {
        eprintln!("page_pictures: there is no chromium on the path; install it, or set WIREPRESS_CHROMIUM");
        std::process::exit(1);
    };
    let height = height.first().and_then(|text| text.parse().ok()).unwrap_or(1500);
    let page = std::fs::canonicalize(page).unwrap();
    let out = PathBuf::from(out);
    std::fs::create_dir_all(&out).unwrap();
    let mut browser = Browser::start(chromium, 1200, height).unwrap();
    browser.open(&format!("file://{}", page.display())).unwrap();
    for (suffix, scheme, width) in
        [("light", "light", 1200), ("dark", "dark", 1200), ("narrow", "light", 390)]
    {
        browser.prefer("prefers-color-scheme", scheme).unwrap();
        browser.resize(width, height).unwrap();
        browser.evaluate("new Promise((done) => setTimeout(done, 300))").unwrap();
        let picture = browser.screenshot("webp", width, height).unwrap();
        std::fs::write(out.join(format!("{name}-{suffix}.webp")), picture).unwrap();
    }
    for complaint in &browser.complaints {
        eprintln!("the page complained: {complaint}");
    }
    if !browser.complaints.is_empty() {
        // The browser ends with its owner, which an exit does not drop.
        drop(browser);
        std::process::exit(1);
    }
}
