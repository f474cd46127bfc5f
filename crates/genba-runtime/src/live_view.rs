//! The functions of the last moments, by self time.

use std::collections::HashMap;

use genba_profile::reader::LocationId;
use genba_profile::recording_tail::RecordingTail;
use genba_profile::{ReadError, ReadOptions};

use crate::function_names::{FunctionName, FunctionNames};

/// A row of the view: a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRow {
    /// Function and module.
    pub name: FunctionName,
    /// Its samples.
    pub samples: u64,
    /// Its share of the window, 0…1, by weight.
    pub share: f64,
}

/// The profile of the window at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveView {
    /// Largest share first.
    pub rows: Vec<FunctionRow>,
    /// Samples in the window.
    pub samples: u64,
    /// Time from the first to the last of them, seconds.
    pub seconds: f64,
    /// Share in the kernel.
    pub kernel: f64,
    /// Samples that the kernel lost since the beginning.
    pub lost: u64,
}

/// The functions in the records that `tail` holds, by self time.
///
/// # Errors
/// [`ReadError`] when the records are damaged.
pub fn live_view(tail: &RecordingTail, names: &mut FunctionNames) -> Result<LiveView, ReadError> {
    let recording = tail.recording()?;
    let mut hits: HashMap<LocationId, (u64, u64)> = HashMap::new();
    let (mut weight, mut kernel) = (0u64, 0u64);
    let options = ReadOptions {
        event: None,
        stacks: false,
    };
    let tables = recording.scan(&options, &mut |sample, _| {
        let w = sample.weight.max(1);
        let hit = hits.entry(sample.location).or_default();
        hit.0 += 1;
        hit.1 += w;
        weight += w;
        kernel += if sample.kernel { w } else { 0 };
    })?;
    let mut by_name: HashMap<FunctionName, (u64, u64)> = HashMap::new();
    for (id, (samples, w)) in hits {
        let location = tables.location(id);
        let name = names.of(&recording, &tables, location, false);
        let sum = by_name.entry(name).or_default();
        sum.0 += samples;
        sum.1 += w;
    }
    let all = weight.max(1) as f64;
    let mut rows: Vec<FunctionRow> = by_name
        .into_iter()
        .map(|(name, (samples, w))| FunctionRow {
            name,
            samples,
            share: w as f64 / all,
        })
        .collect();
    rows.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.name.cmp(&b.name))
    });
    let totals = &tables.totals;
    Ok(LiveView {
        rows,
        samples: totals.samples,
        seconds: totals.last.saturating_sub(totals.first) as f64 / 1e9,
        kernel: kernel as f64 / all,
        lost: totals.lost,
    })
}
