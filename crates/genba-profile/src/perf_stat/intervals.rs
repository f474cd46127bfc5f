//! Counters read at intervals while something runs, as `perf stat -I` does.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use genba_model::StatInterval;

use super::counter_set::CounterSet;
use super::summarise;

/// At which intervals counters are read, and what gets them.
pub struct Intervals<'a> {
    /// Time between two readings.
    pub every: Duration,
    /// Gets the counters of each interval when it ends.
    pub each: &'a mut (dyn FnMut(StatInterval) + Send),
}

/// Runs `body`, and meanwhile reads the counters at intervals, the last of which ends with it.
pub(super) fn during<T>(
    counters: &CounterSet,
    intervals: Option<Intervals<'_>>,
    body: impl FnOnce() -> T,
) -> T {
    let Some(Intervals { every, each }) = intervals else {
        return body();
    };
    std::thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        scope.spawn(move || {
            let began = Instant::now();
            let mut state = counters.zero();
            let mut last = Duration::ZERO;
            // Against the start, so that delays do not add up.
            for number in 1.. {
                let next = every.saturating_mul(number);
                let left = next.saturating_sub(began.elapsed());
                let over = !matches!(ended.recv_timeout(left), Err(RecvTimeoutError::Timeout));
                let now = began.elapsed();
                let readings = counters.read_since(&mut state);
                each(StatInterval {
                    end_seconds: now.as_secs_f64(),
                    counters: summarise(&[readings], (now - last).as_secs_f64()),
                });
                last = now;
                if over {
                    return;
                }
            }
        });
        let result = body();
        drop(end);
        result
    })
}
