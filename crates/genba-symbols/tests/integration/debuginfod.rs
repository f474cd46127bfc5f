//! Debug files from a server that answers on this machine.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use genba_symbols::{Binary, DebugSearch, Debuginfod};

/// What the server answers to a path.
type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server of one request at a time; it ends with the test's process.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn start(answer: Box<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                    request.push(byte[0]);
                }
                counter.fetch_add(1, Ordering::SeqCst);
                let text = String::from_utf8_lossy(&request).into_owned();
                let path = text.split(' ').nth(1).unwrap_or("").to_owned();
                // The client may have closed the connection: too large an answer.
                let _ = stream.write_all(&answer(&path));
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn response(status: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A stripped program, and the bytes of its debug file.
struct Stripped {
    _directory: tempfile::TempDir,
    path: PathBuf,
    debug: Vec<u8>,
}

fn stripped(test: &str) -> Option<Stripped> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let source = "int twice(int x) { return 2 * x; }\nint main(int c, char **v) { (void)v; return twice(c); }\n";
    std::fs::write(at("a.c"), source).unwrap();
    let run = |tool: &str, arguments: &[&str]| {
        let mut command = Command::new(tool);
        command.current_dir(directory.path()).args(arguments);
        command.output().is_ok_and(|out| out.status.success())
    };
    if !run("gcc", &["-g", "-Wl,--build-id", "-o", "program", "a.c"]) {
        genba_testing::skip(test, "gcc", "gcc does not work here");
        return None;
    }
    if !run("objcopy", &["--only-keep-debug", "program", "debug"])
        || !run("objcopy", &["--strip-all", "program"])
    {
        genba_testing::skip(test, "objcopy", "objcopy does not work here");
        return None;
    }
    Some(Stripped {
        path: at("program"),
        debug: std::fs::read(at("debug")).unwrap(),
        _directory: directory,
    })
}

fn search(server: Debuginfod) -> DebugSearch {
    DebugSearch {
        roots: Vec::new(),
        caches: vec![server.cache.clone()],
        debuginfod: Some(Arc::new(server)),
    }
}

fn open(path: &Path, search: &DebugSearch) -> Binary {
    Binary::open_with(path, search.clone()).unwrap()
}

#[test]
fn debug_file_is_downloaded_once_and_kept_in_the_cache() {
    let Some(program) = stripped("debug_file_is_downloaded_once_and_kept_in_the_cache") else {
        return;
    };
    let id = open(&program.path, &DebugSearch::none())
        .build_id()
        .unwrap();
    let (debug, wanted) = (program.debug.clone(), format!("/buildid/{id}/debuginfo"));
    let server = Server::start(Box::new(move |path| {
        if path == wanted {
            response("200 OK", &debug)
        } else {
            response("404 Not Found", b"")
        }
    }));
    let cache = tempfile::tempdir().unwrap();
    let servers = vec![server.url.clone()];
    let search = search(Debuginfod::new(servers, cache.path().to_owned()));
    let binary = open(&program.path, &search);
    assert_eq!(binary.symbols_source(), "debuginfod");
    let twice = &binary.find("twice")[0];
    assert_eq!(binary.line_at(twice.address).unwrap().line, Some(1));
    assert_eq!(binary.problems(), Vec::<String>::new());
    assert_eq!(server.requests(), 1);
    let kept = std::fs::read(cache.path().join(&id).join("debuginfo")).unwrap();
    assert_eq!(kept, program.debug);
    // From the cache, as gdb would.
    assert_eq!(open(&program.path, &search).symbols_source(), "build-id");
    assert_eq!(server.requests(), 1);
}

#[test]
fn second_server_is_asked_when_the_first_has_no_file() {
    let Some(program) = stripped("second_server_is_asked_when_the_first_has_no_file") else {
        return;
    };
    let first = Server::start(Box::new(|_| response("404 Not Found", b"")));
    let debug = program.debug.clone();
    let second = Server::start(Box::new(move |_| response("200 OK", &debug)));
    let cache = tempfile::tempdir().unwrap();
    let servers = vec![first.url.clone(), second.url.clone()];
    let search = search(Debuginfod::new(servers, cache.path().to_owned()));
    assert_eq!(open(&program.path, &search).symbols_source(), "debuginfod");
    assert_eq!((first.requests(), second.requests()), (1, 1));
}

#[test]
fn unknown_build_id_is_not_an_error() {
    let Some(program) = stripped("unknown_build_id_is_not_an_error") else {
        return;
    };
    let server = Server::start(Box::new(|_| response("404 Not Found", b"")));
    let cache = tempfile::tempdir().unwrap();
    let servers = vec![server.url.clone()];
    let search = search(Debuginfod::new(servers, cache.path().to_owned()));
    let binary = open(&program.path, &search);
    assert_eq!(binary.symbols_source(), "none: stripped");
    assert_eq!(binary.problems(), Vec::<String>::new());
}

#[test]
fn file_of_another_build_id_is_not_used() {
    let Some(program) = stripped("file_of_another_build_id_is_not_used") else {
        return;
    };
    let other = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let server = Server::start(Box::new(move |_| response("200 OK", &other)));
    let cache = tempfile::tempdir().unwrap();
    let servers = vec![server.url.clone()];
    let search = search(Debuginfod::new(servers, cache.path().to_owned()));
    assert_eq!(
        open(&program.path, &search).symbols_source(),
        "none: stripped"
    );
}

#[test]
fn file_larger_than_the_limit_is_refused_and_not_kept() {
    let Some(program) = stripped("file_larger_than_the_limit_is_refused_and_not_kept") else {
        return;
    };
    let debug = program.debug.clone();
    let server = Server::start(Box::new(move |_| response("200 OK", &debug)));
    let cache = tempfile::tempdir().unwrap();
    let mut servers = Debuginfod::new(vec![server.url.clone()], cache.path().to_owned());
    servers.max_size = 1000;
    let binary = open(&program.path, &search(servers));
    assert_eq!(binary.symbols_source(), "none: stripped");
    let problems = binary.problems();
    assert!(problems[0].contains("DEBUGINFOD_MAXSIZE"), "{problems:?}");
    let id = binary.build_id().unwrap();
    let kept = std::fs::read_dir(cache.path().join(id)).unwrap().count();
    assert_eq!(kept, 0);
}

#[test]
fn server_that_does_not_answer_is_reported_and_asked_once() {
    let Some(program) = stripped("server_that_does_not_answer_is_reported_and_asked_once") else {
        return;
    };
    // Accepted by the kernel, never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let cache = tempfile::tempdir().unwrap();
    let mut servers = Debuginfod::new(vec![url], cache.path().to_owned());
    servers.max_time = Duration::from_secs(1);
    let search = search(servers);
    for _ in 0..2 {
        let binary = open(&program.path, &search);
        assert_eq!(binary.symbols_source(), "none: stripped");
        let problems = binary.problems();
        assert!(problems[0].contains("DEBUGINFOD_MAXTIME"), "{problems:?}");
    }
    silent.set_nonblocking(true).unwrap();
    assert!(silent.accept().is_ok(), "it was asked");
    assert!(silent.accept().is_err(), "it was asked once");
}

#[test]
fn https_without_the_client_program_says_what_is_missing() {
    let Some(program) = stripped("https_without_the_client_program_says_what_is_missing") else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let servers = vec!["https://debuginfod.example".to_owned()];
    let search = search(Debuginfod::new(servers, cache.path().to_owned()));
    let binary = open(&program.path, &search);
    assert_eq!(binary.symbols_source(), "none: stripped");
    let problems = binary.problems();
    assert!(problems[0].contains("debuginfod-find"), "{problems:?}");
}

#[test]
fn installed_client_program_is_asked_first() {
    let Some(program) = stripped("installed_client_program_is_asked_first") else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let debug = cache.path().join("found.debug");
    std::fs::write(&debug, &program.debug).unwrap();
    let id = open(&program.path, &DebugSearch::none())
        .build_id()
        .unwrap();
    // In place of debuginfod-find; it knows one build id.
    let client = cache.path().join("debuginfod-find");
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = \"debuginfo {id}\" ] && [ -n \"$DEBUGINFOD_URLS\" ] || \
         {{ echo 'Server query failed: No such file or directory' >&2; exit 1; }}\n\
         echo {}\n",
        debug.display()
    );
    std::fs::write(&client, script).unwrap();
    let chmod = Command::new("chmod").arg("+x").arg(&client).status();
    assert!(chmod.is_ok_and(|status| status.success()));
    let mut servers = Debuginfod::new(vec!["https://unused".into()], cache.path().to_owned());
    servers.client = Some(client);
    let search = search(servers);
    let binary = open(&program.path, &search);
    assert_eq!(binary.symbols_source(), "debuginfod");
    assert_eq!(binary.find("twice").len(), 1);
}
