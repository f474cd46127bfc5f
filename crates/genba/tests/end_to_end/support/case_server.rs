//! `genba case serve` for tests.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{interrupt, stdout_of};

/// A name that does harm wherever it is not escaped.
pub const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// A server for the cases of a directory.
pub struct Server {
    pub child: Child,
    pub port: u16,
    pub token: String,
}

impl Server {
    pub fn start(directory: &Path) -> Self {
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
    pub fn send(&self, request: &str) -> (u16, String, String) {
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

    pub fn ask(&self, path: &str, more: &str) -> (u16, String, String) {
        let port = self.port;
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// The body of a page below the token.
    pub fn page(&self, path: &str) -> String {
        let (status, _, body) = self.ask(&format!("/{}/{path}", self.token), "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub fn link(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{}/{path}", self.port, self.token)
    }

    pub fn end(mut self) {
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
pub fn case_of(directory: &Path, kind: &str) -> String {
    let listed: Value =
        serde_json::from_str(&stdout_of(directory, &["case", "list", "--json"])).expect("JSON");
    let cases = listed["cases"].as_array().expect("a list");
    let found = cases
        .iter()
        .find(|case| case["kind"] == kind)
        .expect("a case");
    found["id"].as_str().expect("an id").to_owned()
}

/// A comparison with a hostile name; returns its id.
pub fn make_comparison(directory: &Path) -> String {
    stdout_of(
        directory,
        &[
            "bench", "-N", "-r", "2", "-n", HOSTILE, "true", "-n", "b", "true",
        ],
    );
    case_of(directory, "comparison")
}
