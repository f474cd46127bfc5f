//! What bursts showed of an instruction.

use genba_model::{Estimate, ObservedBranch, ObservedInstruction, ObservedLoads};
use genba_units::format;

/// Values of one instruction that are shown, and places of its data.
const MAX_SHOWN_VALUES: usize = 3;

/// Shares below this are not shown: of levels, values and redundancy.
const MIN_SHOWN_SHARE: f64 = 0.01;

/// Returns a sentence for each thing that an instruction did.
#[must_use]
pub(crate) fn facts(one: &ObservedInstruction) -> Vec<String> {
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

/// Returns how often an instruction was executed, or seen where that is not known.
#[must_use]
pub(crate) fn executions(one: &ObservedInstruction) -> String {
    match one.executions {
        Some(executions) => format!("{} executions", format::count(executions as f64)),
        None => format!("{} seen", format::count(one.seen as f64)),
    }
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
