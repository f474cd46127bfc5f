//! Script stacks joined with the native stacks of the same samples.

use std::collections::HashMap;
use std::path::Path;

use genba_model::{
    Estimate, NativeShare, OpcodeRow, ScriptFunction, ScriptLine, ScriptProfile, StackRow,
};
use genba_profile::reader::{StackId, Tables};
use genba_profile::{ReadError, ReadOptions, Recording, jit};

use super::interpreter_detection::may_be_interpreter;
use super::python311_opcodes;
use super::script_sampler::{SAMPLES, STACKS, unknown_layout_note};
use super::script_stacks::Stacks;
use crate::function_names::{FunctionName, FunctionNames};

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

/// The native frames that the innermost script function called.
#[derive(Clone)]
struct NativeCallees {
    /// Numbers of names, outermost first.
    frames: Vec<u32>,
    /// Whether the sample is in the interpreter's loop itself.
    in_loop: bool,
}

/// Site of a sample: native stack, script node, opcode.
type SampleSite = (StackId, Option<u32>, Option<u8>);

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

/// The script profile beside a recording.
///
/// # Errors
/// [`ScriptError`] when none was recorded, or its files cannot be read.
pub fn profile(recording: &Path) -> Result<ScriptProfile, ScriptError> {
    let directory = jit::directory_of(recording);
    let path = directory.join(STACKS);
    let none = || ScriptError::None(recording.display().to_string());
    let size = std::fs::metadata(&path).map_err(|_| none())?.len();
    let io = |error| ScriptError::Io {
        path: path.display().to_string(),
        error,
    };
    if size > MAX_STACKS {
        return Err(io(std::io::ErrorKind::FileTooLarge.into()));
    }
    let stacks = Stacks::parse(&std::fs::read_to_string(&path).map_err(io)?);
    let by_sample: HashMap<(u64, i32), (u32, Option<u8>)> = stacks
        .samples
        .iter()
        .map(|s| ((s.time, s.tid), (s.node, s.opcode)))
        .collect();
    let samples = Recording::open(&directory.join(SAMPLES))?;
    let mut names = NameTable::default();
    let mut native_by_stack: HashMap<StackId, NativeCallees> = HashMap::new();
    // Samples and weight.
    let mut seen: HashMap<SampleSite, (u64, u64)> = HashMap::new();
    let (mut total, mut squares, mut count) = (0u64, 0f64, 0u64);
    let tables = samples.scan(&ReadOptions::default(), &mut |sample, _| {
        let weight = sample.weight.max(1);
        let script = by_sample.get(&(sample.time, sample.tid));
        let key = (sample.stack, script.map(|s| s.0), script.and_then(|s| s.1));
        let sum = seen.entry(key).or_default();
        sum.0 += 1;
        sum.1 += weight;
        total += weight;
        squares += (weight as f64) * (weight as f64);
        count += 1;
    })?;
    let share = |weight: u64| -> Estimate {
        let inside = weight.min(total) as f64;
        genba_stats::wilson_weighted(inside, total as f64, squares, 0.95).unwrap_or(Estimate {
            value: 0.0,
            low: 0.0,
            high: 1.0,
        })
    };
    let of_all = |weight: u64| weight as f64 / (total.max(1) as f64);
    let mut sums: Vec<Sum> = vec![Sum::default(); stacks.functions.len()];
    let mut opcodes: HashMap<u8, u64> = HashMap::new();
    let mut collapsed: HashMap<Vec<String>, u64> = HashMap::new();
    let mut outside = 0;
    let mut marked: Vec<u64> = vec![0; stacks.functions.len()];
    for (round, (&(stack, node, opcode), &(number, weight))) in (1u64..).zip(&seen) {
        let native = native_by_stack
            .entry(stack)
            .or_insert_with(|| names.native_callees(&samples, &tables, stack, node.is_some()));
        let c_method = node
            .and_then(|node| stacks.frames(node).next())
            .map(|frame| &stacks.functions[frame.function as usize])
            .filter(|function| function.is_written_in_c());
        let native = &match c_method {
            Some(method) => names.under_c_method(&method.name, native),
            None => native.clone(),
        };
        let mut path: Vec<String> = Vec::new();
        if let Some(node) = node {
            let frames = stacks.frames(node).skip(usize::from(c_method.is_some()));
            for (depth, frame) in frames.enumerate() {
                let id = frame.function as usize;
                let sum = &mut sums[id];
                if marked[id] != round {
                    marked[id] = round;
                    sum.total += weight;
                }
                if depth == 0 {
                    sum.samples += number;
                    sum.own += weight;
                    *sum.lines.entry(frame.line).or_default() += weight;
                    if native.in_loop {
                        sum.interpreted += weight;
                    } else if let Some(&leaf) = native.frames.last() {
                        *sum.native.entry(leaf).or_default() += weight;
                    }
                }
                if depth < MAX_SCRIPT_FRAMES {
                    let f = &stacks.functions[id];
                    path.push(label(&f.name, &f.file, f.line));
                }
            }
            path.reverse();
            if native.in_loop
                && let Some(opcode) = opcode
            {
                *opcodes.entry(opcode).or_default() += weight;
            }
        } else {
            outside += weight;
        }
        if !(native.in_loop && node.is_some()) {
            let frames = native.frames.iter().take(MAX_NATIVE_FRAMES);
            path.extend(frames.map(|&id| names.list[id as usize].function.clone()));
        }
        *collapsed.entry(path).or_default() += weight;
    }
    let mut functions: Vec<ScriptFunction> = sums
        .into_iter()
        .zip(&stacks.functions)
        .filter(|(sum, _)| sum.total > 0)
        .map(|(sum, f)| {
            let mut native: Vec<NativeShare> = sum
                .native
                .into_iter()
                .map(|(id, weight)| NativeShare {
                    function: names.list[id as usize].function.clone(),
                    module: names.list[id as usize].module.clone(),
                    share: of_all(weight),
                })
                .collect();
            native.sort_by(|a, b| {
                b.share
                    .total_cmp(&a.share)
                    .then_with(|| a.function.cmp(&b.function))
            });
            native.truncate(MAX_NATIVE_FUNCTIONS);
            let mut lines: Vec<ScriptLine> = sum
                .lines
                .into_iter()
                .map(|(line, weight)| ScriptLine {
                    line,
                    share: of_all(weight),
                })
                .collect();
            lines.sort_by_key(|line| line.line);
            ScriptFunction {
                function: f.name.clone(),
                file: f.file.clone(),
                line: f.line,
                self_samples: sum.samples,
                self_share: share(sum.own),
                total: share(sum.total),
                interpreted: of_all(sum.interpreted),
                native,
                lines,
            }
        })
        .collect();
    functions.sort_by(|a, b| {
        let key = |f: &ScriptFunction| (f.function.clone(), f.file.clone(), f.line);
        (b.self_share.value.total_cmp(&a.self_share.value))
            .then_with(|| b.total.value.total_cmp(&a.total.value))
            .then_with(|| key(a).cmp(&key(b)))
    });
    let mut opcodes: Vec<OpcodeRow> = opcodes
        .into_iter()
        .map(|(opcode, weight)| OpcodeRow {
            opcode: python311_opcodes::name(opcode).to_owned(),
            share: share(weight),
        })
        .collect();
    opcodes.sort_by(|a, b| {
        (b.share.value.total_cmp(&a.share.value)).then_with(|| a.opcode.cmp(&b.opcode))
    });
    let mut collapsed: Vec<StackRow> = collapsed
        .into_iter()
        .map(|(frames, weight)| StackRow { frames, weight })
        .collect();
    collapsed.sort_by(|a, b| a.frames.cmp(&b.frames));
    let mut notes: Vec<String> = stacks
        .unknown
        .iter()
        .map(|name| unknown_layout_note(name))
        .collect();
    if tables.totals.lost > 0 {
        notes.push(format!("{} samples were lost", tables.totals.lost));
    }
    Ok(ScriptProfile {
        runtimes: stacks.runtimes.clone(),
        command: samples.info().command.clone(),
        samples: count,
        cpu_seconds: total as f64 / 1e9,
        outside: share(outside),
        functions,
        opcodes,
        collapsed,
        notes,
    })
}

/// A script function in a flame graph.
fn label(name: &str, file: &str, line: u32) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    format!("{name} ({file}:{line})")
}

/// Names of native functions, each with a number.
#[derive(Default)]
struct NameTable {
    names: FunctionNames,
    list: Vec<FunctionName>,
    numbers: HashMap<FunctionName, u32>,
}

impl NameTable {
    fn number(&mut self, name: FunctionName) -> u32 {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            list.push(name.clone());
            list.len() as u32 - 1
        })
    }

    /// Native frames with the method of the language that is written in C at the outer end, instead of frames without a name.
    fn under_c_method(&mut self, method: &str, native: &NativeCallees) -> NativeCallees {
        let mut modules = self.list.iter().map(|name| &name.module);
        let interpreter = modules.find(|module| may_be_interpreter(module));
        let outermost = FunctionName {
            function: format!("{method} (C)"),
            module: interpreter.cloned().unwrap_or_default(),
            kernel: false,
        };
        let outermost = self.number(outermost);
        let named = native.frames.iter().copied().filter(|id| {
            let function = &self.list[*id as usize].function;
            !function.starts_with("[0x") && function != "[unknown]"
        });
        NativeCallees {
            frames: std::iter::once(outermost).chain(named).collect(),
            in_loop: false,
        }
    }

    /// The native frames that the innermost script function called. Where there is no script
    /// stack, or the interpreter's loop is not on the native one, it is the leaf alone, or all.
    fn native_callees(
        &mut self,
        recording: &Recording,
        tables: &Tables,
        stack: StackId,
        script: bool,
    ) -> NativeCallees {
        let mut frames: Vec<u32> = Vec::new();
        for frame in tables.stack(stack) {
            let location = tables.location(frame.location);
            let name = self
                .names
                .of(recording, tables, location, frame.is_return_address);
            if script && is_loop(&name.function) {
                // CRuby's loop is a function that only `rb_vm_exec` calls; a stripped library has
                // no name for it.
                if name.function == "rb_vm_exec"
                    && let Some(&last) = frames.last()
                    && let Some(inner) = self.list.get(last as usize)
                    && inner.module == name.module
                    && inner.function.starts_with("[0x")
                {
                    frames.pop();
                }
                frames.reverse();
                return NativeCallees {
                    in_loop: frames.is_empty(),
                    frames,
                };
            }
            frames.push(self.number(name));
        }
        if script {
            // The leaf is certain.
            frames.truncate(1);
        }
        frames.reverse();
        NativeCallees {
            frames,
            in_loop: false,
        }
    }
}

/// Whether a C function is the loop that executes byte code. A part of it that the compiler has
/// moved away has a suffix.
fn is_loop(function: &str) -> bool {
    let base = function.split('.').next().unwrap_or(function);
    matches!(
        base,
        "_PyEval_EvalFrameDefault" | "vm_exec_core" | "vm_exec" | "rb_vm_exec"
    )
}
