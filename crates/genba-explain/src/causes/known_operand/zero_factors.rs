//! Zeros that are multiplied, and the product only added to something.

use genba_code::{CostClass, Flow};
use genba_model::{Estimate, KnownValueKind, ObservedFact};
use genba_observe::{OperandValues, ValueShare};

use super::{Scene, Spared, carries};
use crate::candidate::Candidate;
use crate::constants::observations::{
    MAX_DIFFERENCE_OF_SAME_SHARE, MIN_USUAL_VALUE, MIN_USUAL_VALUE_OF_LOOP,
};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::{
    MAX_LOADS_SHOWN, MAX_READERS_OF_PRODUCT, MAX_SPARED_INSTRUCTIONS,
};
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::Origin;

fn multiplies(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["mul", "imul", "pmul", "fmadd", "fnmadd", "fmsub", "pmadd"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Whether zero stays zero: shifts and negations.
fn keeps_zero(mnemonic: &str) -> bool {
    matches!(mnemonic, "shl" | "sal" | "sar" | "neg")
}

fn adds(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["add", "sub", "padd", "psub", "lea"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// A load of zeros that go into products which are only added.
#[derive(Clone)]
struct ZeroLoad<'a> {
    load: usize,
    products: Vec<usize>,
    observed: &'a OperandValues,
    usual: ValueShare,
    /// The loops inside that of the load which do little else than these products.
    inner: Vec<u32>,
    /// Whether it nearly always brings what it brought the time before.
    steady: bool,
}

/// Zeros that are multiplied with something, and the product added to something else.
pub(super) fn detect(scene: &Scene<'_>) -> Vec<Candidate> {
    let uses = Uses::of(scene.function);
    // By the loop, or the load where nothing but its own products go.
    let mut found: Vec<Candidate> = Vec::new();
    let mut groups: Vec<Vec<ZeroLoad<'_>>> = Vec::new();
    let (together, others) = zero_together(scene, zero_loads(scene, &uses));
    for one in others {
        let known = |group: &&mut Vec<ZeroLoad<'_>>| group[0].is_zero_with(scene, &one);
        match groups.iter_mut().find(known) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    for group in &groups {
        found.extend(candidate(scene, &uses, group, group[0].usual));
    }
    for (group, usual) in &together {
        found.extend(candidate(scene, &uses, group, *usual));
    }
    found
}

/// Zeros of one loop with the share of iterations in which all of them are zero, at least.
type Together<'a> = (Vec<ZeroLoad<'a>>, ValueShare);

/// Loads of one loop that are all zero in most of its iterations, whether or not one test for each would pay
/// (coefficients of a transform, rows of a sparse matrix), and the other loads. That they come together follows from
/// their shares alone: the iterations in which one of them is not zero are at most the sum of those of each.
fn zero_together<'a>(
    scene: &Scene<'_>,
    loads: Vec<ZeroLoad<'a>>,
) -> (Vec<Together<'a>>, Vec<ZeroLoad<'a>>) {
    let function = scene.function;
    let around = |one: &ZeroLoad<'_>| function.flow.loop_of_instruction(one.load);
    let (mut alone, mut rest): (Vec<_>, Vec<_>) = (loads.into_iter())
        .partition(|one| one.inner.is_empty() && !one.steady && around(one).is_some());
    alone.sort_by(|a, b| b.usual.share.low.total_cmp(&a.usual.share.low));
    let mut groups: Vec<Together<'a>> = Vec::new();
    for one in alone {
        let fits = |group: &&mut Together<'a>| {
            let first = &group.0[0];
            around(first) == around(&one)
                && function.counts[first.load] == function.counts[one.load]
                && both(group.1, one.usual).share.low >= MIN_USUAL_VALUE
        };
        match groups.iter_mut().find(fits) {
            Some(group) => {
                group.1 = both(group.1, one.usual);
                group.0.push(one);
            }
            None => groups.push((vec![one.clone()], one.usual)),
        }
    }
    let (together, single) = groups.into_iter().partition(|one| one.0.len() > 1);
    let single: Vec<Together<'a>> = single;
    rest.extend(single.into_iter().flat_map(|one| one.0));
    (together, rest)
}

/// The share in which two operands have their usual values at once: at least what is left when the others never
/// coincide, at most the smaller one.
fn both(first: ValueShare, second: ValueShare) -> ValueShare {
    let (a, b) = (first.share, second.share);
    ValueShare {
        value: first.value,
        share: Estimate {
            value: (a.value + b.value - 1.0).max(0.0),
            low: (a.low + b.low - 1.0).max(0.0),
            high: a.high.min(b.high),
        },
    }
}

fn zero_loads<'a>(scene: &'a Scene<'_>, uses: &Uses) -> Vec<ZeroLoad<'a>> {
    let function = scene.function;
    let is_zero = |at: &usize| scene.usual(*at).is_some_and(|(_, usual)| usual.value == 0);
    let mut loads: Vec<usize> = scene.values.keys().copied().filter(is_zero).collect();
    loads.sort_unstable();
    let mut found: Vec<ZeroLoad<'a>> = Vec::new();
    for load in loads {
        let products: Vec<usize> = products_of(function, uses, load)
            .into_iter()
            .filter(|&at| is_only_added(function, uses, at))
            .collect();
        let Some(&product) = products.first() else {
            continue;
        };
        if found.iter().any(|one| one.products.contains(&product)) {
            continue;
        }
        let Some((observed, usual)) = scene.usual(load) else {
            continue;
        };
        let further = multiplied_further(function, uses, &products);
        let around = |at: usize| {
            let index = function.flow.loop_of_instruction(at);
            index.filter(|&index| !function.loop_instructions(index).contains(&load))
        };
        let mut inner: Vec<u32> = further.iter().filter_map(|&at| around(at)).collect();
        inner.sort_unstable();
        inner.dedup();
        inner.retain(|&index| is_mostly_of(function, uses, index, &further));
        let beside = around(product).is_some();
        let steady = scene.is_steady(load);
        let least = match (beside, inner.is_empty()) {
            (_, false) => MIN_USUAL_VALUE_OF_LOOP,
            (true, true) => continue,
            // What stays for long is predicted, or tested in front of the loop.
            (false, true) if steady => MIN_USUAL_VALUE_OF_LOOP,
            (false, true) => MIN_USUAL_VALUE,
        };
        if usual.share.low >= least {
            found.push(ZeroLoad {
                load,
                products,
                observed,
                usual,
                inner,
                steady,
            });
        }
    }
    found
}

impl ZeroLoad<'_> {
    /// Whether one test tells that both are zero: both stay as they are, executed as often, in one loop.
    fn is_zero_with(&self, scene: &Scene<'_>, other: &Self) -> bool {
        let function = scene.function;
        let around = |one: &Self| function.flow.loop_of_instruction(one.load);
        let alone = !self.inner.is_empty() || !other.inner.is_empty();
        !alone
            && self.steady
            && other.steady
            && around(self) == around(other)
            && function.counts[self.load] == function.counts[other.load]
            && (self.usual.share.value - other.usual.share.value).abs()
                <= MAX_DIFFERENCE_OF_SAME_SHARE
    }
}

fn candidate(
    scene: &Scene<'_>,
    uses: &Uses,
    group: &[ZeroLoad<'_>],
    usual: ValueShare,
) -> Option<Candidate> {
    let function = scene.function;
    let first = group.first()?;
    let products: Vec<usize> = (group.iter())
        .flat_map(|one| one.products.clone())
        .collect();
    let affected = match first.inner.is_empty() {
        false => (first.inner.iter())
            .flat_map(|&index| function.loop_instructions(index))
            .collect(),
        true => spared_by(function, uses, products),
    };
    let spared = Spared {
        site: vec![first.load, *first.products.first()?],
        share: function.heat_of(affected.iter().copied()),
        affected,
        executions: function.counts[first.load],
        steady: first.steady,
    };
    let (share, executions) = (spared.share, spared.executions.max(1));
    let candidate = scene.candidate(KnownValueKind::ZeroFactor, usual, spared)?;
    let fact = |one: &ZeroLoad<'_>| scene.fact(one.load, one.observed, one.usual);
    Some(
        candidate
            .facts(group.iter().take(MAX_LOADS_SHOWN).map(fact))
            .fact(ObservedFact::NeedlessTime {
                share,
                cycles: share * scene.all / executions as f64,
            }),
    )
}

/// What need not be executed while these products are zero: sums that they go into, what is made of zeros
/// alone, and what nobody else reads.
fn spared_by(function: &FunctionInput, uses: &Uses, products: Vec<usize>) -> Vec<usize> {
    let mut zeros = products;
    let mut next = 0;
    while let Some(&at) = zeros.get(next) {
        next += 1;
        for reader in readers_of(function, uses, at) {
            let mnemonic = function.code[reader].mnemonic;
            let is_zero = |input: Option<usize>| input.is_some_and(|input| zeros.contains(&input));
            let linear = adds(mnemonic) || carries(mnemonic) || keeps_zero(mnemonic);
            // What it takes from memory is something else.
            let linear = linear && function.data[reader].memory.is_empty();
            let zero = linear && inputs(function, reader).all(is_zero)
                || multiplies(mnemonic) && inputs(function, reader).any(is_zero);
            if !zeros.contains(&reader) && zero && zeros.len() < MAX_SPARED_INSTRUCTIONS {
                zeros.push(reader);
            }
        }
    }
    let mut all = with_sums(function, uses, &zeros);
    // Backwards: what only spared instructions read.
    let mut next = 0;
    while let Some(&at) = all.get(next) {
        next += 1;
        for input in inputs(function, at).flatten() {
            let data = &function.data[input];
            let kept = data.stores() || data.opaque.is_some() || all.contains(&input);
            let needless = || {
                let mut readers = readers_of(function, uses, input).into_iter().peekable();
                readers.peek().is_some() && readers.all(|reader| all.contains(&reader))
            };
            if !kept && needless() && all.len() < MAX_SPARED_INSTRUCTIONS {
                all.push(input);
            }
        }
    }
    all.sort_unstable();
    all
}

/// These products, and what they are multiplied with further.
fn multiplied_further(function: &FunctionInput, uses: &Uses, products: &[usize]) -> Vec<usize> {
    let mut all = spared_by(function, uses, products.to_vec());
    all.retain(|at| multiplies(function.code[*at].mnemonic) || products.contains(at));
    all
}

/// The instructions that read what an instruction computes, but flags.
fn readers_of(function: &FunctionInput, uses: &Uses, at: usize) -> Vec<usize> {
    let writes = function
        .values
        .writes(at)
        .iter()
        .filter(|one| one.0 < FLAGS);
    let mut readers: Vec<usize> = writes.flat_map(|one| uses.readers(one.1)).collect();
    readers.retain(|&reader| reader != at);
    readers
}

/// The instructions that made what an instruction computes with; `None` for what comes from elsewhere.
fn inputs(function: &FunctionInput, at: usize) -> impl Iterator<Item = Option<usize>> + '_ {
    let data = &function.data[at];
    let reads = function.values.reads(at).iter();
    let reads = reads.filter(|one| data.data_reads >> one.0 & 1 == 1);
    reads.map(|one| match function.values.origin(one.1) {
        Origin::Instruction(from) => Some(from as usize),
        _ => None,
    })
}

/// Instructions that multiply what was loaded; the load itself may be one.
fn products_of(function: &FunctionInput, uses: &Uses, load: usize) -> Vec<usize> {
    let mut work = vec![load];
    let mut met = vec![load];
    let mut found = Vec::new();
    while let Some(at) = work.pop() {
        let mnemonic = function.code[at].mnemonic;
        if multiplies(mnemonic) {
            found.push(at);
            continue;
        }
        if !carries(mnemonic) || met.len() > MAX_READERS_OF_PRODUCT {
            // Used for something else: a comparison, an address.
            return Vec::new();
        }
        for &(_, value) in function.values.writes(at) {
            for reader in uses.readers(value) {
                if !met.contains(&reader) {
                    met.push(reader);
                    work.push(reader);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// Whether a product, or what it is multiplied with further, is added to something, and nothing else is done with it
/// or its copies.
fn is_only_added(function: &FunctionInput, uses: &Uses, product: usize) -> bool {
    if function.code[product].mnemonic.starts_with("vf") {
        return true;
    }
    let mut copies = vec![product];
    let mut added = false;
    let mut next = 0;
    while let Some(&at) = copies.get(next) {
        next += 1;
        for reader in readers_of(function, uses, at) {
            let mnemonic = function.code[reader].mnemonic;
            if adds(mnemonic) {
                added = true;
            } else if !(carries(mnemonic) || multiplies(mnemonic) || keeps_zero(mnemonic))
                || copies.len() > MAX_READERS_OF_PRODUCT
                || function.data[reader].stores()
            {
                return false;
            } else if !copies.contains(&reader) {
                copies.push(reader);
            }
        }
    }
    added
}

/// Products with the sums that take them.
fn with_sums(function: &FunctionInput, uses: &Uses, products: &[usize]) -> Vec<usize> {
    let mut all = products.to_vec();
    for &product in products {
        let readers = readers_of(function, uses, product).into_iter();
        all.extend(readers.filter(|&at| adds(function.code[at].mnemonic)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a loop does little else than these products and their sums: half of its multiplications and
/// additions of data, and it calls nothing.
fn is_mostly_of(function: &FunctionInput, uses: &Uses, index: u32, products: &[usize]) -> bool {
    let of = with_sums(function, uses, products);
    let (mut mine, mut others) = (0u32, 0u32);
    for at in function.loop_instructions(index) {
        let code = &function.code[at];
        if matches!(
            code.flow,
            Flow::Call(_) | Flow::IndirectCall | Flow::Syscall
        ) {
            return false;
        }
        let arithmetic = matches!(
            code.class,
            CostClass::Mul
                | CostClass::FpArith
                | CostClass::VectorArith
                | CostClass::FpDiv
                | CostClass::Div
                | CostClass::Sqrt
        );
        if of.contains(&at) {
            mine += 1;
        } else if arithmetic && !carries(code.mnemonic) {
            others += 1;
        }
    }
    mine > 0 && mine >= others
}
