//! `genba observe`: what bursts showed of a place, instruction by instruction.

use genba_model::{Estimate, ObservedBranch, ObservedInstruction, ObservedLoads, ObservedPlace};
use genba_units::format;

use crate::Screen;
use crate::safe_text::{file_name, sanitise};
use crate::terminal::messages::{remark, wrap};
use crate::terminal::screen::{DIM, STRONG};

/// Values of one instruction that are shown, and places of its data.
const MAX_SHOWN_VALUES: usize = 3;

/// Shares below this are not shown: of levels, values and redundancy.
const MIN_SHOWN_SHARE: f64 = 0.01;

/// Renders the instructions under their source lines, with what each did.
#[must_use]
pub fn observed_place(all: &ObservedPlace, screen: Screen) -> String {
    let mut out = format!(
        "{} seen in {} of {}\n",
        format::plural_short(all.observed_instructions, "instruction"),
        format::plural(u64::from(all.bursts), "burst"),
        format::plural(u64::from(all.threads), "thread"),
    );
    let mut before: Option<(&Option<String>, Option<u32>, &Option<String>)> = None;
    for one in &all.instructions {
        let place = (&one.file, one.line, &one.function);
        if before != Some(place) {
            let function = one.function.as_deref().unwrap_or("[unknown]");
            let line = match (&one.file, one.line) {
                (Some(file), Some(line)) => format!("  {}:{line}", file_name(file)),
                _ => format!("  {}", file_name(&one.module)),
            };
            let head = screen.paint(STRONG, &sanitise(function));
            out.push_str(&format!(
                "\n{head}{}\n",
                screen.paint(DIM, &sanitise(&line))
            ));
            before = Some(place);
        }
        instruction(&mut out, one, screen);
    }
    if all.instructions.is_empty() {
        out.push_str("\nno burst met this place: it takes little time, or has another name\n");
    }
    out.push('\n');
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    out
}

/// Columns before what an instruction did.
const INDENT_COLUMNS: usize = 6;

fn instruction(out: &mut String, one: &ObservedInstruction, screen: Screen) {
    let executions = match one.executions {
        Some(executions) => format!("{} executions", format::count(executions as f64)),
        None => format!("{} seen", format::count(one.seen as f64)),
    };
    let address = screen.paint(DIM, &format!("{:8x}", one.address));
    let executions = screen.paint(DIM, &executions);
    out.push_str(&format!(
        "  {address}  {}  {executions}\n",
        sanitise(&one.text)
    ));
    for fact in facts(one) {
        let width = screen.columns().saturating_sub(INDENT_COLUMNS);
        for line in wrap(&sanitise(&fact), width) {
            out.push_str(&format!("{:INDENT_COLUMNS$}{line}\n", ""));
        }
    }
}

fn facts(one: &ObservedInstruction) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(one.loads.as_ref().map(loads));
    facts.extend(one.branch.as_ref().map(branch));
    let values = one
        .values
        .iter()
        .filter(|value| value.share.value >= MIN_SHOWN_SHARE);
    let values: Vec<String> = values
        .take(MAX_SHOWN_VALUES)
        .map(|value| {
            let verb = if value.stored { "stores" } else { "loads" };
            let number = match value.value {
                small @ ..10_000 => small.to_string(),
                large => format!("{large:#x}"),
            };
            format!("{verb} {number} in {}", percent(&value.share))
        })
        .collect();
    if !values.is_empty() {
        facts.push(values.join(", "));
    }
    let redundant = &one.redundant;
    let kinds = [
        (
            redundant.dead_store,
            "overwritten before it is read",
            redundant.dead_store_unknown,
        ),
        (redundant.silent_store, "stores what is there already", None),
        (
            redundant.same_load,
            "loads the same as the time before",
            None,
        ),
        (
            redundant.repeated_call,
            "calls with the inputs of an earlier call",
            None,
        ),
        (
            redundant.overwritten_buffer,
            "bytes overwritten before they are read",
            redundant.overwritten_buffer_unknown,
        ),
        (
            redundant.copied_again,
            "bytes that had been copied before",
            None,
        ),
    ];
    for (share, what, unknown) in kinds {
        let Some(share) = share.filter(|share| share.value >= MIN_SHOWN_SHARE) else {
            continue;
        };
        let unknown = unknown.filter(|unknown| *unknown >= MIN_SHOWN_SHARE);
        let unknown = unknown.map_or(String::new(), |unknown| {
            format!(" (not seen of {})", format::share(unknown))
        });
        facts.push(format!("{what}: {}{unknown}", percent(&share)));
    }
    let data = one
        .data
        .iter()
        .filter(|data| data.share.value >= MIN_SHOWN_SHARE);
    let data: Vec<String> = data
        .take(MAX_SHOWN_VALUES)
        .map(|data| format!("{} {}", data.name, percent(&data.share)))
        .collect();
    if !data.is_empty() {
        facts.push(format!("data: {}", data.join(", ")));
    }
    facts
}

fn loads(loads: &ObservedLoads) -> String {
    let levels = [
        ("L1d", loads.l1),
        ("L2", loads.l2),
        ("L3", loads.l3),
        ("memory", loads.memory),
    ];
    let levels = levels
        .iter()
        .filter(|level| level.1.value >= MIN_SHOWN_SHARE);
    let mut parts: Vec<String> = levels
        .map(|(name, share)| format!("{name} {}", percent(share)))
        .collect();
    if loads.tlb.value >= MIN_SHOWN_SHARE {
        parts.push(format!("TLB misses {}", percent(&loads.tlb)));
    }
    if let Some(bytes) = loads.stride_bytes {
        parts.push(format!("stride {bytes} bytes"));
    }
    format!("loads from {}", parts.join(", "))
}

fn branch(branch: &ObservedBranch) -> String {
    let mut parts = vec![format!("taken {}", percent(&branch.taken))];
    if let Some(missed) = branch.mispredicted {
        parts.push(format!("mispredicted {}", percent(&missed)));
    }
    if let Some(repeated) = branch.repeated {
        parts.push(format!("as before {}", percent(&repeated)));
    }
    if let Some(one_way) = branch
        .one_way
        .filter(|share| share.value >= MIN_SHOWN_SHARE)
    {
        parts.push(format!("one way within a call {}", percent(&one_way)));
    }
    parts.join(", ")
}

/// A share with its interval.
fn percent(share: &Estimate) -> String {
    format!(
        "{} ({}–{})",
        format::percent(share),
        (100.0 * share.low).round(),
        (100.0 * share.high).round()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_an_instruction_stand_below_it() {
        let all = crate::test_fixtures::observed_place();
        let text = observed_place(&all, Screen::default());
        assert!(!text.contains('\x1b'), "{text}");
        for wanted in [
            "a.c:7",
            "mov eax, [rdi]",
            "L2 30",
            "stride 64",
            "loads 0 in 90",
            "heap",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        assert!(!text.contains("memory"), "{text}");
    }
}
