//! Temporary files that a killed valgrind leaves behind.
//!
//! valgrind creates `valgrind_proc_PID_cmdline_RANDOM` (and `status`, `auxv`) in `$TMPDIR` when it
//! starts, and unlinks them a moment later; one that is killed between the two leaves them. Neither
//! another directory (the target would see the other `$TMPDIR`) nor an option prevents that.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const PREFIX: &str = "valgrind_proc_";

/// Removes what valgrinds of this user, which have ended, left in the directory for temporary files.
/// To be called when all processes of a run under valgrind have ended.
pub fn remove_files_of_ended_valgrinds() {
    remove_below(&std::env::temp_dir(), |pid| {
        Path::new("/proc").join(pid.to_string()).exists()
    });
}

fn remove_below(parent: &Path, lives: impl Fn(u32) -> bool) {
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(process_of) else {
            continue;
        };
        let path = entry.path();
        let ours = fs::symlink_metadata(&path).is_ok_and(|it| it.is_file() && it.uid() == own);
        if ours && !lives(pid) {
            // The next run tries again.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns 17 for `valgrind_proc_17_cmdline_da6895cd`.
fn process_of(name: &str) -> Option<u32> {
    let (pid, rest) = name.strip_prefix(PREFIX)?.split_once('_')?;
    let (kind, random) = rest.split_once('_')?;
    let known = matches!(kind, "cmdline" | "status" | "auxv");
    let hexadecimal = random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    pid.parse().ok().filter(|_| known && hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ended_valgrinds_are_removed_and_others_stay() {
        let parent = tempfile::tempdir().expect("a directory");
        let all = [
            "valgrind_proc_17_cmdline_da6895cd",
            "valgrind_proc_17_auxv_00000001",
            "valgrind_proc_18_cmdline_da6895cd",
            "valgrind_proc_17_notes_da6895cd",
            "valgrind_proc_17_cmdline_mine",
            "valgrind_proc_x_cmdline_da6895cd",
            "valgrind_proc_17",
        ];
        for name in all {
            fs::write(parent.path().join(name), "x").expect("written");
        }
        fs::create_dir(parent.path().join("valgrind_proc_17_status_da6895cd")).expect("made");
        remove_below(parent.path(), |pid| pid == 18);
        for name in &all[..2] {
            assert!(!parent.path().join(name).exists(), "{name}");
        }
        for name in &all[2..] {
            assert!(parent.path().join(name).exists(), "{name}");
        }
        assert!(
            parent
                .path()
                .join("valgrind_proc_17_status_da6895cd")
                .exists()
        );
    }
}
