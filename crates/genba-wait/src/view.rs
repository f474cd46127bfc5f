//! A recording with its places: what every state is, and what threads did while others waited.

use std::collections::HashMap;

use genba_model::{WaitPlace, WaitReason};
use genba_profile::wait_sampler::{
    Chain, SeenWait, StateIndex, WaitObject, WaitRecording, WatchedThread,
};

use crate::object_names::ObjectNames;
use crate::reasons::refine;
use crate::runtime_locks::runtime_lock;
use crate::stacks::{NamedFrame, Stacks, entry_function, own_frame, place_of, unknown_place};

/// Most functions of a stack that are shown.
const MAX_SHOWN: usize = 8;

/// A state with names.
#[derive(Clone, Debug)]
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
#[derive(Debug)]
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
    /// By chain: samples of its last thread in the kernel, and all.
    pub chain_kernel: HashMap<u32, (u64, u64)>,
    /// Functions of the user's code with the threads that were seen on a CPU in them, and how often.
    pub runs: HashMap<String, HashMap<u32, u64>>,
    /// Samples on a CPU in the kernel, by the place of the user's code that asked it.
    pub kernel_places: Places,
    /// Samples on a CPU in reads and writes, by place.
    pub io_places: Places,
    /// Samples on a CPU, and of them in the kernel.
    pub samples: u64,
    /// Those in the kernel.
    pub kernel_samples: u64,
    /// By thread: its outermost function of the user's code, as most stacks have it.
    pub entries: HashMap<u32, String>,
}

impl<'a> View<'a> {
    /// Names everything in a recording.
    pub fn new(recording: &'a WaitRecording, stacks: &'a Stacks, names: &mut ObjectNames) -> Self {
        let states: Vec<State> = recording
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
        let mut view = Self {
            recording,
            stacks,
            states,
            chains: recording.chains.clone(),
            chain_places: HashMap::new(),
            alone_places: HashMap::new(),
            holder_places: HashMap::new(),
            chain_kernel: HashMap::new(),
            runs: HashMap::new(),
            kernel_places: Places::new(),
            io_places: Places::new(),
            samples: 0,
            kernel_samples: 0,
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
            if kernel {
                *view.kernel_places.entry(place.clone()).or_default() += weight;
            }
            if reads_or_writes(stack) {
                *view.io_places.entry(place.clone()).or_default() += weight;
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
                *view
                    .chain_places
                    .entry(chain)
                    .or_default()
                    .entry(place.clone())
                    .or_default() += weight;
                if snapshot.alone {
                    *view
                        .alone_places
                        .entry(chain)
                        .or_default()
                        .entry(place.clone())
                        .or_default() += weight;
                }
                let sums = view.chain_kernel.entry(chain).or_default();
                sums.0 += u64::from(kernel) * weight;
                sums.1 += weight;
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

    /// CPU time in the kernel for this place of the user's code, ns; 0 where the kernel is not sampled.
    pub fn kernel_time(&self, place: &WaitPlace) -> f64 {
        let samples = self.kernel_places.get(place).copied().unwrap_or(0);
        self.running() * samples as f64 / self.samples.max(1) as f64
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

/// Whether a stack is in a call of `read`, `write` or their like.
fn reads_or_writes(stack: &[NamedFrame]) -> bool {
    const NAMES: [&str; 12] = [
        "read", "write", "pread64", "pwrite64", "readv", "writev", "recv", "send", "recvfrom",
        "sendto", "recvmsg", "sendmsg",
    ];
    stack
        .iter()
        .skip_while(|frame| frame.kernel)
        .take(2)
        .any(|frame| {
            let name = frame.place.function.trim_start_matches('_');
            let name = name.strip_prefix("GI_").unwrap_or(name);
            let name = name.trim_start_matches('_');
            let name = name.strip_prefix("libc_").unwrap_or(name);
            let name = name.split('@').next().unwrap_or(name);
            !frame.own && NAMES.contains(&name)
        })
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
            Some(name) => format!("{name} ({pid})"),
            None => format!("process {pid}"),
        }),
        WaitObject::Thread(index) => recording
            .threads
            .get(*index as usize)
            .map(|thread| format!("thread {} ({})", thread.name, thread.tid)),
    }
}
