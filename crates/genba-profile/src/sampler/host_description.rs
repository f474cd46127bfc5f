//! The description of this host that a recording carries.

use std::fs;
use std::time::Duration;

use crate::perfdata::byte_cursor::Cursor;
use crate::perfdata::writer::Description;

/// The present time in the clock of the samples (`CLOCK_MONOTONIC`), ns.
pub fn monotonic_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
}

/// Time of CLOCK_REALTIME, ns.
pub fn realtime_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
}

/// CPU time of the calling thread.
pub fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Since the thread's start, so neither part is negative.
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// The numbers of the CPUs that are online.
pub fn online_cpus() -> Vec<i32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let Ok(cpus) = genba_units::parse_cpu_list(&text) else {
        let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        return (0..n as i32).collect();
    };
    cpus.into_iter().map(|cpu| cpu as i32).collect()
}

/// Returns the description of this host, the recorder and its command line.
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

/// Returns the GNU build id among ELF notes.
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
    fn gnu_build_id_is_found_among_other_notes() {
        let mut notes = b"\x04\0\0\0\x01\0\0\0\x07\0\0\0Xen\0z\0\0\0".to_vec();
        notes.extend(b"\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0abc\0");
        assert_eq!(build_id(&notes).as_deref(), Some(&b"abc"[..]));
        assert_eq!(build_id(&notes[..20]), None);
    }
}
