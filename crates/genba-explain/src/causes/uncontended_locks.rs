//! An uncontended lock that a loop takes for each element: part of `needless-atomic`.
//!
//! **Signature.** A loop of many iterations takes and releases one and the same lock in each: by calls of the C library
//! with the same argument, or by atomic exchanges of constants at one address ([`crate::patterns::lock_acquisitions`]).
//! A good share of the time is in taking and releasing it, with so few cycles each time that no other thread holds it.
//!
//! **Near misses.** Spin loops, which take a lock once; locks of the elements themselves (another one each time); loops
//! that wait for something or enter the kernel with the lock in between; contended locks (`lock-contention`).
//!
//! **Confirmation.** The lock around the loop, or around some hundred iterations.
//!
//! **Gain.** The time of the locks; more where the iterations, which locked instructions keep apart, then overlap.
//!
//! **Source.** P. McKenney, *Is parallel programming hard*, chapter on locking ("batching"); A. Fog, "Instruction
//! tables" (a locked instruction is 18 to 20 cycles, and waits for all stores before it).

use genba_code::Opaque;
use genba_model::{Cause, Estimate, Fix, ThreadFact};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::{
    MIN_CALLS_HABITUAL, MIN_CONTENDED_LOCK_SECONDS, MIN_TRIPS_OF_LOCKED_LOOP, USUAL_EXECUTIONS,
};
use crate::constants::gains::{LOCK_PER_BATCH_SAVED, REST_OF_LOCKED_LOOP_SAVED};
use crate::constants::registers::RDI;
use crate::constants::time_shares::MIN_SHARE_OF_LOCKS;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::{is_lock, is_lock_entry, plain, service};
use crate::input::values::Value;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::lock_acquisitions::acquisitions;
use crate::patterns::observed_sites::share_of_target;

/// Finds loops that take an uncontended lock in each iteration: candidates of `needless-atomic`.
pub(super) fn uncontended_locks(input: &AnalysisInput) -> Vec<Candidate> {
    let own = (input.functions.iter().enumerate()).filter(|(_, one)| one.own && one.counted);
    let by_call = own.flat_map(|(number, function)| {
        let sites = function.call_sites.iter();
        let locks = sites.filter(|site| {
            !site.targets.is_empty() && site.targets.iter().all(|one| is_lock_entry(&one.function))
        });
        locks.filter_map(move |site| {
            Taken::of(input, number, site.at, value_at(function, site.at, RDI)?)
        })
    });
    let inlined = acquisitions(input);
    let inlined = inlined.iter().filter_map(|one| {
        let function = &input.functions[one.function];
        let address = function
            .values
            .addresses(one.at)
            .first()
            .copied()
            .flatten()?;
        let at_one_place = address.index.is_none();
        at_one_place.then(|| Taken::of(input, one.function, one.at, address.base))?
    });
    let all: Vec<Taken> = by_call.chain(inlined).collect();
    let mut found: Vec<Candidate> = Vec::new();
    for one in all.iter().filter_map(|one| one.candidate(input)) {
        let known =
            |other: &Candidate| other.function == one.function && other.affected == one.affected;
        if !found.iter().any(known) {
            found.push(one);
        }
    }
    found
}

/// A lock that is taken in each iteration of a loop.
struct Taken {
    function: usize,
    at: usize,
    /// The loop's instructions.
    members: Vec<usize>,
    times: u64,
    /// Iterations for each entry of the loop.
    trips: f64,
}

impl Taken {
    fn of(input: &AnalysisInput, number: usize, at: usize, lock: Value) -> Option<Self> {
        let function = &input.functions[number];
        let index = function.flow.loop_of_instruction(at)?;
        let times = function.counts[at];
        let iterations = function.loops.get(index as usize)?.as_ref()?.iterations;
        let trips = times as f64 / entries(function, index)? as f64;
        let each = times as f64 >= USUAL_EXECUTIONS * iterations as f64;
        let fits = each && times >= MIN_CALLS_HABITUAL && trips >= MIN_TRIPS_OF_LOCKED_LOOP;
        let taken = Self {
            function: number,
            at,
            members: function.loop_instructions(index),
            times,
            trips,
        };
        let same = fits && is_same_each_iteration(function, index, lock);
        (same && taken.is_released(function, lock)).then_some(taken)
    }

    /// Whether the loop releases the lock as often as it takes it: a loop that spins does so once, behind it.
    fn is_released(&self, function: &FunctionInput, lock: Value) -> bool {
        let often = |at: usize| function.counts[at] as f64 >= USUAL_EXECUTIONS * self.times as f64;
        let others = (self.members.iter().copied()).filter(|&at| at != self.at && often(at));
        others.into_iter().any(|at| match function.data[at].opaque {
            Some(Opaque::Call) => {
                let sites = function.call_sites.iter().filter(|site| site.at == at);
                let unlocks = sites.flat_map(|site| &site.targets).any(|one| {
                    let name = plain(&one.function);
                    is_lock(name) && name.contains("unlock")
                });
                unlocks && value_at(function, at, RDI) == Some(lock)
            }
            _ => {
                let memory = function.data[at].memory.iter();
                let mut accesses = memory.zip(function.values.addresses(at));
                accesses.any(|(access, address)| {
                    access.writes
                        && address.is_some_and(|one| one.base == lock && one.index.is_none())
                })
            }
        })
    }

    fn candidate(&self, input: &AnalysisInput) -> Option<Candidate> {
        let function = &input.functions[self.function];
        let (share, locked) = self.share_of_locks(input)?;
        let seconds = share * input.program.cpu_seconds / self.times as f64;
        if share < MIN_SHARE_OF_LOCKS || seconds >= MIN_CONTENDED_LOCK_SECONDS {
            return None;
        }
        let rest = (self.members.iter().copied()).filter(|at| locked.binary_search(at).is_err());
        let mut one = Candidate::new(
            Cause::NeedlessAtomic,
            Some(self.function),
            vec![self.at],
            Fix::LockOnce,
        );
        one.affected.clone_from(&self.members);
        one.saves(&[
            SavedTime::of(share, LOCK_PER_BATCH_SAVED),
            SavedTime::of(function.heat_of(rest), REST_OF_LOCKED_LOOP_SAVED),
        ]);
        let each = share * cycles_of_all(input)? / self.times as f64;
        one.executions = Some(self.times);
        one.cycles = Some(Estimate::exact(each));
        Some(one.fact(ThreadFact::UncontendedLock {
            times: self.times,
            iterations: self.trips,
            share,
            cycles: each,
        }))
    }

    /// Share of all time in taking and releasing locks in the loop, and its instructions of that; `None` if it calls
    /// anything else that may wait.
    fn share_of_locks(&self, input: &AnalysisInput) -> Option<(f64, Vec<usize>)> {
        let function = &input.functions[self.function];
        let executed = (self.members.iter().copied()).filter(|&at| function.counts[at] > 0);
        let (mut share, mut locked) = (0.0, Vec::new());
        for at in executed {
            match function.data[at].opaque {
                None if exchanges(function, at) => locked.extend([at, at + 1]),
                None => {}
                Some(Opaque::Call) => {
                    let site = function.call_sites.iter().find(|site| site.at == at)?;
                    for target in &site.targets {
                        if is_lock(&target.function) {
                            share += share_of_target(input, self.function, target);
                        } else if waits(&target.function) {
                            return None;
                        }
                    }
                    locked.push(at);
                }
                Some(_) => return None,
            }
        }
        locked.retain(|at| self.members.binary_search(at).is_ok());
        locked.sort_unstable();
        locked.dedup();
        let inline = locked
            .iter()
            .copied()
            .filter(|&at| function.data[at].opaque.is_none());
        Some((share + function.heat_of(inline), locked))
    }
}

/// Whether an instruction exchanges something with memory atomically.
fn exchanges(function: &FunctionInput, at: usize) -> bool {
    let data = &function.data[at];
    function.code[at].is_lock
        || function.code[at].mnemonic == "xchg" && data.memory.iter().any(|one| one.writes)
}

/// Whether a function waits for other threads or for the kernel.
fn waits(name: &str) -> bool {
    let name = plain(name);
    let threads = ["pthread_cond_", "pthread_join", "sem_", "sched_yield"];
    service(name).is_some_and(|one| one.1)
        || threads.iter().any(|prefix| name.starts_with(prefix))
        || name.contains("sleep")
        || name.contains("futex")
}
