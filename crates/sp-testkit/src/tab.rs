//! A tab of a real browser that a test controls: it opens pages, presses keys, and records requests
//! and errors.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Browser;

/// Longer than anything takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A tab. The browser ends when it is dropped.
pub struct Tab {
    // The pipe must be closed before the browser ends.
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    last: u64,
    /// The URLs of all requests.
    pub requested_urls: Vec<String>,
    /// Errors of scripts, of the content security policy and of the network.
    pub complaints: Vec<String>,
    loads: usize,
    _browser: Browser,
}

impl Tab {
    /// Opens an empty tab.
    pub fn open() -> Self {
        let mut browser = Browser::with_devtools();
        let (input, output) = browser.pipes();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let (requested_urls, complaints) = (Vec::new(), Vec::new());
        let mut tab = Self {
            input,
            messages,
            session: String::new(),
            last: 0,
            requested_urls,
            complaints,
            loads: 0,
            _browser: browser,
        };
        let target =
            tab.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached =
            tab.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        tab.session = attached["sessionId"].as_str().expect("a session").into();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab
    }

    /// Sends a command to the browser, and waits for the result.
    ///
    /// # Panics
    ///
    /// If the command fails or times out.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("a browser that listens");
        loop {
            let messages = self.messages.recv_timeout(PATIENCE).expect("a browser that answers");
            if messages["id"] != id {
                self.hear(&messages);
                continue;
            }
            assert_eq!(messages.get("error"), None, "{method}");
            return messages["result"].clone();
        }
    }

    fn hear(&mut self, messages: &Value) {
        let of = &messages["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match messages["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => self.requested_urls.push(text(&of["request"]["url"])),
            "Page.loadEventFired" => self.loads += 1,
            "Log.entryAdded" if of["entry"]["level"] == "error" => {
                self.complaints.push(text(&of["entry"]["text"]))
            }
            "Runtime.exceptionThrown" => self.complaints.push(of["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if of["type"] == "error" => {
                self.complaints.push(of["args"].to_string())
            }
            _ => {}
        }
    }

    /// Opens a URL, and waits until the page is loaded.
    pub fn navigate(&mut self, address: &str) {
        let before = self.loads;
        self.call("Page.navigate", json!({"url": address}));
        self.wait_for_load(before);
    }

    /// Does something that opens another page, and waits until that is loaded.
    pub fn follow(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.loads;
        act(self);
        self.wait_for_load(before);
    }

    fn wait_for_load(&mut self, before: usize) {
        let start = Instant::now();
        while self.loads == before {
            assert!(start.elapsed() < PATIENCE, "the page does not come");
            if let Ok(messages) = self.messages.recv_timeout(Duration::from_millis(100)) {
                self.hear(&messages);
            }
        }
    }

    /// Evaluates an expression on the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let wanted = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let messages = self.call("Runtime.evaluate", wanted);
        assert_eq!(messages.get("exceptionDetails"), None, "{expression}");
        messages["result"]["value"].clone()
    }

    /// Presses a key: `Tab`, `Enter`, or a letter.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            letter => (0, letter),
        };
        let down =
            json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text});
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        );
    }

    /// Types text where the focus is.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Sets the width of the window, and whether the reader prefers `light` or `dark`.
    pub fn set_viewport(&mut self, width: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        // Without animations, everything has its final look at once.
        let [scheme, still] =
            [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]
                .map(|(name, value)| json!({"name": name, "value": value}));
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme, still]}));
    }
}
