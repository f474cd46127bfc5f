//! What the bursts of a counted run showed.

use std::fs;
use std::time::{Duration, Instant};

use genba_model::{Observation, RawCounts};
use genba_observe::{CacheGeometry, CacheSize, Observations, Watched, observe};

use crate::observed_code::ObservedCode;

/// Kind of the document with [`Observations`] in a case.
pub const OBSERVATIONS: &str = "observations";

/// Time that any analysis has: of more it is not asked how long it will take.
const AMPLE_TIME: Duration = Duration::from_secs(60);

/// Analyses the bursts of a counted run and frees them; `None` if there were none. Where the time is limited, as many as
/// it allows, evenly over the run, with a note.
pub fn observations(
    raw: &mut RawCounts,
    limit: Option<Duration>,
) -> (Option<Observations>, Option<String>) {
    analysed(taken(raw), limit)
}

/// What was observed of the processes of a counted run, each with its process id; it is no longer there afterwards.
pub(crate) fn taken(raw: &mut RawCounts) -> Vec<(i32, Observation)> {
    let all = raw.processes.iter_mut().filter_map(|process| {
        let observation = process.observation.take()?;
        Some((process.pid, observation))
    });
    all.collect()
}

/// The same as [`observations`] of processes of one run or of several.
pub(crate) fn analysed(
    processes: Vec<(i32, Observation)>,
    limit: Option<Duration>,
) -> (Option<Observations>, Option<String>) {
    let mut watched = Watched::new(processes);
    if watched.is_empty() {
        return (None, None);
    }
    let caches = host_caches();
    let mut note = None;
    if let Some(limit) = limit.filter(|limit| *limit < AMPLE_TIME) {
        let began = Instant::now();
        let one = watched.middle_burst();
        let _ = observe(&one, &caches, &ObservedCode::of(&one));
        let (all, fits) = (watched.bursts(), fitting(limit, began.elapsed()));
        if fits < all {
            watched.keep(fits);
            note = Some(format!(
                "{fits} of {all} bursts were analysed: no time was left for more (--limit)"
            ));
        }
    }
    if watched.is_empty() {
        return (None, note);
    }
    let code = ObservedCode::of(&watched);
    (Some(observe(&watched, &caches, &code)), note)
}

/// How many bursts fit into a time of which the analysis of one has taken a part.
fn fitting(limit: Duration, each: Duration) -> usize {
    let left = limit.saturating_sub(each).as_secs_f64();
    (left / each.as_secs_f64().max(1e-6)) as usize
}

/// The data caches of this host's first processor as Linux reports them; where it does not, those
/// of [`CacheGeometry::default`]. The TLB is always the default: Linux does not report it.
fn host_caches() -> CacheGeometry {
    let mut geometry = CacheGeometry::default();
    let mut levels = [None; 4];
    for index in 0..8 {
        let file = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            Some(fs::read_to_string(path).ok()?.trim().to_owned())
        };
        let (Some(level), Some(kind), Some(size)) = (file("level"), file("type"), file("size"))
        else {
            continue;
        };
        let (Ok(level), Ok(bytes)) = (level.parse::<usize>(), genba_units::parse_bytes(&size))
        else {
            continue;
        };
        if kind == "Instruction" || bytes == 0 {
            continue;
        }
        let number = |name: &str| file(name).and_then(|text| text.parse::<u32>().ok());
        if let Some(slot) = levels.get_mut(level) {
            *slot = Some((bytes, number("ways_of_associativity")));
        }
        if let Some(line) = number("coherency_line_size").filter(|&line| line > 0) {
            geometry.line_bytes = u64::from(line);
        }
    }
    if let Some((bytes, ways)) = levels[1] {
        geometry.l1 = CacheSize {
            bytes,
            ways: ways.filter(|&ways| ways > 0).unwrap_or(geometry.l1.ways),
        };
    }
    if let Some((bytes, _)) = levels[2] {
        geometry.l2_bytes = bytes;
        geometry.l3_bytes = levels[3].map(|level| level.0);
    }
    geometry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_fit_into_the_time_that_is_left_are_analysed() {
        let ms = Duration::from_millis;
        assert_eq!(fitting(ms(1000), ms(20)), 49);
        assert_eq!(fitting(ms(20), ms(30)), 0);
        assert!(fitting(ms(1000), ms(0)) > 1000);
    }
}
