//! What a thread waits for that polls several descriptors at once.

use std::io::Read;

use genba_model::WaitReason;

use super::descriptor_peers::DescriptorPeers;
use super::waited_for::{Enders, Named, WaitedFor, of_descriptor};
use crate::process_memory::read_memory;

/// Most descriptors that are looked at: who has more is an event loop, which waits for any of its clients.
const MAX_POLLED: usize = 16;
/// Bytes that describe so many of an epoll instance.
const MAX_TEXT: u64 = 4096;

/// The descriptors of an epoll instance that are watched for something, from `/proc/PID/fdinfo/FD` (proc(5));
/// `None` where they are too many or not readable.
pub fn of_epoll(pid: i32, number: i32) -> Option<Vec<i32>> {
    let file = std::fs::File::open(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
    let mut text = String::new();
    file.take(MAX_TEXT).read_to_string(&mut text).ok()?;
    let polled = watched(&text);
    (polled.len() <= MAX_POLLED && text.len() < MAX_TEXT as usize).then_some(polled)
}

/// The descriptors of lines `tfd: 3 events: 19 data: …` that have an event besides errors.
fn watched(text: &str) -> Vec<i32> {
    const EVENTS: u32 = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLPRI | libc::EPOLLRDHUP) as u32;
    let of_line = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let events = words.nth(1)?;
        let events = u32::from_str_radix(events, 16).ok()?;
        (events & EVENTS != 0).then_some(number)
    };
    text.lines().filter_map(of_line).collect()
}

/// The descriptors of `count` structures of `poll` (poll(2)) at an address of a process.
pub fn of_poll(pid: i32, address: u64, count: u64) -> Option<Vec<i32>> {
    const SIZE: usize = 8;
    let count = usize::try_from(count).ok().filter(|n| *n <= MAX_POLLED)?;
    let mut bytes = [0; MAX_POLLED * SIZE];
    let bytes = &mut bytes[..count * SIZE];
    (read_memory(pid, address, bytes) == bytes.len()).then(|| polled(bytes))
}

/// Descriptors that are negative or ask for nothing are left out, as the kernel does.
fn polled(bytes: &[u8]) -> Vec<i32> {
    let (structures, _) = bytes.as_chunks::<8>();
    let of_one = |bytes: &[u8; 8]| {
        let [a, b, c, d, low, high, ..] = *bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        (number >= 0 && [low, high] != [0, 0]).then_some(number)
    };
    structures.iter().filter_map(of_one).collect()
}

/// The descriptors below `limit` in the sets of `select` (select(2)) at these addresses, 0 for none.
pub fn of_select(pid: i32, limit: u64, sets: [u64; 2]) -> Option<Vec<i32>> {
    const MAX_LIMIT: u64 = libc::FD_SETSIZE as u64;
    let bytes = usize::try_from(limit.min(MAX_LIMIT)).ok()?.div_ceil(64) * 8;
    let mut polled = Vec::new();
    for address in sets.into_iter().filter(|address| *address != 0) {
        let mut set = [0; libc::FD_SETSIZE / 8];
        let set = &mut set[..bytes];
        if read_memory(pid, address, set) < bytes {
            return None;
        }
        polled.extend(selected(set, limit));
    }
    (polled.len() <= MAX_POLLED).then_some(polled)
}

/// The numbers of the bits that are set.
fn selected(set: &[u8], limit: u64) -> impl Iterator<Item = i32> {
    let bits = set.iter().enumerate().flat_map(|(at, byte)| {
        (0..8).filter_map(move |bit| (byte >> bit & 1 == 1).then_some(at * 8 + bit))
    });
    bits.filter(move |bit| (*bit as u64) < limit)
        .map(|bit| bit as i32)
}

/// What a wait for any of these is for. With one connection among them, or several to one process, that is awaited: the others
/// are there for new connections, signals and the end of a parent. Of connections to several processes nobody knows which.
/// Without one, a signal of another process ends it, or another thread of this one.
pub fn waited_for(pid: i32, polled: &[i32], peers: &mut DescriptorPeers) -> WaitedFor {
    let name = |number: &i32| std::fs::read_link(format!("/proc/{pid}/fd/{number}"));
    let names: Vec<(i32, String)> = polled
        .iter()
        .filter_map(|number| Some((*number, name(number).ok()?.to_string_lossy().into_owned())))
        .collect();
    let wait = |reason, object, enders| WaitedFor {
        reason,
        object,
        enders,
    };
    let unknown = wait(WaitReason::Poll, Named::Nothing, Enders::Nobody);
    let of_kind = |kind: &str| names.iter().find(|(_, name)| name.starts_with(kind));
    // A process that has both ends of a socket wakes its own threads by it.
    let mut own = None;
    let mut sockets = Vec::new();
    for found in names.iter().filter(|(_, name)| name.starts_with("socket:")) {
        match peers.other_ends(pid, &found.1, true) {
            Enders::Processes(pids) if pids == [pid] => own = Some(found),
            enders => {
                let listens = peers.listens(&found.1);
                if listens {
                    peers.servers.insert(pid);
                }
                sockets.push((found.0, enders, listens));
            }
        }
    }
    // Who has connections to one watched process only waits for that rather than for new ones.
    let mut connected = sockets.iter().filter(|(.., listens)| !listens);
    if let Some(first @ (_, Enders::Processes(pids), _)) = connected.next()
        && pids.len() == 1
        && connected.all(|other| other.1 == first.1)
    {
        sockets = vec![first.clone()];
    }
    if names.len() < polled.len() {
        return unknown;
    }
    match (names.as_slice(), sockets.as_slice()) {
        ([(one, _)], _) | (_, [(one, ..)]) => of_descriptor(pid, *one, peers)
            // A file is always ready: the wait is for something else.
            .filter(|found| found.reason != WaitReason::File)
            .unwrap_or(unknown),
        (_, []) => {
            let object = |found: &(i32, String)| Named::Descriptor(found.1.clone());
            if let Some(signals) = of_kind("anon_inode:[signalfd]") {
                wait(
                    WaitReason::Condition,
                    object(signals),
                    Enders::OtherProcesses,
                )
            } else if let Some(event) = of_kind("anon_inode:[eventfd]").or(own) {
                wait(
                    WaitReason::Condition,
                    object(event),
                    Enders::OthersInProcess,
                )
            } else {
                unknown
            }
        }
        _ => unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    #[test]
    fn descriptors_that_ask_for_nothing_are_left_out() {
        let text = "pos:\t0\nflags:\t02\ntfd:        3 events:       19 data: 1  pos:0 ino:1 sdev:f\n\
                    tfd:        6 events:       18 data: 2\ntfd: x\n";
        assert_eq!(watched(text), [3]);
        let structures = [
            [3, 0, 0, 0, 1, 0, 0, 0],
            [255, 255, 255, 255, 1, 0, 0, 0],
            [5, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(polled(structures.as_flattened()), [3]);
        let of_set = |set: &[u8], limit| selected(set, limit).collect::<Vec<_>>();
        assert_eq!(of_set(&[0b1001, 0, 0b10], 24), [0, 3, 17]);
        assert_eq!(of_set(&[0b1001, 0, 0b10], 17), [0, 3]);
    }

    #[test]
    fn what_a_set_is_polled_for() {
        let pid = std::process::id() as i32;
        let mut peers = DescriptorPeers::default();
        // SAFETY: a new descriptor that nobody else has.
        let event = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut look = |polled: &[i32]| waited_for(pid, polled, &mut peers).reason;
        let [event, socket, reader] = [event.as_raw_fd(), socket.as_raw_fd(), reader.as_raw_fd()];
        assert_eq!(look(&[event, reader]), WaitReason::Condition);
        assert_eq!(look(&[event, reader, socket]), WaitReason::Socket);
        assert_eq!(look(&[reader]), WaitReason::Pipe);
        assert_eq!(look(&[socket, socket]), WaitReason::Poll);
        assert_eq!(look(&[1_000_000]), WaitReason::Poll);
    }

    #[test]
    fn connections_to_one_process_are_a_wait_for_it() {
        use std::os::unix::net::{UnixListener, UnixStream};
        use std::process::{Child, Command};
        let pid = std::process::id() as i32;
        let pair = || UnixStream::pair().unwrap();
        let started = |input: UnixStream, output: UnixStream| -> Child {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(OwnedFd::from(input));
            command.stdout(OwnedFd::from(output)).spawn().unwrap()
        };
        let [(one, its), (two, its_other), (three, other), (_four, more)] =
            [pair(), pair(), pair(), pair()];
        let mut children = [started(its, its_other), started(other, more)];
        let pids = [children[0].id() as i32, children[1].id() as i32];
        let mut peers = DescriptorPeers::default();
        peers.processes = vec![pid, pids[0], pids[1]];
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let [one, two, three] = [one, two, three].map(OwnedFd::from);
        let listener = OwnedFd::from(listener);
        let mut look = |polled: &[&OwnedFd]| {
            let polled: Vec<i32> = polled.iter().map(|one| one.as_raw_fd()).collect();
            let found = waited_for(pid, &polled, &mut peers);
            (found.reason, found.enders)
        };
        let of_first = (WaitReason::Socket, Enders::Processes(vec![pids[0]]));
        let unknown = (WaitReason::Poll, Enders::Nobody);
        let found = [
            look(&[&listener, &one]),
            look(&[&one, &two, &listener]),
            look(&[&one, &three]),
        ];
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, [of_first.clone(), of_first, unknown]);
        assert_eq!(peers.servers, [pid].into());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(tfd: *\\PC{0,30}\n){0,5}") {
            watched(&text);
        }
    }
}
