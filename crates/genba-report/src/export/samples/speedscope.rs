//! speedscope's JSON: one "sampled" profile a thread.
//!
//! The format is that of the `file-format-schema.json` that speedscope publishes. Its frames are
//! functions (its tables add up by frame, and lines would divide a function), with the place of the
//! function's declaration.

use std::io::{self, Write};

use genba_model::{SampleUnit, Sampled, SampledDetail};
use serde::Serialize;

use super::measured_by;
use crate::safe_text;

/// Maximum number of frames of all stacks in the file: each sample has its whole stack there.
const MAX_FRAMES: usize = 20_000_000;

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

pub(super) fn write(detail: &SampledDetail, out: &mut dyn Write) -> io::Result<()> {
    let frames = detail.functions.iter().map(|function| Frame {
        name: safe_text::sanitise(&function.name),
        file: (function.file).and_then(|file| detail.files.get(file as usize).map(String::as_str)),
        line: function.line,
    });
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: measured_by(detail),
        name: match detail.command.is_empty() {
            true => detail.event.name.clone(),
            false => safe_text::fit(&safe_text::command(&detail.command), 100),
        },
        active: 0,
        shared: Shared {
            frames: frames.collect(),
        },
        profiles: profiles(detail),
    };
    serde_json::to_writer(out, &file)?;
    Ok(())
}

/// One profile a thread, the one with most weight first.
fn profiles(detail: &SampledDetail) -> Vec<Profile> {
    let mut by_thread: Vec<Vec<&Sampled>> = vec![Vec::new(); detail.threads.len()];
    for sample in &detail.samples {
        by_thread[sample.thread as usize].push(sample);
    }
    let mut runs: Vec<Vec<(u32, u64)>> = by_thread.iter().map(|all| merged(all)).collect();
    let frames: usize = (runs.iter().flatten())
        .map(|(stack, _)| detail.frames_of(*stack).count())
        .fold(0, usize::saturating_add);
    let shortened = frames > MAX_FRAMES;
    if shortened {
        for one in &mut runs {
            one.sort_unstable();
            *one = sums(one.iter().copied());
        }
    }
    let mut profiles: Vec<Profile> = (detail.threads.iter().zip(runs))
        .filter(|(_, runs)| !runs.is_empty())
        .map(|(thread, runs)| {
            let mut name = safe_text::sanitise(&thread.name);
            if thread.tid > 0 {
                name.push_str(&format!(" ({}/{})", thread.pid, thread.tid));
            }
            if shortened || !detail.is_timed() {
                name.push_str(" (not in the order of time)");
            }
            Profile {
                kind: "sampled",
                name,
                unit: match detail.unit {
                    SampleUnit::Nanoseconds => "nanoseconds",
                    SampleUnit::Count => "none",
                    SampleUnit::Bytes => "bytes",
                },
                start: 0,
                end: (runs.iter()).fold(0, |sum, run| sum.saturating_add(run.1)),
                samples: (runs.iter()).map(|run| functions(detail, run.0)).collect(),
                weights: runs.iter().map(|run| run.1).collect(),
            }
        })
        .collect();
    profiles.sort_by_key(|profile| std::cmp::Reverse(profile.end));
    profiles
}

/// Samples with consecutive ones of the same stack put together.
fn merged(samples: &[&Sampled]) -> Vec<(u32, u64)> {
    sums(samples.iter().map(|one| (one.stack, one.weight)))
}

fn sums(all: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let mut found: Vec<(u32, u64)> = Vec::new();
    for (stack, weight) in all {
        match found.last_mut() {
            Some(last) if last.0 == stack => last.1 = last.1.saturating_add(weight),
            _ => found.push((stack, weight)),
        }
    }
    found
}

/// Functions of a stack, outermost first.
fn functions(detail: &SampledDetail, stack: u32) -> Vec<u32> {
    let mut found: Vec<u32> = detail.frames_of(stack).map(|one| one.function).collect();
    found.reverse();
    found
}
