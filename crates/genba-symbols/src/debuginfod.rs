//! Debug files from debuginfod servers, where the user names some in `DEBUGINFOD_URLS`: by the
//! program `debuginfod-find`, else by HTTP (debuginfod(8), "WEBAPI"). Files go into the cache
//! that debuginfod's own tools share.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::build_id::hex;

/// Largest file that is downloaded where `DEBUGINFOD_MAXSIZE` does not say, bytes.
const DEFAULT_MAX_SIZE: u64 = 2 << 30;
/// Longest time for one file where `DEBUGINFOD_MAXTIME` does not say.
const DEFAULT_MAX_TIME: Duration = Duration::from_secs(120);
/// How often a running `debuginfod-find` is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Most of what `debuginfod-find` prints that is read, bytes.
const MAX_OUTPUT: u64 = 64 << 10;

/// Servers of debug files, and where downloaded files are kept.
#[derive(Debug)]
pub struct Debuginfod {
    /// Base addresses of the servers, in the order in which they are asked.
    pub servers: Vec<String>,
    /// Directory of downloaded files.
    pub cache: PathBuf,
    /// The program `debuginfod-find`, if it is installed.
    pub client: Option<PathBuf>,
    /// Largest file that is downloaded, bytes.
    pub max_size: u64,
    /// Longest time for one file.
    pub max_time: Duration,
    /// Why no server is asked again: one that does not answer is waited for once only.
    unreachable: OnceLock<String>,
}

impl Debuginfod {
    /// Servers to be asked without any program.
    #[must_use]
    pub fn new(servers: Vec<String>, cache: PathBuf) -> Self {
        Self {
            servers,
            cache,
            client: None,
            max_size: DEFAULT_MAX_SIZE,
            max_time: DEFAULT_MAX_TIME,
            unreachable: OnceLock::new(),
        }
    }

    /// What the user's environment asks for; `None` if it names no server.
    #[must_use]
    pub fn from_environment(cache: &Path) -> Option<Arc<Self>> {
        static SHARED: OnceLock<Option<Arc<Debuginfod>>> = OnceLock::new();
        let read = || {
            let text = |name| std::env::var(name).unwrap_or_default();
            let number = |name| text(name).trim().parse::<u64>().ok().filter(|&n| n > 0);
            let servers = text("DEBUGINFOD_URLS");
            let servers: Vec<String> = servers.split_whitespace().map(str::to_owned).collect();
            if servers.is_empty() {
                return None;
            }
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut programs =
                std::env::split_paths(&path).map(|directory| directory.join("debuginfod-find"));
            Some(Arc::new(Self {
                client: programs.find(|program| program.is_file()),
                max_size: number("DEBUGINFOD_MAXSIZE").unwrap_or(DEFAULT_MAX_SIZE),
                max_time: number("DEBUGINFOD_MAXTIME")
                    .map_or(DEFAULT_MAX_TIME, Duration::from_secs),
                ..Self::new(servers, cache.to_owned())
            }))
        };
        SHARED.get_or_init(read).clone()
    }

    /// The file with the debug information of a build id; `None` if no server has it.
    ///
    /// # Errors
    /// A sentence that says why the servers could not be asked.
    pub(crate) fn debug_file(&self, build_id: &[u8]) -> Result<Option<PathBuf>, String> {
        if let Some(reason) = self.unreachable.get() {
            return Err(reason.clone());
        }
        let id = hex(build_id);
        let found = match &self.client {
            Some(client) => self.ask_client(client, &id),
            None => self.ask_servers(&id),
        };
        if let Err(reason) = &found {
            let _ = self.unreachable.set(reason.clone());
        }
        found
    }

    fn ask_client(&self, client: &Path, id: &str) -> Result<Option<PathBuf>, String> {
        let failed = |error: io::Error| format!("cannot run {}: {error}", client.display());
        let mut child = Command::new(client)
            .args(["debuginfo", id])
            .env("DEBUGINFOD_URLS", self.servers.join(" "))
            .env("DEBUGINFOD_CACHE_PATH", &self.cache)
            .env("DEBUGINFOD_MAXSIZE", self.max_size.to_string())
            .env("DEBUGINFOD_MAXTIME", self.max_time.as_secs().to_string())
            .env_remove("DEBUGINFOD_PROGRESS")
            .env_remove("DEBUGINFOD_VERBOSE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let started = Instant::now();
        // It prints a line: no pipe fills up while it is waited for.
        let status = loop {
            match child.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if started.elapsed() > self.max_time => {
                    // It may have ended meanwhile.
                    let _ = child.kill();
                    child.wait().map_err(failed)?;
                    return Err(self.timed_out());
                }
                None => std::thread::sleep(POLL_INTERVAL),
            }
        };
        let output = read_some(child.stdout.take());
        if status.success() {
            let path = output.lines().next().unwrap_or_default();
            return Ok(Some(PathBuf::from(path)));
        }
        let errors = read_some(child.stderr.take());
        if errors.contains("No such file") {
            return Ok(None);
        }
        let reason = errors.lines().next().unwrap_or("it failed");
        Err(format!("debuginfod-find: {reason}"))
    }

    fn ask_servers(&self, id: &str) -> Result<Option<PathBuf>, String> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(self.max_time))
            .http_status_as_error(false)
            .build()
            .into();
        let mut problem = None;
        for server in &self.servers {
            match self.download(&agent, server, id) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(reason) => problem = Some(format!("{server}: {reason}")),
            }
        }
        problem.map_or(Ok(None), Err)
    }

    /// Downloads a file into the cache, in which it appears when it is complete.
    fn download(
        &self,
        agent: &ureq::Agent,
        server: &str,
        id: &str,
    ) -> Result<Option<PathBuf>, String> {
        if server.starts_with("https:") {
            return Err(
                "HTTPS needs the program debuginfod-find (Debian's package debuginfod)".to_owned(),
            );
        }
        let url = format!("{}/buildid/{id}/debuginfo", server.trim_end_matches('/'));
        let mut response = agent.get(&url).call().map_err(|error| match error {
            ureq::Error::Timeout(_) => self.timed_out(),
            other => other.to_string(),
        })?;
        match response.status().as_u16() {
            200 => {}
            404 => return Ok(None),
            status => return Err(format!("the server answers with status {status}")),
        }
        let directory = self.cache.join(id);
        let failed = |error: io::Error| format!("cannot store the file: {error}");
        fs::create_dir_all(&directory).map_err(failed)?;
        let part = directory.join(format!("debuginfo.{}.part", std::process::id()));
        let body = response.body_mut().as_reader();
        let stored = self.store(body, &part).and_then(|()| {
            let path = directory.join("debuginfo");
            fs::rename(&part, &path).map_err(failed)?;
            Ok(path)
        });
        if stored.is_err() {
            // Nobody reads a part; removing it is all that can be done.
            let _ = fs::remove_file(&part);
        }
        stored.map(Some)
    }

    fn store(&self, body: impl Read, path: &Path) -> Result<(), String> {
        let mut file: File = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let size = io::copy(&mut body.take(self.max_size.saturating_add(1)), &mut file)
            .map_err(|error| format!("the download broke off: {error}"))?;
        if size > self.max_size {
            return Err(format!(
                "the file is larger than {} bytes; raise DEBUGINFOD_MAXSIZE",
                self.max_size
            ));
        }
        Ok(())
    }

    fn timed_out(&self) -> String {
        format!(
            "no answer within {} s; raise DEBUGINFOD_MAXTIME",
            self.max_time.as_secs()
        )
    }
}

/// Directory in which debuginfod's tools keep files (debuginfod-find(1), "CACHE").
#[must_use]
pub fn debuginfod_cache() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| value != OsStr::new(""))
            .map(PathBuf::from)
    };
    variable("DEBUGINFOD_CACHE_PATH")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("debuginfod_client")))
        .or_else(|| Some(variable("HOME")?.join(".cache/debuginfod_client")))
}

fn read_some(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What could not be read says nothing.
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
