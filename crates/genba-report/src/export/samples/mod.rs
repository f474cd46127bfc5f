//! Samples with stacks in the formats of other viewers.
//!
//! Names are sanitised as everywhere ([`crate::safe_text`]); each writer adds the escaping of its
//! format. Weights are written as they are: the sum in every file is that of the profile.

mod callgrind;
mod chrome_trace;
mod firefox;
mod firefox_tables;
mod firefox_thread;
mod name_stacks;
mod perf_script;
mod pprof;
mod speedscope;
mod stored_profile;
mod wall_time;

use std::io::{self, Write};

use genba_model::{SampledDetail, SampledFrame};

pub use stored_profile::stacks_of_stored_profile;
pub use wall_time::wall_time_detail;

/// A format of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplesFormat {
    /// The Firefox Profiler's processed profile.
    Firefox,
    /// speedscope's JSON.
    Speedscope,
    /// pprof's protocol buffer, uncompressed.
    Pprof,
    /// Callgrind's format.
    Callgrind,
    /// One line a stack.
    Collapsed,
    /// Chrome's trace events.
    ChromeTrace,
    /// The text of `perf script`.
    PerfScript,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format is a timeline.
    #[error(
        "these samples have no times, which {0} needs\n  export the recording itself, or use another \
         format: firefox, speedscope, pprof, callgrind, collapsed"
    )]
    NoTimes(&'static str),
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes the samples in a format.
///
/// # Errors
/// The format needs times that the samples do not have; writing fails.
pub fn write_samples(
    format: SamplesFormat,
    detail: &SampledDetail,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    check(format, detail)?;
    match format {
        SamplesFormat::Firefox => firefox::write(detail, out)?,
        SamplesFormat::Speedscope => speedscope::write(detail, out)?,
        SamplesFormat::Pprof => out.write_all(&pprof::pprof(detail))?,
        SamplesFormat::Callgrind => callgrind::write(detail, out)?,
        SamplesFormat::Collapsed => out.write_all(name_stacks::collapsed(detail).as_bytes())?,
        SamplesFormat::ChromeTrace => chrome_trace::write(detail, out)?,
        SamplesFormat::PerfScript => perf_script::write(detail, out)?,
    }
    Ok(())
}

/// Says whether a format can have these samples.
///
/// # Errors
/// The format needs times that the samples do not have.
pub fn check(format: SamplesFormat, detail: &SampledDetail) -> Result<(), ExportError> {
    match format {
        SamplesFormat::ChromeTrace if !detail.is_timed() && detail.spans.is_empty() => {
            Err(ExportError::NoTimes("a timeline"))
        }
        _ => Ok(()),
    }
}

/// A frame of the machine: a function with the functions that are inlined at this place.
struct MachineFrame<'a> {
    /// Indices of its frames, the innermost inlined one first, the function itself last.
    all: Vec<u32>,
    /// The function itself.
    outer: &'a SampledFrame,
    /// The innermost one: its line is the one that executes.
    inner: &'a SampledFrame,
}

/// Returns the frames of a stack as the machine sees them, innermost first.
fn machine_frames(detail: &SampledDetail, stack: u32) -> Vec<MachineFrame<'_>> {
    let mut found = Vec::new();
    let mut all: Vec<u32> = Vec::new();
    let mut next = Some(stack);
    while let Some(node) = next.and_then(|id| detail.stacks.get(id as usize)) {
        next = node.parent;
        all.push(node.frame);
        let outer = &detail.frames[node.frame as usize];
        // An inlined frame without a surrounding function stands for itself.
        if !outer.inlined || next.is_none() {
            let inner = &detail.frames[all[0] as usize];
            let all = std::mem::take(&mut all);
            found.push(MachineFrame { all, outer, inner });
        }
    }
    found
}

/// Returns weights and numbers of samples by stack, in the order of stacks.
fn by_stack(detail: &SampledDetail) -> Vec<(u32, u64, u64)> {
    let mut sums = vec![(0u64, 0u64); detail.stacks.len()];
    for one in &detail.samples {
        if let Some(sum) = sums.get_mut(one.stack as usize) {
            sum.0 = sum.0.saturating_add(one.weight);
            sum.1 = sum.1.saturating_add(one.samples);
        }
    }
    (0u32..)
        .zip(sums)
        .filter(|(_, sum)| sum.0 > 0)
        .map(|(stack, sum)| (stack, sum.0, sum.1))
        .collect()
}

/// Returns "prog 0.1.0, cpu-clock": what measured, for the head of a file.
fn measured_by(detail: &SampledDetail) -> String {
    format!("genba {}: {}", env!("CARGO_PKG_VERSION"), detail.event.name)
}

#[cfg(test)]
mod tests;
