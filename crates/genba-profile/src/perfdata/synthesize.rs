//! Records that the recorder writes itself, for threads and mappings that existed before.

use genba_symbols::Mapping;

use super::record::{kind, misc};

/// The trailer of every record that is not a sample. Must agree with the attribute that
/// `sampler::event_attr` builds: TID, TIME, CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trailer {
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Time, ns; 0 sorts before everything.
    pub time: u64,
    /// CPU.
    pub cpu: u32,
}

fn record(kind: u32, misc: u16, body: &[u8], trailer: Trailer) -> Vec<u8> {
    let size = 8 + body.len() + 24;
    let mut out = Vec::with_capacity(size);
    out.extend(kind.to_le_bytes());
    out.extend(misc.to_le_bytes());
    // Bodies are paths of at most PATH_MAX and names: far below 64 KiB.
    out.extend((size as u16).to_le_bytes());
    out.extend(body);
    out.extend(trailer.pid.to_le_bytes());
    out.extend(trailer.tid.to_le_bytes());
    out.extend(trailer.time.to_le_bytes());
    out.extend(u64::from(trailer.cpu).to_le_bytes());
    out
}

fn padded(text: &str) -> Vec<u8> {
    const PATH_MAX: usize = 4096;
    let mut out = text.as_bytes()[..text.len().min(PATH_MAX - 1)].to_vec();
    out.resize((out.len() + 1).next_multiple_of(8), 0);
    out
}

/// The record of a thread's name; `exec` if `execve` set it.
#[must_use]
pub fn comm(pid: i32, tid: i32, name: &str, exec: bool, time: u64) -> Vec<u8> {
    let mut body = pid.to_le_bytes().to_vec();
    body.extend(tid.to_le_bytes());
    body.extend(padded(name));
    let flags = if exec { misc::COMM_EXEC } else { 0 };
    let trailer = Trailer {
        pid,
        tid,
        time,
        cpu: 0,
    };
    record(kind::COMM, flags, &body, trailer)
}

/// The record of a thread or process that started (`kind::FORK`) or ended (`kind::EXIT`).
#[must_use]
pub fn task(kind: u32, pid: i32, ppid: i32, tid: i32, ptid: i32, time: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(24);
    for n in [pid, ppid, tid, ptid] {
        body.extend(n.to_le_bytes());
    }
    body.extend(time.to_le_bytes());
    record(
        kind,
        0,
        &body,
        Trailer {
            pid,
            tid,
            time,
            cpu: 0,
        },
    )
}

/// The record of a kernel mapping (`pid` -1), of the old type as perf writes it.
#[must_use]
pub fn kernel_map(start: u64, len: u64, pgoff: u64, name: &str) -> Vec<u8> {
    let mut body = (-1i32).to_le_bytes().to_vec();
    body.extend(0i32.to_le_bytes());
    for n in [start, len, pgoff] {
        body.extend(n.to_le_bytes());
    }
    body.extend(padded(name));
    let trailer = Trailer {
        pid: -1,
        ..Trailer::default()
    };
    record(kind::MMAP, misc::KERNEL, &body, trailer)
}

/// The record of a process's mapping.
#[must_use]
pub fn user_map(pid: i32, tid: i32, map: &Mapping, time: u64) -> Vec<u8> {
    let mut body = pid.to_le_bytes().to_vec();
    body.extend(tid.to_le_bytes());
    for n in [map.start, map.end.saturating_sub(map.start), map.offset] {
        body.extend(n.to_le_bytes());
    }
    body.extend(map.device.0.to_le_bytes());
    body.extend(map.device.1.to_le_bytes());
    body.extend(map.inode.to_le_bytes());
    body.extend(0u64.to_le_bytes()); // inode generation
    body.extend(map.prot.to_le_bytes());
    body.extend(
        (if map.shared {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        })
        .to_le_bytes(),
    );
    body.extend(padded(if map.path.is_empty() {
        "//anon"
    } else {
        &map.path
    }));
    record(
        kind::MMAP2,
        misc::USER,
        &body,
        Trailer {
            pid,
            tid,
            time,
            cpu: 0,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdata::record::{self as parse, Raw};

    const LINE: &str =
        "7f00-8f00 r-xp 00001000 fe:01 4711                       /opt/a b/x.so (deleted)";

    #[test]
    fn written_records_read_back() {
        let line = Mapping::parse(LINE).unwrap();
        assert_eq!(line.path, "/opt/a b/x.so (deleted)");
        let bytes = user_map(7, 8, &line, 9);
        let (raw, size) = Raw::parse(&bytes).unwrap();
        assert_eq!(size, bytes.len());
        let map = parse::mmap(&raw).unwrap();
        assert_eq!(
            (map.pid, map.start, map.len, map.pgoff),
            (7, 0x7f00, 0x1000, 0x1000)
        );
        assert_eq!(
            (map.inode, map.executable, map.path.as_str()),
            (4711, true, line.path.as_str())
        );
        let bytes = comm(1, 2, "name", true, 3);
        let (raw, _) = Raw::parse(&bytes).unwrap();
        assert_eq!(parse::comm(&raw), Some((1, 2, "name".to_owned(), true)));
    }
}
