//! callgrind's text (valgrind manual, "Callgrind Format Specification"): costs by function and line, calls
//! with the cost of what they call.

use std::collections::HashMap;

use genba_model::{SampleUnit, SampledDetail, SampledFunction};

use crate::call_graph::CallGraph;
use crate::stacks::{Stacks, kind_of_module};
use crate::{ImportError, ImportFormat, Result};

const FORMAT: ImportFormat = ImportFormat::Callgrind;
/// Bytes in which the format must show.
const FIRST_BYTES: usize = 64 << 10;
/// Most costs in a line.
const MAX_EVENTS: usize = 64;

/// Whether text has callgrind's head.
pub(crate) fn is_callgrind(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(FIRST_BYTES)];
    if first.starts_with(b"# callgrind format") {
        return true;
    }
    // "events:" is the one line that must be there; no other format has a line of that begin.
    let mut lines = first.split(|&byte| byte == b'\n');
    lines.any(|line| line.starts_with(b"events:")) && !first.contains(&0)
}

/// The kinds of names that have numbers of their own.
#[derive(Default)]
struct Names {
    objects: HashMap<u64, String>,
    files: HashMap<u64, String>,
    functions: HashMap<u64, String>,
}

/// A name: `(12) main` defines number 12, `(12)` refers to it, `main` has none.
fn named(known: &mut HashMap<u64, String>, text: &str) -> String {
    let text = text.trim();
    let number = (text.strip_prefix('(').and_then(|rest| rest.split_once(')')))
        .and_then(|(number, name)| Some((number.parse::<u64>().ok()?, name.trim())));
    match number {
        Some((number, "")) => known.get(&number).cloned().unwrap_or_default(),
        Some((number, name)) => {
            known.insert(number, name.to_owned());
            name.to_owned()
        }
        None => text.to_owned(),
    }
}

/// What lines of costs belong to.
#[derive(Default)]
struct Place {
    object: String,
    /// File of the function, and of the line where it is of another.
    file: String,
    line_file: String,
    function: String,
}

/// The called function of the next line.
#[derive(Default)]
struct Callee {
    object: Option<String>,
    file: Option<String>,
    function: String,
}

struct Reader {
    events: Vec<String>,
    /// Index of the event that is read.
    chosen: usize,
    /// Numbers before the costs, and which of them is the line.
    positions: usize,
    line_position: Option<usize>,
    last: Vec<u64>,
    names: Names,
    place: Place,
    callee: Callee,
    graph: CallGraph,
    stacks: Stacks,
    /// Index of the current function, once it is needed.
    function: Option<u32>,
    command: Vec<String>,
}

pub(crate) fn read(bytes: &[u8], event: Option<&str>) -> Result<SampledDetail> {
    let mut reader = Reader {
        events: Vec::new(),
        chosen: 0,
        positions: 1,
        line_position: Some(0),
        last: vec![0],
        names: Names::default(),
        place: Place::default(),
        callee: Callee::default(),
        graph: CallGraph::default(),
        stacks: Stacks::new(FORMAT, "", SampleUnit::Count),
        function: None,
        command: Vec::new(),
    };
    let mut is_call = false;
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line);
        let line = reader.line(text.trim(), event, &mut is_call);
        line.map_err(|error| match error {
            LineError::What(what) => {
                ImportError::damaged(FORMAT, format!("line {}: {what}", index + 1))
            }
            LineError::Import(error) => error,
        })?;
    }
    reader.finish()
}

enum LineError {
    What(&'static str),
    Import(ImportError),
}

impl From<&'static str> for LineError {
    fn from(what: &'static str) -> Self {
        Self::What(what)
    }
}

impl Reader {
    fn line(
        &mut self,
        line: &str,
        event: Option<&str>,
        is_call: &mut bool,
    ) -> std::result::Result<(), LineError> {
        let Some(&first) = line.as_bytes().first() else {
            return Ok(());
        };
        if first == b'#' {
            return Ok(());
        }
        if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'*') {
            return Ok(self.costs(line, std::mem::take(is_call))?);
        }
        let mark = line.find([':', '=']);
        let (key, separator, value) = match mark {
            Some(at) => (&line[..at], line.as_bytes()[at], line[at + 1..].trim()),
            None => return Ok(()),
        };
        match (separator, key.trim()) {
            (b':', "events") => {
                self.events = value.split_whitespace().map(str::to_owned).collect();
                self.choose(event).map_err(LineError::Import)?;
            }
            (b':', "positions") => {
                let positions: Vec<&str> = value.split_whitespace().collect();
                if positions.len() > 4 {
                    return Err("more positions than there are kinds of them".into());
                }
                self.line_position = positions.iter().position(|one| *one == "line");
                self.positions = positions.len();
                self.last = vec![0; positions.len()];
            }
            (b':', "cmd") => self.command = value.split_whitespace().map(str::to_owned).collect(),
            (b'=', "ob") => {
                self.place.object = named(&mut self.names.objects, value);
                self.function = None;
            }
            (b'=', "fl") => {
                self.place.file = named(&mut self.names.files, value);
                self.place.line_file.clone_from(&self.place.file);
            }
            (b'=', "fi" | "fe") => self.place.line_file = named(&mut self.names.files, value),
            (b'=', "fn") => {
                self.place.function = named(&mut self.names.functions, value);
                // A function begins in the file that was named last.
                self.place.file.clone_from(&self.place.line_file);
                self.function = None;
            }
            (b'=', "cob") => self.callee.object = Some(named(&mut self.names.objects, value)),
            (b'=', "cfi" | "cfl") => self.callee.file = Some(named(&mut self.names.files, value)),
            (b'=', "cfn") => self.callee.function = named(&mut self.names.functions, value),
            (b'=', "calls") => *is_call = true,
            // Jumps have a line of positions without costs behind them, or none.
            _ => {}
        }
        Ok(())
    }

    fn choose(&mut self, event: Option<&str>) -> Result<()> {
        if self.events.is_empty() || self.events.len() > MAX_EVENTS {
            return Err(ImportError::damaged(
                FORMAT,
                "no events, or too many of them",
            ));
        }
        let found = match event {
            Some(name) => self.events.iter().position(|one| one == name),
            None => Some(0),
        };
        self.chosen = found.ok_or_else(|| ImportError::NoSuchEvent {
            name: event.unwrap_or_default().to_owned(),
            known: self.events.clone(),
        })?;
        Ok(())
    }

    /// A line of positions and costs: of the function itself, or of a call.
    fn costs(&mut self, line: &str, is_call: bool) -> std::result::Result<(), &'static str> {
        let mut words = line.split_whitespace();
        for index in 0..self.positions {
            let Some(word) = words.next() else {
                return Err("fewer positions than the head names");
            };
            let last = self.last[index];
            self.last[index] = position(word, last).ok_or("a position that is not a number")?;
        }
        let mut cost = |wanted: usize| match words.nth(wanted) {
            // Costs that are 0 at the end are left out.
            None => Ok(0),
            Some(word) => word
                .parse::<u64>()
                .map_err(|_| "a cost that is not a number"),
        };
        let weight = cost(self.chosen)?;
        // Our own exports have the number of samples as the second event.
        let samples = match (self.chosen, self.events.get(1).map(String::as_str)) {
            (0, Some("Samples")) => cost(0)?,
            _ => 0,
        };
        if self.events.is_empty() {
            return Err("costs before the line `events:`");
        }
        let line = self.line_position.map(|index| self.last[index]);
        let line = line.and_then(|line| u32::try_from(line).ok());
        let line = line.filter(|&line| line > 0);
        let caller = self.caller();
        if is_call {
            let callee = std::mem::take(&mut self.callee);
            let object = callee.object.unwrap_or_else(|| self.place.object.clone());
            let file = callee.file.unwrap_or_else(|| self.place.line_file.clone());
            let callee = self.add(&callee.function, &object, &file);
            self.graph.call(caller, callee, weight);
        } else {
            let file = &self.place.line_file;
            let file = is_known(file).then(|| self.stacks.builder.file(file));
            self.graph.own(caller, file, line, weight, samples);
        }
        Ok(())
    }

    fn caller(&mut self) -> u32 {
        if let Some(known) = self.function {
            return known;
        }
        let place = std::mem::take(&mut self.place);
        let index = self.add(&place.function, &place.object, &place.file);
        self.place = place;
        self.function = Some(index);
        index
    }

    fn add(&mut self, name: &str, object: &str, file: &str) -> u32 {
        let builder = &mut self.stacks.builder;
        let module = is_known(object).then(|| builder.module(object, None));
        // A function is one, whatever file a call of it names: as callgrind_annotate, by name and object.
        let kind = kind_of_module(object);
        let index = builder.function(SampledFunction {
            name: match is_known(name) {
                true => name.to_owned(),
                false => "[unknown]".to_owned(),
            },
            module,
            file: None,
            line: None,
            kind,
        });
        if is_known(file) {
            let file = self.stacks.builder.file(file);
            self.graph.file_of(index, file);
        }
        index
    }

    fn finish(mut self) -> Result<SampledDetail> {
        if self.events.is_empty() {
            return Err(ImportError::damaged(FORMAT, "no line `events:`"));
        }
        let event = self.events[self.chosen].clone();
        let is_time = matches!(event.as_str(), "ns" | "nanoseconds" | "Time_(ns)");
        let builder = &mut self.stacks.builder.detail;
        builder.command = self.command;
        builder.event.name = event;
        if is_time {
            builder.unit = SampleUnit::Nanoseconds;
            builder.event.hardware = false;
        }
        let thread = self.stacks.named_thread("");
        let is_exact = self.graph.add_stacks(&mut self.stacks, thread)?;
        let mut detail = self.stacks.finish();
        if detail.total_samples() == 0 {
            let note = "costs are counted, not sampled: shares have no intervals";
            detail.notes.push(note.to_owned());
        }
        if self.events.len() > 1 && self.events.get(1).is_none_or(|one| one != "Samples") {
            let note = format!("the file has {}: -e NAME", self.events.join(", "));
            detail.notes.push(note);
        }
        detail.notes.push(
            "callgrind has calls, not stacks: stacks are made of the calls, as if a function cost the same \
             whoever calls it"
                .to_owned(),
        );
        if !is_exact {
            detail.notes.push(
                "where functions call one another in a circle, and of the rarest stacks, the callers are \
                 missing: totals are too small there"
                    .to_owned(),
            );
        }
        Ok(detail)
    }
}

fn is_known(name: &str) -> bool {
    !name.is_empty() && name != "???"
}

/// A position: a number, in base 16 with 0x, or relative to the last one.
fn position(word: &str, last: u64) -> Option<u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match word.as_bytes().first()? {
        b'*' => Some(last),
        b'+' => Some(last.saturating_add(number(&word[1..])?)),
        b'-' => Some(last.saturating_sub(number(&word[1..])?)),
        _ => number(word),
    }
}
