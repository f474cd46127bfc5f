//! The Firefox Profiler's processed profile (`src/types/profile.ts` of github.com/firefox-devtools/profiler), as
//! samply, the profiler itself and our own exports write it.

use genba_model::SampledThread;
use genba_model::{CodeKind, SampleUnit, Sampled, SampledDetail, SampledFrame, SampledFunction};

use crate::firefox_tables::{
    FrameTable, FunctionTable, Profile, ResourceTable, SampleTable, Shared, StackTable, Thread, at,
};
use crate::stacks::{MAX_DEPTH, Stacks, kind_of_module};
use crate::{ImportError, ImportFormat, Result};

const FORMAT: ImportFormat = ImportFormat::Firefox;
/// Longest time from the first to the last sample that is believed, milliseconds: 30 years.
const MAX_MS: f64 = 1e12;

fn damaged(what: impl Into<String>) -> ImportError {
    ImportError::damaged(FORMAT, what)
}

pub(crate) fn read(bytes: &[u8], event: Option<&str>) -> Result<SampledDetail> {
    let profile: Profile =
        serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    if profile.meta.preprocessed_profile_version.is_none() {
        return Err(damaged(
            "it is as Firefox records it; load it at profiler.firefox.com and save it there",
        ));
    }
    let (name, unit) = weights(&profile);
    if let Some(wanted) = event.filter(|wanted| *wanted != name) {
        return Err(ImportError::NoSuchEvent {
            name: wanted.to_owned(),
            known: vec![name.to_owned()],
        });
    }
    let mut stacks = Stacks::new(FORMAT, name, unit);
    let detail = &mut stacks.builder.detail;
    detail.command = match (&profile.meta.arguments, &profile.meta.product) {
        (Some(text), _) if !text.is_empty() => text.split_whitespace().map(str::to_owned).collect(),
        (_, product) => product.iter().cloned().collect(),
    };
    if let Some(interval) = profile.meta.interval.filter(|ms| *ms > 0.0 && *ms <= 1e6) {
        detail.event.frequency_hz = (1e3 / interval).round() as u64;
    }
    let first = first_time(&profile.threads);
    let mut skipped = 0u64;
    for thread in &profile.threads {
        if unit_of(&thread.samples) != (name, unit) {
            skipped += thread.samples.stack.len() as u64;
            continue;
        }
        let mut of_thread = OfThread::new(&profile, thread);
        of_thread.samples(&mut stacks, thread, first)?;
    }
    let mut detail = stacks.finish();
    if unit == SampleUnit::Bytes {
        let note = "the number of samples is unknown: shares have no intervals";
        detail.notes.push(note.to_owned());
    }
    if skipped > 0 {
        detail.notes.push(format!(
            "{skipped} samples with another weight than {name} are left out"
        ));
    }
    Ok(detail)
}

/// Name and unit of a thread's weights.
fn unit_of(samples: &SampleTable) -> (&'static str, SampleUnit) {
    match samples.weight_type.as_deref() {
        Some("tracing-ms") => ("time", SampleUnit::Nanoseconds),
        Some("bytes") => ("bytes", SampleUnit::Bytes),
        _ => ("samples", SampleUnit::Count),
    }
}

/// Those of the first thread with samples.
fn weights(profile: &Profile) -> (&'static str, SampleUnit) {
    let mut threads = profile.threads.iter();
    let first = threads.find(|thread| !thread.samples.stack.is_empty());
    first.map_or(("samples", SampleUnit::Count), |thread| {
        unit_of(&thread.samples)
    })
}

/// The times of the samples of a thread, milliseconds.
fn times(samples: &SampleTable) -> Option<Vec<f64>> {
    if let Some(times) = &samples.time {
        return Some(times.clone());
    }
    let mut sum = 0.0;
    let add = |delta: &f64| {
        sum += delta;
        sum
    };
    samples
        .time_deltas
        .as_ref()
        .map(|deltas| deltas.iter().map(add).collect())
}

fn first_time(threads: &[Thread]) -> f64 {
    let times = threads.iter().filter_map(|thread| times(&thread.samples));
    let firsts = times.filter_map(|times| times.first().copied());
    let first = firsts.fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { 0.0 }
}

/// The tables of a thread: its own, else those that all share.
struct OfThread<'a> {
    profile: &'a Profile,
    strings: &'a [String],
    stacks: &'a StackTable,
    frames: &'a FrameTable,
    functions: &'a FunctionTable,
    resources: &'a ResourceTable,
    /// By frame of the file.
    known_frames: Vec<Option<u32>>,
    /// By stack of the file: its node and depth.
    known_stacks: Vec<Option<(u32, u32)>>,
}

impl<'a> OfThread<'a> {
    fn new(profile: &'a Profile, thread: &'a Thread) -> Self {
        const NO_STACKS: &StackTable = &StackTable {
            prefix: Vec::new(),
            frame: Vec::new(),
        };
        const NO_FRAMES: &FrameTable = &FrameTable {
            func: Vec::new(),
            address: Vec::new(),
            inline_depth: Vec::new(),
            category: Vec::new(),
            line: Vec::new(),
        };
        const NO_FUNCTIONS: &FunctionTable = &FunctionTable {
            name: Vec::new(),
            resource: Vec::new(),
            file_name: Vec::new(),
            source: Vec::new(),
            line_number: Vec::new(),
        };
        const NO_RESOURCES: &ResourceTable = &ResourceTable { lib: Vec::new() };
        let (own, shared): (&Shared, &Shared) = (&thread.own, &profile.shared);
        let stacks = own.stack_table.as_ref().or(shared.stack_table.as_ref());
        let frames = own.frame_table.as_ref().or(shared.frame_table.as_ref());
        let functions = own.func_table.as_ref().or(shared.func_table.as_ref());
        let resources = (own.resource_table.as_ref()).or(shared.resource_table.as_ref());
        let strings = own.string_array.as_ref().or(shared.string_array.as_ref());
        let (stacks, frames) = (stacks.unwrap_or(NO_STACKS), frames.unwrap_or(NO_FRAMES));
        Self {
            profile,
            strings: strings.map_or(&[], Vec::as_slice),
            stacks,
            frames,
            functions: functions.unwrap_or(NO_FUNCTIONS),
            resources: resources.unwrap_or(NO_RESOURCES),
            known_frames: vec![None; frames.func.len()],
            known_stacks: vec![None; stacks.frame.len()],
        }
    }

    fn samples(&mut self, stacks: &mut Stacks, thread: &Thread, first: f64) -> Result<()> {
        let table = &thread.samples;
        let times = times(table);
        let (_, unit) = unit_of(table);
        let id = stacks.builder.thread(SampledThread {
            pid: thread.pid.as_ref().map_or(0, |id| id.number()),
            tid: thread.tid.as_ref().map_or(0, |id| id.number()),
            name: thread.name.clone().unwrap_or_default(),
        });
        for index in 0..table.stack.len() {
            let weight = match &table.weight {
                Some(weights) => weights.get(index).copied().flatten().unwrap_or(0.0),
                None => 1.0,
            };
            if !weight.is_finite() || weight < 0.0 {
                return Err(damaged(
                    "weights below 0: this is a difference of two profiles",
                ));
            }
            let weight = match unit {
                SampleUnit::Nanoseconds => (weight * 1e6).round() as u64,
                _ => weight.round() as u64,
            };
            // A thread that did not run has no stack then.
            let (Some(stack), true) = (at(&table.stack, index), weight > 0) else {
                continue;
            };
            let stack = self.stack(stacks, stack)?;
            let time = times.as_ref().and_then(|times| times.get(index));
            let time = time.map(|time| (time - first).clamp(0.0, MAX_MS) * 1e6);
            stacks.sample(Sampled {
                thread: id,
                stack,
                time_ns: time.map(|time| time.round() as u64),
                weight,
                samples: match unit {
                    SampleUnit::Nanoseconds => 1,
                    SampleUnit::Count => weight,
                    SampleUnit::Bytes => 0,
                },
            });
        }
        Ok(())
    }

    /// The node of a stack of the file. Of those that are too deep, the innermost frames are a stack of their own.
    fn stack(&mut self, stacks: &mut Stacks, leaf: usize) -> Result<u32> {
        if let Some((node, _)) = self.known_stacks.get(leaf).copied().flatten() {
            return Ok(node);
        }
        let (mut path, mut next, mut known) = (Vec::new(), Some(leaf), None);
        while let Some(id) = next {
            if id >= self.stacks.frame.len() {
                return Err(damaged("a stack that is missing"));
            }
            known = self.known_stacks[id];
            if known.is_some() {
                break;
            }
            path.push(id);
            if path.len() > self.stacks.frame.len() {
                return Err(damaged("a stack that is its own caller"));
            }
            next = at(&self.stacks.prefix, id);
        }
        let depth = known.map_or(0, |(_, depth)| depth as usize) + path.len();
        if depth > MAX_DEPTH {
            return self.deep(stacks, leaf);
        }
        for id in path.into_iter().rev() {
            let frame = self.frame(stacks, id)?;
            let node = stacks.child(known.map(|(node, _)| node), frame)?;
            let depth = known.map_or(0, |(_, depth)| depth) + 1;
            known = Some((node, depth));
            self.known_stacks[id] = known;
        }
        known
            .map(|(node, _)| node)
            .ok_or_else(|| damaged("a stack without frames"))
    }

    fn deep(&mut self, stacks: &mut Stacks, leaf: usize) -> Result<u32> {
        let (mut frames, mut next) = (Vec::new(), Some(leaf));
        while let (Some(id), true) = (next, frames.len() <= MAX_DEPTH) {
            frames.push(self.frame(stacks, id)?);
            next = at(&self.stacks.prefix, id);
        }
        frames.reverse();
        stacks
            .stack(&frames)?
            .ok_or_else(|| damaged("a stack without frames"))
    }

    /// The frame of a stack.
    fn frame(&mut self, stacks: &mut Stacks, stack: usize) -> Result<u32> {
        let index = at(&self.stacks.frame, stack);
        let index = index.filter(|&index| index < self.known_frames.len());
        let index = index.ok_or_else(|| damaged("a frame that is missing"))?;
        if let Some(known) = self.known_frames[index] {
            return Ok(known);
        }
        let function = at(&self.frames.func, index);
        let function = function.ok_or_else(|| damaged("a frame without a function"))?;
        let category = at(&self.frames.category, index);
        let function = self.function(stacks, function, category);
        let file = function.file;
        let address = at(&self.frames.address, index).map(|address| address as u64);
        let inlined = at(&self.frames.inline_depth, index).is_some_and(|depth| depth > 0);
        let function = stacks.builder.function(function);
        let frame = stacks.builder.frame(SampledFrame {
            function,
            address,
            file,
            line: number(at(&self.frames.line, index)),
            inlined,
        });
        self.known_frames[index] = Some(frame);
        Ok(frame)
    }

    fn function(
        &self,
        stacks: &mut Stacks,
        index: usize,
        category: Option<usize>,
    ) -> SampledFunction {
        let name = self
            .string(at(&self.functions.name, index))
            .unwrap_or("[unknown]");
        let resource = at(&self.functions.resource, index);
        let library = resource.and_then(|resource| at(&self.resources.lib, resource));
        let library = library.and_then(|library| self.profile.libs.get(library));
        let path = library.map(|library| library.path.as_ref().unwrap_or(&library.name));
        let build_id = library.and_then(|library| library.code_id.clone());
        let module = path.map(|path| stacks.builder.module(path, build_id));
        let source = at(&self.functions.source, index).and_then(|source| {
            let sources = self.profile.shared.sources.as_ref()?;
            at(&sources.filename, source)
        });
        let file = self.string(at(&self.functions.file_name, index).or(source));
        let categories = self.profile.meta.categories.as_deref().unwrap_or_default();
        let category = category.and_then(|category| categories.get(category));
        let kind = match category.map(|category| category.name.as_str()) {
            Some("Kernel") => CodeKind::Kernel,
            Some("Generated code" | "JIT" | "JavaScript") => CodeKind::Generated,
            _ => path.map_or(CodeKind::User, |path| kind_of_module(path)),
        };
        SampledFunction {
            name: if name.is_empty() { "[unknown]" } else { name }.to_owned(),
            module,
            file: file.map(|file| stacks.builder.file(file)),
            line: number(at(&self.functions.line_number, index)),
            kind,
        }
    }

    fn string(&self, index: Option<usize>) -> Option<&'a str> {
        index
            .and_then(|index| self.strings.get(index))
            .map(String::as_str)
    }
}

/// A line number.
fn number(value: Option<usize>) -> Option<u32> {
    value
        .and_then(|value| u32::try_from(value).ok())
        .filter(|&line| line > 0)
}
