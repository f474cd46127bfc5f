//! Zeros that are multiplied, and the product only added to something.

use genba_code::{CostClass, Flow};
use genba_model::{KnownValueKind, ObservedFact};

use super::{Scene, Spared, carries};
use crate::candidate::Candidate;
use crate::constants::observations::{MIN_USUAL_VALUE, MIN_USUAL_VALUE_OF_LOOP};
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;

fn multiplies(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["mul", "imul", "pmul", "fmadd", "fnmadd", "fmsub", "pmadd"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn adds(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["add", "sub", "padd", "psub", "lea"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Zeros that are multiplied with something, and the product added to something else.
pub(super) fn detect(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    let is_zero = |at: &usize| scene.usual(*at).is_some_and(|(_, usual)| usual.value == 0);
    let mut loads: Vec<usize> = scene.values.keys().copied().filter(is_zero).collect();
    if loads.is_empty() {
        return Vec::new();
    }
    loads.sort_unstable();
    let uses = Uses::of(function);
    // By the loop, or the load where nothing but its own products go.
    let mut found: Vec<Candidate> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    for load in loads {
        let products: Vec<usize> = products_of(function, &uses, load)
            .into_iter()
            .filter(|&at| is_only_added(function, &uses, at))
            .collect();
        let Some(&product) = products.first() else {
            continue;
        };
        if taken.contains(&product) {
            continue;
        }
        let Some((one, usual)) = scene.usual(load) else {
            continue;
        };
        let inner = function
            .flow
            .loop_of_instruction(product)
            .filter(|&index| !function.loop_instructions(index).contains(&load));
        let (least, affected) = match inner {
            Some(index) if is_mostly_of(function, &uses, index, &products) => {
                (MIN_USUAL_VALUE_OF_LOOP, function.loop_instructions(index))
            }
            Some(_) => continue,
            None => (MIN_USUAL_VALUE, with_sums(function, &uses, &products)),
        };
        if usual.share.low < least {
            continue;
        }
        let spared = Spared {
            site: vec![load, product],
            share: function.heat_of(affected.iter().copied()),
            affected,
            executions: function.counts[load],
        };
        let (share, executions) = (spared.share, spared.executions.max(1));
        if let Some(candidate) = scene.candidate(KnownValueKind::ZeroFactor, usual, spared) {
            taken.extend(products);
            found.push(candidate.fact(scene.fact(load, one, usual)).fact(
                ObservedFact::NeedlessTime {
                    share,
                    cycles: share * scene.all / executions as f64,
                },
            ));
        }
    }
    found
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
        if !carries(mnemonic) || met.len() > MAX_READERS {
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

/// Readers of a value and of its copies that are looked at.
const MAX_READERS: usize = 64;

/// Whether a product is added to something, and nothing else is done with it.
fn is_only_added(function: &FunctionInput, uses: &Uses, product: usize) -> bool {
    let mnemonic = function.code[product].mnemonic;
    if mnemonic.starts_with("vf") {
        return true;
    }
    let results = function
        .values
        .writes(product)
        .iter()
        .filter(|one| one.0 < 64);
    let mut readers = results
        .flat_map(|one| uses.readers(one.1))
        .filter(|&at| at != product)
        .peekable();
    readers.peek().is_some() && readers.all(|at| adds(function.code[at].mnemonic))
}

/// Products with the sums that take them.
fn with_sums(function: &FunctionInput, uses: &Uses, products: &[usize]) -> Vec<usize> {
    let mut all = products.to_vec();
    for &product in products {
        for &(location, value) in function.values.writes(product) {
            if location < 64 {
                let readers = uses.readers(value).into_iter();
                all.extend(readers.filter(|&at| adds(function.code[at].mnemonic)));
            }
        }
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
