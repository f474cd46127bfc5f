//! Linear searches of scripts: `w not in seen` where `seen` is a list.
//!
//! **Signature.** A line of Python tests membership (`in`, `not in`), a good share of the time is in it, and a function of the
//! interpreter compares dozens of elements for each time that it is called: a look-up in a set or dict compares about one.
//! Whether the interpreter has symbols does not matter: its comparison functions are exported.
//!
//! **Gain.** The time of the searches, but for a look-up by hash each.

use genba_model::{
    Cause, Confirmation, Diagnosis, Estimate, Fix, FunctionRow, Profile, QuadraticFact,
    ScriptProfile,
};

use crate::causes::quadratic::residual_fraction;
use crate::constants::counts::{MIN_ELEMENTS_PER_SEARCH_BY_CALL, MIN_SEARCHES};
use crate::constants::gains::CYCLES_OF_LOOK_UP_BY_CALL;
use crate::constants::time_shares::{MIN_SHARE_OF_SCRIPT_SEARCHES, MOST_OF_IT};
use crate::finding_site::of_script_line;
use crate::findings::{Limits, share_interval};
use crate::gain::amdahl;
use crate::gain::calibration::calibrated;

/// A line of a script with a membership test, as its reader finds it.
pub type LineText<'a> = dyn FnMut(&str, u32) -> Option<String> + 'a;

/// Finds the line of a script whose membership tests search a list.
#[must_use]
pub fn script_lists(
    script: &ScriptProfile,
    profile: &Profile,
    text: &mut LineText<'_>,
    limits: Limits,
) -> Vec<Diagnosis> {
    found(script, profile, text, limits).into_iter().collect()
}

fn found(
    script: &ScriptProfile,
    profile: &Profile,
    text: &mut LineText<'_>,
    limits: Limits,
) -> Option<Diagnosis> {
    let searches = searches(profile)?;
    let lines = script.functions.iter().flat_map(|function| {
        let lines = function.lines.iter().filter(|line| line.line > 0);
        lines.map(move |line| (function, line))
    });
    let (function, line) = lines
        .filter(|(_, line)| line.share >= MIN_SHARE_OF_SCRIPT_SEARCHES)
        .filter(|(function, line)| {
            text(&function.file, line.line).is_some_and(|text| tests_membership(&text))
        })
        .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let share = searches.share.min(line.share);
    if share < MIN_SHARE_OF_SCRIPT_SEARCHES {
        return None;
    }
    let cycles = cycles_of_all(profile).map(|all| share * all / searches.times as f64);
    let residual = match cycles {
        Some(each) => residual_fraction(each, CYCLES_OF_LOOK_UP_BY_CALL),
        None => Estimate::exact(1.0 / searches.elements),
    };
    let share = share_interval(share, limits.samples);
    let gain = amdahl::speedup(share, residual, script.cpu_seconds)?;
    let linear = QuadraticFact::LinearSearches {
        searches: searches.times,
        elements: searches.elements,
        compared_by: Some(searches.compared_by.to_owned()),
    };
    let time = cycles.map(|cycles| QuadraticFact::SearchTime {
        share: share.value,
        cycles,
    });
    let facts = [Some(linear), time, Some(QuadraticFact::HashLookup)];
    Some(Diagnosis {
        cause: Cause::Quadratic,
        site: of_script_line(script, function, line.line),
        share,
        executions: Some(searches.times),
        cost_seconds: None,
        cost_cycles: cycles.map(Estimate::exact),
        predicted_speedup: calibrated(Cause::Quadratic, gain, script.cpu_seconds),
        modelled_speedup: Some(gain),
        facts: facts.into_iter().flatten().map(Into::into).collect(),
        fix: Fix::SetOfScript,
        confirmation: Confirmation::InputSweep,
    })
}

/// Linear searches of an interpreter.
struct Searches<'a> {
    times: u64,
    /// Mean number of comparisons in each.
    elements: f64,
    /// Share of all time in them.
    share: f64,
    compared_by: &'a str,
}

/// The function of the interpreter from which most of the time in comparisons is asked for, if it compares
/// many elements in each of its calls.
fn searches(profile: &Profile) -> Option<Searches<'_>> {
    let row = |index: u32| profile.functions.get(index as usize);
    let compares = |one: &FunctionRow| one.function.contains("RichCompare");
    let asked: Vec<(&FunctionRow, &FunctionRow, f64)> = (profile.edges.iter())
        .filter_map(|edge| Some((row(edge.caller)?, row(edge.callee)?, edge.share)))
        .filter(|(caller, callee, _)| {
            compares(callee) && !compares(caller) && caller.module == callee.module
        })
        .collect();
    let all: f64 = asked.iter().map(|one| one.2).sum();
    let most = asked.into_iter().max_by(|a, b| a.2.total_cmp(&b.2));
    // Calls are counted for a function, not for each of its callers: another caller's would be taken for this one's.
    let (caller, callee, _) = most.filter(|one| one.2 >= MOST_OF_IT * all)?;
    let (times, comparisons) = (caller.calls?, callee.calls?);
    let elements = comparisons as f64 / times.max(1) as f64;
    let many = times >= MIN_SEARCHES && elements >= MIN_ELEMENTS_PER_SEARCH_BY_CALL;
    many.then_some(Searches {
        times,
        elements,
        share: caller.total.value,
        compared_by: &callee.function,
    })
}

/// Cycles of the whole profile, by a function whose cost is known.
fn cycles_of_all(profile: &Profile) -> Option<f64> {
    let rows = profile.functions.iter();
    rows.filter(|row| row.self_share.value > 0.0)
        .find_map(|row| Some(row.cost_cycles?.value * row.calls? as f64 / row.self_share.value))
        .filter(|cycles| cycles.is_finite() && *cycles > 0.0)
}

/// Whether a line of Python has `in` as an operator; that of a loop or comprehension is none.
fn tests_membership(line: &str) -> bool {
    let code = line.split('#').next().unwrap_or_default();
    let mut loops = 0;
    for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
        match word {
            "for" => loops += 1,
            "in" if loops > 0 => loops -= 1,
            "in" => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use genba_model::{CallEdge, Event, Precision, ScriptFunction, ScriptLine};

    use super::*;

    #[test]
    fn membership_is_distinguished_from_loops() {
        for line in [
            "if w not in seen:",
            "    if a in b: # for",
            "[x for x in y if x in z]",
        ] {
            assert!(tests_membership(line), "{line}");
        }
        for line in [
            "for w in words:",
            "x = [y for y in z]",
            "index = inner",
            "# w in seen",
            "",
        ] {
            assert!(!tests_membership(line), "{line}");
        }
    }

    fn row(name: &str, own: f64, total: f64, calls: u64) -> FunctionRow {
        FunctionRow {
            function: name.to_owned(),
            linkage_name: None,
            module: "/usr/bin/python3.11".to_owned(),
            kernel: false,
            file: None,
            line: None,
            self_samples: 100,
            self_share: Estimate::exact(own),
            total: Estimate::exact(total),
            size_bytes: 0,
            calls: Some(calls),
            instructions: None,
            cost_seconds: None,
            cost_cycles: Some(Estimate::exact(20.0)),
        }
    }

    fn profile(comparisons: u64) -> Profile {
        let edge = CallEdge {
            caller: 1,
            callee: 0,
            share: 0.7,
        };
        Profile {
            event: Event {
                name: "cpu-clock".to_owned(),
                hardware: false,
                frequency_hz: 4999,
                kernel: true,
                precision: Precision::Skid,
            },
            imported_from: None,
            thread_times: Vec::new(),
            command: Vec::new(),
            samples: 10_000,
            lost: 0,
            throttled: 0,
            duration_seconds: 2.0,
            kernel_share: Estimate::exact(0.0),
            stacks: true,
            truncated_stacks: 0.0,
            functions: vec![
                row("PyUnicode_RichCompare", 0.5, 0.7, comparisons),
                row("[0x568bf0]", 0.3, 0.97, 60_000),
            ],
            lines: Vec::new(),
            modules: Vec::new(),
            threads: Vec::new(),
            edges: vec![edge],
            collapsed: Vec::new(),
            concentration: None,
            counted: None,
            notes: Vec::new(),
        }
    }

    fn script() -> ScriptProfile {
        ScriptProfile {
            runtimes: vec!["CPython 3.11.2".to_owned()],
            command: Vec::new(),
            samples: 100,
            cpu_seconds: 2.0,
            outside: Estimate::exact(0.0),
            functions: vec![ScriptFunction {
                function: "uniq".to_owned(),
                file: "seen.py".to_owned(),
                line: 2,
                self_samples: 97,
                self_share: Estimate::exact(0.97),
                total: Estimate::exact(0.97),
                interpreted: 0.0,
                native: Vec::new(),
                lines: vec![ScriptLine {
                    line: 5,
                    share: 0.97,
                }],
            }],
            opcodes: Vec::new(),
            collapsed: Vec::new(),
            notes: Vec::new(),
        }
    }

    const LIMITS: Limits = Limits {
        min_gain: 0.02,
        samples: 10_000,
    };

    #[test]
    fn searches_of_a_list_are_found_at_the_line_of_the_script() {
        let mut text = |_: &str, _: u32| Some("    if w not in seen:".to_owned());
        let found = script_lists(&script(), &profile(90_000_000), &mut text, LIMITS);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (one.site.function.as_str(), one.site.line),
            ("uniq", Some(5))
        );
        assert_eq!(one.executions, Some(60_000));
        assert!(
            one.predicted_speedup.value > 10.0,
            "{:?}",
            one.predicted_speedup
        );
    }

    #[test]
    fn comparisons_are_not_those_of_a_caller_that_hardly_makes_any() {
        let mut text = |_: &str, _: u32| Some("    if w not in seen:".to_owned());
        let mut profile = profile(90_000_000);
        profile
            .functions
            .push(row("_PyEval_EvalFrameDefault", 0.01, 0.99, 4_097));
        profile.edges.push(CallEdge {
            caller: 2,
            callee: 0,
            share: 0.01,
        });
        let found = script_lists(&script(), &profile, &mut text, LIMITS);
        assert_eq!(found[0].executions, Some(60_000));
        // Half of the comparisons each: whose calls they are is not known.
        profile.edges[1].share = 0.72;
        profile.edges[0].share = 0.71;
        profile.edges.push(CallEdge {
            caller: 3,
            callee: 0,
            share: 0.3,
        });
        profile.functions.push(row("list_index", 0.01, 0.99, 4_097));
        assert!(script_lists(&script(), &profile, &mut text, LIMITS).is_empty());
    }

    #[test]
    fn look_ups_by_hash_and_other_lines_are_not_reported() {
        let mut test = |_: &str, _: u32| Some("if w not in seen:".to_owned());
        assert!(script_lists(&script(), &profile(66_000), &mut test, LIMITS).is_empty());
        let mut other = |_: &str, _: u32| Some("words.sort()".to_owned());
        assert!(script_lists(&script(), &profile(90_000_000), &mut other, LIMITS).is_empty());
        let mut unknown = |_: &str, _: u32| None;
        assert!(script_lists(&script(), &profile(90_000_000), &mut unknown, LIMITS).is_empty());
    }
}
