//! A real browser, Chromium without a window, that does what a test says.
//!
//! ```text
//! test ── {"id":1,"method":...}\0 ──▶ file 3   Chromium
//!      ◀── {"id":1,"result":...}\0 ── file 4
//! ```
//! Invariants: it finds no host but the loopback; it ends with this; everything that its page asks for, and complains of,
//! is kept.
//! Source: Chrome DevTools Protocol, `--remote-debugging-pipe`.
//! Not here: installing it (a system's package; a test without one says so by `real::skip`).

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// Addresses that the page has asked for.
    pub requests: Vec<String>,
    /// What was written to the console as an error or a warning, exceptions, and violations of the page's policy.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

/// Why a browser does not do as it is told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It can't be started.
    #[error("can't start {}: {error}", program.display())]
    Start {
        /// The browser.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has ended, or does not take what it is told.
    #[error("the browser has gone: {0}")]
    Gone(io::Error),
    /// No answer.
    #[error("the browser does not answer to {method} within {seconds} s", seconds = PATIENCE.as_secs())]
    Silent {
        /// What was asked.
        method: String,
    },
    /// It answers with an error, or a script ended with one.
    #[error("the browser answers to {method}: {told}")]
    Refused {
        /// What was asked.
        method: String,
        /// The answer.
        told: String,
    },
    /// Something did not come true.
    #[error("not true after {seconds} s: {script}; the page complained: {complaints:?}", seconds = PATIENCE.as_secs())]
    NotTrue {
        /// What was waited for.
        script: String,
        /// What the page wrote meanwhile.
        complaints: Vec<String>,
    },
}

impl Browser {
    /// The system's browser: `WIREPRESS_CHROMIUM`, or the first of the usual names on the path.
    pub fn find() -> Option<PathBuf> {
        if let Some(path) = std::env::var_os("WIREPRESS_CHROMIUM") {
            return Some(path.into());
        }
        let path = std::env::var_os("PATH")?;
        let folders: Vec<_> = std::env::split_paths(&path).collect();
        NAMES
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find(|path| path.is_file())
    }

    /// Starts `program` with an empty page of this size.
    pub fn start(program: PathBuf, width: u32, height: u32) -> Result<Self, Fault> {
        let fault = |error| Fault::Start { program: program.clone(), error };
        let profile = tempfile::Builder::new().prefix("wirepress-browser-").tempdir().map_err(fault)?;
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(&program)
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fault)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output.into_iter().next()?);
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|len| len > 0) {
                message.pop();
                sender.send(serde_json::from_slice(&message).ok()?).ok()?;
                message.clear();
            }
            Some(())
        });
        let mut browser = Self {
            child,
            input,
            messages,
            last_id: 0,
            session: None,
            requests: Vec::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", target)?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        browser.resize(width, height)?;
        Ok(browser)
    }

    /// Opens an address. Not waited for: the page says when it is ready.
    pub fn open(&mut self, url: &str) -> Result<(), Fault> {
        self.call("Page.navigate", json!({"url": url})).map(drop)
    }

    /// Gives the window this size.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), Fault> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// Says what the system prefers, such as `prefers-color-scheme` `dark`.
    pub fn prefer(&mut self, feature: &str, value: &str) -> Result<(), Fault> {
        let features = json!({"features": [{"name": feature, "value": value}]});
        self.call("Emulation.setEmulatedMedia", features).map(drop)
    }

    /// What an expression is on the page; a promise is waited for.
    pub fn evaluate(&mut self, script: &str) -> Result<Value, Fault> {
        let asked = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", asked)?;
        if let Some(exception) = answer.get("exceptionDetails") {
            return Err(Fault::Refused { method: script.to_owned(), told: exception.to_string() });
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression is true.
    pub fn wait_until(&mut self, script: &str) -> Result<(), Fault> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            // A page that is about to be left has no answer.
            match self.evaluate(script) {
                Ok(Value::Bool(true)) => return Ok(()),
                Ok(_) | Err(Fault::Refused { .. }) => {}
                Err(fault) => return Err(fault),
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        Err(Fault::NotTrue { script: script.to_owned(), complaints: self.complaints.clone() })
    }

    /// Presses a key, such as `Tab` or `ArrowLeft`.
    pub fn press(&mut self, key: &str) -> Result<(), Fault> {
        let text = if key == "Enter" { "\r" } else { "" };
        let down = json!({"type": "keyDown", "key": key, "code": key, "text": text});
        let key_code = KEY_CODES.iter().find(|(name, _)| *name == key).map_or(0, |(_, code)| *code);
        let with_code = |mut event: Value| {
            event["windowsVirtualKeyCode"] = key_code.into();
            event
        };
        self.call("Input.dispatchKeyEvent", with_code(down))?;
        let up = json!({"type": "keyUp", "key": key, "code": key});
        self.call("Input.dispatchKeyEvent", with_code(up)).map(drop)
    }

    /// A picture of the window, which has this size: `png`, or `webp`, which is a third of it.
    pub fn screenshot(&mut self, format: &str, width: u32, height: u32) -> Result<Vec<u8>, Fault> {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let method = "Page.captureScreenshot";
        let mut asked = json!({"format": format, "clip": clip});
        if format != "png" {
            asked["quality"] = QUALITY.into();
        }
        let answer = self.call(method, asked)?;
        let refused = |told: String| Fault::Refused { method: method.to_owned(), told };
        let picture = answer["data"].as_str().ok_or_else(|| refused(answer.to_string()))?;
        STANDARD.decode(picture).map_err(|error| refused(error.to_string()))
    }

    /// Asks, and waits for the answer.
    fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Fault> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let gone = || Fault::Gone(io::ErrorKind::BrokenPipe.into());
        let input = self.input.as_mut().ok_or_else(gone)?;
        input.write_all(format!("{message}\0").as_bytes()).map_err(Fault::Gone)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut message = match self.messages.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Err(Fault::Silent { method: method.to_owned() }),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            };
            if message["id"] != self.last_id {
                self.note(&message);
                continue;
            }
            return match message.get("error") {
                Some(told) => Err(Fault::Refused { method: method.to_owned(), told: told.to_string() }),
                None => Ok(message["result"].take()),
            };
        }
    }

    /// Keeps what the page asked for or complained of.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                self.requests.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            "Log.entryAdded" => {
                let entry = &parameters["entry"];
                self.complaints.push(format!("{}: {} {}", entry["level"], entry["text"], entry["url"]));
            }
            "Runtime.exceptionThrown" => self.complaints.push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] != "log" => {
                self.complaints.push(parameters.to_string());
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends when nobody can tell it anything any more.
        self.input = None;
        let begun = Instant::now();
        while begun.elapsed() < END_PATIENCE {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What Debian, Ubuntu and Google call it.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
/// It opens nothing but our own pages, so that it needs no sandbox, which root can't have.
const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
];
const KEY_CODES: [(&str, u8); 4] = [("Tab", 9), ("Enter", 13), ("ArrowLeft", 37), ("ArrowRight", 39)];
/// Of a picture; text stays sharp.
const QUALITY: u8 = 68;
/// Its start takes seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const END_PATIENCE: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
