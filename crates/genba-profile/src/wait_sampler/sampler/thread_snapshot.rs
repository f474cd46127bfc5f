//! A look at all threads: what each does, what it waits for, and who could end that.

use super::*;
use crate::process_memory::read_memory;
use crate::sampler::realtime_ns;
use crate::wait_sampler::requests::{CallEvent, CallRecord};
use crate::wait_sampler::scripts::ScriptWait;
use crate::wait_sampler::snapshots::ThreadNow;
use crate::wait_sampler::switch_log::Event;
use crate::wait_sampler::system_call::BlockedCall;
use crate::wait_sampler::wait_recording::{MIN_WORK_OF_TICK_NS, SeenWakeUp};
use crate::wait_sampler::waited_for::Enders;
use crate::wait_sampler::wake_up_log::known_waker;

/// Looks at a wait until its script is known.
const MAX_UNSETTLED: u8 = 16;
/// Part of its time limit for which a wait that has expired is seen at least: it begins before a look, and ends before
/// another. Chosen for limits of many looks.
const MIN_SEEN_OF_LIMIT: f64 = 0.85;

impl WaitSampler<'_> {
    /// Looks at all threads. `timed` snapshots also account for the time since the last one.
    pub(super) fn look(&mut self, last: u64, now: u64, timed: bool) -> io::Result<Vec<ThreadNow>> {
        let mut snapshot = Vec::with_capacity(self.live.len());
        let mut ended = Vec::new();
        for at in 0..self.live.len() {
            let live = &self.live[at];
            let Some(account) = live.files.account() else {
                ended.push(live.tid);
                continue;
            };
            let same = live.waits.is_some() && account == live.account;
            let blocked = live.files.blocked();
            let looked = monotonic_ns();
            if blocked.is_some_and(|call| call.is_of_ended_thread()) {
                ended.push(live.tid);
                continue;
            }
            let new = !(same && blocked.is_some());
            // Of a thread that has only just been created its interpreter says nothing yet.
            let again = !new && (1..MAX_UNSETTLED).contains(&live.unsettled);
            if new {
                self.log_wake_up(at, last);
                self.note_expiry(at, now);
                self.live[at].waits_since = now;
                self.live[at].unsettled = 0;
            }
            if new || again {
                self.update(at, blocked)?;
                self.update_if_it_ran(at, account)?;
            }
            let live = &mut self.live[at];
            let state = live.state;
            let seen = self.snapshots.states[state as usize].wait.as_ref();
            if let (Some((_, log)), Some(wait)) = (&mut self.requests, seen) {
                log.add(CallRecord {
                    time: now,
                    pid: live.pid,
                    tid: live.tid,
                    event: CallEvent::Seen {
                        call: wait.call,
                        state,
                    },
                });
            }
            let thread = &mut self.threads[live.index as usize];
            if timed {
                let before = live.account;
                thread.running += account.running.saturating_sub(before.running);
                thread.runnable += account.runnable.saturating_sub(before.runnable);
                thread.slices += account.slices.saturating_sub(before.slices);
                thread.ended = now;
                let ready = blocked.is_none();
                self.switches.add(looked, live.tid, Event::Looked { ready });
                extend_timeline(thread, last.max(thread.began).min(now), now, live.state);
                live.activity.add(
                    account.running.saturating_sub(before.running),
                    account.slices.saturating_sub(before.slices),
                    now.saturating_sub(last),
                );
                live.account = account;
                let sleeps = live.waits.as_ref().map(|wait| wait.reason) == Some(WaitReason::Sleep);
                if new && sleeps {
                    let worked = account.running.saturating_sub(live.ran_until_sleep);
                    let state = &mut self.snapshots.states[live.state as usize];
                    state.workless_entries += u64::from(worked < MIN_WORK_OF_TICK_NS);
                    live.ran_until_sleep = account.running;
                    if let Some(time) = live.sleep_time {
                        state.timed_entries += 1;
                        state.timed_ns += time;
                    }
                }
            }
            snapshot.push(ThreadNow {
                thread: live.index,
                state: live.state,
                waits: live.waits.is_some(),
                for_threads: live.waits.as_ref().is_some_and(|wait| {
                    matches!(
                        wait.reason,
                        WaitReason::Condition | WaitReason::Lock | WaitReason::Join
                    )
                }),
                // Where scripts run under one lock all threads of them wait for the one that runs, whatever it
                // does: that does not make its work a serial section.
                for_turn: live
                    .waits
                    .as_ref()
                    .is_some_and(|wait| matches!(wait.object, Named::InterpreterLock(_, true, _))),
                in_io: live.activity.is_at_work()
                    && live.waits.as_ref().is_some_and(|wait| {
                        matches!(
                            wait.reason,
                            WaitReason::File | WaitReason::Fsync | WaitReason::PageFault
                        )
                    }),
                new,
                waits_for: Vec::new(),
            });
        }
        for tid in ended {
            self.ended(tid, monotonic_ns());
        }
        self.refresh_holders();
        self.who_ends_waits(&mut snapshot);
        Ok(snapshot)
    }

    /// Counts a wait that is over and lasted as long as its time limit.
    fn note_expiry(&mut self, at: usize, now: u64) {
        let live = &self.live[at];
        let lasted = now.saturating_sub(live.waits_since) as f64;
        let limit = live.time_limit.filter(|_| live.waits.is_some());
        if let Some(limit) = limit.filter(|limit| lasted >= MIN_SEEN_OF_LIMIT * *limit as f64) {
            let state = &mut self.snapshots.states[live.state as usize];
            state.expired += 1;
            state.expired_ns += limit;
        }
    }

    /// Logs that the wait in which a thread was seen at the snapshot of `last` is over, if it is known who ended it.
    fn log_wake_up(&mut self, at: usize, last: u64) {
        let live = &self.live[at];
        let Some(wait) = &live.waits else {
            return;
        };
        let index_of = |tid: i32| self.indices.get(&tid).copied();
        let threads_of = |pid: i32| {
            let threads = self.live.iter().filter(|one| one.pid == pid);
            threads.map(|one| one.index).collect()
        };
        if let Some(waker) = known_waker(wait, &index_of, &threads_of) {
            self.wake_ups.add(SeenWakeUp {
                at: last.max(live.waits_since),
                waited: last.saturating_sub(live.waits_since),
                waker,
                woken: live.index,
            });
        }
    }

    /// Looks again at a thread that has run since its account was read: its stack is another than that of
    /// the call which was seen.
    fn update_if_it_ran(&mut self, at: usize, before: SchedStat) -> io::Result<()> {
        let live = &self.live[at];
        if live.waits.is_some() && live.files.account().is_some_and(|now| now != before) {
            let blocked = live.files.blocked();
            self.update(at, blocked)?;
        }
        Ok(())
    }

    /// Finds out what a thread does that may have done something else since the last look.
    pub(super) fn update(&mut self, at: usize, blocked: Option<BlockedCall>) -> io::Result<()> {
        let (pid, tid, index) = {
            let live = &self.live[at];
            (live.pid, live.tid, live.index)
        };
        if let Some(WaitedFor {
            reason: WaitReason::Lock,
            object: Named::Futex(address),
            enders: Enders::OthersInProcess,
        }) = self.live[at].waits
        {
            self.live[at].took = Some((address, monotonic_ns()));
        }
        let Some(call) = blocked else {
            let live = &mut self.live[at];
            live.waits = None;
            live.state = self.snapshots.intern(index, None);
            return Ok(());
        };
        let threads = &self.threads;
        let indices = &self.indices;
        // A mutex in memory that processes share may be held by a thread of any of them.
        let is_thread = |other: i32| {
            other != tid
                && indices.get(&other).is_some_and(|index| {
                    call.is_shared_futex() || threads[*index as usize].pid == pid
                })
        };
        let mut found = waited_for(pid, &call, &is_thread, &mut self.peers);
        let unknown = match found.object {
            Named::Futex(address) => self.ask_script(pid, tid, Some(address), &mut found),
            // CRuby's first thread looks at signals meanwhile.
            Named::Descriptor(_) if found.reason == WaitReason::Condition => {
                self.ask_script(pid, tid, None, &mut found)
            }
            _ => false,
        };
        let read = |address: u64, buffer: &mut [u8]| read_memory(pid, address, buffer);
        let clock = |realtime| {
            if realtime {
                realtime_ns()
            } else {
                monotonic_ns()
            }
        };
        let time_limit = call.time_limit(read);
        let time_limit = time_limit.or_else(|| call.futex_limit(read, clock));
        if time_limit.is_some() && is_of_own_wake_ups(pid, &found) {
            found = WaitedFor {
                reason: WaitReason::Sleep,
                object: Named::Nothing,
                enders: Enders::OthersInProcess,
            };
        }
        let sleep_time = call.sleep_time(read);
        let script = self.script_stacks.intern(self.scripts.stack(pid, tid));
        if self.scripts.runs_in(pid) && (script.is_none() || unknown) {
            self.live[at].unsettled += 1;
        } else {
            self.live[at].unsettled = 0;
        }
        let code = self
            .code
            .entry(pid)
            .or_insert_with(|| (CodeRanges::of(pid), Instant::now()));
        if self.cpu_clock.is_none() && code.1.elapsed() > RESCAN * 5 {
            *code = (CodeRanges::of(pid), Instant::now());
        }
        let key = stack_copy::key(pid, call.stack_pointer, call.instruction, &code.0);
        let stack = match self.stacks.get(&(tid, key, script)) {
            Some(stack) => *stack,
            None => {
                let copy = if self.writer.written() > MAX_BYTES {
                    Vec::new()
                } else {
                    stack_copy::copy(pid, call.stack_pointer)
                };
                let time = monotonic_ns();
                self.writer.append(&sample_record::bytes(&Sample {
                    ip: call.instruction,
                    pid,
                    tid,
                    time,
                    cpu: 0,
                    period: 1,
                    registers: Some(registers(call.stack_pointer, call.instruction)),
                    stack: &copy,
                }))?;
                self.stacks.insert((tid, key, script), (tid, time));
                self.script_stacks.set((tid, time), script);
                (tid, time)
            }
        };
        let object = match &found.object {
            Named::Nothing => WaitObject::Nothing,
            Named::Futex(address) => {
                let place = self
                    .variables
                    .entry((pid, *address))
                    .or_insert_with(|| code.0.variable_place(*address));
                WaitObject::Futex(*address, place.clone())
            }
            Named::InterpreterLock(name, ..) => WaitObject::InterpreterLock(name),
            Named::Descriptor(name) => WaitObject::Descriptor(name.clone()),
            Named::Child(child) => WaitObject::Child(*child),
            Named::Thread(tid) => self
                .indices
                .get(tid)
                .map_or(WaitObject::Nothing, |index| WaitObject::Thread(*index)),
        };
        let state = self.snapshots.intern(
            index,
            Some(SeenWait {
                reason: found.reason,
                call: call.number,
                object,
                limited: time_limit.is_some(),
                stack,
            }),
        );
        let live = &mut self.live[at];
        if let (WaitReason::Socket | WaitReason::Pipe, Named::Descriptor(name)) =
            (found.reason, &found.object)
            && live.served.as_ref() != Some(name)
        {
            live.served = Some(name.clone());
        }
        live.waits = Some(found);
        live.time_limit = time_limit;
        live.sleep_time = sleep_time;
        live.state = state;
        Ok(())
    }

    /// Whether a thread is joined that is not known yet; else corrects what a futex stands for by what the interpreter's memory tells: its locks have no owner where
    /// other locks have it, and a thread of a script is joined by a condition.
    fn ask_script(&mut self, pid: i32, tid: i32, word: Option<u64>, found: &mut WaitedFor) -> bool {
        let ends = |ender: Option<i32>| match ender {
            Some(ender) if ender != tid => Enders::Thread(ender),
            _ => Enders::OthersInProcess,
        };
        *found = match self.scripts.wait(pid, tid, word) {
            None => return false,
            Some(ScriptWait::Lock {
                name,
                global,
                holder,
            }) => WaitedFor {
                reason: WaitReason::Lock,
                object: Named::InterpreterLock(name, global, word),
                enders: ends(holder),
            },
            Some(ScriptWait::Join(thread)) if !self.indices.contains_key(&thread) => return true,
            Some(ScriptWait::Join(thread)) => WaitedFor {
                reason: WaitReason::Join,
                object: Named::Thread(thread),
                enders: ends(Some(thread)),
            },
            Some(ScriptWait::Sleep) => WaitedFor {
                reason: WaitReason::Sleep,
                object: Named::Nothing,
                enders: Enders::Nobody,
            },
        };
        false
    }

    /// Reads again who holds the locks of interpreters: they change hands while a thread waits on.
    fn refresh_holders(&mut self) {
        for at in 0..self.live.len() {
            let live = &self.live[at];
            let (pid, tid) = (live.pid, live.tid);
            let Some(mut found) = live.waits.clone() else {
                continue;
            };
            if let Named::InterpreterLock(.., word) = found.object {
                self.ask_script(pid, tid, word, &mut found);
                self.live[at].waits = Some(found);
            }
        }
    }

    /// For each waiting thread those that could end its wait.
    pub(super) fn who_ends_waits(&self, snapshot: &mut [ThreadNow]) {
        let live: HashMap<ThreadIndex, &Live> =
            self.live.iter().map(|live| (live.index, live)).collect();
        let threads: Vec<Candidate<'_>> = snapshot
            .iter()
            .map(|one| {
                let live = live.get(&one.thread);
                let waits = live.and_then(|live| live.waits.as_ref());
                Candidate {
                    index: one.thread,
                    pid: live.map_or(0, |live| live.pid),
                    first: live.is_some_and(|live| live.pid == live.tid),
                    waits,
                    other_end: waits.and_then(|wait| match &wait.object {
                        Named::Descriptor(name) => self.peers.known_other_end(name),
                        _ => None,
                    }),
                    served: live.and_then(|live| live.served.as_deref()),
                    took: live.and_then(|live| live.took),
                }
            })
            .collect();
        wakers::fill_in(
            snapshot,
            &threads,
            &|tid| self.indices.get(&tid).copied(),
            &|pid| self.processes.get(&pid).map_or(0, |process| process.parent),
        );
    }
}

/// Whether a wait for descriptors is for a socket of which the process has both ends, by which threads wake an event loop:
/// nobody is expected to write, and its time limit is the next timer.
fn is_of_own_wake_ups(pid: i32, found: &WaitedFor) -> bool {
    found.reason == WaitReason::Socket && found.enders == Enders::Processes(vec![pid])
}

/// In the order of `asm/perf_regs.h`: only these two are known of a blocked thread.
fn registers(stack_pointer: u64, instruction: u64) -> [u64; 20] {
    const SP: usize = 7;
    const IP: usize = 8;
    let mut registers = [0; 20];
    registers[SP] = stack_pointer;
    registers[IP] = instruction;
    registers
}
