//! What a run of a loop did first: by it runs that begin alike are known, wherever they end.

use crate::fast_hash::{FastSet, mix};

/// Loads, branches and ends of iterations that are kept of a run.
const MAX_STEPS: usize = 1 << 10;

/// Iterations of the shorter of two runs that end near one another.
const MIN_ITERATIONS_ALIKE: u64 = 4;

/// A run ends near another where its length differs by one part of so many, or by one iteration.
const NEAR: u64 = 8;

/// The first steps of a run, those of loops inside it with them.
#[derive(Default)]
pub(crate) struct FirstSteps {
    steps: Vec<Step>,
    /// Loads and branches of the loop itself in this iteration.
    of_iteration: Vec<u64>,
    all_iterations: u64,
    own_iterations: u64,
}

#[derive(Clone, Copy)]
struct Step {
    /// Whether it is of the loop's own function, not of a callee.
    own: bool,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Load {
        at: u64,
        address: u64,
        value: u64,
    },
    Branch(u64),
    /// What a function that the loop calls returned.
    Result {
        at: u64,
        value: u64,
    },
    EndOfIteration,
}

impl FirstSteps {
    /// The loop itself loads.
    pub(crate) fn load(&mut self, at: u64, address: u64, value: u64) {
        self.step(at, What::Load { at, address, value });
    }

    /// The loop itself branches.
    pub(crate) fn branch(&mut self, at: u64, taken: bool) {
        self.step(at, What::Branch(mix(at, u64::from(taken))));
    }

    /// A function that the loop itself calls returns.
    pub(crate) fn result(&mut self, at: u64, value: u64) {
        self.push(What::Result { at, value });
    }

    /// The head may be no beginning of a block of translated code: what is done a second time begins an iteration
    /// as well.
    fn step(&mut self, at: u64, what: What) {
        let goes_back = (self.of_iteration.last()).is_some_and(|&last| at <= last);
        if goes_back && self.of_iteration.contains(&at) {
            self.end_iteration();
        }
        self.of_iteration.push(at);
        self.push(what);
    }

    fn push(&mut self, what: What) {
        if self.space() > 0 {
            self.steps.push(Step { own: true, what });
        }
    }

    fn space(&self) -> usize {
        MAX_STEPS - self.steps.len()
    }

    /// The head is reached, or the loop left.
    pub(crate) fn end_iteration(&mut self) {
        if !self.of_iteration.is_empty() {
            self.push(What::EndOfIteration);
            self.all_iterations += 1;
            self.own_iterations += 1;
            self.of_iteration.clear();
        }
    }

    /// A run inside this one has ended; `own` if it is of the same activation. Of callees their own loops count, not
    /// those of what they call to compare with the key.
    pub(crate) fn inner(&mut self, inner: &Self, own: bool) {
        let space = self.space();
        let steps = inner.steps.iter().filter(|one| own || one.own);
        let steps = steps.map(|one| Step {
            own: own && one.own,
            ..*one
        });
        self.steps.extend(steps.take(space));
        if own {
            self.own_iterations += inner.own_iterations;
            self.all_iterations += inner.all_iterations;
        } else {
            self.all_iterations += inner.own_iterations;
        }
        self.of_iteration.clear();
    }

    /// What was done up to the end of each of the first iterations that go through memory, as one number: branches,
    /// and loads of instructions that are known to go through memory. Where the loop itself loads nothing, functions do
    /// that read elements for it: what they return counts.
    pub(crate) fn iterations(&self, moving: &FastSet<u64>) -> Iterations {
        let (mut path, mut goes, mut ends) = (0, false, Vec::new());
        let mut results = None;
        for step in &self.steps {
            match step.what {
                What::Load { at, address, value } if moving.contains(&at) => {
                    path = mix(mix(path, address), value);
                    goes = true;
                }
                What::Load { .. } => {}
                What::Branch(what) => path = mix(path, what),
                What::Result { at, value } if moving.contains(&at) => {
                    results = Some(mix(results.unwrap_or(0), value));
                }
                What::Result { .. } => {}
                What::EndOfIteration => {
                    let results = results.take();
                    if let Some(results) = results.filter(|_| !goes) {
                        path = mix(path, results);
                        goes = true;
                    }
                    if std::mem::take(&mut goes) {
                        ends.push(path);
                    }
                }
            }
        }
        Iterations {
            kept: ends,
            beyond: self.iterations_beyond(),
        }
    }

    /// Iterations of which nothing was kept.
    fn iterations_beyond(&self) -> u64 {
        let ends = |one: &&Step| matches!(one.what, What::EndOfIteration);
        let kept = self.steps.iter().filter(ends).count();
        self.all_iterations.saturating_sub(kept as u64)
    }
}

/// The iterations of a run: what was done up to the end of each of the first ones, and how many came behind them.
pub(crate) struct Iterations {
    kept: Vec<u64>,
    beyond: u64,
}

impl Iterations {
    pub(crate) fn all(&self) -> u64 {
        self.kept.len() as u64 + self.beyond
    }

    /// The first ones that do the same as those of another run.
    pub(crate) fn alike(&self, other: &Self) -> usize {
        let pairs = self.kept.iter().zip(&other.kept);
        pairs.take_while(|(one, other)| one == other).count()
    }

    /// Whether the shorter run is the beginning of the longer one, and not much shorter. The last iteration of a run differs
    /// by where it goes. As long a run is the same walk again.
    pub(crate) fn ends_near(&self, other: &Self) -> bool {
        let (shorter, longer) = (self.all().min(other.all()), self.all().max(other.all()));
        let kept = self.kept.len().min(other.kept.len());
        shorter >= MIN_ITERATIONS_ALIKE
            && longer > shorter
            && longer - shorter <= (shorter / NEAR).max(1)
            && self.alike(other) + 1 >= kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes over elements of an array from here on, with the key in memory.
    fn walk(first: u64, elements: u64, key: u64) -> FirstSteps {
        let mut run = FirstSteps::default();
        for one in first..first + elements {
            run.load(0x10, 0x1000 + 8 * one, one);
            run.load(0x14, 0x7000, key);
            run.branch(0x18, true);
        }
        run.end_iteration();
        run
    }

    fn moving() -> FastSet<u64> {
        [0x10].into_iter().collect()
    }

    #[test]
    fn what_is_loaded_from_one_place_does_not_tell_runs_apart() {
        let [one, other] = [7, 8].map(|key| walk(0, 5, key).iterations(&moving()).kept);
        assert_eq!((one.len(), &one), (5, &other));
        let from_elsewhere = walk(1, 5, 7).iterations(&moving()).kept;
        assert_ne!(from_elsewhere[0], one[0]);
        // As long as nothing is known to go through memory, nothing is compared.
        assert!(
            walk(0, 5, 7)
                .iterations(&FastSet::default())
                .kept
                .is_empty()
        );
    }

    /// Gets elements of an array from here on by a function.
    fn walk_by_calls(first: u64, elements: u64) -> FirstSteps {
        let mut run = FirstSteps::default();
        for one in first..first + elements {
            run.result(0x900, one);
            run.branch(0x18, true);
            run.end_iteration();
        }
        run
    }

    #[test]
    fn results_of_functions_count_where_the_loop_itself_loads_nothing() {
        let moving = [0x10, 0x900].into_iter().collect();
        let [one, other] = [0, 1].map(|first| walk_by_calls(first, 5).iterations(&moving).kept);
        assert_eq!(one.len(), 5);
        assert_ne!(one[0], other[0]);
        // The same result each time is no element.
        assert!(
            walk_by_calls(0, 5)
                .iterations(&FastSet::default())
                .kept
                .is_empty()
        );
    }

    #[test]
    fn results_do_not_tell_runs_apart_that_load_elements() {
        let with_result = |result: u64| {
            let mut run = FirstSteps::default();
            for one in 0..5 {
                run.load(0x10, 0x1000 + 8 * one, one);
                run.result(0x900, result + one);
                run.branch(0x18, true);
            }
            run.end_iteration();
            run.iterations(&[0x10, 0x900].into_iter().collect()).kept
        };
        assert_eq!(with_result(1), with_result(2));
    }

    #[test]
    fn iterations_of_loops_inside_count_and_of_callees_those_of_their_own() {
        let mut deep = FirstSteps::default();
        deep.inner(&walk(0, 5, 7), true);
        assert_eq!(deep.iterations(&moving()).kept.len(), 5);
        let mut callee = walk(0, 2, 7);
        callee.inner(&walk(0, 5, 7), false);
        let mut caller = FirstSteps::default();
        caller.inner(&callee, false);
        assert_eq!(caller.iterations(&moving()).kept.len(), 2);
    }

    #[test]
    fn long_runs_are_bounded_and_say_how_much_is_beyond() {
        let run = walk(0, 100_000, 7);
        assert!(run.steps.len() <= MAX_STEPS);
        assert_eq!(run.iterations(&moving()).all(), 100_000);
    }
}
