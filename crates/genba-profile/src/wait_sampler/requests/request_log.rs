//! Requests from the records of system calls and switches, in the order of time.

use std::collections::{HashMap, VecDeque};

use super::call_kinds::{reads, waits_for_any, waits_for_work, writes};
use super::kept_requests::{KeptRequests, PartKind, SeenPart, SeenRequest, SeenRequests};
use crate::wait_sampler::StateIndex;

/// Most threads that are followed at a time.
const MAX_THREADS: usize = 4_000;
/// Most descriptors.
const MAX_CONNECTIONS: usize = 50_000;
/// Pieces of the time of all threads that are kept: a request may go back so far. 110 MB.
const MAX_PIECES: usize = 2_000_000;
/// Least and most of one thread.
const PIECES_OF_THREAD: (usize, usize) = (500, 16_000);

/// What a record says of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// It calls the kernel.
    Enter {
        /// Number of the system call.
        number: i64,
        /// Its first argument.
        first: u64,
    },
    /// The kernel returns.
    Exit {
        /// Number of the system call.
        number: i64,
        /// What it returns; below 0 an error.
        result: i64,
    },
    /// It gets a CPU.
    In,
    /// It loses its CPU and could go on.
    Preempted,
    /// It gives up its CPU.
    Blocks,
    /// It ends.
    Ends,
    /// Records before this one were lost, of any threads.
    Lost,
    /// A snapshot saw it blocked in a system call.
    Seen {
        /// Number of the system call.
        call: i64,
        /// The state.
        state: StateIndex,
    },
}

/// A record of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// CLOCK_MONOTONIC, ns.
    pub time: u64,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// What happens.
    pub event: CallEvent,
}

/// A stretch of a thread's time in which it did one thing.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    ns: u64,
    kind: PartKind,
    call: i64,
    state: Option<StateIndex>,
    /// The connection that it served.
    connection: Option<u64>,
}

#[derive(Debug)]
struct Thread {
    /// The system call that it is in, with its first argument and when it was called.
    call: Option<(i64, u64, u64)>,
    kind: PartKind,
    since: u64,
    state: Option<StateIndex>,
    /// The call of that state: also one that is not recorded.
    seen_call: i64,
    /// The connection that it read from last or wrote to.
    connection: Option<u64>,
    /// When it was told last that descriptors are ready; 0 once it has waited for other work since. And when it
    /// got a CPU last.
    ready: u64,
    woken: u64,
    pieces: VecDeque<Piece>,
}

impl Thread {
    fn new(time: u64) -> Self {
        Self {
            call: None,
            kind: PartKind::Running,
            since: time,
            state: None,
            seen_call: -1,
            connection: None,
            ready: 0,
            woken: 0,
            pieces: VecDeque::new(),
        }
    }

    /// Ends the piece that is under way, and forgets those before the last `most`.
    fn end_piece(&mut self, time: u64, most: usize) {
        let ns = time.saturating_sub(self.since);
        let state = self.state.take();
        let seen_call = std::mem::replace(&mut self.seen_call, -1);
        if ns == 0 {
            return;
        }
        self.since = time;
        // A thread that is off the CPU is so for all that it serves.
        let on_cpu = self.kind == PartKind::Running;
        let connection = self.connection.filter(|_| on_cpu);
        self.pieces.push_back(Piece {
            end: time,
            ns,
            kind: self.kind,
            call: self.call.map_or(seen_call, |(number, ..)| number),
            state,
            connection,
        });
        while self.pieces.len() > most {
            self.pieces.pop_front();
        }
    }

    /// What it did between two times, for a connection.
    fn parts(&self, connection: u64, began: u64, ended: u64) -> Vec<SeenPart> {
        let mut parts: Vec<SeenPart> = Vec::new();
        let mut left = ended.saturating_sub(began);
        for piece in self.pieces.iter().rev() {
            let start = piece.end - piece.ns;
            if piece.end <= began {
                break;
            }
            let ns = piece.end.min(ended).saturating_sub(start.max(began));
            let others = piece.connection.is_some_and(|one| one != connection);
            let part = match others {
                true => SeenPart {
                    kind: PartKind::OtherRequests,
                    call: -1,
                    ns,
                    state: None,
                },
                false => SeenPart {
                    kind: piece.kind,
                    call: piece.call,
                    ns,
                    state: piece.state,
                },
            };
            left = left.saturating_sub(ns);
            add(&mut parts, part);
        }
        let unknown = SeenPart {
            kind: PartKind::Unknown,
            call: -1,
            ns: left,
            state: None,
        };
        add(&mut parts, unknown);
        parts
    }
}

fn add(parts: &mut Vec<SeenPart>, new: SeenPart) {
    let same =
        |one: &&mut SeenPart| (one.kind, one.call, one.state) == (new.kind, new.call, new.state);
    match parts.iter_mut().find(same) {
        Some(part) => part.ns += new.ns,
        None if new.ns > 0 => parts.push(new),
        None => {}
    }
}

#[derive(Debug)]
struct Connection {
    number: u64,
    /// When its request began, and the thread that read it.
    request: Option<(u64, i32)>,
    /// The request with its last answer so far.
    answered: Option<SeenRequest>,
    /// End of the last answer, or when it was accepted.
    last_end: u64,
    counted: bool,
}

/// Looks up whether a descriptor of a process is a connection that was accepted; `None` where that is not known.
pub type IsAccepted<'a> = dyn FnMut(i32, u64) -> Option<bool> + 'a;

/// Requests of all connections.
#[derive(Debug, Default)]
pub struct RequestLog {
    /// Not yet in order with what other buffers still have.
    pending: Vec<CallRecord>,
    /// Start of the last round: what is older is in `pending` by now, whichever buffer it was in.
    round: u64,
    threads: HashMap<i32, Thread>,
    /// By process and descriptor; `None` for what is not a connection that was accepted.
    connections: HashMap<(i32, u64), Option<Connection>>,
    next_number: u64,
    served: u64,
    /// Records of threads beyond those that are followed.
    not_followed: u64,
    kept: KeptRequests,
}

impl RequestLog {
    /// Adds a record.
    pub fn add(&mut self, record: CallRecord) {
        self.pending.push(record);
    }

    /// All buffers have been read once more, from `now` on.
    pub fn end_of_round(&mut self, now: u64, is_accepted: &mut IsAccepted<'_>) {
        let known = self.round;
        self.round = now;
        self.follow(known, is_accepted);
    }

    /// No more records will come from a trace that lost so many, and was of all calls or some.
    pub fn finish(
        mut self,
        (lost, of_all_calls): (u64, bool),
        is_accepted: &mut IsAccepted<'_>,
    ) -> SeenRequests {
        self.follow(u64::MAX, is_accepted);
        for connection in self.connections.into_values().flatten() {
            if let Some(answered) = connection.answered {
                self.kept.add(answered);
            }
        }
        let lost = lost + self.not_followed;
        self.kept.finish(self.served, lost, of_all_calls)
    }

    fn follow(&mut self, known: u64, is_accepted: &mut IsAccepted<'_>) {
        // Records of one thread at one time are in order already.
        self.pending.sort_by_key(|record| record.time);
        let complete = self.pending.partition_point(|record| record.time <= known);
        let mut pending = std::mem::take(&mut self.pending);
        for record in pending.drain(..complete) {
            self.take(record, is_accepted);
        }
        self.pending = pending;
    }

    fn take(&mut self, record: CallRecord, is_accepted: &mut IsAccepted<'_>) {
        let CallRecord {
            time,
            pid,
            tid,
            event,
        } = record;
        if event == CallEvent::Lost {
            self.begin_anew();
            return;
        }
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&tid) {
            self.not_followed += 1;
            return;
        }
        let most = MAX_PIECES / (self.threads.len() + 1);
        let most = most.clamp(PIECES_OF_THREAD.0, PIECES_OF_THREAD.1);
        let thread = self.threads.entry(tid).or_insert_with(|| Thread::new(time));
        if let CallEvent::Seen { call, state } = event {
            let recorded = thread.call.map(|one| one.0);
            if thread.kind == PartKind::Blocked && recorded.unwrap_or(call) == call {
                thread.state = Some(state);
                thread.seen_call = call;
            }
            return;
        }
        thread.end_piece(time, most);
        match event {
            CallEvent::In => {
                thread.kind = PartKind::Running;
                thread.woken = time;
            }
            CallEvent::Preempted => thread.kind = PartKind::Preempted,
            CallEvent::Blocks => {
                thread.kind = PartKind::Blocked;
                if thread.call.is_some_and(|call| waits_for_work(call.0)) {
                    thread.ready = 0;
                }
            }
            CallEvent::Ends if tid != pid => {
                self.threads.remove(&tid);
            }
            CallEvent::Ends => {
                self.threads.remove(&tid);
                let of_process = |key: &&(i32, u64)| key.0 == pid;
                let gone: Vec<_> = self
                    .connections
                    .keys()
                    .filter(of_process)
                    .copied()
                    .collect();
                for key in gone {
                    self.closed(key);
                }
            }
            CallEvent::Enter { number, first } => {
                thread.kind = PartKind::Running;
                thread.call = Some((number, first, time));
            }
            CallEvent::Exit { number, result } => {
                thread.kind = PartKind::Running;
                let call = thread.call.take().filter(|call| call.0 == number);
                if waits_for_any(number) {
                    thread.connection = None;
                    if result > 0 {
                        thread.ready = time;
                    }
                }
                if let Some((_, first, entered)) = call {
                    let done = Done {
                        time,
                        pid,
                        tid,
                        number,
                        first,
                        entered,
                        result,
                    };
                    self.returned(done, is_accepted);
                }
            }
            CallEvent::Seen { .. } | CallEvent::Lost => {}
        }
    }

    /// What was under way is not known any more: it may have ended long ago.
    fn begin_anew(&mut self) {
        self.threads.clear();
        for connection in self.connections.values_mut().flatten() {
            connection.request = None;
            if let Some(answered) = connection.answered.take() {
                self.kept.add(answered);
            }
        }
    }

    fn returned(&mut self, call: Done, is_accepted: &mut IsAccepted<'_>) {
        let key = (call.pid, call.first);
        match call.number {
            libc::SYS_accept | libc::SYS_accept4 if call.result >= 0 => {
                self.closed((call.pid, call.result as u64));
                let mut connection = self.connection();
                // Nothing can have been asked before.
                connection.last_end = call.time;
                self.insert((call.pid, call.result as u64), Some(connection));
            }
            libc::SYS_close if call.result == 0 => self.closed(key),
            number if call.result > 0 && reads(number) => {
                if !self.connections.contains_key(&key) {
                    let Some(accepted) = is_accepted(call.pid, call.first) else {
                        return;
                    };
                    let connection = accepted.then(|| self.connection());
                    self.insert(key, connection);
                }
                self.has_read(key, call);
            }
            number if call.result > 0 && writes(number) => self.has_written(key, call),
            _ => {}
        }
    }

    fn insert(&mut self, key: (i32, u64), connection: Option<Connection>) {
        if self.connections.len() >= MAX_CONNECTIONS {
            // What is not a connection is looked up again when it is read.
            self.connections.retain(|_, one| one.is_some());
        }
        if self.connections.len() < MAX_CONNECTIONS {
            self.connections.insert(key, connection);
        }
    }

    fn connection(&mut self) -> Connection {
        self.next_number += 1;
        Connection {
            number: self.next_number,
            request: None,
            answered: None,
            last_end: 0,
            counted: false,
        }
    }

    fn closed(&mut self, key: (i32, u64)) {
        if let Some(Some(connection)) = self.connections.remove(&key)
            && let Some(answered) = connection.answered
        {
            self.kept.add(answered);
        }
    }

    fn has_read(&mut self, key: (i32, u64), call: Done) {
        let (Some(Some(connection)), Some(thread)) = (
            self.connections.get_mut(&key),
            self.threads.get_mut(&call.tid),
        ) else {
            return;
        };
        if let Some(answered) = connection.answered.take() {
            self.kept.add(answered);
            connection.request = None;
        }
        if connection.request.is_none() {
            let began = if thread.woken > call.entered {
                thread.woken
            } else if thread.ready > connection.last_end {
                thread.ready
            } else {
                call.entered
            };
            connection.request = Some((began.max(connection.last_end), call.tid));
        }
        thread.connection = Some(connection.number);
    }

    fn has_written(&mut self, key: (i32, u64), call: Done) {
        let (Some(Some(connection)), Some(thread)) = (
            self.connections.get_mut(&key),
            self.threads.get_mut(&call.tid),
        ) else {
            return;
        };
        let Some((began, reader)) = connection.request else {
            return;
        };
        thread.connection = Some(connection.number);
        connection.last_end = call.time;
        self.served += u64::from(!connection.counted);
        connection.counted = true;
        connection.answered = Some(SeenRequest {
            began,
            ns: call.time.saturating_sub(began),
            tid: call.tid,
            handed_over: call.tid != reader,
            parts: thread.parts(connection.number, began, call.time),
        });
    }
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug)]
struct Done {
    time: u64,
    pid: i32,
    tid: i32,
    number: i64,
    first: u64,
    entered: u64,
    result: i64,
}

#[cfg(test)]
mod tests;
