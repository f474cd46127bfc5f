//! What the file says of this host.

use std::fs;

use crate::perfdata::bytes::Cursor;
use crate::perfdata::writer::Description;

/// Now, in the clock of the samples (`CLOCK_MONOTONIC`), ns.
pub fn monotonic_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
}

/// CPUs that are online.
pub fn online_cpus() -> Vec<i32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse_cpu_list(text.trim());
    if cpus.is_empty() {
        let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        return (0..n as i32).collect();
    }
    cpus
}

/// `0-3,8` as numbers.
fn parse_cpu_list(text: &str) -> Vec<i32> {
    const MOST: i32 = 1 << 16;
    let mut out = Vec::new();
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
            out.extend((first.max(0)..=last.min(MOST)).take(MOST as usize));
        }
    }
    out
}

/// Describes this host and the recorder.
pub fn describe(command: &[String]) -> Description {
    let names = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let online = online_cpus().len() as u32;
    Description {
        hostname: text(names.nodename()),
        os_release: text(names.release()),
        version: format!("genba {}", env!("CARGO_PKG_VERSION")),
        arch: text(names.machine()),
        cpus: (online, online),
        command: command.to_vec(),
        sample_time: None,
        kernel_build_id: fs::read("/sys/kernel/notes")
            .ok()
            .and_then(|n| build_id(&n)),
    }
}

/// The GNU build id among ELF notes.
fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let mut c = Cursor::new(notes);
    loop {
        let (name, desc, kind) = (c.u32()?, c.u32()?, c.u32()?);
        let name = c.take((name as usize).next_multiple_of(4))?;
        let content = c.take(desc as usize)?;
        c.skip((desc as usize).next_multiple_of(4) - desc as usize)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(content.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_cpu_list("x,3"), [3]);
        assert!(parse_cpu_list("").is_empty());
    }

    #[test]
    fn notes() {
        let mut notes = b"\x04\0\0\0\x01\0\0\0\x07\0\0\0Xen\0z\0\0\0".to_vec();
        notes.extend(b"\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0abc\0");
        assert_eq!(build_id(&notes).as_deref(), Some(&b"abc"[..]));
        assert_eq!(build_id(&notes[..20]), None);
    }
}
