//! A recording with its places: what every state is, and what threads did while others waited.

use std::collections::{BTreeMap, HashMap};

use genba_model::{WaitPlace, WaitReason};
use genba_profile::wait_sampler::{
    Chain, SeenWait, StateIndex, WaitObject, WaitRecording, WatchedThread,
};

use crate::futex_reasons::refine;
use crate::io_samples::{IoSamples, SmallReceives, copies, is_of_socket, reads_or_writes};
use crate::many_files;
use crate::object_names::ObjectNames;
use crate::runtime_locks::runtime_lock;
use crate::stacks::{NamedFrame, Stacks, entry_function, own_frame, place_of, unknown_place};

/// Most functions of a stack that are shown.
const MAX_SHOWN: usize = 8;

/// A state with names.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What for; [`WaitReason::Running`] on a CPU or runnable.
    pub reason: WaitReason,
    /// The user's code; unknown on a CPU.
    pub place: WaitPlace,
    /// Name of what is waited on.
    pub object: Option<String>,
    /// Functions, innermost first.
    pub stack: Vec<String>,
    /// The outermost function of the user's code.
    pub entry: Option<String>,
}

/// Where a thread was on a CPU, by number of samples.
pub type Places = HashMap<WaitPlace, u64>;

/// A recording with names.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// What was recorded.
    pub recording: &'a WaitRecording,
    /// The stacks of its samples.
    pub stacks: &'a Stacks,
    /// By [`StateIndex`].
    pub states: Vec<State>,
    /// The chains as they would have been had no other program taken the CPUs: without the time in
    /// which the last thread was runnable and had none for that reason.
    pub chains: Vec<Chain>,
    /// By chain: where its last thread was on a CPU.
    pub chain_places: HashMap<u32, Places>,
    /// The same while no other thread was on a CPU or runnable.
    pub alone_places: HashMap<u32, Places>,
    /// By waiting state: where the thread that it waited for was on a CPU.
    pub holder_places: HashMap<StateIndex, Places>,
    /// By chain: those of its places in the kernel, by the place of the user's code that asked it.
    pub chain_kernel_places: HashMap<u32, Places>,
    /// Functions of the user's code with the threads that were seen on a CPU in them, and how often.
    pub runs: HashMap<String, HashMap<u32, u64>>,
    /// Samples on a CPU in reads, and those in writes.
    pub io: [IoSamples; 2],
    /// Samples in calls that ask a socket for few bytes.
    pub small_receives: SmallReceives,
    /// Samples on a CPU, and of them in the kernel.
    pub samples: u64,
    /// Those in the kernel.
    pub kernel_samples: u64,
    /// Share of the time runnable without a CPU that is taken out of the chains: other programs'.
    taken_out: f64,
    /// By thread: its outermost function of the user's code, as most stacks have it.
    pub entries: HashMap<u32, String>,
}

impl<'a> View<'a> {
    /// Names everything in a recording.
    pub fn new(recording: &'a WaitRecording, stacks: &'a Stacks, names: &mut ObjectNames) -> Self {
        let mut states: Vec<State> = recording
            .states
            .iter()
            .map(|state| match &state.wait {
                None => State {
                    reason: WaitReason::Running,
                    place: unknown_place(),
                    object: None,
                    stack: Vec::new(),
                    entry: None,
                },
                Some(wait) => waiting(wait, stacks.get(wait.stack), recording, names),
            })
            .collect();
        many_files::merge(&mut states);
        let mut view = Self {
            recording,
            stacks,
            states,
            chains: recording.chains.clone(),
            chain_places: HashMap::new(),
            alone_places: HashMap::new(),
            holder_places: HashMap::new(),
            chain_kernel_places: HashMap::new(),
            runs: HashMap::new(),
            io: Default::default(),
            small_receives: SmallReceives::default(),
            samples: 0,
            kernel_samples: 0,
            taken_out: 0.0,
            entries: HashMap::new(),
        };
        view.take_out_foreign_load();
        let mut entries: HashMap<u32, HashMap<String, u64>> = HashMap::new();
        for (state, seen) in view.states.iter().zip(&recording.states) {
            if let Some(entry) = &state.entry {
                *entries
                    .entry(seen.thread)
                    .or_default()
                    .entry(entry.clone())
                    .or_default() += seen.snapshots;
            }
        }
        let of_tid: HashMap<i32, u32> = (0u32..)
            .zip(&recording.threads)
            .map(|(index, thread)| (thread.tid, index))
            .collect();
        for snapshot in &recording.cpu_snapshots {
            let stack = stacks.get((snapshot.tid, snapshot.time));
            if stack.is_empty() {
                continue;
            }
            let place = place_of(stack);
            let kernel = stack.first().is_some_and(|frame| frame.kernel);
            let weight = snapshot.weight;
            view.samples += weight;
            view.kernel_samples += u64::from(kernel) * weight;
            let serves = of_tid
                .get(&snapshot.tid)
                .is_some_and(|thread| serves_several(recording, *thread));
            if let Some(bytes) = stacks.third_argument((snapshot.tid, snapshot.time)) {
                let receives = &mut view.small_receives;
                receives.add(stack, &place, (bytes, weight), snapshot.chain);
            }
            let direction = reads_or_writes(stack);
            if let Some(direction) = direction.filter(|_| serves && is_of_socket(stack)) {
                *view.io[direction].served.entry(place.clone()).or_default() += weight;
            } else if let Some(direction) = direction {
                let io = &mut view.io[direction];
                *io.places.entry(place.clone()).or_default() += weight;
                *io.copies.entry(place.clone()).or_default() += u64::from(copies(stack)) * weight;
                if let Some(chain) = snapshot.chain {
                    let of_chain = io.chain_places.entry(chain).or_default();
                    *of_chain.entry(place.clone()).or_default() += weight;
                }
            }
            if let Some(thread) = of_tid.get(&snapshot.tid) {
                *view
                    .runs
                    .entry(place.function.clone())
                    .or_default()
                    .entry(*thread)
                    .or_default() += weight;
            }
            if let Some(chain) = snapshot.chain {
                let kinds = [
                    (true, &mut view.chain_places),
                    (snapshot.alone, &mut view.alone_places),
                    (kernel, &mut view.chain_kernel_places),
                ];
                for (_, places) in kinds.into_iter().filter(|(fits, _)| *fits) {
                    let of_chain = places.entry(chain).or_default();
                    *of_chain.entry(place.clone()).or_default() += weight;
                }
            }
            for waiter in &snapshot.waiters {
                let places = view.holder_places.entry(*waiter).or_default();
                *places.entry(place.clone()).or_default() += weight;
            }
            if let (Some(entry), Some(thread)) = (entry_function(stack), of_tid.get(&snapshot.tid))
            {
                *entries
                    .entry(*thread)
                    .or_default()
                    .entry(entry.to_owned())
                    .or_default() += weight;
            }
        }
        view.io.iter_mut().for_each(IoSamples::complete_served);
        for (thread, names) in entries {
            let most = names
                .into_iter()
                .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
            if let Some((name, _)) = most {
                view.entries.insert(thread, name);
            }
        }
        view
    }

    fn take_out_foreign_load(&mut self) {
        let foreign = self.foreign_share();
        let mut chains = std::mem::take(&mut self.chains);
        for chain in &mut chains {
            if self.end(chain).reason != WaitReason::Running {
                continue;
            }
            let thread = self.thread(chain.states[chain.states.len() - 1]);
            let ready = (thread.running + thread.runnable) as f64;
            let kept = match ready > 0.0 {
                true => 1.0 - thread.runnable as f64 * foreign / ready,
                false => 1.0,
            };
            for ns in [
                &mut chain.ns,
                &mut chain.alone_ns,
                &mut chain.others_done_ns,
                &mut chain.awaited_ns,
            ] {
                *ns *= kept;
            }
        }
        self.chains = chains;
        self.taken_out = foreign;
    }

    /// The same with the chains as they were seen: with the time that other programs took.
    pub fn as_seen(&self) -> Self {
        Self {
            chains: self.recording.chains.clone(),
            taken_out: 0.0,
            ..self.clone()
        }
    }

    /// Time in which a thread was runnable without a CPU and which the chains have, ns.
    pub fn runnable_in_chains(&self, thread: &WatchedThread) -> f64 {
        thread.runnable as f64 * (1.0 - self.taken_out)
    }

    /// Share of the time of a chain's end in which its thread was runnable without a CPU.
    fn share_without_cpu(&self, thread: &WatchedThread) -> f64 {
        let runnable = self.runnable_in_chains(thread);
        let ready = thread.running as f64 + runnable;
        if ready > 0.0 { runnable / ready } else { 0.0 }
    }

    /// Wall time in which the thread at the end of a chain was on a CPU in these of its samples, ns.
    pub fn on_path(
        &self,
        samples: &HashMap<u32, Places>,
        is_wanted: impl Fn(&WaitPlace) -> bool,
    ) -> f64 {
        self.parts_of_chains(samples, is_wanted, |thread| {
            1.0 - self.share_without_cpu(thread)
        })
    }

    /// The same with the time in which it had to wait for a CPU for that: less work queues for a shorter time.
    pub fn on_path_with_queue(&self, samples: &HashMap<u32, Places>) -> f64 {
        self.parts_of_chains(samples, |_| true, |_| 1.0)
    }

    /// Parts of the time of chains whose last thread runs: that of these samples of it, times a share by that thread.
    fn parts_of_chains(
        &self,
        samples: &HashMap<u32, Places>,
        is_wanted: impl Fn(&WaitPlace) -> bool,
        share: impl Fn(&WatchedThread) -> f64,
    ) -> f64 {
        let of_chain = |index: u32, chain: &Chain| {
            let all: u64 = self.chain_places.get(&index)?.values().sum();
            let wanted = samples.get(&index)?.iter();
            let wanted = wanted.filter(|(place, _)| is_wanted(place));
            let wanted: u64 = wanted.map(|(_, samples)| samples).sum();
            // A thread that is sampled on a CPU may be seen waiting a moment later.
            if self.end(chain).reason != WaitReason::Running {
                return None;
            }
            let last = self.thread(*chain.states.last()?);
            Some(chain.ns * share(last) * wanted as f64 / all.max(1) as f64)
        };
        (0u32..)
            .zip(&self.chains)
            .filter_map(|(index, chain)| of_chain(index, chain))
            .sum()
    }

    /// Wall time in which the thread at the end of a chain was runnable without a CPU because it had just waited, ns.
    /// `waits` has the number of waits by thread: each ends in the run queue. Chains through a lock are the lock's.
    pub fn queued_after(&self, waits: &BTreeMap<u32, f64>) -> f64 {
        let of_chain = |chain: &Chain| {
            let last = *chain.states.last()?;
            let waits = waits.get(&self.recording.states[last as usize].thread)?;
            let thread = self.thread(last);
            let share = (waits / thread.slices.max(1) as f64).min(1.0);
            let mut states = chain.states.iter();
            let reason = |state: &u32| self.states[*state as usize].reason;
            let counts = reason(&last) == WaitReason::Running
                && !states.any(|state| reason(state) == WaitReason::Lock);
            counts.then(|| chain.ns * self.share_without_cpu(thread) * share)
        };
        self.chains.iter().filter_map(of_chain).sum()
    }

    /// Of the time in runnable states that the chains have, the part that other programs are not to blame for.
    pub fn own_part_of_queue(&self) -> f64 {
        let (own, there) = (1.0 - self.foreign_share(), 1.0 - self.taken_out);
        if there > 0.0 {
            (own / there).min(1.0)
        } else {
            0.0
        }
    }

    /// Share of the time in which threads were runnable without a CPU that other programs are to blame
    /// for: what more threads than CPUs do not explain, but no more than these programs ran.
    pub fn foreign_share(&self) -> f64 {
        let threads = self.recording.threads.iter();
        let runnable: f64 = threads.map(|thread| thread.runnable as f64).sum();
        let foreign = (runnable - self.recording.excess_ns)
            .min(self.recording.machine_busy as f64 - self.running());
        match runnable > 0.0 {
            true => (foreign / runnable).clamp(0.0, 1.0),
            false => 0.0,
        }
    }

    /// The wall time without what other programs took, ns.
    pub fn own_wall(&self) -> f64 {
        let (before, after) = (self.chained(), self.own_chained());
        match before > 0.0 {
            true => self.wall() * after / before,
            false => self.wall(),
        }
    }

    fn own_chained(&self) -> f64 {
        self.chains.iter().map(|chain| chain.ns).sum()
    }

    /// The wall time, ns.
    pub fn wall(&self) -> f64 {
        self.recording.ended.saturating_sub(self.recording.began) as f64
    }

    /// Time of all chains, ns: the wall time that was accounted for.
    pub fn chained(&self) -> f64 {
        self.recording.chains.iter().map(|chain| chain.ns).sum()
    }

    /// The last state of a chain.
    pub fn end(&self, chain: &Chain) -> &State {
        &self.states[chain.states[chain.states.len() - 1] as usize]
    }

    /// The thread of a state.
    pub fn thread(&self, state: StateIndex) -> &WatchedThread {
        &self.recording.threads[self.recording.states[state as usize].thread as usize]
    }

    /// Average number of threads on a CPU or runnable.
    pub fn runnable_threads(&self) -> f64 {
        match self.wall() > 0.0 {
            true => self.recording.runnable_ns / self.wall(),
            false => 0.0,
        }
    }

    /// Share of the time on a CPU that is the kernel's; 0 where that is not sampled.
    pub fn kernel_share(&self) -> f64 {
        self.kernel_samples as f64 / self.samples.max(1) as f64
    }

    /// Time of all threads on a CPU, ns.
    pub fn running(&self) -> f64 {
        self.recording
            .threads
            .iter()
            .map(|thread| thread.running as f64)
            .sum()
    }
}

/// The place with most samples, with its share.
pub fn most(places: &Places) -> Option<(&WaitPlace, f64)> {
    let all: u64 = places.values().sum();
    places
        .iter()
        .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)))
        .map(|(place, samples)| (place, *samples as f64 / all as f64))
}

/// Whether a thread's process has sockets beside the one on which it listens and one connection.
fn serves_several(recording: &WaitRecording, thread: u32) -> bool {
    const LISTENS_AND_ONE: u64 = 2;
    let pid = recording.threads[thread as usize].pid;
    let mut processes = recording.processes.iter();
    processes.any(|process| process.pid == pid && process.most_sockets > LISTENS_AND_ONE)
}

/// The file that the command line of a process names.
fn file_of(recording: &WaitRecording, pid: i32) -> Option<&str> {
    let mut processes = recording.processes.iter();
    let process = processes.find(|process| process.pid == pid)?;
    process.file.as_deref().filter(|file| !file.is_empty())
}

fn waiting(
    wait: &SeenWait,
    stack: &[NamedFrame],
    recording: &WaitRecording,
    names: &mut ObjectNames,
) -> State {
    let runtime_lock = match wait.object {
        WaitObject::InterpreterLock(name) => Some(name),
        _ => runtime_lock(wait.reason, stack),
    };
    State {
        reason: match runtime_lock {
            Some(_) => WaitReason::Lock,
            None => refine(wait, stack),
        },
        place: place_of(stack),
        object: runtime_lock
            .map(str::to_owned)
            .or_else(|| object(wait, recording, names)),
        stack: stack
            .iter()
            .skip_while(|frame| Some(*frame) != own_frame(stack))
            .map(|frame| frame.place.function.clone())
            .take(MAX_SHOWN)
            .collect(),
        entry: entry_function(stack).map(str::to_owned),
    }
}

fn object(wait: &SeenWait, recording: &WaitRecording, names: &mut ObjectNames) -> Option<String> {
    let name_of = |pid: i32| {
        let thread = recording.threads.iter().find(|thread| thread.tid == pid);
        thread.map(|thread| thread.name.clone())
    };
    match &wait.object {
        WaitObject::Nothing => None,
        WaitObject::Futex(address, file) => {
            let variable = file
                .as_ref()
                .and_then(|(path, distance)| names.variable(path, *distance));
            Some(variable.unwrap_or_else(|| format!("{address:#x}")))
        }
        WaitObject::InterpreterLock(name) => Some((*name).to_owned()),
        WaitObject::Descriptor(name) => Some(name.clone()),
        WaitObject::Child(0) => Some("any child".to_owned()),
        WaitObject::Child(pid) => Some(match name_of(*pid) {
            Some(name) => match file_of(recording, *pid) {
                Some(file) => format!("{name} {file} ({pid})"),
                None => format!("{name} ({pid})"),
            },
            None => format!("process {pid}"),
        }),
        WaitObject::Thread(index) => recording
            .threads
            .get(*index as usize)
            .map(|thread| format!("thread {} ({})", thread.name, thread.tid)),
    }
}
