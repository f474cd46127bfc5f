//! Script stacks joined with the native stacks of the same samples.

use std::collections::HashMap;
use std::path::Path;

use genba_model::{
    Estimate, NativeShare, OpcodeRow, ScriptFunction, ScriptLine, ScriptProfile, StackRow,
};
use genba_profile::reader::{StackId, Tables};
use genba_profile::{ReadError, ReadOptions, Recording, jit};

use super::native_callees::{NameTable, NativeCallees};
use super::python311_opcodes;
use super::script_sampler::{SAMPLES, STACKS, unknown_layout_note};
use super::script_stacks::{Function, Stacks};

/// Why there is no script profile.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// No script stacks were recorded.
    #[error("{0} has no script stacks\n  record them with: genba record --script -- COMMAND")]
    None(String),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// Reason of the operating system.
        error: std::io::Error,
    },
    /// The samples cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// C functions that are listed under a script function.
const MAX_NATIVE_FUNCTIONS: usize = 10;
/// Native frames of one stack in the flame graph.
const MAX_NATIVE_FRAMES: usize = 64;
/// Script frames of one stack in the flame graph; of deeper ones the innermost.
const MAX_SCRIPT_FRAMES: usize = 500;
/// Largest file of stacks, bytes.
const MAX_STACKS: u64 = 4 << 30;

/// Site of a sample: native stack, script node, opcode.
type SampleSite = (StackId, Option<u32>, Option<u8>);

/// Samples by site, and the weight of all of them.
#[derive(Default)]
struct Weights {
    /// Samples and their weight.
    sites: HashMap<SampleSite, (u64, u64)>,
    samples: u64,
    total: u64,
    squares: f64,
}

/// Sums of one script function.
#[derive(Clone, Default)]
struct Sum {
    samples: u64,
    own: u64,
    total: u64,
    interpreted: u64,
    native: HashMap<u32, u64>,
    lines: HashMap<u32, u64>,
}

/// Weights by script function, opcode and stack.
struct Sums {
    /// By number of the function.
    functions: Vec<Sum>,
    opcodes: HashMap<u8, u64>,
    collapsed: HashMap<Vec<String>, u64>,
    /// Weight of samples without a script stack.
    outside: u64,
    /// The last site in which each function was seen: recursion counts once.
    last_site: Vec<usize>,
    sites: usize,
}

/// The script profile beside a recording.
///
/// # Errors
/// [`ScriptError`] when none was recorded, or its files cannot be read.
pub fn profile(recording: &Path) -> Result<ScriptProfile, ScriptError> {
    let directory = jit::directory_of(recording);
    let stacks = stored_stacks(recording, &directory.join(STACKS))?;
    let samples = Recording::open(&directory.join(SAMPLES))?;
    let mut weights = Weights::default();
    let tables = weights.read(&samples, &stacks)?;
    let mut names = NameTable::default();
    let mut native_by_stack: HashMap<StackId, NativeCallees> = HashMap::new();
    let mut sums = Sums::new(stacks.functions.len());
    for (&(stack, node, opcode), &(number, weight)) in &weights.sites {
        let native = native_by_stack
            .entry(stack)
            .or_insert_with(|| names.native_callees(&samples, &tables, stack, node.is_some()));
        let c_method = node
            .and_then(|node| stacks.frames(node).next())
            .map(|frame| &stacks.functions[frame.function as usize])
            .filter(|function| function.is_written_in_c());
        let native = match c_method {
            Some(method) => names.under_c_method(&method.name, native),
            None => native.clone(),
        };
        let site = Site {
            node,
            skipped: usize::from(c_method.is_some()),
            opcode,
            native,
        };
        sums.add(&site, number, weight, &stacks, &names);
    }
    let mut notes: Vec<String> = (stacks.unknown.iter())
        .map(|name| unknown_layout_note(name))
        .collect();
    if tables.totals.lost > 0 {
        notes.push(format!("{} samples were lost", tables.totals.lost));
    }
    Ok(ScriptProfile {
        command: samples.info().command.clone(),
        samples: weights.samples,
        cpu_seconds: weights.total as f64 / 1e9,
        outside: weights.share(sums.outside),
        functions: function_rows(sums.functions, &stacks, &names, &weights),
        opcodes: opcode_rows(sums.opcodes, &weights),
        collapsed: stack_rows(sums.collapsed),
        runtimes: stacks.runtimes,
        notes,
    })
}

/// The script stacks of a recording.
fn stored_stacks(recording: &Path, path: &Path) -> Result<Stacks, ScriptError> {
    let none = || ScriptError::None(recording.display().to_string());
    let size = std::fs::metadata(path).map_err(|_| none())?.len();
    let io = |error| ScriptError::Io {
        path: path.display().to_string(),
        error,
    };
    if size > MAX_STACKS {
        return Err(io(std::io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Stacks::parse(&std::fs::read_to_string(path).map_err(io)?))
}

impl Weights {
    /// Adds all samples, each with the script stack of its time and thread.
    fn read(&mut self, samples: &Recording, stacks: &Stacks) -> Result<Tables, ReadError> {
        let by_sample: HashMap<(u64, i32), (u32, Option<u8>)> = (stacks.samples.iter())
            .map(|s| ((s.time, s.tid), (s.node, s.opcode)))
            .collect();
        samples.scan(&ReadOptions::default(), &mut |sample, _| {
            let weight = sample.weight.max(1);
            let script = by_sample.get(&(sample.time, sample.tid));
            let key = (sample.stack, script.map(|s| s.0), script.and_then(|s| s.1));
            let sum = self.sites.entry(key).or_default();
            sum.0 += 1;
            sum.1 += weight;
            self.samples += 1;
            self.total += weight;
            self.squares += (weight as f64) * (weight as f64);
        })
    }

    /// The share of all, with its interval.
    fn share(&self, weight: u64) -> Estimate {
        let inside = weight.min(self.total) as f64;
        let found = genba_stats::wilson_weighted(inside, self.total as f64, self.squares, 0.95);
        found.unwrap_or(Estimate {
            value: 0.0,
            low: 0.0,
            high: 1.0,
        })
    }

    fn share_without_interval(&self, weight: u64) -> f64 {
        weight as f64 / (self.total.max(1) as f64)
    }
}

/// Where samples are.
struct Site {
    /// Innermost script frame.
    node: Option<u32>,
    /// Innermost script frames that are shown as native ones.
    skipped: usize,
    opcode: Option<u8>,
    native: NativeCallees,
}

impl Sums {
    fn new(functions: usize) -> Self {
        Self {
            functions: vec![Sum::default(); functions],
            opcodes: HashMap::new(),
            collapsed: HashMap::new(),
            outside: 0,
            last_site: vec![0; functions],
            sites: 0,
        }
    }

    /// Adds the samples of a site.
    fn add(&mut self, site: &Site, number: u64, weight: u64, stacks: &Stacks, names: &NameTable) {
        self.sites += 1;
        let native = &site.native;
        let mut path: Vec<String> = Vec::new();
        match site.node {
            Some(node) => {
                let frames = stacks.frames(node).skip(site.skipped);
                for (depth, frame) in frames.enumerate() {
                    let id = frame.function as usize;
                    let sum = &mut self.functions[id];
                    if self.last_site[id] != self.sites {
                        self.last_site[id] = self.sites;
                        sum.total += weight;
                    }
                    if depth == 0 {
                        sum.add_innermost(frame.line, number, weight, native);
                    }
                    if depth < MAX_SCRIPT_FRAMES {
                        path.push(label(&stacks.functions[id]));
                    }
                }
                path.reverse();
                if let Some(opcode) = site.opcode.filter(|_| native.in_loop) {
                    *self.opcodes.entry(opcode).or_default() += weight;
                }
            }
            None => self.outside += weight,
        }
        if !(native.in_loop && site.node.is_some()) {
            let frames = native.frames.iter().take(MAX_NATIVE_FRAMES);
            path.extend(frames.map(|&id| names.name(id).function.clone()));
        }
        *self.collapsed.entry(path).or_default() += weight;
    }
}

impl Sum {
    /// Adds samples in which the function is the innermost one.
    fn add_innermost(&mut self, line: u32, number: u64, weight: u64, native: &NativeCallees) {
        self.samples += number;
        self.own += weight;
        *self.lines.entry(line).or_default() += weight;
        if native.in_loop {
            self.interpreted += weight;
        } else if let Some(&leaf) = native.frames.last() {
            *self.native.entry(leaf).or_default() += weight;
        }
    }

    fn row(self, function: &Function, names: &NameTable, weights: &Weights) -> ScriptFunction {
        let mut native: Vec<NativeShare> = (self.native.into_iter())
            .map(|(id, weight)| NativeShare {
                function: names.name(id).function.clone(),
                module: names.name(id).module.clone(),
                share: weights.share_without_interval(weight),
            })
            .collect();
        native.sort_by(|a, b| {
            (b.share.total_cmp(&a.share)).then_with(|| a.function.cmp(&b.function))
        });
        native.truncate(MAX_NATIVE_FUNCTIONS);
        let mut lines: Vec<ScriptLine> = (self.lines.into_iter())
            .map(|(line, weight)| ScriptLine {
                line,
                share: weights.share_without_interval(weight),
            })
            .collect();
        lines.sort_by_key(|line| line.line);
        ScriptFunction {
            function: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
            self_samples: self.samples,
            self_share: weights.share(self.own),
            total: weights.share(self.total),
            interpreted: weights.share_without_interval(self.interpreted),
            native,
            lines,
        }
    }
}

/// The functions that were seen, those with most time of their own first.
fn function_rows(
    sums: Vec<Sum>,
    stacks: &Stacks,
    names: &NameTable,
    weights: &Weights,
) -> Vec<ScriptFunction> {
    let seen = (sums.into_iter().zip(&stacks.functions)).filter(|(sum, _)| sum.total > 0);
    let mut rows: Vec<ScriptFunction> = seen
        .map(|(sum, function)| sum.row(function, names, weights))
        .collect();
    rows.sort_by(|a, b| {
        let key = |f: &ScriptFunction| (f.function.clone(), f.file.clone(), f.line);
        (b.self_share.value.total_cmp(&a.self_share.value))
            .then_with(|| b.total.value.total_cmp(&a.total.value))
            .then_with(|| key(a).cmp(&key(b)))
    });
    rows
}

/// Opcodes by the time in the interpreter's loop, most first.
fn opcode_rows(opcodes: HashMap<u8, u64>, weights: &Weights) -> Vec<OpcodeRow> {
    let mut rows: Vec<OpcodeRow> = (opcodes.into_iter())
        .map(|(opcode, weight)| OpcodeRow {
            opcode: python311_opcodes::name(opcode).to_owned(),
            share: weights.share(weight),
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.share.value.total_cmp(&a.share.value)).then_with(|| a.opcode.cmp(&b.opcode))
    });
    rows
}

/// Stacks in alphabetical order.
fn stack_rows(collapsed: HashMap<Vec<String>, u64>) -> Vec<StackRow> {
    let mut rows: Vec<StackRow> = (collapsed.into_iter())
        .map(|(frames, weight)| StackRow { frames, weight })
        .collect();
    rows.sort_by(|a, b| a.frames.cmp(&b.frames));
    rows
}

/// A script function in a flame graph.
fn label(function: &Function) -> String {
    let file = (function.file.rsplit('/').next()).unwrap_or(&function.file);
    format!("{} ({file}:{})", function.name, function.line)
}
