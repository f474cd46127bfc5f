//! Costs of forms, and what an instruction takes from its operands to its result.

use crate::constants::{
    DEFAULT_MISPREDICTION_CYCLES, DEFAULT_OPERAND_BYTES, MAX_COST_CYCLES, MIN_LATENCY_CYCLES,
    MOVE_CYCLES, UNKNOWN_CYCLES, UNKNOWN_FORWARDING_CYCLES, UNKNOWN_LOAD_CYCLES,
};
use genba_code::{DataFlow, Shortcut};
use genba_model::Estimate;

/// Costs by form, in cycles. The forms are those of [`genba_code::DataFlow::form`], and those
/// of [`operation`].
pub trait Costs {
    /// From the operands to the result; for loads from the address to the value, out of the
    /// L1d.
    fn latency(&self, form: &str) -> Option<Estimate>;
    /// Each of many independent ones.
    fn throughput(&self, form: &str) -> Option<Estimate>;
}

/// Operations of a table that are not an instruction, by the names under which they are asked for;
/// the first that the table knows counts.
pub mod operation {
    /// From a store to a load of the same address by the same registers, latency: some
    /// processors rename such memory.
    pub const FORWARD: &[&str] = &["store forward [same registers]", "store forward"];
    /// The same where the two are addressed differently.
    pub const FORWARD_OTHER: &[&str] = &["store forward [other registers]", "store forward"];
    /// The same of vector registers.
    pub const FORWARD_VECTOR: &[&str] = &["store forward [xmm]", "store forward"];
    /// A mispredicted conditional branch.
    pub(crate) const MISPREDICTION: &str = "jcc [mispredicted]";
    /// A branch that is taken, throughput.
    pub const TAKEN: &[&str] = &["jcc [taken]", "jmp [taken]"];
    /// Memory levels by name, latency.
    pub const LEVELS: &[(&str, &[&str])] = &[
        ("L2", &["load [L2]"]),
        ("L3", &["load [L3]"]),
        ("memory", &["load [memory]"]),
    ];
}

/// Cycles that a branch misprediction costs: the host table's; where it has none, what processors
/// since 2010 have.
#[must_use]
pub fn misprediction_penalty(costs: &dyn Costs) -> Estimate {
    latency(costs, operation::MISPREDICTION)
        .or_else(|| throughput(costs, operation::MISPREDICTION))
        .unwrap_or(DEFAULT_MISPREDICTION_CYCLES)
}

/// The latency of the first of these that is known.
pub(super) fn first_latency(costs: &dyn Costs, forms: &[&str]) -> Option<Estimate> {
    forms.iter().find_map(|form| latency(costs, form))
}

/// The throughput of the first of these that is known.
pub(super) fn first_throughput(costs: &dyn Costs, forms: &[&str]) -> Option<Estimate> {
    forms.iter().find_map(|form| throughput(costs, form))
}

/// The latency of a form, or of the one that differs in width only where that does not matter.
///
/// What a table has below three quarters of a cycle is not a latency but how many of them a cycle
/// takes: copies and memory that are renamed add nothing to a chain.
pub(super) fn latency(costs: &dyn Costs, form: &str) -> Option<Estimate> {
    let found = sane(costs.latency(form)).or_else(|| sane(costs.latency(&wider_lea(form)?)))?;
    Some(if found.value < MIN_LATENCY_CYCLES {
        NONE
    } else {
        found
    })
}

/// The throughput of a form, likewise.
pub(super) fn throughput(costs: &dyn Costs, form: &str) -> Option<Estimate> {
    sane(costs.throughput(form)).or_else(|| sane(costs.throughput(&wider_lea(form)?)))
}

/// Tables have `lea` of 64 bits only.
fn wider_lea(form: &str) -> Option<String> {
    let rest = form
        .strip_prefix("lea r32,")
        .or_else(|| form.strip_prefix("lea r16,"))?;
    Some(format!("lea r64,{rest}"))
}

/// Costs come from a file: what is not a cost is none.
pub(super) fn sane(cost: Option<Estimate>) -> Option<Estimate> {
    let cost = cost?;
    let all = [cost.low, cost.value, cost.high];
    let fine = all
        .iter()
        .all(|c| c.is_finite() && *c >= 0.0 && *c < MAX_COST_CYCLES);
    fine.then(|| Estimate {
        value: cost.value,
        low: cost.low.min(cost.value),
        high: cost.high.max(cost.value),
    })
}

/// The same for sums over a run, which may be large.
pub(super) fn sane_total(total: Option<Estimate>) -> Option<Estimate> {
    total.filter(|t| {
        [t.low, t.value, t.high]
            .iter()
            .all(|c| c.is_finite() && *c >= 0.0)
    })
}

/// How long an instruction takes, in the three parts that a chain can run through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timing {
    /// From the operands in registers (or the loaded value) to the result.
    pub op: Estimate,
    /// From the address to the loaded value.
    pub load: Estimate,
    /// From a value stored to the same value loaded, addressed by the same registers.
    pub forward: Estimate,
    /// The same where the two are addressed differently.
    pub forward_other: Estimate,
    /// Whether the table knew all parts.
    pub known: bool,
    /// Unit that is not pipelined and how long it is taken.
    pub unit: Option<(Unit, Estimate)>,
    /// Whether its result waits for nothing.
    pub free: bool,
}

/// A unit that works on one instruction for several cycles. Of two whose operands are there the older one
/// goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Divides integers.
    Divider,
    /// Divides and takes roots of floating-point numbers.
    FloatDivider,
}

/// The unit, by the form without memory.
fn unit(form: &str, costs: &dyn Costs) -> Option<(Unit, Estimate)> {
    let name = form.split(' ').next().unwrap_or(form);
    let stem = name.strip_prefix('v').unwrap_or(name);
    let unit = if matches!(name, "div" | "idiv") {
        Unit::Divider
    } else if stem.starts_with("divs")
        || stem.starts_with("divp")
        || stem.starts_with("sqrts")
        || stem.starts_with("sqrtp")
    {
        Unit::FloatDivider
    } else {
        return None;
    };
    Some((unit, sane(costs.throughput(form))?))
}

pub(super) const NONE: Estimate = Estimate {
    value: 0.0,
    low: 0.0,
    high: 0.0,
};

impl Timing {
    pub(super) fn of(flow: &DataFlow, costs: &dyn Costs) -> Self {
        let mut timing = Self {
            op: NONE,
            load: NONE,
            forward: NONE,
            forward_other: NONE,
            known: true,
            unit: unit(flow.without_memory.as_ref().unwrap_or(&flow.form), costs),
            free: false,
        };
        if is_locked(flow) {
            // Table and hardware take a locked operation as a whole: it forwards nothing.
            timing.op = timing.or(latency(costs, &flow.form), UNKNOWN_CYCLES);
            return timing;
        }
        if flow.loads() {
            timing.load = timing.or(load_latency(flow, costs), UNKNOWN_LOAD_CYCLES);
            let vector = flow.writes & VECTORS != 0;
            let [same, other] = match vector {
                true => [operation::FORWARD_VECTOR; 2],
                false => [operation::FORWARD, operation::FORWARD_OTHER],
            };
            timing.forward = first_latency(costs, same).unwrap_or(UNKNOWN_FORWARDING_CYCLES);
            timing.forward_other = first_latency(costs, other).unwrap_or(UNKNOWN_FORWARDING_CYCLES);
        }
        timing.op = match flow.shortcut {
            Shortcut::Nothing | Shortcut::Constant => NONE,
            Shortcut::Copy => latency(costs, &flow.form).unwrap_or(MOVE_CYCLES),
            Shortcut::None => match &flow.without_memory {
                Some(form) => timing.or(latency(costs, form), UNKNOWN_CYCLES),
                // Loads, stores, pushes: nothing is left to do.
                None if !flow.memory.is_empty() => NONE,
                // Nobody waits for a branch, and what needs nothing is there in time.
                None if flow.writes == 0 || flow.data_reads == 0 => NONE,
                None => timing.or(latency(costs, &flow.form), UNKNOWN_CYCLES),
            },
        };
        timing
    }

    fn or(&mut self, cost: Option<Estimate>, otherwise: Estimate) -> Estimate {
        self.known &= cost.is_some();
        cost.unwrap_or(otherwise)
    }
}

/// Vector registers, as [`genba_code::Locations`].
const VECTORS: u128 = 0xffff_ffff << 16;

/// Read-modify-write that is atomic; `xchg` with memory locks without a prefix.
pub(super) fn is_locked(flow: &DataFlow) -> bool {
    flow.form.starts_with("lock ") || flow.form.starts_with("xchg ") && !flow.memory.is_empty()
}

/// Latency of the load that an instruction makes: of its own form where it does nothing else,
/// or of a plain load of that size.
pub(super) fn load_latency(flow: &DataFlow, costs: &dyn Costs) -> Option<Estimate> {
    let own = || {
        flow.without_memory
            .is_none()
            .then(|| latency(costs, &flow.form))
            .flatten()
    };
    own().or_else(|| {
        plain_load(flow)
            .iter()
            .find_map(|form| latency(costs, form))
    })
}

/// Forms of plain loads as wide as the one of this instruction.
pub(super) fn plain_load(flow: &DataFlow) -> &'static [&'static str] {
    let bytes = flow
        .memory
        .iter()
        .find(|m| m.reads)
        .map_or(DEFAULT_OPERAND_BYTES, |m| m.bytes);
    match bytes {
        0..=8 => &["mov r64, m64"],
        9..=16 => &["movups xmm, m128", "movaps xmm, m128", "movdqu xmm, m128"],
        17..=32 => &[
            "vmovups ymm, m256",
            "vmovaps ymm, m256",
            "vmovdqu ymm, m256",
        ],
        _ => &[
            "vmovups zmm, m512",
            "vmovaps zmm, m512",
            "vmovdqu64 zmm, m512",
        ],
    }
}

/// Forms of plain stores as wide as the one of this instruction.
pub(super) fn plain_store(flow: &DataFlow) -> &'static [&'static str] {
    let bytes = flow
        .memory
        .iter()
        .find(|m| m.writes)
        .map_or(DEFAULT_OPERAND_BYTES, |m| m.bytes);
    match bytes {
        0..=8 => &["mov m64, r64"],
        9..=16 => &["movups m128, xmm", "movaps m128, xmm", "movdqu m128, xmm"],
        17..=32 => &[
            "vmovups m256, ymm",
            "vmovaps m256, ymm",
            "vmovdqu m256, ymm",
        ],
        _ => &[
            "vmovups m512, zmm",
            "vmovaps m512, zmm",
            "vmovdqu64 m512, zmm",
        ],
    }
}
