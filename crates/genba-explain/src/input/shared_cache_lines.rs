//! Which cache lines several threads write to: of samples with registers.
//!
//! A store whose address registers do not change in its loop writes to the same address wherever
//! in the loop a sample is taken, so the registers of any sample there give that address.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use genba_profile::reader::{Sample, Tables};
use genba_profile::{ReadOptions, Recording};

use crate::constants::counts::MIN_SAMPLES_OF_SHARED_ADDRESS;
use crate::constants::processor::CACHE_LINE_BYTES;
use crate::input::analysis_input::{AnalysisInput, SharedLine};
use crate::input::written_cache_lines::{FixedWrite, fixed_writes};
use genba_attribution::AttributionError;
use genba_attribution::{ResolveOptions, ResolvedProfile};

/// Looks, in a recording with registers, for lines to which loops of the input's functions
/// write from several threads; `None` where it has no registers.
///
/// # Errors
/// When the file is not a recording.
pub fn shared_lines(
    path: &Path,
    input: &AnalysisInput,
) -> Result<Option<Vec<SharedLine>>, AttributionError> {
    let recording = Recording::open(path)?;
    let flat = ResolveOptions {
        event: None,
        stacks: false,
        kernel_names: false,
    };
    let resolved = ResolvedProfile::of(&recording, &path.display().to_string(), &flat)?;
    let writes = fixed_writes(input);
    let mut found = Found::default();
    let mut with_registers = false;
    let read = ReadOptions {
        event: None,
        stacks: false,
    };
    let mut sink = |sample: &Sample, tables: &Tables| {
        let Some(registers) = &sample.registers else {
            return;
        };
        with_registers = true;
        if sample.kernel {
            return;
        }
        let location = tables.location(sample.location);
        // Modules and locations are numbered alike in every reading of a file.
        let address = resolved.code.address(location.module, location.offset);
        let module = resolved.code.module_name(location.module);
        for write in writes
            .iter()
            .filter(|write| write.covers(input, &module, address))
        {
            found.add(write, sample.pid, sample.tid, write.address(registers));
        }
    };
    recording.scan(&read, &mut sink)?;
    Ok(with_registers.then(|| found.lines(&writes)))
}

/// A thread and an address that it writes to.
type Written = (i32, u64);

/// Stores that do, and how many samples saw each.
type Seen = Vec<(usize, u32)>;

/// Samples by process and line: by thread and address, with the writes that they are of.
#[derive(Default)]
struct Found {
    lines: HashMap<(i32, u64), BTreeMap<Written, Seen>>,
}

impl Found {
    fn add(&mut self, write: &FixedWrite, pid: i32, tid: i32, address: u64) {
        let line = self
            .lines
            .entry((pid, address / CACHE_LINE_BYTES))
            .or_default();
        let list = line.entry((tid, address)).or_default();
        match list.iter_mut().find(|one| one.0 == write.id) {
            Some(one) => one.1 += 1,
            None => list.push((write.id, 1)),
        }
    }

    fn lines(self, writes: &[FixedWrite]) -> Vec<SharedLine> {
        let mut list: Vec<SharedLine> = Vec::new();
        for places in self.lines.into_values() {
            let often: Vec<(Written, Seen)> = places
                .into_iter()
                .filter(|(_, writes)| {
                    writes
                        .iter()
                        .any(|one| one.1 >= MIN_SAMPLES_OF_SHARED_ADDRESS)
                })
                .collect();
            let mut threads: Vec<i32> = often.iter().map(|one| one.0.0).collect();
            threads.dedup();
            if threads.len() < 2 {
                continue;
            }
            // The same address from two threads is data that is truly shared.
            let own = |one: &&(Written, Seen)| {
                let others = often.iter().filter(|other| other.0.0 != one.0.0);
                others
                    .clone()
                    .all(|other| other.0.1.abs_diff(one.0.1) >= u64::from(writes[one.1[0].0].bytes))
            };
            let falsely: Vec<_> = often.iter().filter(own).collect();
            let mut of: Vec<i32> = falsely.iter().map(|one| one.0.0).collect();
            of.dedup();
            if of.len() < 2 {
                continue;
            }
            for ((_, address), ids) in &falsely {
                for &(id, samples) in ids {
                    let write = &writes[id];
                    let others = falsely
                        .iter()
                        .filter(|one| one.1.iter().all(|w| w.0 != id) || one.0.1 != *address);
                    let distance = others
                        .map(|one| one.0.1.abs_diff(*address))
                        .filter(|&d| d > 0)
                        .min();
                    match list
                        .iter_mut()
                        .find(|one| one.function == write.function && one.at == write.at)
                    {
                        Some(one) => one.samples += samples,
                        None => list.push(SharedLine {
                            function: write.function,
                            at: write.at,
                            around: write.around,
                            threads: of.len() as u32,
                            distance: distance.unwrap_or(0),
                            samples,
                        }),
                    }
                }
            }
        }
        list.sort_by_key(|one| (std::cmp::Reverse(one.samples), one.function, one.at));
        list
    }
}
