//! Samples of loads and stores by function and by where their data was.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use genba_model::{DataAccesses, DataFunction, DataLevelRow, DataProfile};
use genba_profile::Recording;
use genba_profile::data_source::{DataAccess, DataLevel, DataSource, Operation};
use genba_profile::reader::{LocationId, Sample};

use crate::{AttributionError, ResolveOptions, ResolvedProfile};

/// Samples, and the sum of the latencies of those that have one.
#[derive(Clone, Copy, Debug, Default)]
struct Latencies {
    samples: u64,
    measured: u64,
    cycles: u64,
}

impl Latencies {
    fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.measured += other.measured;
        self.cycles += other.cycles;
    }

    fn mean(self) -> Option<f64> {
        (self.measured > 0).then(|| self.cycles as f64 / self.measured as f64)
    }
}

/// Accesses added up.
#[derive(Clone, Debug, Default)]
struct Sum {
    loads: u64,
    stores: u64,
    page_walks: u64,
    modified_elsewhere: u64,
    levels: BTreeMap<DataLevel, Latencies>,
}

impl Sum {
    fn add_access(&mut self, access: DataAccess) {
        let source = DataSource::decode(access.source);
        self.loads += u64::from(source.operation == Operation::Load);
        self.stores += u64::from(source.operation == Operation::Store);
        self.page_walks += u64::from(source.page_walk);
        self.modified_elsewhere += u64::from(source.modified_elsewhere);
        self.levels.entry(source.level).or_default().add(Latencies {
            samples: 1,
            measured: u64::from(access.latency > 0),
            cycles: access.latency.into(),
        });
    }

    fn add(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.page_walks += other.page_walks;
        self.modified_elsewhere += other.modified_elsewhere;
        for (&level, &latencies) in &other.levels {
            self.levels.entry(level).or_default().add(latencies);
        }
    }

    fn accesses(&self) -> DataAccesses {
        let mut all = Latencies::default();
        for &one in self.levels.values() {
            all.add(one);
        }
        DataAccesses {
            samples: all.samples,
            loads: self.loads,
            stores: self.stores,
            page_walks: self.page_walks,
            modified_elsewhere: self.modified_elsewhere,
            mean_latency_cycles: all.mean(),
            levels: (self.levels.iter())
                .map(|(level, latencies)| DataLevelRow {
                    level: level.name().to_owned(),
                    samples: latencies.samples,
                    mean_latency_cycles: latencies.mean(),
                })
                .collect(),
        }
    }
}

/// Reads where the data of the samples of a recording was. Samples that say nothing of it, as of other accesses of
/// AMD's ops, are counted in a note.
///
/// # Errors
/// As [`ResolvedProfile::open`], and when no sample says where its data was.
pub fn data_profile(
    path: &Path,
    options: &ResolveOptions,
) -> Result<DataProfile, AttributionError> {
    let recording = Recording::open(path)?;
    let name = path.display().to_string();
    let mut by_location: HashMap<LocationId, Sum> = HashMap::new();
    let mut without = 0u64;
    let mut keep = |sample: &Sample| match sample.data {
        Some(access) if is_access(access) => {
            by_location
                .entry(sample.location)
                .or_default()
                .add_access(access);
        }
        _ => without += 1,
    };
    let resolved = ResolvedProfile::read(&recording, &name, options, None, &mut keep)?;
    if by_location.is_empty() {
        return Err(AttributionError::NoDataAddresses { recording: name });
    }
    let mut all = Sum::default();
    let mut by_function: HashMap<u32, Sum> = HashMap::new();
    for (location, sum) in &by_location {
        all.add(sum);
        if let Some(place) = resolved.place(*location) {
            by_function.entry(place.function).or_default().add(sum);
        }
    }
    let mut functions: Vec<DataFunction> = by_function
        .into_iter()
        .map(|(id, sum)| {
            let function = &resolved.functions[id as usize];
            DataFunction {
                function: function.name.clone(),
                module: resolved.code.module_name(function.module),
                accesses: sum.accesses(),
            }
        })
        .collect();
    functions.sort_by(|a, b| {
        (b.accesses.samples.cmp(&a.accesses.samples)).then_with(|| a.function.cmp(&b.function))
    });
    let mut notes = resolved.notes.clone();
    if without > 0 {
        notes.push(format!(
            "{without} more samples were of instructions that access no data, or do not say which"
        ));
    }
    if let Some(cycles) = least_latency(&resolved.event.name) {
        notes.push(format!(
            "loads of less than {cycles} cycles were not sampled (ldlat), so that near levels are underrepresented"
        ));
    }
    if resolved.event.name.starts_with("ibs_") {
        notes.push(
            "AMD reports the latency of loads that miss L1d alone; hits have no share in the means"
                .to_owned(),
        );
    }
    Ok(DataProfile {
        event: resolved.event.clone(),
        command: resolved.command.clone(),
        all: all.accesses(),
        functions,
        notes,
    })
}

/// Whether a sample says anything of data: software events and ops without an access have none, but for the
/// address of a page fault.
fn is_access(access: DataAccess) -> bool {
    let source = DataSource::decode(access.source);
    source.operation != Operation::Other || access.address != 0
}

/// The threshold of Intel's load latency event, cycles, from its name.
fn least_latency(event: &str) -> Option<u64> {
    let (_, rest) = event.split_once("ldlat=")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load from this level by its number, with a latency.
    fn load(number: u64, latency: u32) -> DataAccess {
        DataAccess {
            address: 0x1000,
            source: 2 | number << 33,
            latency,
        }
    }

    #[test]
    fn latencies_are_means_of_samples_that_have_one() {
        let mut sum = Sum::default();
        for access in [load(1, 0), load(1, 10), load(1, 20), load(0xd, 300)] {
            sum.add_access(access);
        }
        let mut twice = sum.clone();
        twice.add(&sum);
        let found = twice.accesses();
        assert_eq!((found.samples, found.loads, found.stores), (8, 8, 0));
        assert_eq!(found.mean_latency_cycles, Some(110.0));
        let rows: Vec<(&str, u64, Option<f64>)> = (found.levels.iter())
            .map(|row| (row.level.as_str(), row.samples, row.mean_latency_cycles))
            .collect();
        assert_eq!(rows, [("L1d", 6, Some(15.0)), ("memory", 2, Some(300.0))]);
    }

    #[test]
    fn threshold_is_in_the_name_of_the_event() {
        assert_eq!(least_latency("cpu/mem-loads,ldlat=30/P"), Some(30));
        assert_eq!(least_latency("ibs_op//"), None);
        assert_eq!(least_latency("cpu/mem-loads,ldlat=/P"), None);
    }
}
