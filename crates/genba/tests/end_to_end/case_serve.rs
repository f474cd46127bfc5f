//! `genba case serve`: by HTTP as a hostile page would ask.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::case_server::{Server, case_of, make_comparison};
use crate::support::{interrupt, run_genba, scratch};
use serde_json::Value;

/// Longest time in which something must have happened. Far more than it takes.
const LIMIT: Duration = Duration::from_secs(60);

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
fn waits_have_flame_graphs_in_the_explorer() {
    let directory = scratch();
    let (code, _, said) = run_genba(directory.path(), &["wait", "--", "sleep", "0.4"]);
    assert_eq!(code, 0, "{said}");
    let case = case_of(directory.path(), "waits");
    let server = Server::start(directory.path());
    assert!(server.page(&format!("case/{case}")).contains("/explore"));
    let page = server.page(&format!("case/{case}/explore"));
    assert!(page.contains(&format!("genba report --off-cpu -i {case}")));
    let text = server.page(&format!("case/{case}/profile.json"));
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let graph = &found["graphs"][0];
    assert_eq!(graph["label"], "off CPU: waiting");
    // Nanoseconds of all threads: the one thread slept nearly all of the time.
    let slept = graph["frames"][0][2].as_f64().expect("a weight") / 1e9;
    assert!(slept > 0.3, "{slept} s");
    assert!(graph["names"].to_string().contains("[sleep]"), "{graph}");
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
