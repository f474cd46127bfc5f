//! Which descriptors of a process are connections that it, or a process that it inherited them from, accepted.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often the kernel's tables are read again for a socket that is not in them.
const AGAIN: Duration = Duration::from_millis(10);
/// Longest table that is read, bytes.
const MAX_TABLE: usize = 16 << 20;

/// The sockets of the kernel's tables (proc_net_tcp(5), `/proc/net/unix`).
#[derive(Debug, Default)]
pub struct AcceptedSockets {
    /// Inodes, with whether they are the server's end.
    known: HashMap<u64, bool>,
    read_at: Option<Instant>,
}

impl AcceptedSockets {
    /// Whether a descriptor is the server's end of a connection; `None` where it is not known (any more).
    pub fn is_accepted(&mut self, pid: i32, descriptor: u64) -> Option<bool> {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
        let name = link.to_str()?;
        let Some(inode) = name.strip_prefix("socket:[") else {
            return Some(false);
        };
        let inode = inode.strip_suffix(']')?.parse().ok()?;
        if !self.known.contains_key(&inode) && self.read_at.is_none_or(|at| at.elapsed() > AGAIN) {
            self.read(pid);
        }
        self.known.get(&inode).copied()
    }

    fn read(&mut self, pid: i32) {
        self.read_at = Some(Instant::now());
        self.known.clear();
        let table = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/net/{name}"));
            text.ok().filter(|text| text.len() <= MAX_TABLE)
        };
        let tcp: Vec<String> = ["tcp", "tcp6"].into_iter().filter_map(table).collect();
        self.known.extend(ends_of_tcp(&tcp));
        self.known
            .extend(ends_of_unix(&table("unix").unwrap_or_default()));
    }
}

/// Inodes of connections with whether their local port is one on which somebody listens.
fn ends_of_tcp(tables: &[String]) -> Vec<(u64, bool)> {
    const LISTEN: &str = "0A";
    let row = |line: &str| -> Option<(String, bool, u64)> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let port = words.get(1)?.rsplit_once(':')?.1.to_owned();
        Some((port, *words.get(3)? == LISTEN, words.get(9)?.parse().ok()?))
    };
    let rows: Vec<_> = tables
        .iter()
        .flat_map(|table| table.lines().skip(1).filter_map(row))
        .collect();
    let listening: HashSet<&str> = rows
        .iter()
        .filter(|(_, listens, _)| *listens)
        .map(|(port, ..)| port.as_str())
        .collect();
    let connections = rows.iter().filter(|(_, listens, _)| !listens);
    connections
        .map(|(port, _, inode)| (*inode, listening.contains(port.as_str())))
        .collect()
}

/// Inodes of connected sockets with whether they have the listener's name, as accepted ones do.
fn ends_of_unix(table: &str) -> Vec<(u64, bool)> {
    const CONNECTED: &str = "03";
    let row = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let inode = words.get(6)?.parse().ok()?;
        (*words.get(5)? == CONNECTED).then_some((inode, words.len() > 7))
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_of_own_connections_are_told_apart() {
        let pid = std::process::id() as i32;
        let mut sockets = AcceptedSockets::default();
        let mut known = |end: &dyn AsRawFd| sockets.is_accepted(pid, end.as_raw_fd() as u64);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(known(&server), Some(true));
        assert_eq!(known(&client), Some(false));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut sockets = AcceptedSockets::default();
        let mut known = |end: &dyn AsRawFd| sockets.is_accepted(pid, end.as_raw_fd() as u64);
        assert_eq!(known(&server), Some(true));
        assert_eq!(known(&client), Some(false));
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(known(&file), Some(false));
        drop(server);
        let mut none = [0];
        assert_eq!(client.read(&mut none).unwrap(), 0);
        assert_eq!(sockets.is_accepted(pid, 1 << 20), None);
    }

    proptest! {
        #[test]
        fn any_table_is_survived(text in "\\PC{0,200}") {
            let _ = ends_of_tcp(std::slice::from_ref(&text));
            let _ = ends_of_unix(&text);
        }
    }
}
