//! What the integration tests share.
use std::time::{Duration, Instant};

use genba_run::{Cancel, CommandSpec, Finished, Launcher};

/// A launcher and a token that nobody triggers.
pub fn launcher() -> (Launcher, Cancel) {
    (
        Launcher::new().expect("a launcher"),
        Cancel::new().expect("a token"),
    )
}

/// Runs one spec.
pub fn run(spec: &CommandSpec) -> Finished {
    let (mut launcher, cancel) = launcher();
    launcher.run(spec, &cancel).expect("a run")
}

/// Whether a process with this marker among its arguments exists (zombies have none).
pub fn marked(marker: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|&pid| pid != own)
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(marker.len())
                .any(|window| window == marker.as_bytes())
        })
        .collect()
}

/// Waits until a condition holds; fails after half a minute.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A string that no other test and no other run of this test uses.
pub fn marker(name: &str) -> String {
    format!("genba-{name}-{}", std::process::id())
}

/// Whether a tool is there; says so where it is not.
pub fn have(test: &str, tool: &str) -> bool {
    let path = std::env::var_os("PATH");
    let found = genba_run::resolve_program(tool.as_ref(), path.as_deref(), None).is_ok();
    if !found {
        genba_testing::skip(test, tool, &format!("{tool} is not installed"));
    }
    found
}

/// A Python that is a program, not one of the shell scripts that choose among versions and
/// whose own processes would show in the account.
pub fn python(test: &str) -> Option<&'static str> {
    let found = std::path::Path::new("/usr/bin/python3").exists();
    if !found {
        genba_testing::skip(test, "python3", "there is no /usr/bin/python3");
    }
    found.then_some("/usr/bin/python3")
}
