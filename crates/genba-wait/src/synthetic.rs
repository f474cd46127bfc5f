//! Synthetic recordings for tests.

use std::collections::HashMap;

use genba_model::{WaitPlace, WaitReason};
use genba_profile::wait_sampler::{
    Chain, CpuSnapshot, Pair, SeenState, SeenWait, StateIndex, WaitObject, WaitRecording,
    WatchedProcess, WatchedThread,
};

use crate::object_names::ObjectNames;
use crate::stacks::{NamedFrame, Stacks};
use crate::view::View;

const MS: f64 = 1e6;

/// Frames of libraries but for the last, which is the user's.
pub fn frames(names: &[&str]) -> Vec<NamedFrame> {
    let last = names.len().saturating_sub(1);
    names
        .iter()
        .enumerate()
        .map(|(at, name)| NamedFrame {
            place: WaitPlace {
                function: (*name).to_owned(),
                file: None,
                line: None,
            },
            own: at == last,
            kernel: false,
            script: false,
        })
        .collect()
}

/// [`frames`] called from the user's function in which the thread begins.
fn thread_frames(thread: u32, names: &[&str]) -> Vec<NamedFrame> {
    let mut all = frames(names);
    all.extend(frames(&[if thread == 0 { "main" } else { "run" }]));
    all
}

/// A recording on two CPUs of one process whose thread 0 leads; times are ms.
pub struct SyntheticRecording {
    pub recording: WaitRecording,
    stacks: HashMap<(i32, u64), Vec<NamedFrame>>,
    third_arguments: HashMap<(i32, u64), u64>,
    next: u64,
}

impl SyntheticRecording {
    /// `threads` threads that all last `wall` ms.
    pub fn new(threads: u32, wall: f64) -> Self {
        let ended = (wall * MS) as u64;
        Self {
            recording: WaitRecording {
                ended,
                snapshots: wall as u64,
                threads: (0..threads)
                    .map(|index| WatchedThread {
                        pid: 1,
                        tid: 1 + index as i32,
                        ended,
                        ..WatchedThread::default()
                    })
                    .collect(),
                processes: vec![WatchedProcess {
                    pid: 1,
                    ..WatchedProcess::default()
                }],
                cpus: 2,
                cpu_sampled: true,
                calls_readable: true,
                ..WaitRecording::default()
            },
            stacks: HashMap::new(),
            third_arguments: HashMap::new(),
            next: 1,
        }
    }

    fn state(&mut self, thread: u32, wait: Option<SeenWait>, ms: f64, waits: u64) -> StateIndex {
        if wait.is_some() {
            self.recording.threads[thread as usize].slices += waits;
        } else {
            self.recording.threads[thread as usize].running += (ms * MS) as u64;
            self.recording.runnable_ns += ms * MS;
        }
        self.recording.states.push(SeenState {
            thread,
            wait,
            ns: ms * MS,
            snapshots: ms as u64,
            entries: waits,
            long_entries: waits,
            ..SeenState::default()
        });
        self.recording.states.len() as StateIndex - 1
    }

    /// A thread waits for `ms` in all, `waits` times, with this stack.
    pub fn waits(
        &mut self,
        thread: u32,
        reason: WaitReason,
        names: &[&str],
        (ms, waits): (f64, u64),
    ) -> StateIndex {
        let stack = (thread as i32 + 1, self.next);
        self.next += 1;
        self.stacks.insert(stack, thread_frames(thread, names));
        let object = match reason {
            WaitReason::Condition | WaitReason::Lock => WaitObject::Futex(0x1000, None),
            _ => WaitObject::Nothing,
        };
        let wait = SeenWait {
            reason,
            call: libc::SYS_futex,
            object,
            limited: false,
            stack,
        };
        self.state(thread, Some(wait), ms, waits)
    }

    /// A thread is on a CPU for `ms`.
    pub fn runs(&mut self, thread: u32, ms: f64) -> StateIndex {
        self.state(thread, None, ms, 0)
    }

    /// A chain of states for `ms`, of which no thread ran for `idle` and one alone for `alone`.
    pub fn chain(&mut self, states: &[StateIndex], ms: f64, idle: f64, alone: f64) -> u32 {
        for pair in states.windows(2) {
            self.recording.pairs.push(Pair {
                waiter: pair[0],
                holder: pair[1],
                ns: ms * MS,
                snapshots: ms as u64,
            });
        }
        self.recording.chains.push(Chain {
            states: states.to_vec(),
            ns: ms * MS,
            snapshots: ms as u64,
            idle_ns: idle * MS,
            alone_ns: alone * MS,
            others_done_ns: alone * MS,
            awaited_ns: alone * MS,
        });
        self.recording.chains.len() as u32 - 1
    }

    /// The thread at the end of a chain is sampled `count` times in a function.
    pub fn sampled(&mut self, chain: u32, names: &[&str], count: u64) {
        self.sampled_in(chain, &[], names, count);
    }

    /// The same in functions of the kernel, which that function has called.
    pub fn sampled_in_kernel(&mut self, chain: u32, kernel: &[&str], names: &[&str], count: u64) {
        self.sampled_in(chain, kernel, names, count);
    }

    /// The same in the kernel, in a call whose third argument is `bytes`.
    pub fn asks_for(&mut self, chain: u32, names: &[&str], bytes: u64, count: u64) {
        let first = self.next;
        self.sampled_in(chain, &["do_syscall_64"], names, count);
        let samples = self.recording.cpu_snapshots.iter();
        let samples = samples.filter(|one| one.time >= first);
        let asks = samples.map(|one| ((one.tid, one.time), bytes));
        self.third_arguments.extend(asks);
    }

    fn sampled_in(&mut self, chain: u32, kernel: &[&str], names: &[&str], count: u64) {
        let states = self.recording.chains[chain as usize].states.clone();
        let last = states[states.len() - 1];
        let alone = self.recording.chains[chain as usize].alone_ns > 0.0;
        let thread = self.recording.states[last as usize].thread;
        let tid = thread as i32 + 1;
        for _ in 0..count {
            let time = self.next;
            self.next += 1;
            let mut stack = thread_frames(thread, names);
            let called = frames(kernel).into_iter().map(|frame| NamedFrame {
                own: false,
                kernel: true,
                ..frame
            });
            stack.splice(0..0, called);
            self.stacks.insert((tid, time), stack);
            self.recording.cpu_snapshots.push(CpuSnapshot {
                tid,
                time,
                weight: 1,
                chain: Some(chain),
                waiters: states[..states.len() - 1].to_vec(),
                alone,
            });
        }
    }

    /// Calls `look` with the view of all this.
    pub fn view<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let stacks = Stacks::synthetic(self.stacks.clone(), self.third_arguments.clone());
        look(&View::new(
            &self.recording,
            &stacks,
            &mut ObjectNames::default(),
        ))
    }
}
