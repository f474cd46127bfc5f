//! Adds up snapshots: which thread is in which state, and whom it waits for. Pure.

use std::collections::HashMap;

use super::sampler::CpuSample;
use super::wait_recording::{
    Chain, CpuSnapshot, Pair, SeenState, SeenWait, StateIndex, ThreadIndex, WaitObject,
    WatchedThread,
};

/// Most distinct chains and pairs; later ones are not kept.
const MAX_DISTINCT: usize = 200_000;
/// Most snapshots of samples on a CPU that are stored.
const MAX_CPU_SNAPSHOTS: usize = 500_000;
/// Most waiting threads that are kept with each of them.
const MAX_WAITERS: usize = 100;
/// Most distinct states; later ones are kept without place and object.
const MAX_STATES: usize = 1_000_000;
/// Most pieces of a thread's timeline before neighbours are merged.
const MAX_SPANS: usize = 4_000;
/// Waits behind a thread that are looked at for one that runs.
const MAX_WAYS_AHEAD: u32 = 3;
/// Longest chain of threads that wait for one another.
const MAX_CHAIN: usize = 16;

/// A thread in a snapshot.
#[derive(Clone, Debug)]
pub struct ThreadNow {
    /// The thread.
    pub thread: ThreadIndex,
    /// Its state.
    pub state: StateIndex,
    /// Whether it waits.
    pub waits: bool,
    /// Whether it waits for other threads rather than for the world outside.
    pub for_threads: bool,
    /// Whether it waits for its turn under a lock under which all threads of a script run: it has work.
    pub for_turn: bool,
    /// Whether it is at work and blocked in reading or writing.
    pub in_io: bool,
    /// Whether this wait has only just been seen to begin.
    pub new: bool,
    /// The threads of which one ends the wait, as far as that is known.
    pub waits_for: Vec<ThreadIndex>,
}

/// The sums so far.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// Distinct states.
    pub states: Vec<SeenState>,
    state_ids: HashMap<(ThreadIndex, Option<SeenWait>), StateIndex>,
    chains: HashMap<Vec<StateIndex>, u32>,
    chain_sums: Vec<Chain>,
    pairs: HashMap<(StateIndex, StateIndex), (f64, u64)>,
    /// Kept samples on a CPU.
    pub cpu_snapshots: Vec<CpuSnapshot>,
    /// Number of snapshots.
    pub count: u64,
    /// Sum of runnable threads × ns.
    pub runnable_ns: f64,
    /// The same of those beyond the number of CPUs.
    pub excess_ns: f64,
}

impl Snapshots {
    /// The index of a state.
    pub fn intern(&mut self, thread: ThreadIndex, wait: Option<SeenWait>) -> StateIndex {
        let wait = match wait {
            Some(wait) if self.states.len() >= MAX_STATES => Some(SeenWait {
                object: WaitObject::Nothing,
                stack: (0, 0),
                ..wait
            }),
            wait => wait,
        };
        let states = &mut self.states;
        *self
            .state_ids
            .entry((thread, wait))
            .or_insert_with_key(|(thread, wait)| {
                states.push(SeenState {
                    thread: *thread,
                    wait: wait.clone(),
                    ..SeenState::default()
                });
                states.len() as StateIndex - 1
            })
    }

    /// Adds a snapshot that stands for so many ns of wall time on so many CPUs. `random` decides between several threads
    /// that may end a wait.
    pub fn add(
        &mut self,
        now: &[ThreadNow],
        leader: Option<ThreadIndex>,
        (ns, cpus): (u64, u32),
        random: u64,
    ) {
        self.count += 1;
        let time = ns as f64;
        let by_thread = by_thread(now);
        let ready = now.iter().filter(|one| !one.waits).count();
        self.excess_ns += ready.saturating_sub(cpus as usize) as f64 * time;
        for one in now {
            let state = &mut self.states[one.state as usize];
            state.ns += time;
            state.snapshots += 1;
            if one.new {
                state.entries += 1;
            } else if state.long_entries < state.entries {
                state.long_entries += 1;
            }
            if !one.waits {
                self.runnable_ns += time;
                continue;
            }
            let Some(next) = self.next_of(one, &by_thread, now, None, random) else {
                continue;
            };
            let key = (one.state, now[next].state);
            if self.pairs.len() < MAX_DISTINCT || self.pairs.contains_key(&key) {
                let sum = self.pairs.entry(key).or_default();
                sum.0 += time;
                sum.1 += 1;
            }
        }
        let for_turn = now.iter().filter(|one| one.for_turn).count();
        if let Some((chain, _)) = self.chain(now, &by_thread, leader, None, random) {
            let sum = &mut self.chain_sums[chain as usize];
            sum.ns += time;
            sum.snapshots += 1;
            match ready + for_turn {
                0 => sum.idle_ns += time,
                1 => {
                    sum.alone_ns += time;
                    if now.iter().all(|one| !one.in_io) {
                        sum.others_done_ns += time;
                    }
                    if now.iter().filter(|one| one.for_threads).count() >= 2 {
                        sum.awaited_ns += time;
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the snapshot of a sample of `thread` on a CPU; it stands for no time.
    pub fn add_cpu_sample(
        &mut self,
        now: &[ThreadNow],
        leader: Option<ThreadIndex>,
        thread: ThreadIndex,
        sample: CpuSample,
        random: u64,
    ) {
        if self.cpu_snapshots.len() >= MAX_CPU_SNAPSHOTS {
            return;
        }
        let by_thread = by_thread(now);
        let waiters: Vec<StateIndex> = now
            .iter()
            .filter(|one| one.waits && one.waits_for.contains(&thread))
            .map(|one| one.state)
            .take(MAX_WAITERS)
            .collect();
        let chain = self
            .chain(now, &by_thread, leader, Some(thread), random)
            .filter(|(_, end)| *end == thread)
            .map(|(chain, _)| chain);
        self.cpu_snapshots.push(CpuSnapshot {
            tid: sample.tid,
            time: sample.time,
            weight: sample.weight,
            chain,
            waiters,
            alone: now.iter().filter(|one| !one.waits || one.for_turn).count() <= 1,
        });
    }

    /// Which thread ends a wait: one of those that run, or are on their way behind another that is known (a child
    /// process that waits for its brother's lock), else one of the others. Of those that run it is the sampled one.
    fn next_of(
        &self,
        one: &ThreadNow,
        by_thread: &HashMap<ThreadIndex, usize>,
        now: &[ThreadNow],
        sampled: Option<ThreadIndex>,
        random: u64,
    ) -> Option<usize> {
        let known: Vec<usize> = one
            .waits_for
            .iter()
            .filter_map(|thread| by_thread.get(thread).copied())
            .collect();
        let going: Vec<usize> = (known.iter().copied())
            .filter(|at| leads_to_work(now, by_thread, *at, one.thread, MAX_WAYS_AHEAD))
            .collect();
        let from = if going.is_empty() { &known } else { &going };
        let next = *from.get((random % from.len().max(1) as u64) as usize)?;
        let is_sampled = |at: &&usize| Some(now[**at].thread) == sampled;
        match known.iter().find(is_sampled).filter(|_| !now[next].waits) {
            Some(at) => Some(*at),
            None => Some(next),
        }
    }

    /// The chain from the leader on, with the thread at its end.
    fn chain(
        &mut self,
        now: &[ThreadNow],
        by_thread: &HashMap<ThreadIndex, usize>,
        leader: Option<ThreadIndex>,
        sampled: Option<ThreadIndex>,
        random: u64,
    ) -> Option<(u32, ThreadIndex)> {
        let mut at = *by_thread.get(&leader?)?;
        let mut passed = vec![at];
        while now[at].waits && passed.len() < MAX_CHAIN {
            let Some(next) = self.next_of(&now[at], by_thread, now, sampled, random) else {
                break;
            };
            if passed.contains(&next) {
                break;
            }
            passed.push(next);
            at = next;
        }
        let states: Vec<StateIndex> = passed.iter().map(|at| now[*at].state).collect();
        if self.chains.len() >= MAX_DISTINCT && !self.chains.contains_key(&states) {
            return None;
        }
        let sums = &mut self.chain_sums;
        let index = *self.chains.entry(states).or_insert_with_key(|states| {
            sums.push(Chain {
                states: states.clone(),
                ns: 0.0,
                snapshots: 0,
                idle_ns: 0.0,
                alone_ns: 0.0,
                others_done_ns: 0.0,
                awaited_ns: 0.0,
            });
            sums.len() as u32 - 1
        });
        Some((index, now[at].thread))
    }

    /// Chains and pairs.
    pub fn finish(self) -> (Vec<SeenState>, Vec<Chain>, Vec<Pair>, Vec<CpuSnapshot>) {
        let mut pairs: Vec<Pair> = self
            .pairs
            .into_iter()
            .map(|((waiter, holder), (ns, snapshots))| Pair {
                waiter,
                holder,
                ns,
                snapshots,
            })
            .collect();
        pairs.sort_by(|a, b| b.ns.total_cmp(&a.ns).then(a.waiter.cmp(&b.waiter)));
        (self.states, self.chain_sums, pairs, self.cpu_snapshots)
    }
}

fn by_thread(now: &[ThreadNow]) -> HashMap<ThreadIndex, usize> {
    now.iter()
        .enumerate()
        .map(|(at, one)| (one.thread, at))
        .collect()
}

/// Appends a piece to a timeline: to the last one if its state is the same. When there are many, each
/// pair of neighbours becomes one with the state of the longer.
pub fn extend_timeline(thread: &mut WatchedThread, from: u64, to: u64, state: StateIndex) {
    let spans = &mut thread.timeline;
    match spans.last_mut() {
        Some(last) if last.2 == state && last.1 >= from => last.1 = to,
        _ => spans.push((from, to, state)),
    }
    if spans.len() > MAX_SPANS {
        *spans = spans
            .chunks(2)
            .map(|pair| {
                let last = pair[pair.len() - 1];
                let longer = pair.iter().max_by_key(|span| span.1 - span.0);
                (pair[0].0, last.1, longer.map_or(last.2, |span| span.2))
            })
            .collect();
    }
}

/// Whether a thread runs, or waits for one of which that is true, the one that waits for it not among them.
fn leads_to_work(
    now: &[ThreadNow],
    by_thread: &HashMap<ThreadIndex, usize>,
    at: usize,
    waiter: ThreadIndex,
    depth: u32,
) -> bool {
    let mut next = (now[at].waits_for.iter())
        .filter(|thread| **thread != waiter)
        .filter_map(|thread| by_thread.get(thread).copied());
    !now[at].waits
        || depth > 0 && next.any(|to| leads_to_work(now, by_thread, to, waiter, depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::WaitReason;
    use proptest::prelude::*;

    fn wait(reason: WaitReason) -> Option<SeenWait> {
        Some(SeenWait {
            reason,
            call: 0,
            object: WaitObject::Nothing,
            limited: false,
            stack: (1, 1),
        })
    }

    fn sample(tid: i32) -> CpuSample {
        CpuSample {
            tid,
            time: 99,
            weight: 1,
        }
    }

    fn now(thread: u32, state: u32, waits_for: Option<&[u32]>) -> ThreadNow {
        ThreadNow {
            thread,
            state,
            waits: waits_for.is_some(),
            for_threads: waits_for.is_some(),
            for_turn: false,
            in_io: false,
            new: true,
            waits_for: waits_for.unwrap_or_default().to_vec(),
        }
    }

    /// Main joins a worker, which waits for a lock that another holds who runs.
    #[test]
    fn the_chain_ends_at_who_runs() {
        let mut snapshots = Snapshots::default();
        let joins = snapshots.intern(0, wait(WaitReason::Join));
        let locks = snapshots.intern(1, wait(WaitReason::Lock));
        let runs = snapshots.intern(2, None);
        assert_eq!(snapshots.intern(2, None), runs);
        let all = [
            now(0, joins, Some(&[1])),
            now(1, locks, Some(&[2])),
            now(2, runs, None),
        ];
        snapshots.add(&all, Some(0), (5, 2), 0);
        snapshots.add(&all, Some(0), (7, 2), 1);
        snapshots.add_cpu_sample(&all, Some(0), 2, sample(22), 0);
        assert_eq!(snapshots.runnable_ns, 12.0);
        let (states, chains, pairs, cpu) = snapshots.finish();
        assert_eq!(states[locks as usize].ns, 12.0);
        assert_eq!(chains.len(), 1);
        assert_eq!(
            (&chains[0].states[..], chains[0].ns),
            (&[joins, locks, runs][..], 12.0)
        );
        assert_eq!(pairs.len(), 2);
        assert_eq!((cpu[0].chain, &cpu[0].waiters[..]), (Some(0), &[locks][..]));
    }

    /// Main joins one of two workers, which runs; the other waits for its turn, or writes.
    #[test]
    fn who_waits_for_its_turn_has_work_and_who_writes_is_not_done() {
        let alone = |change: &dyn Fn(&mut ThreadNow)| {
            let mut snapshots = Snapshots::default();
            let joins = snapshots.intern(0, wait(WaitReason::Join));
            let other = snapshots.intern(1, wait(WaitReason::Lock));
            let runs = snapshots.intern(2, None);
            let mut all = [
                now(0, joins, Some(&[2])),
                now(1, other, Some(&[2])),
                now(2, runs, None),
            ];
            change(&mut all[1]);
            snapshots.add(&all, Some(0), (5, 2), 0);
            let (_, chains, ..) = snapshots.finish();
            (chains[0].alone_ns, chains[0].others_done_ns)
        };
        assert_eq!(alone(&|_| {}), (5.0, 5.0));
        assert_eq!(alone(&|other| other.for_turn = true), (0.0, 0.0));
        assert_eq!(alone(&|other| other.in_io = true), (5.0, 0.0));
    }

    /// Main waits for any of two children, one of which waits for a lock that the other holds, who runs.
    #[test]
    fn a_child_that_waits_for_its_brother_is_part_of_the_chain() {
        let mut snapshots = Snapshots::default();
        let child = snapshots.intern(0, wait(WaitReason::Child));
        let locks = snapshots.intern(1, wait(WaitReason::Lock));
        let runs = snapshots.intern(2, None);
        let all = [
            now(0, child, Some(&[1, 2])),
            now(1, locks, Some(&[2])),
            now(2, runs, None),
        ];
        for random in 0..10 {
            snapshots.add(&all, Some(0), (1, 2), random);
            snapshots.add_cpu_sample(&all, Some(0), 2, sample(22), random);
        }
        let (_, chains, _, cpu) = snapshots.finish();
        let through: f64 = (chains.iter())
            .filter(|chain| chain.states == [child, locks, runs])
            .map(|chain| chain.ns)
            .sum();
        assert_eq!(through, 5.0);
        assert!(cpu.iter().all(|one| one.chain.is_some()));
    }

    #[test]
    fn threads_that_wait_for_one_another_end_the_chain() {
        let mut snapshots = Snapshots::default();
        let one = snapshots.intern(0, wait(WaitReason::Condition));
        let two = snapshots.intern(1, wait(WaitReason::Condition));
        let all = [now(0, one, Some(&[1])), now(1, two, Some(&[0]))];
        snapshots.add(&all, Some(0), (1, 2), 0);
        let (_, chains, ..) = snapshots.finish();
        assert_eq!(chains[0].states, [one, two]);
    }

    #[test]
    fn who_runs_is_preferred_and_the_sampled_one_before_it() {
        let mut snapshots = Snapshots::default();
        let waits = snapshots.intern(0, wait(WaitReason::Condition));
        let sleeps = snapshots.intern(1, wait(WaitReason::Sleep));
        let (three, four) = (snapshots.intern(2, None), snapshots.intern(3, None));
        let all = [
            now(0, waits, Some(&[1, 2, 3])),
            now(1, sleeps, Some(&[])),
            now(2, three, None),
            now(3, four, None),
        ];
        for random in 0..10 {
            snapshots.add(&all, Some(0), (1, 2), random);
        }
        snapshots.add_cpu_sample(&all, Some(0), 3, sample(33), 0);
        let (_, chains, _, cpu) = snapshots.finish();
        assert!(chains.iter().all(|chain| chain.states[1] != sleeps));
        let chain = &chains[cpu[0].chain.unwrap() as usize];
        assert_eq!(chain.states, [waits, four]);
    }

    proptest! {
        #[test]
        fn timelines_stay_short_and_without_gaps(lengths in prop::collection::vec((1u64..9, 0u32..3), 0..9000)) {
            let mut thread = WatchedThread::default();
            let mut at = 0;
            for (length, state) in lengths {
                extend_timeline(&mut thread, at, at + length, state);
                at += length;
            }
            prop_assert!(thread.timeline.len() <= MAX_SPANS);
            prop_assert!(thread.timeline.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert_eq!(thread.timeline.last().map_or(0, |span| span.1), at);
        }

        #[test]
        fn time_of_chains_is_the_time_of_snapshots(waits_for in prop::collection::vec(prop::collection::vec(0u32..6, 0..4), 6), random in any::<u64>()) {
            let mut snapshots = Snapshots::default();
            let all: Vec<ThreadNow> = (0u32..).zip(&waits_for).map(|(thread, others)| {
                let state = snapshots.intern(thread, (!others.is_empty()).then(|| wait(WaitReason::Lock).unwrap()));
                now(thread, state, (!others.is_empty()).then_some(&others[..]))
            }).collect();
            snapshots.add(&all, Some(0), (3, 2), random);
            let (_, chains, ..) = snapshots.finish();
            prop_assert_eq!(chains.iter().map(|chain| chain.ns).sum::<f64>(), 3.0);
            prop_assert!(chains.iter().all(|chain| chain.states.len() <= 6));
        }
    }
}
