//! Which level of the memory hierarchy serves each load.
//!
//! The first level is simulated with the host's sets and ways within each burst. Where the burst
//! cannot know (the first accesses to a set), and for the larger levels, the distribution of reuse
//! distances decides ([`crate::reuse_distance`]). Distances longer than a burst are never seen: what
//! is reused after longer is in a larger cache as far as the memory that all bursts together touched
//! fits there (A. Chao's estimate for what they did not touch, Biometrics 43, 1987). The larger levels
//! are therefore rough.

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::cache_geometry::CacheGeometry;
use crate::fast_hash::FastMap;
use crate::reuse_distance::{Reuse, ReuseCounts, Survival};
use crate::set_associative::{Found, SetAssociative};
use crate::strides::{Stride, strides};
use crate::tally::{Seen, Tally};

/// A load instruction with the levels that serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSite {
    /// The instruction.
    pub at: CodePoint,
    /// Loads that the first level cannot serve.
    pub l1_missed: Seen,
    /// Share of the loads that each level serves. Of all but the first the figures are rough: no
    /// finding may rest on them alone.
    pub l1: Estimate,
    /// By the second level.
    pub l2: Estimate,
    /// By the third level; 0 if there is none.
    pub l3: Estimate,
    /// By memory.
    pub memory: Estimate,
    /// Share of the loads whose page the TLB does not map, were all pages small.
    pub tlb_missed: Estimate,
    /// The most frequent step of the address.
    pub stride: Option<Stride>,
}

/// Finds the levels that serve each load, those with most executions first.
pub(crate) fn load_levels(bursts: &[Burst], geometry: &CacheGeometry) -> Vec<LoadSite> {
    let lines = Locality::of(bursts, geometry.line_bytes);
    let pages = Locality::of(bursts, geometry.page_bytes);
    let line_capacity = |bytes: u64| bytes as f64 / geometry.line_bytes as f64;
    let l1 = lines.level(line_capacity(geometry.l1.bytes));
    let l2 = lines.level(line_capacity(geometry.l2_bytes));
    let l3 = geometry
        .l3_bytes
        .map(|bytes| lines.level(line_capacity(bytes)));
    let tlb = pages.level(geometry.tlb_pages as f64);
    let mut tallies = [0; 4].map(|_| Tally::<CodePoint>::new());
    let mut cache = SetAssociative::new(geometry.l1, geometry.line_bytes);
    for burst in bursts {
        cache.forget();
        let mut line_times = Times::new(geometry.line_bytes);
        let mut page_times = Times::new(geometry.page_bytes);
        for event in &burst.events {
            let Some((address, size, loads)) = access(&event.what) else {
                continue;
            };
            // A load is missed as often as the worse of its lines.
            let mut missed = [0.0f64; 4];
            line_times.access(address, size, |line, reuse| {
                let simulated = match cache.access(line) {
                    Found::Hit => 0.0,
                    Found::Miss => 1.0,
                    Found::Unknown => l1.missed(&lines, event.at, reuse),
                };
                let second = l2.missed(&lines, event.at, reuse).min(simulated);
                let third = l3
                    .as_ref()
                    .map_or(second, |l3| l3.missed(&lines, event.at, reuse).min(second));
                for (worst, one) in missed.iter_mut().zip([simulated, second, third]) {
                    *worst = worst.max(one);
                }
            });
            page_times.access(address, size, |_, reuse| {
                missed[3] = missed[3].max(tlb.missed(&pages, event.at, reuse));
            });
            if loads {
                for (tally, missed) in tallies.iter_mut().zip(missed) {
                    tally.add(event.at, missed, 1.0);
                }
            }
        }
        for tally in &mut tallies {
            tally.end_of_burst(burst.weight);
        }
    }
    let strides = strides(bursts);
    let [first, second, third, pages] = &tallies;
    (first.shares().into_iter())
        .filter_map(|(at, missed)| {
            let (second, third) = (second.seen(at)?.share, third.seen(at)?.share);
            let first = missed.share;
            Some(LoadSite {
                at,
                l1_missed: missed,
                l1: complement(first),
                l2: difference(first, second),
                l3: match geometry.l3_bytes {
                    Some(_) => difference(second, third),
                    None => Estimate::exact(0.0),
                },
                memory: third,
                tlb_missed: pages.seen(at)?.share,
                stride: strides.get(&at).copied(),
            })
        })
        .collect()
}

fn complement(share: Estimate) -> Estimate {
    Estimate {
        value: 1.0 - share.value,
        low: 1.0 - share.high,
        high: 1.0 - share.low,
    }
}

/// What is in the first share and not in the second, which is a part of it.
fn difference(whole: Estimate, part: Estimate) -> Estimate {
    let value = (whole.value - part.value).max(0.0);
    Estimate {
        value,
        low: (whole.low - part.high).clamp(0.0, value),
        high: (whole.high - part.low).clamp(value, 1.0),
    }
}

fn access(what: &Observed) -> Option<(u64, u16, bool)> {
    match *what {
        Observed::Load { address, size, .. } => Some((address, size, true)),
        Observed::Store {
            address,
            size,
            reads,
            ..
        } => Some((address, size, reads)),
        _ => None,
    }
}

/// When each line (or page) was accessed last in a burst.
struct Times {
    unit: u64,
    now: u32,
    last: FastMap<u64, u32>,
}

impl Times {
    fn new(unit: u64) -> Self {
        Self {
            unit,
            now: 0,
            last: FastMap::default(),
        }
    }

    /// Calls `each` with every unit that an access touches.
    fn access(&mut self, address: u64, size: u16, mut each: impl FnMut(u64, Reuse)) {
        let end = address.saturating_add(u64::from(size).saturating_sub(1));
        for unit in address / self.unit..=end / self.unit {
            self.now += 1;
            each(
                unit,
                match self.last.insert(unit, self.now) {
                    Some(before) => Reuse::After(self.now - before),
                    None => Reuse::Beyond(self.now),
                },
            );
        }
    }
}

/// Reuse of lines or pages in all bursts.
struct Locality {
    all: Survival,
    sites: FastMap<CodePoint, Survival>,
    /// Different units that the program works on, estimated.
    footprint: f64,
}

/// Accesses of an instruction from which on its own distribution is used, not that of all.
const MIN_ACCESSES_OF_SITE: u32 = 64;

impl Locality {
    fn of(bursts: &[Burst], unit: u64) -> Self {
        let mut all = ReuseCounts::default();
        let mut sites: FastMap<CodePoint, (ReuseCounts, u32)> = FastMap::default();
        // Bursts that touched each unit; one and two are told apart from more.
        let mut met: FastMap<u64, u8> = FastMap::default();
        for burst in bursts {
            let mut times = Times::new(unit);
            for event in &burst.events {
                let Some((address, size, _)) = access(&event.what) else {
                    continue;
                };
                times.access(address, size, |_, reuse| {
                    all.add(reuse);
                    let site = sites.entry(event.at).or_default();
                    site.0.add(reuse);
                    site.1 += 1;
                });
            }
            for &unit in times.last.keys() {
                let bursts = met.entry(unit).or_default();
                *bursts = bursts.saturating_add(1);
            }
        }
        let once = met.values().filter(|&&bursts| bursts == 1).count() as f64;
        let twice = met.values().filter(|&&bursts| bursts == 2).count() as f64;
        let unseen = match bursts.len() {
            0 | 1 => 0.0,
            bursts => {
                (bursts - 1) as f64 / bursts as f64 * once * (once - 1.0).max(0.0)
                    / (2.0 * (twice + 1.0))
            }
        };
        Self {
            all: all.survival(),
            sites: (sites.into_iter())
                .filter(|(_, site)| site.1 >= MIN_ACCESSES_OF_SITE)
                .map(|(at, site)| (at, site.0.survival()))
                .collect(),
            footprint: met.len() as f64 + unseen,
        }
    }

    /// A cache of so many lines.
    fn level(&self, lines: f64) -> Level {
        Level {
            distance: self.all.distance_of_lines(lines),
            missed_beyond_horizon: (1.0 - lines / self.footprint.max(1.0)).max(0.0),
        }
    }
}

struct Level {
    /// Reuse distance from which on a line has left the cache, if that is ever seen.
    distance: Option<f64>,
    /// Probability that what is reused after longer than any burst is not there.
    missed_beyond_horizon: f64,
}

impl Level {
    fn missed(&self, locality: &Locality, at: CodePoint, reuse: Reuse) -> f64 {
        let survival = locality.sites.get(&at).unwrap_or(&locality.all);
        match (reuse, self.distance) {
            (Reuse::After(distance), Some(limit)) => {
                f64::from(u8::from(f64::from(distance) >= limit))
            }
            // Fewer lines lie between than the cache holds.
            (Reuse::After(_), None) => 0.0,
            (Reuse::Beyond(least), limit) => {
                let least = f64::from(least);
                // Of what is not seen again up to here, the part that is not up to the limit.
                let after = |distance: f64| {
                    if distance <= least {
                        return 1.0;
                    }
                    let known = survival.beyond(least);
                    match known > 0.0 {
                        true => (survival.beyond(distance) / known).min(1.0),
                        false => 0.0,
                    }
                };
                match limit {
                    Some(limit) => after(limit),
                    None => after(locality.all.horizon()) * self.missed_beyond_horizon,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, geometry, load};
    use genba_model::BurstEvent;

    fn random(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 33
    }

    fn of(bursts: &[Burst], address: u64) -> LoadSite {
        let all = load_levels(bursts, &geometry());
        all.into_iter()
            .find(|one| one.at == at(address))
            .expect("seen")
    }

    fn gather(bytes: u64) -> Vec<Burst> {
        let mut state = 1;
        (0..30)
            .map(|_| {
                let events: Vec<BurstEvent> = (0..20_000u64)
                    .flat_map(|one| {
                        [
                            load(0x10, 0x1000_0000 + random(&mut state) % bytes, 1, 0),
                            load(0x20, 0x1000 + 8 * (one % 16), 8, 0),
                        ]
                    })
                    .collect();
                burst(events)
            })
            .collect()
    }

    #[test]
    fn gather_that_fits_the_first_level_hits_though_bursts_begin_cold() {
        let bursts = gather(8 << 10);
        assert!(of(&bursts, 0x10).l1.value > 0.99);
        assert!(of(&bursts, 0x20).l1.value > 0.99);
    }

    #[test]
    fn gather_over_half_a_megabyte_is_served_by_the_second_level() {
        let bursts = gather(512 << 10);
        let site = of(&bursts, 0x10);
        // 512 of 8,192 lines fit.
        let missed = site.l1_missed.share.value;
        assert!((0.90..0.96).contains(&missed), "{missed}");
        assert!(site.l2.value > 0.85, "{site:?}");
        assert!(of(&bursts, 0x20).l1.value > 0.97);
    }

    #[test]
    fn gather_over_much_memory_comes_from_memory_and_misses_the_tlb() {
        let site = of(&gather(64 << 20), 0x10);
        assert!(site.memory.value > 0.9, "{site:?}");
        assert!(site.tlb_missed.value > 0.9, "{site:?}");
    }

    #[test]
    fn stream_misses_once_in_each_line_and_has_its_stride() {
        let bursts: Vec<Burst> = (0..30u64)
            .map(|number| {
                let begin = 0x1000_0000 + number * (1 << 24);
                burst(
                    (0..20_000)
                        .map(|one| load(0x10, begin + 8 * one, 8, 0))
                        .collect(),
                )
            })
            .collect();
        let site = of(&bursts, 0x10);
        assert!(
            (site.l1_missed.share.value - 0.125).abs() < 0.01,
            "{site:?}"
        );
        assert!((site.memory.value - 0.125).abs() < 0.02, "{site:?}");
        assert_eq!(
            site.stride,
            Some(Stride {
                bytes: 8,
                share: 1.0
            })
        );
    }

    #[test]
    fn shares_of_levels_add_up() {
        let site = of(&gather(512 << 10), 0x10);
        let sum = site.l1.value + site.l2.value + site.l3.value + site.memory.value;
        assert!((sum - 1.0).abs() < 1e-9);
    }
}
