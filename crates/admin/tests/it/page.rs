//! The web page in a real Chromium, with real clients of a real server.
//!
//! Not here: what the page is told (`events`), how it looks (`scripts/screenshot-admin`).

use std::process::{Child, Command, Stdio};

use admin::Admin;
use lab::browser::Browser;
use lab::real::{Kind, PASSWORD, USER};
use proxy::{ListenerConfig, Proxy, SslMode};
use serde_json::Value;

use crate::events::Stream;
use crate::http::{open, open_at};
use crate::stage::Stage;

/// A name that does something where it is taken for markup.
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// Nothing where there is no browser.
fn stage() -> Option<(Stage, Browser)> {
    let Some(program) = Browser::find() else {
        lab::real::skip("want of chromium");
        return None;
    };
    let stage = Stage::new(Kind::MySql)?;
    Some((stage, Browser::start(program, 1400, 900).unwrap()))
}

/// Opens the page as a user would who wrote the credentials into the address.
fn show(browser: &mut Browser, admin: &Admin) {
    browser.open(&address_of(admin)).unwrap();
    browser.wait_until("document.querySelector('#live')?.textContent === 'Live'").unwrap();
}

fn address_of(admin: &Admin) -> String {
    format!("http://operator:open%20sesame@{}/", admin.http_address().unwrap())
}

/// Everything was asked of the port itself, and nothing was complained of.
fn assert_peace(browser: &Browser, admin: &Admin) {
    let own = admin.http_address().unwrap().to_string();
    assert!(browser.requests.len() > 10);
    for url in &browser.requests {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} was asked for"));
        let host = rest.split('/').next().unwrap();
        assert_eq!(host.rsplit('@').next(), Some(own.as_str()), "{url} was asked for");
    }
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

/// A connection that reads something and then stays.
fn sleeping(stage: &Stage, user: &str, algorithm: &str) -> Child {
    let mut command: Command = stage.client("mysql");
    command.args([format!("--user={user}"), format!("--password={PASSWORD}")]);
    command.arg(format!("--compression-algorithms={algorithm}"));
    command.arg("--execute=select repeat('wire', 100000); do sleep(120)");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn end(children: Vec<Child>) {
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The texts of a column of the list, from the first.
fn column(browser: &mut Browser, number: usize) -> Vec<String> {
    let script = format!(
        "[...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[{number}]?.textContent)"
    );
    serde_json::from_value(browser.evaluate(&script).unwrap()).unwrap()
}

#[test]
fn connections_are_shown_by_name_sorted_and_filtered_and_no_name_is_markup() {
    let Some((stage, mut browser)) = stage() else { return };
    let (admin, _directory) = open(&stage.proxy);
    show(&mut browser, &admin);
    // Nobody is connected: it says so, and where to.
    let listener = stage.proxy.address().to_string();
    let told = format!("No client is connected. Connect a client to {listener}.");
    browser.wait_until(&format!("document.querySelector('#table tbody').textContent === '{told}'")).unwrap();

    let create = format!("create user if not exists '{HOSTILE}'@'%' identified by '{PASSWORD}'");
    stage.server.sql(&create).unwrap();
    let children = vec![
        sleeping(&stage, USER, "zstd"),
        sleeping(&stage, HOSTILE, "zlib"),
        sleeping(&stage, USER, "uncompressed"),
    ];
    browser.wait_until("[...document.querySelectorAll('#table tbody tr')].filter((row) => /Query/.test(row.textContent)).length === 3").unwrap();
    assert_eq!(browser.evaluate("document.querySelectorAll('main img').length").unwrap(), 0);
    let mut users = column(&mut browser, 1);
    users.sort();
    assert_eq!(users, [HOSTILE, USER, USER]);

    // By user, up and down.
    let by_user = "[...document.querySelectorAll('#table thead button')].find((button) => button.textContent.startsWith('User'))";
    for (order, first) in [("ascending", HOSTILE), ("descending", USER)] {
        browser.evaluate(&format!("{by_user}.click()")).unwrap();
        browser
            .wait_until(&format!(
                "document.querySelector('#table tbody tr').cells[1].textContent === '{first}'"
            ))
            .unwrap();
        assert_eq!(browser.evaluate(&format!("{by_user}.closest('th').ariaSort")).unwrap(), order);
    }
    // By words, by a named column, by what nobody has.
    let filter = |browser: &mut Browser, text: &str, rows: usize| {
        let script = format!(
            "{{ const it = document.querySelector('#filter'); it.value = '{text}'; it.dispatchEvent(new Event('input')) }}"
        );
        browser.evaluate(&script).unwrap();
        let count = format!("document.querySelectorAll('#table tbody th').length === {rows}");
        browser.wait_until(&count).unwrap();
    };
    filter(&mut browser, &format!("user:{USER}"), 2);
    filter(&mut browser, "zlib 127.0.0.1", 1);
    assert_eq!(column(&mut browser, 1), [HOSTILE]);
    filter(&mut browser, "no-such", 0);
    browser
        .wait_until("/None of the 3 connections/.test(document.querySelector('#table').textContent)")
        .unwrap();
    filter(&mut browser, "", 3);

    // What passed is drawn, and there is a table that says the same.
    browser
        .wait_until("document.querySelectorAll('#charts .packed-line')[1].getAttribute('d').length > 20")
        .unwrap();
    browser.wait_until("/ratio [0-9]/.test(document.querySelectorAll('#charts svg')[1].ariaLabel)").unwrap();
    browser.evaluate("document.querySelector('#figures summary').click()").unwrap();
    browser.wait_until("document.querySelectorAll('#figures-table tbody tr').length > 0").unwrap();
    assert_peace(&browser, &admin);
    end(children);
}

#[test]
fn the_page_fits_a_phone_and_both_themes() {
    let Some((stage, mut browser)) = stage() else { return };
    let (admin, _directory) = open(&stage.proxy);
    browser.resize(360, 740).unwrap();
    show(&mut browser, &admin);
    let width = "document.documentElement.scrollWidth";
    assert_eq!(browser.evaluate(width).unwrap(), 360, "without connections");
    let children = vec![sleeping(&stage, USER, "zstd")];
    browser.wait_until("document.querySelectorAll('#table tbody th').length === 1").unwrap();
    assert_eq!(browser.evaluate(width).unwrap(), 360, "with connections");
    // What is wider than the screen is scrolled by itself, by keys too.
    let narrow = "[...document.querySelectorAll('.scroll')].every((it) => it.tabIndex === 0)";
    assert_eq!(browser.evaluate(narrow).unwrap(), true);

    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.prefer("prefers-color-scheme", "light").unwrap();
    let light = browser.evaluate(ground).unwrap();
    browser.prefer("prefers-color-scheme", "dark").unwrap();
    let dark = browser.evaluate(ground).unwrap();
    assert_ne!(light, dark);
    for (theme, expected) in [("light", &light), ("dark", &dark), ("auto", &dark)] {
        browser.evaluate("document.querySelector('#theme').click()").unwrap();
        assert_eq!(
            browser.evaluate("document.querySelector('#theme').textContent").unwrap(),
            format!("Theme: {theme}")
        );
        assert_eq!(&browser.evaluate(ground).unwrap(), expected, "{theme}");
    }
    assert_peace(&browser, &admin);
    end(children);
}

#[test]
fn everything_is_reached_by_keys_and_has_a_name() {
    let Some((stage, mut browser)) = stage() else { return };
    let (admin, _directory) = open(&stage.proxy);
    show(&mut browser, &admin);
    browser.wait_until("document.querySelectorAll('#charts svg[aria-label]').length === 4").unwrap();
    browser.press("Tab").unwrap();
    assert_eq!(browser.evaluate("document.activeElement.className").unwrap(), "skip");
    // Landmarks, one heading of the first rank, and a name for whatever can be focused.
    assert_eq!(browser.evaluate("document.querySelectorAll('header, main, footer').length").unwrap(), 3);
    assert_eq!(browser.evaluate("document.querySelectorAll('h1').length").unwrap(), 1);
    let nameless = "[...document.querySelectorAll('button, a, input, select, [tabindex=\"0\"]')].filter((it) => \
        !(it.textContent.trim() || it.ariaLabel || it.labels?.length || it.getAttribute('aria-labelledby'))).map((it) => it.outerHTML)";
    assert_eq!(browser.evaluate(nameless).unwrap(), Value::Array(Vec::new()));
    let heads = "[...document.querySelectorAll('#table thead tr:last-child th')].slice(0, -1).every((it) => it.ariaSort && it.querySelector('button'))";
    assert_eq!(browser.evaluate(heads).unwrap(), true);
    // A chart's seconds are read by arrow keys, and a header sorts by Enter, keeping the focus.
    browser
        .wait_until("document.querySelectorAll('#charts .packed-line')[0].getAttribute('d').includes('L')")
        .unwrap();
    browser.evaluate("document.querySelector('#charts svg').focus()").unwrap();
    browser.press("ArrowLeft").unwrap();
    browser.wait_until("/plain, .* packed/.test(document.querySelector('#reading').textContent)").unwrap();
    browser.evaluate("document.querySelector('#table thead button').focus()").unwrap();
    browser.press("Enter").unwrap();
    browser.wait_until("document.activeElement.closest('th')?.ariaSort === 'descending'").unwrap();
    assert_peace(&browser, &admin);
}

#[test]
fn a_page_too_many_is_told_so_and_comes_when_another_is_closed() {
    let Some((stage, mut browser)) = stage() else { return };
    let (admin, _directory) = open(&stage.proxy);
    let mut others: Vec<_> = (0..16).map(|_| Stream::open(&admin)).collect();
    assert!(others.iter().all(|(status, _)| *status == 200));
    browser.open(&address_of(&admin)).unwrap();
    let live = "document.querySelector('#live')?.textContent";
    browser.wait_until(&format!("{live} === 'Refused, trying again'")).unwrap();
    browser.wait_until("/too many are open/.test(document.querySelector('#lost').textContent)").unwrap();
    others.pop();
    browser.wait_until(&format!("{live} === 'Live'")).unwrap();
}

#[test]
fn it_says_that_the_connection_is_lost_and_comes_back_when_the_proxy_does() {
    let Some((stage, mut browser)) = stage() else { return };
    let (admin, _directory) = open(&stage.proxy);
    show(&mut browser, &admin);
    let address = admin.http_address().unwrap().to_string();
    let Stage { server, proxy, .. } = stage;
    drop(admin);
    proxy.stop();
    browser
        .wait_until("/Connection lost, trying again/.test(document.querySelector('#live').textContent)")
        .unwrap();
    browser.wait_until("!document.querySelector('#lost').hidden").unwrap();
    // Another process would have another listener, too.
    let mut config = ListenerConfig::new("127.0.0.1:0".parse().unwrap(), server.address().into());
    config.server_tls.mode = Some(SslMode::Disabled);
    let proxy = Proxy::start(config).unwrap();
    let (_admin, _directory) = open_at(&address, &proxy);
    browser.wait_until("document.querySelector('#live').textContent === 'Live'").unwrap();
    let listener = proxy.address().to_string();
    browser
        .wait_until(&format!("document.querySelector('#about').textContent.includes('{listener}')"))
        .unwrap();
    assert_eq!(browser.evaluate("document.querySelector('#lost').hidden").unwrap(), true);
    // Only that it was lost was complained of.
    assert!(
        browser.complaints.iter().all(|it| it.contains("Failed to load resource")),
        "{:?}",
        browser.complaints
    );
}
