//! Which connections have one request at a time, so that their requests are known.

use std::collections::HashMap;

use super::kept_requests::{KeptRequests, SeenRequest, SeenRequests, SharedConnections};
use super::read_contents::ReadContents;

/// Requests of a connection that wait for a look at what it carries, and of all connections.
const MAX_HELD: usize = 64;
const MAX_HELD_OF_ALL: usize = 20_000;
/// Reads that are not HTTP/2 after which a connection is taken for one of another protocol: a buffer may have been
/// overwritten before it was looked at.
const MIN_OTHER: u32 = 3;

/// What was seen of a connection.
#[derive(Debug, Default)]
pub struct ConnectionUse {
    /// Reads that took something in.
    pub reads: u64,
    protocol: Protocol,
    looked_at: u64,
    requests: u64,
    is_encrypted: bool,
    is_counted: bool,
    /// Requests from before it was known.
    held: Vec<SeenRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// So many reads were looked at and are not HTTP/2.
    Unknown(u32),
    /// One request at a time, as far as can be seen.
    Other,
    Http2,
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Unknown(0)
    }
}

impl ConnectionUse {
    /// Whether requests share the connection.
    pub fn is_shared(&self) -> bool {
        self.protocol == Protocol::Http2
    }
}

/// Requests of the connections that have one at a time, and how many have several.
#[derive(Debug, Default)]
pub struct Uses {
    kept: KeptRequests,
    /// Connections that had a request.
    served: u64,
    encrypted: u64,
    shared: SharedConnections,
    held: usize,
    /// What the last connection of each process was that could be looked at.
    of_process: HashMap<i32, Protocol>,
}

impl Uses {
    /// Adds a request of a connection.
    pub fn add(&mut self, used: &mut ConnectionUse, request: SeenRequest) {
        match used.protocol {
            Protocol::Http2 => {}
            Protocol::Unknown(_) if used.held.len() < MAX_HELD && self.held < MAX_HELD_OF_ALL => {
                used.held.push(request);
                self.held += 1;
            }
            Protocol::Unknown(_) | Protocol::Other => {
                self.release(used);
                self.keep(used, request);
            }
        }
    }

    /// A read of a connection was looked at.
    pub fn has_read(&mut self, pid: i32, used: &mut ConnectionUse, contents: ReadContents) {
        used.is_encrypted |= contents == ReadContents::Encrypted;
        match (contents, used.protocol) {
            (ReadContents::Http2 { requests }, _) => {
                used.looked_at += 1;
                used.requests += u64::from(requests);
                used.protocol = Protocol::Http2;
                self.forget_held(used);
                self.of_process.insert(pid, Protocol::Http2);
            }
            (ReadContents::Other, Protocol::Unknown(others)) if others + 1 < MIN_OTHER => {
                used.protocol = Protocol::Unknown(others + 1);
            }
            (_, Protocol::Unknown(_)) => {
                used.protocol = Protocol::Other;
                self.release(used);
                self.of_process.insert(pid, Protocol::Other);
            }
            _ => {}
        }
    }

    /// A connection has ended, or is not watched any more. One that could not be looked at is like the last of its
    /// process that could.
    pub fn ended(&mut self, pid: i32, mut used: ConnectionUse) {
        let of_process = self.of_process.get(&pid).copied();
        if let Protocol::Unknown(_) = used.protocol {
            used.protocol = of_process.unwrap_or_default();
        }
        if used.is_shared() {
            self.forget_held(&mut used);
            self.shared.connections += 1;
            self.shared.reads += used.reads;
            self.shared.looked_at += used.looked_at;
            self.shared.requests += used.requests;
        } else {
            self.release(&mut used);
            self.encrypted += u64::from(used.is_encrypted && used.is_counted);
        }
    }

    /// All that was kept.
    pub fn finish(self, lost: u64, of_all_calls: bool) -> SeenRequests {
        SeenRequests {
            shared: self.shared,
            encrypted: self.encrypted,
            ..self.kept.finish(self.served, lost, of_all_calls)
        }
    }

    fn keep(&mut self, used: &mut ConnectionUse, request: SeenRequest) {
        self.served += u64::from(!used.is_counted);
        used.is_counted = true;
        self.kept.add(request);
    }

    fn release(&mut self, used: &mut ConnectionUse) {
        let held = std::mem::take(&mut used.held);
        self.held -= held.len();
        for request in held {
            self.keep(used, request);
        }
    }

    fn forget_held(&mut self, used: &mut ConnectionUse) {
        self.held -= std::mem::take(&mut used.held).len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(ns: u64) -> SeenRequest {
        SeenRequest {
            began: 0,
            ns,
            tid: 1,
            handed_over: false,
            parts: Vec::new(),
        }
    }

    const HTTP2: ReadContents = ReadContents::Http2 { requests: 4 };

    #[test]
    fn connections_that_requests_share_have_none_of_them_in_the_figures() {
        let mut uses = Uses::default();
        let mut used = ConnectionUse {
            reads: 3,
            ..ConnectionUse::default()
        };
        uses.add(&mut used, request(1));
        uses.has_read(1, &mut used, HTTP2);
        assert!(used.is_shared());
        uses.add(&mut used, request(2));
        uses.has_read(1, &mut used, ReadContents::Other);
        uses.ended(1, used);
        let all = uses.finish(0, true);
        assert_eq!((all.count, all.connections), (0, 0));
        let shared = SharedConnections {
            connections: 1,
            reads: 3,
            looked_at: 1,
            requests: 4,
        };
        assert_eq!(all.shared, shared);
    }

    #[test]
    fn requests_from_before_the_first_look_are_kept_where_they_do_not_share() {
        let mut uses = Uses::default();
        let mut used = ConnectionUse::default();
        uses.add(&mut used, request(1));
        uses.has_read(1, &mut used, ReadContents::Encrypted);
        uses.add(&mut used, request(2));
        let mut many = ConnectionUse::default();
        for ns in 0..2 * MAX_HELD as u64 {
            uses.add(&mut many, request(ns));
        }
        uses.ended(1, used);
        uses.ended(1, many);
        let all = uses.finish(0, true);
        assert_eq!(all.count, 2 + 2 * MAX_HELD as u64);
        assert_eq!((all.connections, all.encrypted), (2, 1));
    }

    #[test]
    fn a_connection_that_was_not_looked_at_is_like_the_last_of_its_process() {
        let mut uses = Uses::default();
        let mut used = ConnectionUse::default();
        uses.has_read(1, &mut used, HTTP2);
        uses.ended(1, used);
        for pid in [1, 2] {
            let mut short = ConnectionUse::default();
            uses.add(&mut short, request(7));
            uses.ended(pid, short);
        }
        let all = uses.finish(0, true);
        assert_eq!((all.count, all.shared.connections), (1, 2));
    }

    #[test]
    fn some_overwritten_buffers_are_not_another_protocol() {
        let mut uses = Uses::default();
        let mut used = ConnectionUse::default();
        uses.add(&mut used, request(1));
        for _ in 1..MIN_OTHER {
            uses.has_read(1, &mut used, ReadContents::Other);
        }
        uses.has_read(1, &mut used, HTTP2);
        uses.ended(1, used);
        assert_eq!(uses.finish(0, true).count, 0);
    }
}
