//! `tiny-callee-not-inlined`: a few instructions that are called instead of standing in place.
//!
//! **Signature.** A function of few instructions that calls nothing and has no loop, called
//! directly and often from another translation unit. Inside one unit the compiler saw both and
//! chose; across units it could not.
//!
//! **Confirmation.** A build with link-time optimisation.
//!
//! **Gain.** From measured cycles of callee and surroundings a call to the cycles of the
//! instructions that stay ([`crate::patterns::calls`]).
//!
//! **Source.** CASES A4; W. W. Hwu and P. P. Chang, "Inline Function Expansion", PLDI 1989.

use std::collections::BTreeMap;

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::patterns::calls::{Call, all_calls, inlined};
use crate::words::{count, cycle_range, cycles, percent};

/// Identifier.
pub const ID: &str = "tiny-callee-not-inlined";

/// Instructions a call above which the call is little beside the work.
pub(crate) const MOST_INSTRUCTIONS: f64 = 20.0;

/// Share of the time that callees must have together.
const LEAST: f64 = 0.02;

/// Calls that are worth a look.
const LEAST_CALLS: u64 = 100_000;

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<(String, String), Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), false) = (call.callee, call.site.indirect || call.site.plt) else {
            continue;
        };
        let (from, to) = (&input.functions[call.caller], &input.functions[callee]);
        if is_tiny(call.target, to) && from.own && to.own && across_units(from, to) {
            let unit = to.unit.clone().unwrap_or_default();
            groups
                .entry((to.module.clone(), unit))
                .or_default()
                .push(call);
        }
    }
    groups
        .values()
        .filter_map(|calls| candidate(input, calls))
        .collect()
}

/// Whether a callee is so small that the call costs as much as it does.
pub(crate) fn is_tiny(target: &CallTarget, callee: &FunctionInput) -> bool {
    target.instructions_per_call <= MOST_INSTRUCTIONS
        && target.instructions_per_call > 0.0
        && !target.calls_others
        && callee.flow.loops().is_empty()
        && !callee.code.iter().any(|one| one.is_lock)
}

/// Whether the compiler cannot have seen the callee's body where it compiled the caller.
fn across_units(from: &FunctionInput, to: &FunctionInput) -> bool {
    let (Some(a), Some(b)) = (&from.unit, &to.unit) else {
        return false;
    };
    let assembler = |unit: &str| {
        let lower = unit.to_ascii_lowercase();
        [".s", ".asm"].iter().any(|ending| lower.ends_with(ending))
    };
    // rustc's units are parts of a crate: `src/main.rs/@/name.hash-cgu.0`.
    let (crate_a, crate_b) = (a.split("/@/").next(), b.split("/@/").next());
    if crate_a == crate_b || assembler(b) {
        return false;
    }
    // A body in a header, or of a template, was seen by both.
    let rust = b.contains("/@/");
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let own_file = to
        .places
        .iter()
        .find_map(|place| place.file.as_deref())
        .map(file);
    rust || own_file == Some(file(b))
}

fn candidate(input: &AnalysisInput, calls: &[Call<'_>]) -> Option<Candidate> {
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call + ret")
        .map_or(4.0, |cost| cost.value);
    let found = inlined(input, calls, overhead, 0.0)?;
    let share_of = |index: usize| input.functions[index].share.value;
    let mut callees: Vec<usize> = calls.iter().filter_map(|call| call.callee).collect();
    callees.sort_unstable();
    callees.dedup();
    if found.calls < LEAST_CALLS || callees.iter().map(|&c| share_of(c)).sum::<f64>() < LEAST {
        return None;
    }
    let main = *callees
        .iter()
        .max_by(|&&a, &&b| share_of(a).total_cmp(&share_of(b)))?;
    let callee = &input.functions[main];
    let hottest = calls
        .iter()
        .filter(|call| call.callee == Some(main))
        .max_by_key(|call| call.target.count)?;
    let caller = &input.functions[hottest.caller];
    let mut one = Candidate::new(ID, Some(main), (0..callee.code.len()).collect());
    one.share = Some(found.share);
    one.residual_fraction = found.residual_fraction;
    one.executions = Some(found.calls);
    one.cycles = Some(genba_model::Estimate::exact(found.each));
    let name = &callee.function;
    let others = match callees.len() {
        1 => String::new(),
        more => format!(" (and {} more of the same file)", more - 1),
    };
    let from = caller
        .places
        .get(hottest.site.at)
        .and_then(|p| p.function.clone());
    let from = from.unwrap_or_else(|| caller.function.clone());
    one = one
        .counted(format!(
            "`{name}`{others} was called {} times, most by `{from}`, and executes {:.1} instructions a call",
            count(found.calls),
            hottest.target.instructions_per_call
        ))
        .counted(format!(
            "it is compiled in {}, its caller in {}: the compiler cannot inline it",
            short(callee.unit.as_deref()),
            short(caller.unit.as_deref())
        ))
        .measured(format!(
            "calls and callees take {} of the time, {} cycles a call",
            percent(found.share),
            cycles(found.each)
        ))
        .model(format!(
            "a call and its return take {} cycles here; the instructions that stay when it is inlined {}",
            cycles(overhead),
            cycle_range(&found.after)
        ));
    one.fix = format!(
        "Let the compiler inline `{name}`: build with link-time optimisation (-flto; `lto = \"fat\"` in Cargo), \
         or define it in the header (`static inline`; `#[inline]` in Rust)."
    );
    one.example = Some((
        "/* header */ int at(const image *i, int x);\n/* image.c */ int at(const image *i, int x) { return i->data[x]; }",
        "/* header */ static inline int at(const image *i, int x) { return i->data[x]; }",
    ));
    one.confirm = "build with -O2 -flto, then: genba bench ./old ./new".to_owned();
    Some(one)
}

fn short(unit: Option<&str>) -> String {
    let unit = unit.map_or("another unit", |unit| {
        unit.split("/@/").next().unwrap_or(unit)
    });
    unit.rsplit('/').next().unwrap_or(unit).to_owned()
}
