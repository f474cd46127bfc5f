//! The state of every task of a campaign: what waits, what is out, what is done. Pure.
//!
//! A task is done when its result is stored, whoever made it and whatever became of the job. A task
//! that is out, without a result, and that no scheduler knows any more has been lost: its job was killed,
//! its node failed. It is made again, until its attempts are spent.

use std::collections::{BTreeMap, BTreeSet};

/// A task as schedulers see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Key of its build or block.
    pub key: String,
    /// Index of its kind of host.
    pub host: usize,
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be submitted.
    Waiting,
    /// With the scheduler; how many times in a row that did not know it.
    Out { missed: u32 },
    /// Its result is stored.
    Done,
    /// Its attempts are spent.
    GivenUp,
}

/// Times in a row that a scheduler must not know a task before it counts as lost: a result may become
/// visible on a shared file system a moment after its job has ended.
const MAX_MISSED: u32 = 2;

/// Counts of tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// To be submitted.
    pub waiting: usize,
    /// With the scheduler.
    pub out: usize,
    /// Stored.
    pub done: usize,
    /// Attempts spent.
    pub given_up: usize,
    /// Attempts that ended without a result.
    pub lost: u64,
}

/// All tasks of a stage with their states.
#[derive(Clone, Debug)]
pub struct TaskBoard {
    tasks: Vec<Task>,
    states: Vec<State>,
    attempts: Vec<u32>,
    max_attempts: u32,
    lost: u64,
}

impl TaskBoard {
    /// A board of these tasks, none of them submitted by this session. `live` are those that the
    /// scheduler still knows from an earlier one.
    #[must_use]
    pub fn new(tasks: Vec<Task>, live: &BTreeSet<String>, max_attempts: u32) -> Self {
        let state = |task: &Task| match live.contains(&task.key) {
            true => State::Out { missed: 0 },
            false => State::Waiting,
        };
        Self {
            states: tasks.iter().map(state).collect(),
            attempts: vec![0; tasks.len()],
            tasks,
            max_attempts: max_attempts.max(1),
            lost: 0,
        }
    }

    /// Takes in which results are stored, and which tasks the scheduler knows; `None` if it does not
    /// answer. The results must have been read after the scheduler was asked.
    pub fn observe(&mut self, stored: &BTreeSet<String>, live: Option<&BTreeSet<String>>) {
        for (index, task) in self.tasks.iter().enumerate() {
            let state = &mut self.states[index];
            if stored.contains(&task.key) {
                *state = State::Done;
                continue;
            }
            let (State::Out { missed }, Some(live)) = (*state, live) else {
                continue;
            };
            if live.contains(&task.key) {
                *state = State::Out { missed: 0 };
            } else if missed + 1 < MAX_MISSED {
                *state = State::Out { missed: missed + 1 };
            } else {
                self.attempts[index] += 1;
                self.lost += 1;
                *state = match self.attempts[index] < self.max_attempts {
                    true => State::Waiting,
                    false => State::GivenUp,
                };
            }
        }
    }

    /// The tasks to be submitted now, `limit` at most; they count as submitted.
    pub fn take_waiting(&mut self, limit: usize) -> Vec<Task> {
        let waiting: Vec<usize> = (0..self.tasks.len())
            .filter(|index| self.states[*index] == State::Waiting)
            .take(limit)
            .collect();
        for index in &waiting {
            self.states[*index] = State::Out { missed: 0 };
        }
        waiting
            .iter()
            .map(|index| self.tasks[*index].clone())
            .collect()
    }

    /// Whether every task is done or given up.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        (self.states.iter()).all(|state| matches!(state, State::Done | State::GivenUp))
    }

    /// Counts of tasks by state.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            lost: self.lost,
            ..Counts::default()
        };
        for state in &self.states {
            match state {
                State::Waiting => counts.waiting += 1,
                State::Out { .. } => counts.out += 1,
                State::Done => counts.done += 1,
                State::GivenUp => counts.given_up += 1,
            }
        }
        counts
    }

    /// Attempts of the tasks that were given up, by key.
    #[must_use]
    pub fn given_up(&self) -> BTreeMap<String, u32> {
        (0..self.tasks.len())
            .filter(|index| self.states[*index] == State::GivenUp)
            .map(|index| (self.tasks[index].key.clone(), self.attempts[index]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(key: &str) -> Task {
        Task {
            key: key.to_owned(),
            host: 0,
        }
    }

    fn set(keys: &[&str]) -> BTreeSet<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn lost_task_is_submitted_again_until_its_attempts_are_spent() {
        let mut board = TaskBoard::new(vec![task("a"), task("b")], &set(&[]), 2);
        assert_eq!(board.take_waiting(10).len(), 2);
        board.observe(&set(&["a"]), Some(&set(&["b"])));
        assert_eq!(board.take_waiting(10).len(), 0);
        board.observe(&set(&["a"]), Some(&set(&[])));
        assert!(
            board.take_waiting(10).is_empty(),
            "the result may be on its way"
        );
        board.observe(&set(&["a"]), Some(&set(&[])));
        assert_eq!(board.take_waiting(10), [task("b")]);
        for _ in 0..2 {
            board.observe(&set(&["a"]), Some(&set(&[])));
        }
        assert!(board.is_settled());
        assert_eq!(board.given_up().get("b"), Some(&2));
        assert_eq!(board.counts().lost, 2);
    }

    #[test]
    fn silent_scheduler_loses_nothing() {
        let mut board = TaskBoard::new(vec![task("a")], &set(&[]), 2);
        board.take_waiting(1);
        for _ in 0..10 {
            board.observe(&set(&[]), None);
        }
        assert_eq!(board.counts().out, 1);
        board.observe(&set(&["a"]), None);
        assert!(board.is_settled());
    }

    #[test]
    fn task_of_an_earlier_session_is_not_submitted_twice() {
        let mut board = TaskBoard::new(vec![task("a"), task("b")], &set(&["a"]), 2);
        assert_eq!(board.take_waiting(10), [task("b")]);
    }

    #[test]
    fn result_of_a_task_that_was_given_up_counts() {
        let mut board = TaskBoard::new(vec![task("a")], &set(&[]), 1);
        board.take_waiting(1);
        board.observe(&set(&[]), Some(&set(&[])));
        board.observe(&set(&[]), Some(&set(&[])));
        assert_eq!(board.counts().given_up, 1);
        board.observe(&set(&["a"]), Some(&set(&[])));
        assert_eq!(board.counts().done, 1);
    }
}
