//! `genba wait --requests` from end to end, as the user who runs the tests and, where that is root, as another.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;

use crate::support::scratch;
use crate::wait::{list, number, waits};
use serde_json::Value;

/// Answers lines; one that says "slow" after a sleep. Ends with the line "end".
const SERVER: &str = "
import socket, sys, time
listener = socket.create_server(('127.0.0.1', 0))
with open('port.part', 'w') as file: file.write(str(listener.getsockname()[1]))
import os; os.rename('port.part', 'port')
connection, _ = listener.accept()
while True:
    line = connection.recv(100)
    if line == b'slow': time.sleep(0.2)
    connection.send(b'done')
    if line == b'end': break
";

/// Asks the server in a directory 60 times, three times slowly, once it is there.
fn client(directory: &Path) -> JoinHandle<()> {
    let port = directory.join("port");
    std::thread::spawn(move || {
        let port: u16 = loop {
            match fs::read_to_string(&port) {
                Ok(text) => break text.parse().unwrap(),
                Err(_) => std::thread::yield_now(),
            }
        };
        let mut connection = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut ask = |line: &str| {
            connection.write_all(line.as_bytes()).unwrap();
            let mut answer = [0; 4];
            connection.read_exact(&mut answer).unwrap();
        };
        for number in 0..60 {
            ask(if number % 20 == 7 { "slow" } else { "fast" });
        }
        ask("end");
    })
}

/// Checks the document of a server with `client`; a skip where this machine does not record calls.
fn hold(test: &str, all: &Value) {
    let requests = &all["requests"];
    if requests.is_null() {
        let notes = all["notes"].to_string();
        assert!(notes.contains("requests were not watched"), "{notes}");
        return genba_testing::skip(test, "tracepoints", &notes);
    }
    assert_eq!(
        (&requests["count"], &requests["connections"]),
        (&61.into(), &1.into())
    );
    assert_eq!(requests["lost_records"], 0);
    let slowest = list(requests, "slowest");
    assert!(
        slowest[..3]
            .iter()
            .all(|one| number(&one["seconds"]) >= 0.2),
        "{requests}"
    );
    for one in &slowest[..3] {
        assert_eq!(one["most"]["call"], "clock_nanosleep", "{requests}");
        assert_eq!(one["most"]["state"], "sleep", "{requests}");
    }
    let first = &list(requests, "parts")[0];
    assert_eq!(first["call"], "clock_nanosleep", "{requests}");
    assert_eq!(
        (&first["slow_requests"], &first["fast_seconds"]),
        (&3.into(), &0.0.into())
    );
}

#[test]
fn slow_requests_of_a_server_have_what_they_waited_for() {
    let test = "slow_requests_of_a_server_have_what_they_waited_for";
    let directory = scratch();
    let client = client(directory.path());
    let command = ["python3", "-c", SERVER];
    let found = waits(test, directory.path(), &["--requests"], &command);
    let Some((all, code)) = found else {
        return;
    };
    client.join().expect("the client ended");
    assert_eq!(code, 0);
    hold(test, &all);
}

#[test]
fn slow_requests_are_seen_without_root() {
    let test = "slow_requests_are_seen_without_root";
    let directory = scratch();
    let is_root = rustix::process::geteuid().is_root();
    let run = |command: &mut Command| command.output();
    let prepared = run(Command::new("chown").arg("nobody").arg(directory.path()));
    let can_be_another =
        run(Command::new("setpriv").args(["--reuid=nobody", "--clear-groups", "true"]))
            .is_ok_and(|output| output.status.success());
    if is_root && !(can_be_another && prepared.is_ok_and(|output| output.status.success())) {
        return genba_testing::skip(
            test,
            "setpriv",
            "this machine has no setpriv or no user nobody",
        );
    }
    let genba = env!("CARGO_BIN_EXE_genba");
    let mut command = match is_root {
        true => Command::new("setpriv"),
        false => Command::new(genba),
    };
    if is_root {
        command.args(["--reuid=nobody", "--clear-groups", genba]);
    }
    let client = client(directory.path());
    let output = command
        .args(["wait", "--requests", "--no-case", "--json=waits.json"])
        .args(["--", "python3", "-c", SERVER])
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(126) {
        return genba_testing::skip(
            test,
            "setpriv",
            "another user may not run this build of genba",
        );
    }
    if output.status.code() == Some(4) {
        return genba_testing::skip(test, genba_testing::PERF_EVENT, &said);
    }
    client.join().expect("the client ended");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = fs::read_to_string(directory.path().join("waits.json")).expect("a document");
    let all: Value = serde_json::from_str(&text).expect("one JSON document");
    hold(test, &all);
    let sources = all["sources"].to_string();
    assert!(
        all["requests"].is_null() || sources.contains("need root"),
        "{sources}"
    );
}
