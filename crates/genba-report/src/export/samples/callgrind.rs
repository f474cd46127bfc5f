//! Samples in callgrind's format: costs by function and line, calls with their inclusive cost.
//!
//! Functions are those of the machine, as in `genba report`; lines of inlined code stand in them with
//! their own file. The inclusive cost of a function is its own and that of its calls there, so each
//! sample counts once for each function on its stack: as self cost for the innermost, as one call
//! for each other, at its outermost place.

use std::collections::BTreeMap;
use std::io::{self, Write};

use genba_model::{SampleUnit, SampledDetail, SampledFrame};

use super::{MachineFrame, by_stack, machine_frames, measured_by};
use crate::export::callgrind::reference;
use crate::safe_text;

/// Weight and number of samples.
type Cost = (u64, u64);

/// Costs of a function: its own by file and line; those of its calls by callee, file and line.
#[derive(Default)]
struct Costs {
    own: BTreeMap<(Option<u32>, u32), Cost>,
    calls: BTreeMap<(u32, Option<u32>, u32), Cost>,
}

pub(super) fn write(detail: &SampledDetail, out: &mut dyn Write) -> io::Result<()> {
    let functions = costs(detail);
    let event = match detail.unit {
        SampleUnit::Nanoseconds => "ns".to_owned(),
        SampleUnit::Bytes => "bytes".to_owned(),
        SampleUnit::Count => {
            let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            detail.event.name.chars().take(40).map(word).collect()
        }
    };
    let (weight, samples) = (detail.total_weight(), detail.total_samples());
    writeln!(out, "# callgrind format\nversion: 1")?;
    writeln!(out, "creator: genba {}", env!("CARGO_PKG_VERSION"))?;
    let pid = detail.threads.first().map_or(0, |thread| thread.pid);
    writeln!(
        out,
        "pid: {pid}\ncmd: {}",
        safe_text::command(&detail.command)
    )?;
    writeln!(
        out,
        "desc: Sampled by {}",
        safe_text::sanitise(&measured_by(detail))
    )?;
    writeln!(
        out,
        "desc: Calls: numbers of samples, not of calls; a sample counts once for each \
                   function on its stack"
    )?;
    for note in detail.notes.iter().take(20) {
        writeln!(out, "desc: Note: {}", safe_text::sanitise(note))?;
    }
    writeln!(
        out,
        "\npositions: line\nevents: {event} Samples\nsummary: {weight} {samples}"
    )?;
    let mut text = Names {
        detail,
        objects: vec![false; detail.modules.len() + 1],
        files: vec![false; detail.files.len() + 1],
        functions: vec![false; detail.functions.len()],
    };
    for (function, costs) in functions {
        let mut part = String::new();
        text.function(&mut part, function, &costs);
        out.write_all(part.as_bytes())?;
    }
    writeln!(out, "\ntotals: {weight} {samples}")
}

/// Costs by function.
fn costs(detail: &SampledDetail) -> BTreeMap<u32, Costs> {
    let mut functions: BTreeMap<u32, Costs> = BTreeMap::new();
    for (stack, weight, samples) in by_stack(detail) {
        let frames = machine_frames(detail, stack);
        let Some(leaf) = frames.first() else { continue };
        let own = functions.entry(leaf.outer.function).or_default();
        add(
            own.own.entry(place(leaf.inner)).or_default(),
            weight,
            samples,
        );
        for (caller, callee) in outermost_calls(&frames) {
            let (file, line) = place(caller.inner);
            let costs = functions.entry(caller.outer.function).or_default();
            let call = costs.calls.entry((callee, file, line)).or_default();
            add(call, weight, samples);
        }
    }
    functions
}

/// Returns for each function of the stack but the innermost its outermost frame that calls another
/// function, with that function.
fn outermost_calls<'a>(frames: &'a [MachineFrame<'a>]) -> Vec<(&'a MachineFrame<'a>, u32)> {
    let leaf = frames[0].outer.function;
    let mut seen = std::collections::HashSet::from([leaf]);
    let mut found = Vec::new();
    for pair in frames.windows(2).rev() {
        let (callee, caller) = (pair[0].outer.function, &pair[1]);
        if caller.outer.function != callee && seen.insert(caller.outer.function) {
            found.push((caller, callee));
        }
    }
    found
}

fn place(frame: &SampledFrame) -> (Option<u32>, u32) {
    (frame.file, frame.line.unwrap_or(0))
}

fn add(cost: &mut Cost, weight: u64, samples: u64) {
    cost.0 = cost.0.saturating_add(weight);
    cost.1 = cost.1.saturating_add(samples);
}

/// Which names were written out already; the last of modules and files is for unknown ones.
struct Names<'a> {
    detail: &'a SampledDetail,
    objects: Vec<bool>,
    files: Vec<bool>,
    functions: Vec<bool>,
}

impl Names<'_> {
    fn function(&mut self, out: &mut String, index: u32, costs: &Costs) {
        let function = &self.detail.functions[index as usize];
        out.push('\n');
        self.object(out, "ob", function.module);
        self.file(out, "fl", function.file);
        self.name(out, "fn", index);
        let mut at = function.file;
        for (&(file, line), cost) in &costs.own {
            self.go_to(out, &mut at, function.file, file);
            out.push_str(&format!("{line} {} {}\n", cost.0, cost.1));
        }
        for (&(callee, file, line), cost) in &costs.calls {
            self.go_to(out, &mut at, function.file, file);
            let called = &self.detail.functions[callee as usize];
            self.object(out, "cob", called.module);
            self.file(out, "cfi", called.file);
            self.name(out, "cfn", callee);
            let first = called.line.unwrap_or(0);
            out.push_str(&format!(
                "calls={} {first}\n{line} {} {}\n",
                cost.1, cost.0, cost.1
            ));
        }
    }

    /// Switches the file of the next cost lines: the function's or one inlined into it.
    fn go_to(&mut self, out: &mut String, at: &mut Option<u32>, own: Option<u32>, to: Option<u32>) {
        let to = to.or(own);
        if *at != to {
            self.file(out, if to == own { "fe" } else { "fi" }, to);
            *at = to;
        }
    }

    fn object(&mut self, out: &mut String, key: &str, module: Option<u32>) {
        let none = self.detail.modules.len();
        let index = module.map_or(none, |module| (module as usize).min(none));
        let path = self.detail.modules.get(index);
        let path = path.map_or("???", |module| &module.path);
        reference(out, key, index, self.objects.get_mut(index), path);
    }

    fn file(&mut self, out: &mut String, key: &str, file: Option<u32>) {
        let none = self.detail.files.len();
        let index = file.map_or(none, |file| (file as usize).min(none));
        let path = self.detail.files.get(index).map_or("???", String::as_str);
        reference(out, key, index, self.files.get_mut(index), path);
    }

    fn name(&mut self, out: &mut String, key: &str, index: u32) {
        let index = index as usize;
        let name = &self.detail.functions[index].name;
        reference(out, key, index, self.functions.get_mut(index), name);
    }
}
