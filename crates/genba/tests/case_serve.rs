//! `genba case serve`: by HTTP as a hostile page would ask, and in a real browser.

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{interrupt, run_genba, scratch, stdout_of};

/// Longest time in which something must have happened. Far more than it takes.
const LIMIT: Duration = Duration::from_secs(60);

const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// A server for the cases of a directory.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_genba"))
            .args(["case", "serve", "--port", "0"])
            .current_dir(directory)
            .env_remove("GENBA_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("genba starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a stream");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let rest = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .expect("a link");
        let (port, path) = rest.split_once('/').expect("a path");
        Self {
            child,
            port: port.parse().expect("a port"),
            token: path.trim_end_matches('/').to_owned(),
        }
    }

    /// Sends a request as it is; returns the status, the head and the body.
    fn send(&self, request: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (
            status.unwrap_or(0),
            head.to_ascii_lowercase(),
            body.to_owned(),
        )
    }

    fn ask(&self, path: &str, more: &str) -> (u16, String, String) {
        let port = self.port;
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// The body of a page below the token.
    fn page(&self, path: &str) -> String {
        let (status, _, body) = self.ask(&format!("/{}/{path}", self.token), "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn link(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{}/{path}", self.port, self.token)
    }

    fn end(mut self) {
        interrupt(&self.child);
        let status = self.child.wait().expect("it was started");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The only case of this kind.
fn case_of(directory: &Path, kind: &str) -> String {
    let listed: Value =
        serde_json::from_str(&stdout_of(directory, &["case", "list", "--json"])).expect("JSON");
    let cases = listed["cases"].as_array().expect("a list");
    let found = cases
        .iter()
        .find(|case| case["kind"] == kind)
        .expect("a case");
    found["id"].as_str().expect("an id").to_owned()
}

fn make_comparison(directory: &Path) -> String {
    stdout_of(
        directory,
        &[
            "bench", "-N", "-r", "2", "-n", HOSTILE, "true", "-n", "b", "true",
        ],
    );
    case_of(directory, "comparison")
}

#[test]
fn only_the_link_of_the_server_opens_its_pages() {
    let directory = scratch();
    let case = make_comparison(directory.path());
    let server = Server::start(directory.path());
    let (port, token) = (server.port, server.token.clone());
    let list = format!("/{token}/");
    let (status, head, body) = server.ask(&list, "");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{head}"
    );
    for header in [
        "nosniff",
        "no-referrer",
        "no-store",
        "frame-ancestors 'none'",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert!(body.contains(&case), "{body}");
    // No token, a wrong one, a foreign page, a name that was rebound to loopback.
    for path in [
        "/",
        "/wrong/",
        &format!("/{}/", &token[1..]),
        &format!("/case/{case}"),
    ] {
        let (status, _, body) = server.ask(path, "");
        assert_eq!(status, 403, "{path}");
        assert!(!body.contains(&case));
    }
    for header in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        assert_eq!(server.ask(&list, header).0, 403, "{header}");
    }
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        "",
    ] {
        let request = format!("GET {list} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert!(matches!(server.send(&request).0, 400 | 403), "{host}");
    }
    let absolute = format!(
        "GET http://evil.example{list} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(server.send(&absolute).0, 403);
    let no_host = format!("GET {list} HTTP/1.0\r\n\r\n");
    assert_eq!(server.send(&no_host).0, 403);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!(
            "{method} {list} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(server.send(&request).0, 405, "{method}");
    }
    server.end();
}

#[test]
fn paths_lead_to_cases_and_to_nothing_else() {
    let directory = scratch();
    let case = make_comparison(directory.path());
    std::fs::write(directory.path().join("secret"), "the secret").expect("written");
    let server = Server::start(directory.path());
    for path in [
        "../secret",
        "case/../../secret",
        "case/..%2f..%2fsecret",
        "%2e%2e/secret",
        "case/",
        "case/latest",
        "case/ffffffff",
        &format!("case/{case}/../../secret"),
        &format!("case/{case}/case.sqlite"),
        &format!("case/{case}/profile.json"),
        "compare",
        "compare?a=../secret&b=..",
        "favicon.ico",
    ] {
        let (status, _, body) = server.ask(&format!("/{}/{path}", server.token), "");
        assert_eq!(status, 404, "{path}: {body}");
        assert!(!body.contains("the secret"), "{path}");
    }
    for garbage in [
        "\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9\r\n\r\n",
        &format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)),
    ] {
        let (status, ..) = server.send(garbage);
        assert_ne!(status, 200);
    }
    // It is still there.
    assert!(server.page("").contains(&case));
    server.end();
}

#[test]
fn hostile_names_are_text_on_every_page() {
    let directory = scratch();
    let case = make_comparison(directory.path());
    let server = Server::start(directory.path());
    for path in [
        String::new(),
        format!("case/{case}"),
        format!("case/{case}/explore"),
        format!("case/{case}/events"),
    ] {
        let page = server.page(&path);
        assert!(
            !page.contains("<script>alert") && !page.contains("<img src=x"),
            "{path}: {page}"
        );
    }
    let page = server.page(&format!("case/{case}"));
    assert!(
        page.contains("all cases") && page.contains("&lt;script"),
        "{page}"
    );
    assert!(server.page("app.js").starts_with("//"));
    server.end();
}

#[test]
fn comparison_in_progress_is_shown_until_it_has_its_page() {
    let directory = scratch();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args([
            "bench",
            "--budget",
            "1000s",
            "-r",
            "100000",
            "-n",
            "first",
            "sleep 0.01",
            "-n",
            "second",
            "sleep 0.01",
        ])
        .current_dir(directory.path())
        .env_remove("GENBA_HOME")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("genba starts");
    let until = Instant::now() + LIMIT;
    let started = || {
        let (_, text, _) = run_genba(directory.path(), &["case", "list", "--json"]);
        let runs = serde_json::from_str::<Value>(&text).ok()?["cases"][0]["runs"].as_u64()?;
        (runs >= 4).then_some(())
    };
    while started().is_none() {
        assert!(Instant::now() < until, "no runs");
    }
    let case = case_of(directory.path(), "comparison");
    let server = Server::start(directory.path());
    let page = server.page(&format!("case/{case}"));
    assert!(
        page.contains("in progress") && page.contains("first") && page.contains("data-events"),
        "{page}"
    );
    let event = server.page(&format!("case/{case}/events"));
    let data = event
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .expect("data");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["running"], true);
    assert!(data["variants"][0]["runs"].as_u64() >= Some(1), "{data}");
    interrupt(&bench);
    bench.wait().expect("it was started");
    let event = server.page(&format!("case/{case}/events"));
    assert!(event.contains("\"running\":false"), "{event}");
    assert!(!server.page(&format!("case/{case}")).contains("in progress"));
    server.end();
}

/// Chromium without a window, driven over a pipe by the DevTools protocol.
struct Browser {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    next_id: u64,
    session: Option<String>,
    errors: Vec<Value>,
}

impl Browser {
    /// `None` and a recorded skip where there is no browser.
    fn start(test: &str, directory: &Path) -> Option<Self> {
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

    fn call(&mut self, method: &str, params: &Value) -> Value {
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
    fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", &params);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    fn until(&mut self, expression: &str) {
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

    fn open(&mut self, link: &str) {
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

#[test]
fn browser_filters_sorts_zooms_and_runs_nothing_of_a_case() {
    let test = "case serve in a browser";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let comparison = make_comparison(directory.path());
    let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let (code, _, said) = run_genba(
        directory.path(),
        &[
            "investigate",
            "--budget",
            "0.3s",
            "--no-count",
            "-g",
            "--",
            "sh",
            "-c",
            busy,
        ],
    );
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &said);
        return;
    }
    assert_eq!(code, 0, "{said}");
    let investigation = case_of(directory.path(), "investigation");
    let server = Server::start(directory.path());

    browser.open(&server.link(""));
    let shown =
        "[...document.querySelectorAll('#cases tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.value(shown), 2);
    let choose = "const f = document.querySelector('form[data-filter]'); f.elements.kind.value = 'comparison'; \
                  f.dispatchEvent(new Event('input', {bubbles: true}))";
    browser.value(choose);
    assert_eq!(browser.value(shown), 1);

    browser.open(&server.link(&format!("case/{investigation}/explore")));
    browser.until("document.body.dataset.ready === 'yes'");
    assert_eq!(
        browser.value("document.querySelectorAll('#functions tbody tr').length > 0"),
        true
    );
    assert_eq!(
        browser.value("document.querySelector('#functions th').getAttribute('aria-sort')"),
        "descending"
    );
    // The function with most time, between its callers and its callees: no frame is wider than it.
    browser.value("document.querySelector('#functions td button').click()");
    assert_eq!(
        browser
            .value("document.querySelector('#flame-status').textContent.startsWith('callers of ')"),
        true
    );
    let chosen = "document.querySelector('.frame.middle').title.startsWith(document.querySelector('#functions td button').textContent + ': ')";
    assert_eq!(browser.value(chosen), true);
    let widest = "[...document.querySelectorAll('.frame')].every((frame) => \
                  frame.getBoundingClientRect().width <= document.querySelector('.frame.middle').getBoundingClientRect().width + 1)";
    assert_eq!(browser.value(widest), true);
    assert_eq!(
        browser.value("document.querySelector('#next').textContent.includes(' -- ')"),
        true
    );
    let code = browser.value("document.querySelector('#functions td a').getAttribute('href')");
    let code = code.as_str().expect("a link").to_owned();
    assert!(code.starts_with("function/"), "{code}");
    browser.value("document.querySelector('#reset').click()");
    assert_eq!(
        browser.value("document.querySelector('.frame').title.startsWith('all: 100')"),
        true
    );
    browser.value("document.querySelector('#functions th button').click()");
    assert_eq!(
        browser.value("document.querySelector('#functions th').getAttribute('aria-sort')"),
        "ascending"
    );
    browser.value("const i = document.querySelector('#function-filter'); i.value = 'no such function'; i.dispatchEvent(new Event('input'))");
    assert_eq!(
        browser.value("document.querySelectorAll('#functions tbody tr').length"),
        0
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.frame').length > 1"),
        true
    );
    // What is drawn is as wide as it says, also where that is less than a letter.
    let true_widths = "[...document.querySelectorAll('.frame')].every((frame) => \
                       Math.abs(frame.getBoundingClientRect().width - \
                       parseFloat(frame.title.split(': ').pop()) / 100 * document.querySelector('#flame').clientWidth) < 2)";
    assert_eq!(browser.value(true_widths), true);
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        true
    );
    browser.value("document.querySelectorAll('.frame')[document.querySelectorAll('.frame').length - 1].click()");
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        false
    );
    browser.value("document.querySelector('#invert').click()");
    assert_eq!(
        browser.value("document.querySelectorAll('.frame').length > 1"),
        true
    );
    assert_eq!(
        browser.value("document.documentElement.scrollWidth <= innerWidth"),
        true
    );

    for page in [
        format!("case/{investigation}"),
        format!("case/{comparison}"),
        format!("compare?a={investigation}&b={investigation}"),
    ] {
        browser.open(&server.link(&page));
        assert_eq!(
            browser.value("document.querySelector('nav a').textContent"),
            "all cases"
        );
    }
    browser.value("document.querySelector('nav a').click()");
    browser.until(&format!("location.href === {}", json!(server.link(""))));
    assert_eq!(
        browser.value("document.querySelectorAll('script').length"),
        1
    );
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}
