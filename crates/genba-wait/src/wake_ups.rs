//! Ends of waits with the thread that brought them about.

use genba_model::WakeUp;

use crate::view::View;

/// All that were recorded, in the order of time.
pub fn wake_ups(view: &View<'_>) -> Vec<WakeUp> {
    let recording = view.recording;
    let seconds = |ns: u64| ns.saturating_sub(recording.began) as f64 / 1e9;
    let tid = |thread: u32| recording.threads.get(thread as usize).map(|one| one.tid);
    let mut found: Vec<WakeUp> = recording
        .wake_ups
        .iter()
        .filter_map(|one| {
            Some(WakeUp {
                at: seconds(one.at),
                waited: one.waited as f64 / 1e9,
                waker: tid(one.waker)?,
                woken: tid(one.woken)?,
            })
        })
        .collect();
    found.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.woken.cmp(&b.woken)));
    found
}
