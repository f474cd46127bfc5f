//! Who is at the other end of a pipe or socket.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::io_ring::RingPlaces;
use super::waited_for::Enders;
use crate::sampler::thread_cpu_time;

/// Descriptors that are looked at of each process.
const MAX_DESCRIPTORS: usize = 4096;
/// How long the list of open descriptors is used.
const FRESH: Duration = Duration::from_millis(200);

/// A process with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    pid: i32,
    reads: bool,
    writes: bool,
}

/// The pipes and sockets that the watched processes have open.
#[derive(Debug, Default)]
pub struct DescriptorPeers {
    /// The watched processes.
    pub processes: Vec<i32>,
    /// The io_urings of these.
    pub rings: RingPlaces,
    holders: HashMap<String, Vec<Holder>>,
    read_at: Option<Instant>,
    /// Socket inodes with the inode of the other end.
    socket_peers: HashMap<String, Option<String>>,
    /// Sockets that accept connections.
    listeners: HashSet<String>,
    /// Processes that polled one of them beside others.
    pub servers: HashSet<i32>,
    connections: ConnectionLists,
}

/// The kernel's lists of TCP connections: where thousands have just ended, reading one takes tens of milliseconds.
#[derive(Debug, Default)]
struct ConnectionLists {
    /// CPU time spent.
    spent: Duration,
    rests_until: Option<Instant>,
}

impl ConnectionLists {
    /// The time after a look in times of its CPU time, which thus has a hundredth of a CPU.
    const REST: u32 = 100;
    /// CPU time before the first rest: where lists are short, all ends are known at once.
    const FREE: Duration = Duration::from_millis(40);

    /// What a TCP socket is; `Err` where it is too early to look.
    fn socket(&mut self, pid: i32, inode: u32) -> Result<Socket, ()> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return Err(());
        }
        let before = thread_cpu_time();
        let found = ["tcp", "tcp6"].iter().find_map(|protocol| {
            let path = format!("/proc/{pid}/net/{protocol}");
            tcp_socket(&std::fs::read_to_string(path).ok()?, inode)
        });
        let cost = thread_cpu_time().saturating_sub(before);
        self.spent += cost;
        let rests = self.spent > Self::FREE;
        self.rests_until = rests.then(|| Instant::now() + cost * Self::REST);
        Ok(found.unwrap_or_default())
    }
}

/// What the kernel says of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Socket {
    /// Whether it accepts connections.
    listens: bool,
    /// The inode at the other end.
    peer: Option<u32>,
}

/// State of a socket that listens, of TCP as of Unix sockets (`TCP_LISTEN` of Linux' tcp_states.h).
const LISTEN: u8 = 10;

impl DescriptorPeers {
    /// The watched processes that have the other end of a pipe or socket: those that may write where
    /// the waiting one reads, and the other way round.
    pub fn other_ends(&mut self, pid: i32, name: &str, reads: bool) -> Enders {
        let other = if name.starts_with("socket:") {
            match self.peer_of_socket(pid, name) {
                Some(other) => other,
                None => return Enders::Nobody,
            }
        } else {
            name.to_owned()
        };
        let fresh = self.read_at.is_some_and(|at| at.elapsed() < FRESH);
        if !fresh || !self.holders.contains_key(&other) {
            self.read();
        }
        let socket = other.starts_with("socket:");
        let holders = self.holders.get(&other).map_or(&[][..], Vec::as_slice);
        let fits = |holder: &&Holder| socket || if reads { holder.writes } else { holder.reads };
        let mut found: Vec<i32> = holders
            .iter()
            .filter(fits)
            .map(|holder| holder.pid)
            .collect();
        found.dedup();
        // Descriptors are inherited: who waits himself is at both ends only if nobody else is.
        if found.iter().any(|other| *other != pid) {
            found.retain(|other| *other != pid);
        }
        if found.is_empty() {
            Enders::Nobody
        } else {
            Enders::Processes(found)
        }
    }

    /// The name at the other end of a pipe or socket that was looked up.
    pub fn known_other_end<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        match name.split_once(':')?.0 {
            "pipe" => Some(name),
            _ => self.socket_peers.get(name)?.as_deref(),
        }
    }

    /// Whether a socket that was looked up accepts connections.
    pub fn listens(&self, name: &str) -> bool {
        self.listeners.contains(name)
    }

    /// CPU time that was spent on lists of connections, which has a limit of its own.
    pub fn spent_on_connections(&self) -> Duration {
        self.connections.spent
    }

    /// The other end of `socket:[INODE]`, as far as it is known.
    fn peer_of_socket(&mut self, pid: i32, name: &str) -> Option<String> {
        if let Some(known) = self.socket_peers.get(name) {
            return known.clone();
        }
        let inode: u32 = name
            .strip_prefix("socket:[")?
            .strip_suffix(']')?
            .parse()
            .ok()?;
        let socket = match unix_socket(inode).ok().flatten() {
            Some(socket) => socket,
            None => self.connections.socket(pid, inode).ok()?,
        };
        if socket.listens {
            self.listeners.insert(name.to_owned());
        }
        let found = socket.peer.map(|peer| format!("socket:[{peer}]"));
        self.socket_peers.insert(name.to_owned(), found.clone());
        found
    }

    fn read(&mut self) {
        // No more often than the list is worth: a wait for somebody outside would read it each time.
        let too_early = Duration::from_millis(20);
        if self.read_at.is_some_and(|at| at.elapsed() < too_early) {
            return;
        }
        self.holders.clear();
        for pid in &self.processes {
            let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
                continue;
            };
            for entry in entries.flatten().take(MAX_DESCRIPTORS) {
                let Ok(link) = std::fs::read_link(entry.path()) else {
                    continue;
                };
                let name = link.to_string_lossy();
                let is_fifo = || {
                    use std::os::unix::fs::FileTypeExt;
                    name.starts_with('/')
                        && !name.starts_with("/dev/")
                        && std::fs::metadata(entry.path())
                            .is_ok_and(|found| found.file_type().is_fifo())
                };
                if !(name.starts_with("pipe:") || name.starts_with("socket:") || is_fifo()) {
                    continue;
                }
                let mode = entry
                    .metadata()
                    .map_or(0, |found| found.permissions().mode());
                self.holders
                    .entry(name.into_owned())
                    .or_default()
                    .push(Holder {
                        pid: *pid,
                        reads: mode & 0o400 != 0,
                        writes: mode & 0o200 != 0,
                    });
            }
        }
        self.read_at = Some(Instant::now());
    }
}

/// A socket in the text of `/proc/net/tcp` (proc_net_tcp(5)); the other end has local and remote address exchanged.
fn tcp_socket(text: &str, inode: u32) -> Option<Socket> {
    let row = |line: &str| -> Option<(String, String, u8, u32)> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (words.next()?.to_owned(), words.next()?.to_owned());
        let state = u8::from_str_radix(words.next()?, 16).ok()?;
        Some((local, remote, state, words.nth(5)?.parse().ok()?))
    };
    let (local, remote, state, _) = text.lines().filter_map(row).find(|row| row.3 == inode)?;
    let peer = text
        .lines()
        .filter_map(row)
        .find(|row| row.0 == remote && row.1 == local && row.3 != inode);
    Some(Socket {
        listens: state == LISTEN,
        peer: peer.map(|row| row.3),
    })
}

/// A Unix socket, by sock_diag(7); `None` where it is not one.
fn unix_socket(inode: u32) -> io::Result<Option<Socket>> {
    const NETLINK_SOCK_DIAG: i32 = 4;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const UDIAG_SHOW_PEER: u32 = 4;
    const UNIX_DIAG_PEER: u16 = 2;
    const HEADER: usize = 16;
    const MESSAGE: usize = 16;
    // SAFETY: no pointers.
    let socket = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
            NETLINK_SOCK_DIAG,
        )
    };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut request = Vec::with_capacity(HEADER + 24);
    request.extend(40u32.to_le_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_le_bytes());
    request.extend(NLM_F_REQUEST.to_le_bytes());
    request.extend([0; 8]);
    // struct unix_diag_req.
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    request.extend(u32::MAX.to_le_bytes());
    request.extend(inode.to_le_bytes());
    request.extend(UDIAG_SHOW_PEER.to_le_bytes());
    request.extend([0xff; 8]);
    // SAFETY: the buffer is as long as said.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut reply = [0u8; 512];
    // SAFETY: the buffer is as long as said.
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            reply.as_mut_ptr().cast(),
            reply.len(),
            0,
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    let reply = &reply[..received];
    let half = |at: usize| Some(u16::from_le_bytes(reply.get(at..at + 2)?.try_into().ok()?));
    if half(4) != Some(SOCK_DIAG_BY_FAMILY) {
        return Ok(None);
    }
    // The state in struct unix_diag_msg.
    let mut socket = Socket {
        listens: reply.get(HEADER + 2) == Some(&LISTEN),
        peer: None,
    };
    let mut at = HEADER + MESSAGE;
    while let (Some(length), Some(kind)) = (half(at), half(at + 2)) {
        if kind == UNIX_DIAG_PEER {
            let value = reply
                .get(at + 4..at + 8)
                .and_then(|word| word.try_into().ok());
            socket.peer = value.map(u32::from_le_bytes);
        }
        if length < 4 {
            break;
        }
        at += usize::from(length).next_multiple_of(4);
    }
    Ok(Some(socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsRawFd;

    fn name_of(descriptor: &impl AsRawFd) -> String {
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        std::fs::read_link(link).unwrap().display().to_string()
    }

    #[test]
    fn ends_of_sockets_and_pipes_are_found() {
        let me = std::process::id() as i32;
        let mut peers = DescriptorPeers {
            processes: vec![me],
            ..Default::default()
        };
        let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(
            peers.peer_of_socket(me, &name_of(&one)),
            Some(name_of(&two))
        );
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        assert_eq!(peers.peer_of_socket(me, &name_of(&listener)), None);
        assert!(peers.listens(&name_of(&listener)));
        assert_eq!(
            peers.peer_of_socket(me, &name_of(&near)),
            Some(name_of(&far))
        );
        assert!(!peers.listens(&name_of(&near)));
        // The next one is looked up later, and is not taken for one without another end.
        peers.connections.rests_until = Some(Instant::now() + Duration::from_secs(3600));
        assert_eq!(peers.peer_of_socket(me, &name_of(&far)), None);
        peers.connections.rests_until = None;
        assert_eq!(
            peers.peer_of_socket(me, &name_of(&far)),
            Some(name_of(&near))
        );
        let (reader, writer) = std::io::pipe().unwrap();
        assert_eq!(
            peers.other_ends(me, &name_of(&reader), true),
            Enders::Processes(vec![me])
        );
        drop(writer);
        peers.read_at = None;
        assert_eq!(
            peers.other_ends(me, &name_of(&reader), true),
            Enders::Nobody
        );
    }

    proptest! {
        #[test]
        fn any_table_is_survived(text in "[ 0-9A-F:\n]*", inode in any::<u32>()) {
            tcp_socket(&text, inode);
        }
    }
}
