//! Who holds a lock on a file, by the kernel's list of such locks (proc(5), `/proc/locks`).

use super::waited_for::Enders;

/// Who holds the file lock that a process waits for. A lock of an open file description has no process.
pub fn holder(pid: i32) -> Enders {
    let list = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    match holder_in(&list, pid) {
        Some(holder) => Enders::Processes(vec![holder]),
        None => Enders::Nobody,
    }
}

/// The process whose lock is in front of the first one that `pid` waits for. A line has a number, kind, mode, access,
/// process and range; those that wait follow the lock that they wait for, with its number and an arrow.
fn holder_in(list: &str, pid: i32) -> Option<i32> {
    let mut held: Option<(&str, i32)> = None;
    for line in list.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?;
        let waits = line.contains("->");
        // An arrow, kind, mode and access are before it.
        let process = words.nth(if waits { 4 } else { 3 });
        let Some(process) = process.and_then(|word| word.parse::<i32>().ok()) else {
            continue;
        };
        if !waits {
            held = Some((number, process));
        } else if process == pid {
            let of_it = held.filter(|(of, holder)| *of == number && *holder > 0);
            return of_it.map(|(_, holder)| holder);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const LIST: &str = "\
1: FLOCK  ADVISORY  WRITE 71 fe:00:10117617 0 EOF
2: POSIX  ADVISORY  READ 72 fe:00:10117471 128 128
2: -> POSIX  ADVISORY  WRITE 73 fe:00:10117471 128 128
2:  -> POSIX  ADVISORY  WRITE 74 fe:00:10117471 128 128
3: OFDLCK ADVISORY  WRITE -1 fe:00:10117469 0 EOF
3: -> FLOCK  ADVISORY  WRITE 75 fe:00:10117469 0 EOF
";

    #[test]
    fn holders_are_read_from_the_list() {
        assert_eq!(holder_in(LIST, 73), Some(72));
        assert_eq!(holder_in(LIST, 74), Some(72));
        assert_eq!(holder_in(LIST, 75), None);
        assert_eq!(holder_in(LIST, 71), None);
    }

    #[test]
    fn holder_of_a_lock_that_another_process_waits_for_is_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().lock().unwrap();
        let path = file.path();
        let mut waiting = (Command::new("flock").arg(path).arg("true").spawn()).unwrap();
        let began = Instant::now();
        let mut found = Enders::Nobody;
        while found == Enders::Nobody && began.elapsed() < Duration::from_secs(60) {
            found = holder(waiting.id().cast_signed());
            std::thread::yield_now();
        }
        file.as_file().unlock().unwrap();
        assert!(waiting.wait().unwrap().success());
        let own = std::process::id().cast_signed();
        assert_eq!(found, Enders::Processes(vec![own]));
        assert_eq!(holder(own), Enders::Nobody);
    }

    proptest! {
        #[test]
        fn any_list_is_survived(list in "[ 0-9A-Z:>\\-\n]*", pid in any::<i32>()) {
            let _ = holder_in(&list, pid);
        }
    }
}
