//! A PostgreSQL server for one test: in a directory of its own, on a Unix socket.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::skip;

/// The need that a skip names.
pub const POSTGRESQL: &str = "postgresql";

/// A running server; dropping it stops it and removes its directory.
#[derive(Debug)]
pub struct PostgresServer {
    directory: PathBuf,
    server: Child,
}

impl PostgresServer {
    /// Starts a server; skips `test` where PostgreSQL is not installed.
    ///
    /// # Panics
    /// Where it is installed but does not start.
    #[must_use]
    pub fn start(test: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            skip(test, POSTGRESQL, "the PostgreSQL server is not installed");
            return None;
        };
        // A socket's path has at most 107 bytes, so not below a long TMPDIR.
        let made = run(Command::new("mktemp").args(["-d", "/tmp/genba-pg.XXXXXX"]));
        let directory = PathBuf::from(made.trim());
        let is_root = run(Command::new("id").arg("-u")).trim() == "0";
        if is_root {
            run(Command::new("chown").arg("nobody").arg(&directory));
        }
        // The server refuses to run as root, and ends with the thread that started it.
        let command = |program: &str| {
            let mut command = Command::new("setpriv");
            if is_root {
                command.args(["--reuid=nobody", "--clear-groups"]);
            }
            command.arg("--pdeathsig=INT").arg(programs.join(program));
            command.current_dir("/");
            command
        };
        let data = directory.join("data");
        run(command("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=genba",
                "-E",
                "UTF8",
                "-D",
            ])
            .arg(&data));
        let mut server = command("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&directory)
            .args([
                "-c",
                "listen_addresses=",
                "-c",
                "fsync=off",
                "-c",
                "max_connections=80",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut log = BufReader::new(server.stderr.take().expect("a pipe"));
        let mut text = String::new();
        while !text.contains("ready to accept connections") {
            let read = log.read_line(&mut text).expect("the server's log");
            assert!(read > 0, "{test}: PostgreSQL does not start: {text}");
        }
        // A full pipe would stop the server.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Some(Self { directory, server })
    }

    /// URL of the server's database.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres:///postgres?user=genba&host={}",
            self.directory.display()
        )
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGINT ends the sessions and shuts down.
        let process = self.server.id().to_string();
        let _ = Command::new("kill").args(["-INT", &process]).status();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The directory of the newest server's programs, which Debian does not put into `PATH`.
fn programs() -> Option<PathBuf> {
    let of_path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    directories.sort();
    directories.reverse();
    directories.extend(std::env::split_paths(&of_path));
    let complete =
        |directory: &Path| directory.join("initdb").exists() && directory.join("postgres").exists();
    directories
        .into_iter()
        .find(|directory| complete(directory))
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("a program");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
