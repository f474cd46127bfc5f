//! `field-order`: fields that are used together lie in different cache lines.
//!
//! **Signature.** In one iteration of a loop, or one call, several fields of one object are loaded or
//! stored (one base, several constant offsets) that lie in more cache lines than they would need side
//! by side; objects come in no order. What a caller does with the object that it hands on (as the callee's
//! first arguments) belongs to it: a look at its kind, or at its table of functions. Observed: the loads miss L1d, and of the lines that they bring
//! little is used.
//!
//! **Confirmation.** The fields side by side.
//!
//! **Gain.** Of the measured time at these instructions the part of the lines that are spared.
//!
//! **Source.** T. Chilimbi, B. Davidson, J. Larus, "Cache-conscious structure definition", PLDI 1999 (field
//! reordering, class splitting).

use std::collections::HashMap;

use genba_code::{Location, STACK_POINTER};
use genba_model::{Cause, CodePoint, Estimate, Fix, LoadFact, ObservedFact};
use genba_observe::LoadSite;

use crate::candidate::Candidate;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    FIELD_LINES_SAVED, MAX_BYTES_OF_OBJECT, MIN_BURSTS, MIN_FIELD_MISSES, MIN_LINES_OF_FIELDS,
    MIN_SEEN, MIN_SHARE_OF_REPEATED_WORK,
};
use crate::constants::processor::{CACHE_LINE_BYTES, CACHE_LINE_STEP};
use crate::constants::registers::POINTER_ARGUMENTS;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::Origin;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// Finds objects whose used fields are spread over several cache lines.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let loads: HashMap<CodePoint, &LoadSite> = sites
        .observed
        .loads
        .iter()
        .map(|one| (one.at, one))
        .collect();
    let mut found = Vec::new();
    for (number, function) in input.functions.iter().enumerate() {
        let known = function.can_be_changed() && function.counted;
        if !known || function.share.value < MIN_SHARE_OF_REPEATED_WORK {
            continue;
        }
        // Objects with the same fields are of one type: they are one finding.
        let mut types: Vec<(Vec<Field>, Vec<Candidate>)> = Vec::new();
        for mut object in objects(function) {
            object.elsewhere = in_caller(input, function, &object);
            let Some(one) = candidate(&sites, &loads, number, &object, all) else {
                continue;
            };
            let begin = object.fields[0].0;
            let layout = object
                .fields
                .iter()
                .map(|field| (field.0 - begin, field.1))
                .collect();
            match types.iter_mut().find(|known| known.0 == layout) {
                Some(known) => known.1.push(one),
                None => types.push((layout, vec![one])),
            }
        }
        found.extend(types.into_iter().filter_map(|one| together(one.1)));
    }
    found
}

/// Candidates of one type as one: that with most time, with the accesses of all.
fn together(mut list: Vec<Candidate>) -> Option<Candidate> {
    let share = |one: &Candidate| one.share.unwrap_or(0.0);
    list.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let all = list.iter().map(share).sum::<f64>().min(1.0);
    let mut list = list.into_iter();
    let mut first = list.next()?;
    for one in list {
        first.site.extend(one.site);
        first.affected.extend(one.affected);
        first.copies.extend(one.copies);
    }
    first.affected.sort_unstable();
    first.affected.dedup();
    first.share = Some(all);
    Some(first)
}

/// A field: offset and bytes.
type Field = (i64, u64);

/// Accesses to fields of one object.
struct Object {
    accesses: Vec<usize>,
    fields: Vec<Field>,
    /// The number of the value that its address is, where that has no index.
    base: Option<u32>,
    /// Accesses in the function that calls this one, with its number.
    elsewhere: Option<(usize, Vec<usize>)>,
}

impl Object {
    fn bytes(&self) -> u64 {
        self.fields.iter().map(|one| one.1).sum()
    }

    fn span(&self) -> i64 {
        let begin = self.fields.iter().map(|one| one.0).min().unwrap_or(0);
        let end = self.fields.iter().map(|one| one.0 + one.1 as i64).max();
        end.unwrap_or(0) - begin
    }

    /// Cache lines that the fields lie in, on average over where the object may begin: in steps of the
    /// largest field, at most a pointer.
    fn lines(&self, fields: &[Field]) -> f64 {
        let step = 8;
        let places = CACHE_LINE_STEP / step;
        let mut sum = 0;
        for place in 0..places {
            let mut lines: Vec<i64> = Vec::new();
            for &(offset, bytes) in fields {
                let begin = offset + place * step;
                let end = begin + bytes as i64 - 1;
                lines.extend([begin, end].map(|at| at.div_euclid(CACHE_LINE_STEP)));
            }
            lines.sort_unstable();
            lines.dedup();
            sum += lines.len();
        }
        sum as f64 / places as f64
    }

    /// The same fields side by side, larger ones first.
    fn packed(&self) -> Vec<Field> {
        let mut sizes: Vec<u64> = self.fields.iter().map(|one| one.1).collect();
        sizes.sort_unstable_by_key(|&bytes| std::cmp::Reverse(bytes));
        let mut at = 0i64;
        (sizes.into_iter())
            .map(|bytes| {
                let field = (at, bytes);
                at += bytes as i64;
                field
            })
            .collect()
    }
}

/// Accesses of executed code with the same base, by object, where they have two fields or more.
fn objects(function: &FunctionInput) -> Vec<Object> {
    type Base = (u32, Option<(u32, i64, u8)>, Option<u32>);
    let mut found: HashMap<Base, (Vec<usize>, Vec<Field>)> = HashMap::new();
    for (at, data) in function.data.iter().enumerate() {
        if function.counts.get(at).is_none_or(|&count| count == 0) {
            continue;
        }
        let around = function.flow.loop_of_instruction(at);
        for (access, address) in data.memory.iter().zip(function.values.addresses(at)) {
            let stack = access.stack || access.base == Some(STACK_POINTER) || access.segment;
            let Some(address) = address.filter(|_| !stack && access.bytes > 0) else {
                continue;
            };
            let index = address
                .index
                .map(|(value, scale)| (value.number, value.offset, scale));
            // A constant base is a global.
            if address.base.number == crate::input::values::CONSTANT && index.is_none() {
                continue;
            }
            let one = found
                .entry((address.base.number, index, around))
                .or_default();
            one.0.push(at);
            one.1.push((address.base.offset, u64::from(access.bytes)));
        }
    }
    let mut list: Vec<Object> = (found.into_iter())
        .map(|(key, (mut accesses, mut fields))| {
            accesses.dedup();
            fields.sort_unstable();
            // Parts of one field, and fields side by side that are loaded together, are one.
            let mut merged: Vec<Field> = Vec::new();
            for (offset, bytes) in fields {
                match merged.last_mut() {
                    Some(last) if offset < last.0 + last.1 as i64 => {
                        last.1 = last.1.max((offset - last.0) as u64 + bytes);
                    }
                    _ => merged.push((offset, bytes)),
                }
            }
            Object {
                accesses,
                fields: merged,
                base: key.1.is_none().then_some(key.0),
                elsewhere: None,
            }
        })
        .filter(|object| object.fields.len() >= 2 && object.span() <= MAX_BYTES_OF_OBJECT)
        .collect();
    list.sort_by_key(|object| object.accesses.first().copied());
    list
}

/// Loads of the same object in the function from which nearly all calls of this one come: around the call,
/// in the same loop.
fn in_caller(
    input: &AnalysisInput,
    callee: &FunctionInput,
    object: &Object,
) -> Option<(usize, Vec<usize>)> {
    let register = argument(callee, object.base?)?;
    let calls = callee.calls.unwrap_or(0) as f64;
    let (number, at) = (input.functions.iter().enumerate()).find_map(|(number, caller)| {
        let known = caller.can_be_changed() && caller.counted;
        let mut sites = caller.call_sites.iter().filter(|_| known);
        let site = sites.find(|site| {
            (site.targets.first()).is_some_and(|target| {
                target.function == callee.function
                    && target.module == callee.module
                    && target.count as f64 >= MOST_OF_IT * calls
            })
        })?;
        Some((number, site.at))
    })?;
    let caller = &input.functions[number];
    let handed = value_at(caller, at, register)?;
    let around = caller.flow.loop_of_instruction(at);
    let loads: Vec<usize> = (0..caller.code.len())
        .filter(|&one| caller.flow.loop_of_instruction(one) == around)
        .filter(|&one| caller.counts.get(one).is_some_and(|&count| count > 0))
        .filter(|&one| {
            let accesses = caller.data[one].memory.iter();
            (accesses.zip(caller.values.addresses(one))).any(|(access, address)| {
                access.reads
                    && address.is_some_and(|address| {
                        address.base.number == handed.number && address.index.is_none()
                    })
            })
        })
        .collect();
    (!loads.is_empty()).then_some((number, loads))
}

/// The register in which a function gets a value from its caller.
fn argument(function: &FunctionInput, number: u32) -> Option<Location> {
    let (location, value) = (0..function.code.len())
        .flat_map(|at| function.values.reads(at))
        .find(|read| read.1.number == number)?;
    let from_caller = function.values.origin(*value) == Origin::Entry;
    (from_caller && POINTER_ARGUMENTS.contains(location)).then_some(*location)
}

fn candidate(
    sites: &ObservedSites<'_>,
    loads: &HashMap<CodePoint, &LoadSite>,
    number: usize,
    object: &Object,
    all: f64,
) -> Option<Candidate> {
    let function = &sites.input.functions[number];
    let (lines, packed) = (object.lines(&object.fields), object.lines(&object.packed()));
    if lines < MIN_LINES_OF_FIELDS * packed {
        return None;
    }
    // Used together: equally often, but for tests that hold now and then.
    let most = object
        .accesses
        .iter()
        .map(|&at| function.counts[at])
        .max()?;
    let usual: Vec<usize> = (object.accesses.iter().copied())
        .filter(|&at| function.counts[at] as f64 >= MOST_OF_IT * most as f64)
        .collect();
    let of = |number: usize, at: usize| loads.get(&sites.point(number, at)?).copied();
    let mut seen: Vec<&LoadSite> = usual.iter().filter_map(|&at| of(number, at)).collect();
    if let Some((caller, list)) = &object.elsewhere {
        seen.extend(list.iter().filter_map(|&at| of(*caller, at)));
    }
    let enough = |one: &&&LoadSite| {
        one.l1_missed.executions >= MIN_SEEN && one.l1_missed.bursts >= MIN_BURSTS
    };
    let missing = seen.iter().filter(enough).filter(|one| {
        let scattered = one.stride.is_none_or(|stride| stride.share < MOST_OF_IT);
        scattered && one.l1_missed.share.low >= MIN_FIELD_MISSES
    });
    let missed = missing.clone().count();
    // Of the lines that the fields lie in, as many must be missed as one more than needed.
    if (missed as f64) < packed.round() + 1.0 - f64::EPSILON || usual.len() < 2 {
        return None;
    }
    let used = (sites.observed.line_use.iter())
        .filter(|one| {
            usual
                .iter()
                .any(|&at| sites.point(number, at) == Some(one.at))
        })
        .max_by_key(|one| one.lines)
        .filter(|one| is_enough(&one.seen));
    if used.is_some_and(|one| one.seen.share.value > MOST_OF_IT) {
        return None;
    }
    let mut affected = with_waiting(function, &usual);
    affected.sort_unstable();
    affected.dedup();
    let share = function.heat_of(affected.iter().copied());
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let elsewhere = (object.elsewhere.as_ref()).map(|(caller, list)| {
        let mut waits = with_waiting(&sites.input.functions[*caller], list);
        waits.sort_unstable();
        waits.dedup();
        (*caller, waits)
    });
    let beside = (elsewhere.iter())
        .map(|(caller, waits)| sites.input.functions[*caller].heat_of(waits.iter().copied()))
        .sum::<f64>();
    let spared = 1.0 - packed / lines;
    let (value, low, high) = FIELD_LINES_SAVED;
    let mut one = Candidate::new(Cause::FieldOrder, Some(number), usual, Fix::GroupFields);
    one.affected = affected;
    one.share = Some((share + beside).min(1.0));
    one.copies.extend(elsewhere);
    one.residual_fraction = Estimate {
        value: 1.0 - value * spared,
        low: 1.0 - high * spared,
        high: (1.0 - low * spared).min(MAX_RESIDUAL),
    };
    one.executions = Some(most);
    one.cycles = Some(Estimate::exact(share * all / most.max(1) as f64));
    let worst = missing.max_by(|a, b| a.l1_missed.share.value.total_cmp(&b.l1_missed.share.value));
    Some(
        one.fact(ObservedFact::FieldsApart {
            fields: object.fields.len(),
            bytes: object.bytes(),
            lines,
            packed,
            span: object.span() as u64,
        })
        .facts(worst.map(|one| LoadFact::L1dMisses {
            share: one.l1_missed.share.value,
            source: genba_model::EvidenceSource::Observed,
        }))
        .facts(used.map(|one| ObservedFact::UsedOfLines {
            share: one.seen.share,
            lines: one.lines,
        })),
    )
}

/// Accesses with the next instruction, which may be the one that waits.
fn with_waiting(function: &FunctionInput, accesses: &[usize]) -> Vec<usize> {
    let last = function.code.len().saturating_sub(1);
    (accesses.iter())
        .flat_map(|&at| [at, (at + 1).min(last)])
        .collect()
}

const _: () = assert!(CACHE_LINE_BYTES == CACHE_LINE_STEP as u64);
