//! A browser for tests: Chromium without a window, driven over a pipe by the DevTools protocol.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest time in which something must have happened. Far more than it takes.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Browser {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    next_id: u64,
    session: Option<String>,
    /// Errors that pages reported.
    pub errors: Vec<Value>,
}

impl Browser {
    /// `None` and a recorded skip where there is no browser.
    pub fn start(test: &str, directory: &Path) -> Option<Self> {
        if !genba_testing::has(test, "chromium") {
            return None;
        }
        let command = "exec chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
                       --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", command])
            .arg(directory.join("browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let output = BufReader::new(child.stdout.take().expect("a stream"));
        let mut browser = Self {
            child,
            output,
            next_id: 0,
            session: None,
            errors: Vec::new(),
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Log.enable", "Runtime.enable", "Page.enable"] {
            browser.call(domain, &json!({}));
        }
        Some(browser)
    }

    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let input = self.child.stdin.as_mut().expect("a stream");
        input
            .write_all(format!("{message}\0").as_bytes())
            .expect("sent");
        loop {
            let mut answer = Vec::new();
            self.output.read_until(0, &mut answer).expect("read");
            assert!(!answer.is_empty(), "{method}: the browser has ended");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            match answer["method"].as_str() {
                Some("Log.entryAdded") if answer["params"]["entry"]["level"] == "error" => {
                    self.errors.push(answer)
                }
                Some("Runtime.exceptionThrown" | "Page.javascriptDialogOpening") => {
                    self.errors.push(answer)
                }
                _ if answer["id"] == self.next_id => {
                    assert!(answer.get("error").is_none(), "{method}: {answer}");
                    return answer["result"].clone();
                }
                _ => {}
            }
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", &params);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// The value that a promise of an expression comes to.
    pub fn awaited(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let result = self.call("Runtime.evaluate", &params);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Presses a key as a user does.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            other => panic!("the key {other} has no code here"),
        };
        let mut down =
            json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code});
        if key == "Enter" {
            down["text"] = json!("\r");
        }
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// The width of the window, pixels, and whether the user prefers dark pages.
    pub fn look(&mut self, width: u32, dark: bool) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Writes a picture of the page into the directory that `GENBA_SCREENSHOTS` names, if it names one.
    pub fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("GENBA_SCREENSHOTS") else {
            return;
        };
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let data = self.call("Page.captureScreenshot", &params);
        let path = Path::new(&directory).join(format!("{name}.png.base64"));
        std::fs::write(path, data["data"].as_str().expect("a picture")).expect("written");
    }

    pub fn until(&mut self, expression: &str) {
        let end = Instant::now() + LIMIT;
        while self.value(expression) != true {
            assert!(
                Instant::now() < end,
                "in vain: {expression}; {:?}",
                self.errors
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn open(&mut self, link: &str) {
        self.call("Page.navigate", &json!({"url": link}));
        self.until(&format!(
            "location.href === {} && document.readyState === 'complete'",
            json!(link)
        ));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
