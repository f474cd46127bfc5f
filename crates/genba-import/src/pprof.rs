//! pprof's message `Profile` (`proto/profile.proto` of github.com/google/pprof), as Go, async-profiler and many
//! others write it.

use std::collections::HashMap;

use genba_model::{CodeKind, SampleUnit, Sampled, SampledDetail, SampledFunction, SampledThread};

use crate::protobuf::{Fields, Value, numbers};
use crate::stacks::{MAX_DEPTH, Stacks, kind_of_module, name_or_address};
use crate::{ImportError, ImportFormat, Result};

const FORMAT: ImportFormat = ImportFormat::Pprof;

/// Whether bytes are a message with at least a weight, samples and strings.
pub(crate) fn is_pprof(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    let mut seen = [false; 3];
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Bytes(_)) => seen[0] = true,
            (2, Value::Bytes(_)) => seen[1] = true,
            (6, Value::Bytes(_)) => seen[2] = true,
            (3..=5, Value::Bytes(_)) | (7..=10 | 12 | 14 | 15, Value::Number(_)) => {}
            (11, Value::Bytes(_)) | (13, _) => {}
            _ => return false,
        }
    }
    !fields.is_damaged && seen[0] && seen[2]
}

fn damaged(what: &str) -> ImportError {
    ImportError::damaged(FORMAT, what)
}

/// A message of numbers: its fields 1 to 8, and those of its messages of a kind.
struct Message<'a> {
    numbers: [u64; 9],
    inner: Vec<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads a message whose field `inner` is a message.
    fn read(bytes: &'a [u8], inner: u64) -> Result<Self> {
        let mut message = Self {
            numbers: [0; 9],
            inner: Vec::new(),
        };
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match value {
                Value::Bytes(bytes) if number == inner => message.inner.push(bytes),
                Value::Number(value) => {
                    if let Some(slot) = message.numbers.get_mut(number as usize) {
                        *slot = value;
                    }
                }
                Value::Bytes(_) => {}
            }
        }
        match fields.is_damaged {
            true => Err(damaged("a message ends too early")),
            false => Ok(message),
        }
    }
}

/// A place with the functions that are inlined there, the innermost first.
struct Location {
    mapping: u64,
    address: u64,
    lines: Vec<(u64, u64)>,
    /// Its frames, outermost first, once they are needed.
    frames: Option<Vec<u32>>,
}

#[derive(Default)]
struct Tables<'a> {
    strings: Vec<&'a [u8]>,
    /// Type and unit.
    types: Vec<(u64, u64)>,
    default_type: u64,
    comments: Vec<u64>,
    samples: Vec<&'a [u8]>,
    /// File and build id by id.
    mappings: HashMap<u64, (u64, u64)>,
    locations: HashMap<u64, Location>,
    /// Name, linkage name, file and line by id.
    functions: HashMap<u64, [u64; 4]>,
}

impl<'a> Tables<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut tables = Self::default();
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (1, Value::Bytes(bytes)) => {
                    let of = Message::read(bytes, 0)?.numbers;
                    tables.types.push((of[1], of[2]));
                }
                (2, Value::Bytes(bytes)) => tables.samples.push(bytes),
                (3, Value::Bytes(bytes)) => {
                    let of = Message::read(bytes, 0)?.numbers;
                    tables.mappings.insert(of[1], (of[5], of[6]));
                }
                (4, Value::Bytes(bytes)) => {
                    let location = Message::read(bytes, 4)?;
                    let line = |bytes: &&'a [u8]| -> Result<(u64, u64)> {
                        let of = Message::read(bytes, 0)?.numbers;
                        Ok((of[1], of[2]))
                    };
                    let lines = location.inner.iter().map(line).collect::<Result<_>>()?;
                    let of = location.numbers;
                    let location = Location {
                        mapping: of[2],
                        address: of[3],
                        lines,
                        frames: None,
                    };
                    tables.locations.insert(of[1], location);
                }
                (5, Value::Bytes(bytes)) => {
                    let of = Message::read(bytes, 0)?.numbers;
                    tables.functions.insert(of[1], [of[2], of[3], of[4], of[5]]);
                }
                (6, Value::Bytes(bytes)) => tables.strings.push(bytes),
                (13, value) => {
                    numbers(value, &mut tables.comments)
                        .ok_or_else(|| damaged("a comment ends too early"))?;
                }
                (14, Value::Number(index)) => tables.default_type = index,
                _ => {}
            }
        }
        match fields.is_damaged {
            true => Err(damaged("it ends in the middle of a field")),
            false => Ok(tables),
        }
    }

    fn string(&self, index: u64) -> String {
        let bytes = usize::try_from(index)
            .ok()
            .and_then(|index| self.strings.get(index));
        String::from_utf8_lossy(bytes.copied().unwrap_or_default()).into_owned()
    }

    /// Index, name and unit of the weight that is read: the requested one, the file's default, or the last, as
    /// pprof has it.
    fn chosen(&self, event: Option<&str>) -> Result<(usize, String, String)> {
        let names: Vec<String> = (self.types.iter()).map(|one| self.string(one.0)).collect();
        let default = self.string(self.default_type);
        let index = match event {
            Some(name) => names.iter().position(|one| one == name),
            None => (names
                .iter()
                .position(|one| *one == default && !default.is_empty()))
            .or(names.len().checked_sub(1)),
        };
        match (index, event) {
            (Some(index), _) => Ok((
                index,
                names[index].clone(),
                self.string(self.types[index].1),
            )),
            (None, Some(name)) => Err(ImportError::NoSuchEvent {
                name: name.to_owned(),
                known: names,
            }),
            (None, None) => Err(damaged("it has no weights")),
        }
    }
}

/// Unit and factor of a unit's name.
fn unit(name: &str) -> (SampleUnit, u64) {
    match name {
        "nanoseconds" | "ns" => (SampleUnit::Nanoseconds, 1),
        "microseconds" | "us" => (SampleUnit::Nanoseconds, 1_000),
        "milliseconds" | "ms" => (SampleUnit::Nanoseconds, 1_000_000),
        "seconds" | "s" => (SampleUnit::Nanoseconds, 1_000_000_000),
        "bytes" => (SampleUnit::Bytes, 1),
        _ => (SampleUnit::Count, 1),
    }
}

pub(crate) fn read(bytes: &[u8], event: Option<&str>) -> Result<SampledDetail> {
    let mut tables = Tables::read(bytes)?;
    let (index, name, unit_name) = tables.chosen(event)?;
    let (unit, factor) = unit(&unit_name);
    // A weight with the unit "count" beside others is their number of samples or objects.
    let is_number = |one: &(u64, u64)| tables.string(one.1) == "count";
    let number = match unit_name.as_str() {
        "count" => Some(index),
        _ => tables.types.iter().position(is_number),
    };
    let mut stacks = Stacks::new(FORMAT, &name, unit);
    let mut counted = true;
    let mut omitted = 0u64;
    for bytes in std::mem::take(&mut tables.samples) {
        let sample = Sample::read(bytes)?;
        let value = |index: usize| sample.values.get(index).map(|&value| value as i64);
        let weight = value(index).ok_or_else(|| damaged("a sample without its weight"))?;
        if weight < 0 {
            return Err(damaged(
                "weights below 0: this is a difference of two profiles",
            ));
        }
        let frames = tables.frames(&mut stacks, &sample.locations)?;
        let thread = thread(&tables, &mut stacks, &sample.labels)?;
        let Some(stack) = stacks.stack(&frames)? else {
            omitted += u64::from(weight > 0);
            continue;
        };
        let samples = number
            .and_then(value)
            .map_or(0, |number| number.max(0) as u64);
        counted &= samples > 0 || weight == 0;
        stacks.sample(Sampled {
            thread,
            stack,
            time_ns: None,
            weight: (weight as u64).saturating_mul(factor),
            samples,
        });
    }
    let mut detail = stacks.finish();
    if !counted {
        detail.samples.iter_mut().for_each(|one| one.samples = 0);
        let note = "the number of samples is unknown: shares have no intervals";
        detail.notes.push(note.to_owned());
    }
    if omitted > 0 {
        let note = format!("{omitted} stacks without frames are left out");
        detail.notes.push(note);
    }
    detail.notes.extend(others(&tables, index));
    Ok(detail)
}

/// A note that names the other weights of a file.
fn others(tables: &Tables<'_>, chosen: usize) -> Option<String> {
    let others: Vec<String> = (tables.types.iter().enumerate())
        .filter(|(index, _)| *index != chosen)
        .map(|(_, one)| tables.string(one.0))
        .collect();
    let is_only_number = others.len() == 1 && others[0] == "samples";
    (!others.is_empty() && !is_only_number)
        .then(|| format!("the file also has {}: -e NAME", others.join(", ")))
}

#[derive(Default)]
struct Sample<'a> {
    locations: Vec<u64>,
    values: Vec<u64>,
    labels: Vec<&'a [u8]>,
}

impl<'a> Sample<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut sample = Self::default();
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            let read = match (number, value) {
                (1, value) => numbers(value, &mut sample.locations),
                (2, value) => numbers(value, &mut sample.values),
                (3, Value::Bytes(bytes)) => {
                    sample.labels.push(bytes);
                    Some(())
                }
                _ => Some(()),
            };
            read.ok_or_else(|| damaged("a sample ends too early"))?;
        }
        match fields.is_damaged {
            true => Err(damaged("a sample ends too early")),
            false => Ok(sample),
        }
    }
}

impl Tables<'_> {
    /// The frames of a sample, outermost first; `locations` begin with the innermost.
    fn frames(&mut self, stacks: &mut Stacks, locations: &[u64]) -> Result<Vec<u32>> {
        // Innermost first, and one more than is kept, which tells that there are more.
        let mut found = Vec::new();
        for &id in locations {
            if found.len() > MAX_DEPTH {
                break;
            }
            if !self.locations.contains_key(&id) {
                return Err(damaged("a sample at a place that is missing"));
            }
            self.resolve(stacks, id);
            let frames = self.locations.get(&id).and_then(|one| one.frames.as_ref());
            found.extend(frames.into_iter().flatten().rev().take(MAX_DEPTH + 1));
        }
        found.reverse();
        Ok(found)
    }

    /// Makes the frames of a place.
    fn resolve(&mut self, stacks: &mut Stacks, id: u64) {
        let Some(location) = self.locations.get(&id) else {
            return;
        };
        if location.frames.is_some() {
            return;
        }
        let mapping = self.mappings.get(&location.mapping);
        let path = mapping.map_or(String::new(), |mapping| self.string(mapping.0));
        let build_id = mapping.map(|mapping| self.string(mapping.1));
        let build_id = build_id.filter(|id| !id.is_empty());
        let kind = kind_of_module(&path);
        let module = (!path.is_empty()).then(|| stacks.builder.module(&path, build_id));
        let mut frames = Vec::new();
        let outermost = location.lines.len().saturating_sub(1);
        for (index, &(function, line)) in location.lines.iter().enumerate().rev() {
            let inlined = index != outermost;
            let found = self.function(stacks, function, location.address, module, kind);
            let file = found.file;
            let line = u32::try_from(line).ok().filter(|&line| line > 0);
            frames.push(stacks.frame(found, file, line, inlined));
        }
        if frames.is_empty() {
            let function = SampledFunction {
                name: name_or_address("", location.address),
                module,
                kind,
                ..SampledFunction::default()
            };
            frames.push(stacks.frame(function, None, None, false));
        }
        if let Some(location) = self.locations.get_mut(&id) {
            location.frames = Some(frames);
        }
    }

    fn function(
        &self,
        stacks: &mut Stacks,
        id: u64,
        address: u64,
        module: Option<u32>,
        kind: CodeKind,
    ) -> SampledFunction {
        let [name, linkage, file, line] = self.functions.get(&id).copied().unwrap_or_default();
        let name = [name, linkage].map(|index| self.string(index));
        let name = name.iter().find(|name| !name.is_empty());
        let file = self.string(file);
        let file = (!file.is_empty()).then(|| stacks.builder.file(&file));
        SampledFunction {
            name: name_or_address(name.map_or("", String::as_str), address),
            module,
            file,
            line: u32::try_from(line).ok().filter(|&line| line > 0),
            kind,
        }
    }
}

/// The thread that the labels of a sample name.
fn thread(tables: &Tables<'_>, stacks: &mut Stacks, labels: &[&[u8]]) -> Result<u32> {
    let mut thread = SampledThread::default();
    for bytes in labels {
        let of = Message::read(bytes, 0)?.numbers;
        let (text, number) = (tables.string(of[2]), of[3]);
        match tables.string(of[1]).as_str() {
            "thread" | "thread_name" | "thread name" if !text.is_empty() => {
                // As our own exports have it.
                let parts = text
                    .strip_suffix(')')
                    .and_then(|text| text.rsplit_once(" ("));
                let named = parts.and_then(|(name, tid)| Some((name, tid.parse().ok()?)));
                match named {
                    Some((name, tid)) => (thread.name, thread.tid) = (name.to_owned(), tid),
                    None => thread.name = text,
                }
            }
            "thread_id" | "thread id" | "tid" => {
                let tid = text.parse().ok().or(i32::try_from(number).ok());
                thread.tid = tid.unwrap_or(0);
            }
            "pid" | "process_id" => {
                let pid = text.parse().ok().or(i32::try_from(number).ok());
                thread.pid = pid.unwrap_or(0);
            }
            _ => {}
        }
    }
    Ok(stacks.builder.thread(thread))
}
