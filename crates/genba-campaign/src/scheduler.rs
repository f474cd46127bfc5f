//! The loop over a board: submit, wait, look. It works with any scheduler and any store of results.

use std::collections::BTreeSet;
use std::time::Instant;

use genba_run::Cancel;

use crate::CampaignError;
use crate::task_board::{Counts, Task, TaskBoard};

/// Runs tasks somewhere. A task leaves its result in the campaign's directory.
pub trait Scheduler {
    /// Accepts these tasks.
    ///
    /// # Errors
    /// It refuses them.
    fn submit(&mut self, tasks: &[Task]) -> Result<(), CampaignError>;

    /// Keys of the tasks that it still has, waiting or running; `None` if it cannot be asked now.
    ///
    /// # Errors
    /// It cannot be used at all.
    fn live(&mut self) -> Result<Option<BTreeSet<String>>, CampaignError>;

    /// Lets time pass: runs a task, or waits for a moment.
    ///
    /// # Errors
    /// A task cannot be started at all.
    fn advance(&mut self, cancel: &Cancel) -> Result<(), CampaignError>;

    /// Ends all tasks.
    fn cancel(&mut self);

    /// What is worth reporting in the result: which worker died of what. A sentence each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why nothing runs now, if that is not ordinary.
    fn obstacle(&self) -> Option<String> {
        None
    }
}

/// Where the loop stands.
#[derive(Clone, Debug)]
pub struct CampaignProgress<'a> {
    /// What the tasks are: `builds` or `blocks`.
    pub stage: &'static str,
    /// Tasks by state.
    pub counts: Counts,
    /// Why nothing runs, or what the scheduler remarked last.
    pub remark: Option<&'a str>,
    /// Expected time left, seconds.
    pub left_seconds: Option<f64>,
}

/// Receives progress.
pub trait CampaignObserver {
    /// Called each time the loop has looked.
    fn progress(&mut self, progress: &CampaignProgress<'_>);
}

/// Settles all tasks of a board; returns whether it was interrupted before.
///
/// `stored` returns the keys of the stored results.
///
/// # Errors
/// The scheduler or the store cannot be used.
pub fn settle(
    stage: &'static str,
    board: &mut TaskBoard,
    scheduler: &mut dyn Scheduler,
    stored: &mut dyn FnMut() -> Result<BTreeSet<String>, CampaignError>,
    cancel: &Cancel,
    observer: &mut dyn CampaignObserver,
) -> Result<bool, CampaignError> {
    let begun = Instant::now();
    let mut done_before = None;
    loop {
        // In this order: what has ended since then is stored by now.
        let live = scheduler.live()?;
        board.observe(&stored()?, live.as_ref());
        let counts = board.counts();
        let before = *done_before.get_or_insert(counts.done);
        let remark = scheduler.obstacle().or_else(|| scheduler.remarks().pop());
        observer.progress(&CampaignProgress {
            stage,
            counts,
            remark: remark.as_deref(),
            left_seconds: left(counts, before, begun.elapsed().as_secs_f64()),
        });
        if board.is_settled() {
            // Second attempts whose first one has left a result after all.
            scheduler.cancel();
            return Ok(false);
        }
        if cancel.is_triggered() {
            scheduler.cancel();
            return Ok(true);
        }
        let waiting = board.take_waiting(usize::MAX);
        if !waiting.is_empty() {
            scheduler.submit(&waiting)?;
        }
        scheduler.advance(cancel)?;
    }
}

/// Time left at the pace of this session.
fn left(counts: Counts, before: usize, elapsed: f64) -> Option<f64> {
    let made = counts.done.saturating_sub(before);
    let left = counts.waiting + counts.out;
    (made > 0).then(|| elapsed / made as f64 * left as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::rc::Rc;

    /// How often a block was stored; a second time is refused, as by the directory.
    type Results = Rc<RefCell<BTreeMap<String, u32>>>;

    /// A cluster that kills jobs, forgets them, requeues them, runs them twice and does not answer.
    struct Cluster {
        random: StdRng,
        jobs: Rc<RefCell<Vec<String>>>,
        results: Results,
    }

    impl Scheduler for Cluster {
        fn submit(&mut self, tasks: &[Task]) -> Result<(), CampaignError> {
            let keys = tasks.iter().map(|task| task.key.clone());
            self.jobs.borrow_mut().extend(keys);
            Ok(())
        }

        fn live(&mut self) -> Result<Option<BTreeSet<String>>, CampaignError> {
            if self.random.random_range(0..5) == 0 {
                return Ok(None);
            }
            Ok(Some(self.jobs.borrow().iter().cloned().collect()))
        }

        fn advance(&mut self, _: &Cancel) -> Result<(), CampaignError> {
            let mut jobs = self.jobs.borrow_mut();
            if jobs.is_empty() {
                return Ok(());
            }
            let index = self.random.random_range(0..jobs.len());
            let key = jobs[index].clone();
            match self.random.random_range(0..6) {
                // Killed.
                0 => drop(jobs.remove(index)),
                // Its node failed after it had stored its result, and it is requeued.
                1 => store(&self.results, key),
                // Run twice.
                2 => jobs.push(key),
                _ => {
                    store(&self.results, key);
                    jobs.remove(index);
                }
            }
            Ok(())
        }

        fn cancel(&mut self) {}
    }

    fn store(results: &Results, key: String) {
        // The first result stays.
        results.borrow_mut().entry(key).or_insert(1);
    }

    struct Quiet;

    impl CampaignObserver for Quiet {
        fn progress(&mut self, _: &CampaignProgress<'_>) {}
    }

    /// Ends the session after some looks, as SIGKILL does.
    struct KilledAfter {
        looks: u32,
        cancel: Cancel,
    }

    impl CampaignObserver for KilledAfter {
        fn progress(&mut self, _: &CampaignProgress<'_>) {
            match self.looks.checked_sub(1) {
                Some(left) => self.looks = left,
                None => self.cancel.trigger(),
            }
        }
    }

    fn tasks(count: usize) -> Vec<Task> {
        (0..count)
            .map(|number| Task {
                key: format!("block {number}"),
                host: 0,
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_block_is_there_once_whatever_is_killed(count in 1usize..60, seed: u64) {
            let results: Results = Rc::default();
            let jobs: Rc<RefCell<Vec<String>>> = Rc::default();
            let stored = || Ok(results.borrow().keys().cloned().collect());
            let mut random = StdRng::seed_from_u64(seed);
            for session in 0_u64.. {
                prop_assert!(session < 1_000, "it does not end");
                let cancel = Cancel::new().expect("a token");
                let mut cluster = Cluster {
                    random: StdRng::seed_from_u64(seed ^ session),
                    jobs: Rc::clone(&jobs),
                    results: Rc::clone(&results),
                };
                let known = jobs.borrow().iter().cloned().collect();
                let mut board = TaskBoard::new(tasks(count), &known, 1_000);
                let looks = random.random_range(0..40);
                let mut observer = KilledAfter { looks, cancel: cancel.clone() };
                let interrupted =
                    settle("blocks", &mut board, &mut cluster, &mut { stored }, &cancel, &mut observer)
                        .expect("settled");
                if !interrupted {
                    break;
                }
            }
            let results = results.borrow();
            prop_assert_eq!(results.len(), count);
            prop_assert!(results.values().all(|times| *times == 1));
        }
    }

    #[test]
    fn task_that_never_leaves_a_result_is_given_up() {
        struct Hopeless;
        impl Scheduler for Hopeless {
            fn submit(&mut self, _: &[Task]) -> Result<(), CampaignError> {
                Ok(())
            }
            fn live(&mut self) -> Result<Option<BTreeSet<String>>, CampaignError> {
                Ok(Some(BTreeSet::new()))
            }
            fn advance(&mut self, _: &Cancel) -> Result<(), CampaignError> {
                Ok(())
            }
            fn cancel(&mut self) {}
        }
        let mut board = TaskBoard::new(tasks(3), &BTreeSet::new(), 4);
        let cancel = Cancel::new().expect("a token");
        let mut none = || Ok(BTreeSet::new());
        settle(
            "blocks",
            &mut board,
            &mut Hopeless,
            &mut none,
            &cancel,
            &mut Quiet,
        )
        .expect("settled");
        assert_eq!(board.counts().given_up, 3);
        assert_eq!(board.counts().lost, 12);
    }
}
