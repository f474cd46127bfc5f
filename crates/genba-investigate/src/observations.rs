//! What the bursts of a counted run showed.

use std::fs;

use genba_model::RawCounts;
use genba_observe::{CacheGeometry, CacheSize, Observations, Watched, observe};

use crate::observed_code::ObservedCode;

/// Kind of the document with [`Observations`] in a case.
pub const OBSERVATIONS: &str = "observations";

/// Analyses the bursts of a counted run and frees them; `None` if there were none.
pub fn observations(raw: &mut RawCounts) -> Option<Observations> {
    let all = raw.processes.iter_mut().filter_map(|process| {
        let observation = process.observation.take()?;
        Some((process.pid, observation))
    });
    let watched = Watched::new(all.collect());
    if watched.is_empty() {
        return None;
    }
    let code = ObservedCode::of(&watched);
    Some(observe(&watched, &host_caches(), &code))
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
