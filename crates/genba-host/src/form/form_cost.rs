//! The look-up.

use genba_model::{Estimate, HostTable, HostTableEntry};

use super::equivalent_forms::{changes_memory, is_condition, moves, representative};
use super::lookup_candidates::{base, candidates};
use super::parse_form::{Form, Kind};

/// What a form costs on one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormCost<'a> {
    /// Cycles from operands to result. Where the values of operands decide (division) or where
    /// two forms could only be measured together, `low` to `high` is the range of what is
    /// possible, and `value` its middle. `None` where there is no result to wait for (stores,
    /// branches) or it was not measured.
    pub latency: Option<Estimate>,
    /// Cycles for each of many independent ones.
    pub throughput: Option<Estimate>,
    /// The forms of the table's entries that were used.
    pub entries: Vec<&'a str>,
    /// Whether any of them was disturbed.
    pub disturbed: bool,
}

/// What an instruction of this form costs, as far as the table speaks for it; `None` if it does
/// not.
///
/// A range stands for operands that are not known: of `div r64`, from the smallest to the
/// largest quotient of a dividend that fits the divisor's width (as compilers divide), of
/// `lea r64, m` from two components to three, of conditional branches from not taken to taken,
/// always predicted. `call` and `ret` are each half of what a pair takes. Loads, and
/// operands in memory, have the latency of L1.
#[must_use]
pub fn cost_of<'a>(table: &'a HostTable, form: &str) -> Option<FormCost<'a>> {
    // An entry's own name, brackets and all.
    if let Some(entry) = table.entry(form) {
        return Some(FormCost::of(entry));
    }
    let form = Form::parse(form)?;
    direct(table, &form.text())
        .or_else(|| control(table, &form))
        .or_else(|| in_memory(table, &form))
        .or_else(|| registers(table, &form))
}

impl<'a> FormCost<'a> {
    fn of(entry: &'a HostTableEntry) -> Self {
        Self {
            latency: entry.latency_cycles,
            throughput: entry.reciprocal_throughput_cycles,
            entries: vec![&entry.form],
            disturbed: entry.disturbed,
        }
    }

    fn and(mut self, other: &FormCost<'a>) -> Self {
        for entry in &other.entries {
            if !self.entries.contains(entry) {
                self.entries.push(entry);
            }
        }
        self.disturbed |= other.disturbed;
        self
    }

    /// This one after the other one.
    fn after(self, first: &FormCost<'a>) -> Self {
        let both = self.clone().and(first);
        Self {
            latency: zip(self.latency, first.latency, sum),
            throughput: zip(self.throughput, first.throughput, |a, b| {
                if a.value >= b.value { a } else { b }
            }),
            ..both
        }
    }
}

fn zip(
    one: Option<Estimate>,
    other: Option<Estimate>,
    with: fn(Estimate, Estimate) -> Estimate,
) -> Option<Estimate> {
    Some(with(one?, other?))
}

fn sum(a: Estimate, b: Estimate) -> Estimate {
    Estimate {
        value: a.value + b.value,
        low: a.low + b.low,
        high: a.high + b.high,
    }
}

/// From the lowest to the highest, and the middle.
fn hull(all: impl Iterator<Item = Estimate> + Clone) -> Option<Estimate> {
    let low = all.clone().map(|it| it.low).reduce(f64::min)?;
    let high = all.clone().map(|it| it.high).reduce(f64::max)?;
    let least = all.clone().map(|it| it.value).reduce(f64::min)?;
    let most = all.map(|it| it.value).reduce(f64::max)?;
    Some(Estimate {
        value: f64::midpoint(least, most),
        low,
        high,
    })
}

/// The range over entries, `None` if there is none.
fn range<'a>(entries: impl Iterator<Item = &'a HostTableEntry>) -> Option<FormCost<'a>> {
    let all: Vec<FormCost<'a>> = entries.map(FormCost::of).collect();
    let both = all
        .iter()
        .fold(FormCost::default(), |cost, one| cost.and(one));
    (!all.is_empty()).then(|| FormCost {
        latency: hull(all.iter().filter_map(|cost| cost.latency)),
        throughput: hull(all.iter().filter_map(|cost| cost.throughput)),
        ..both
    })
}

/// An entry of exactly that form, or all entries that differ by what is in brackets.
fn direct<'a>(table: &'a HostTable, form: &str) -> Option<FormCost<'a>> {
    if let Some(entry) = table.entry(form) {
        return Some(FormCost::of(entry));
    }
    let bracketed = |entry: &&HostTableEntry| {
        (entry.form.strip_prefix(form))
            .and_then(|rest| rest.strip_prefix(" ["))
            // Only run-time libraries divide these.
            .is_some_and(|rest| !rest.starts_with("128-bit"))
    };
    // `call [indirect] + ret` and the like are not variants of `call`.
    if !form.contains(' ') {
        return None;
    }
    range(table.entries.iter().filter(bracketed))
}

fn control<'a>(table: &'a HostTable, form: &Form) -> Option<FormCost<'a>> {
    let through = form
        .operands
        .iter()
        .any(|kind| matches!(kind, Kind::Register(_) | Kind::Memory(_)));
    let half = |name: &str| {
        let pair = FormCost::of(table.entry(name)?);
        Some(FormCost {
            latency: None,
            throughput: pair.throughput.map(|pair| Estimate {
                value: pair.value / 2.0,
                low: 0.0,
                high: pair.high,
            }),
            ..pair
        })
    };
    let without_result = |cost: FormCost<'a>| FormCost {
        latency: None,
        ..cost
    };
    match form.mnemonic.as_str() {
        "jmp" if !through => Some(without_result(FormCost::of(table.entry("jmp [taken]")?))),
        "call" if through => half("call [indirect] + ret"),
        "call" | "ret" => half("call + ret"),
        "syscall" => None,
        other => {
            if !is_condition(other.strip_prefix('j')?) {
                return None;
            }
            let both = ["jcc [not taken]", "jcc [taken]"].map(|name| table.entry(name));
            range(both.into_iter().flatten()).map(without_result)
        }
    }
}

fn in_memory<'a>(table: &'a HostTable, form: &Form) -> Option<FormCost<'a>> {
    let place = form.operands.iter().position(|kind| kind.is_memory())?;
    let (name, vex) = base(form);
    let name = representative(name).unwrap_or(name);
    if name == "lea" {
        let mut wide = form.clone();
        wide.operands = vec![Kind::Register(64), Kind::Memory(0)];
        return direct(table, &wide.text());
    }
    if name == "nop" {
        return Some(FormCost::of(table.entry("nop")?));
    }
    if matches!(name, "push" | "pop") {
        return Some(FormCost::of(table.entry(&format!("{name} r64"))?));
    }
    let others: Vec<Kind> = form
        .operands
        .iter()
        .copied()
        .filter(|kind| !kind.is_memory())
        .collect();
    let vector = others.iter().copied().find(|kind| kind.is_vector());
    if moves(name) {
        return if place == 0 {
            stored(table, vector)
        } else if form.operands.len() == 2 {
            loaded(table, vector)
        } else {
            None
        };
    }
    if form.mnemonic.starts_with("lock ") || name == "xchg" {
        return locked(table, name);
    }
    let register = match (form.operands[place], vector) {
        // Conversions and insertions from general registers.
        (Kind::Memory(bits), Some(_))
            if name.starts_with("cvtsi2") || name.starts_with("pinsr") =>
        {
            Kind::Register(bits)
        }
        (_, Some(vector)) => vector,
        (Kind::Memory(bits @ (8 | 16 | 32 | 64)), None) => Kind::Register(bits),
        _ => *others.first()?,
    };
    let mut in_register = form.clone();
    in_register.operands[place] = register;
    let operation = registers(table, &in_register)?;
    if place == 0 && !vex && vector.is_none() && changes_memory(name) {
        return changed(table, name, &operation);
    }
    // A memory operand in front that is not changed (`cmp m64, r64`) or the only one (`div m64`)
    // is a source; in front of vectors it is a destination that nothing here measures.
    if place == 0 && vector.is_some() {
        return None;
    }
    Some(operation.after(&loaded(table, vector)?))
}

/// A load from L1.
fn loaded<'a>(table: &'a HostTable, vector: Option<Kind>) -> Option<FormCost<'a>> {
    let of = |form: &str| table.entry(form).map(FormCost::of);
    match vector {
        None => of("mov r64, m64"),
        Some(Kind::Vector(128)) => {
            let latency = of("movq xmm, m64")?;
            let throughput = of("movups xmm, m128")?;
            Some(FormCost {
                latency: latency.latency,
                throughput: throughput.throughput,
                ..latency.clone().and(&throughput)
            })
        }
        Some(Kind::Vector(256)) => of("vmovups ymm, m256"),
        Some(_) => of("vmovups zmm, m512"),
    }
}

fn stored<'a>(table: &'a HostTable, vector: Option<Kind>) -> Option<FormCost<'a>> {
    let form = match vector {
        None => "mov m64, r64",
        Some(Kind::Vector(128)) => "movups m128, xmm",
        Some(Kind::Vector(256)) => "vmovups m256, ymm",
        Some(_) => "vmovups m512, zmm",
    };
    Some(FormCost::of(table.entry(form)?))
}

/// Locked operations cost what the locked addition does; an exchange locks by itself.
fn locked<'a>(table: &'a HostTable, name: &str) -> Option<FormCost<'a>> {
    let form = match name.strip_prefix("lock ").unwrap_or(name) {
        "add" | "sub" | "and" | "or" | "xor" | "inc" | "dec" | "neg" | "not" => "lock add m64, r64",
        "xadd" => "lock xadd m64, r64",
        "cmpxchg" => "lock cmpxchg m64, r64",
        "xchg" => "xchg m64, r64",
        _ => return None,
    };
    Some(FormCost::of(table.entry(form)?))
}

/// Load, operation and store: what it takes for an addition, and what this operation takes more
/// than an addition does.
fn changed<'a>(table: &'a HostTable, name: &str, operation: &FormCost<'a>) -> Option<FormCost<'a>> {
    let addition = direct(table, "add m64, r64")?;
    if matches!(
        name,
        "add" | "sub" | "and" | "or" | "xor" | "inc" | "dec" | "neg" | "not"
    ) {
        return Some(addition);
    }
    let plain = FormCost::of(table.entry("add r64, r64")?);
    let more = zip(operation.latency, plain.latency, |operation, plain| {
        let more = (operation.value - plain.value).max(0.0);
        Estimate::exact(more)
    });
    Some(FormCost {
        latency: zip(addition.latency, more, sum),
        throughput: None,
        ..addition.clone().and(operation).and(&plain)
    })
}

/// Forms of registers and immediates only.
fn registers<'a>(table: &'a HostTable, form: &Form) -> Option<FormCost<'a>> {
    candidates(form)
        .iter()
        .find_map(|form| direct(table, &form.text()))
        .or_else(|| half_width(table, form))
}

/// 256 bits of an operation that stays within its lanes of 128: the latency is that of 128
/// bits, the throughput need not be.
fn half_width<'a>(table: &'a HostTable, form: &Form) -> Option<FormCost<'a>> {
    const ACROSS: [&str; 5] = ["vperm", "vpbroadcast", "vextract", "vinsert", "vpmov"];
    let only_ymm = form
        .operands
        .iter()
        .all(|kind| matches!(kind, Kind::Vector(256) | Kind::Immediate));
    let across = ACROSS.iter().any(|start| form.mnemonic.starts_with(start))
        || form.mnemonic.contains("cvt");
    if !only_ymm || across || form.operands.is_empty() || !form.mnemonic.starts_with('v') {
        return None;
    }
    let narrow = Form {
        mnemonic: form.mnemonic.clone(),
        operands: form
            .operands
            .iter()
            .map(|&kind| match kind {
                Kind::Vector(_) => Kind::Vector(128),
                other => other,
            })
            .collect(),
    };
    let cost = candidates(&narrow)
        .iter()
        .find_map(|form| direct(table, &form.text()))?;
    Some(FormCost {
        throughput: None,
        ..cost
    })
}

#[cfg(test)]
#[path = "form_cost_tests.rs"]
mod tests;
