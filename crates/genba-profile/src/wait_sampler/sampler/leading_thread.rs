//! The thread whose wall time a snapshot stands for.

use super::WaitSampler;
use crate::wait_sampler::snapshots::ThreadNow;
use crate::wait_sampler::wait_recording::ThreadIndex;

impl WaitSampler<'_> {
    /// The thread whose wall time a snapshot stands for. Of a command it is the first, whose end is
    /// the end of the whole. Of a process that was attached to it is any of those that are at work:
    /// each of them is as long under way.
    pub(super) fn leader_now(&mut self) -> Option<ThreadIndex> {
        let first = self.indices.get(&self.leader).copied();
        if !self.attached {
            return first;
        }
        let random = self.random.next();
        let at_work = self.live.iter().filter(|live| live.activity.is_at_work());
        let count = at_work.clone().count() as u64;
        match count {
            0 => first,
            _ => at_work
                .skip((random % count) as usize)
                .map(|live| live.index)
                .next(),
        }
    }

    /// The thread from which a chain may lead to one that was sampled on a CPU: that itself, or one
    /// that waits for it.
    pub(super) fn leader_of_sample(
        &self,
        snapshot: &[ThreadNow],
        sampled: ThreadIndex,
        random: u64,
    ) -> Option<ThreadIndex> {
        if !self.attached {
            return self.indices.get(&self.leader).copied();
        }
        let waiters = snapshot
            .iter()
            .filter(|one| one.waits && one.waits_for.contains(&sampled))
            .map(|one| one.thread);
        let all: Vec<ThreadIndex> = std::iter::once(sampled).chain(waiters).collect();
        Some(all[(random % all.len() as u64) as usize])
    }
}
