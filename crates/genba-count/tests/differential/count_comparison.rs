//! Compares two counts of one program, instruction by instruction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use genba_model::{ProcessCounts, TransferKind};

use crate::allowed_differences::{Allowed, explanation};
use crate::symbol_names::Names;

/// The differences in one function.
#[derive(Default)]
struct Difference {
    addresses: usize,
    first: u64,
    sums: (u64, u64),
    distance: u64,
}

/// The outcome for one program.
#[derive(Default)]
pub struct Verdict {
    /// Number of instructions with equal counts.
    pub same: usize,
    /// Number of instructions with explained differences.
    pub explained: usize,
    /// Number of jumps and calls with equal counts.
    pub same_transfers: usize,
    /// Unexplained differences.
    pub unexplained: Vec<String>,
    /// Entries of the list that were used, each with the largest share of a module's instructions
    /// that it explained.
    pub used: BTreeMap<usize, f64>,
}

type Executions = BTreeMap<u64, u64>;

fn executions(process: &ProcessCounts, path: &str) -> Executions {
    (process.modules.iter())
        .filter(|module| module.path == path)
        .flat_map(|module| &module.instructions)
        .map(|one| (one.address, one.count))
        .collect()
}

/// valgrind's own library is loaded under qemu, too, so that ld.so does the same work; callgrind
/// skips its counts.
fn is_valgrinds(path: &str) -> bool {
    path.contains("vgpreload_")
}

/// Compares two counts; `program` is its name in the list.
pub fn compare(
    program: &str,
    one: &ProcessCounts,
    other: &ProcessCounts,
    allowed: &[Allowed],
) -> Verdict {
    let mut verdict = Verdict::default();
    let mut names: HashMap<&str, Names> = HashMap::new();
    for module in one.modules.iter().chain(&other.modules) {
        (names.entry(&module.path)).or_insert_with(|| Names::of(module));
    }
    let explains = |module: &str, function: &str| explanation(allowed, program, module, function);
    for (path, names) in &names {
        if is_valgrinds(path) {
            continue;
        }
        let (left, right) = (executions(one, path), executions(other, path));
        let total = left.values().sum::<u64>().max(right.values().sum());
        let mut differ: BTreeMap<String, Difference> = BTreeMap::new();
        for address in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
            let count = |map: &Executions| map.get(address).copied().unwrap_or(0);
            let (a, b) = (count(&left), count(&right));
            if a == b {
                verdict.same += 1;
                continue;
            }
            let difference = differ.entry(names.name(*address)).or_default();
            if difference.addresses == 0 {
                difference.first = *address;
            }
            difference.addresses += 1;
            difference.sums.0 += a;
            difference.sums.1 += b;
            difference.distance += a.abs_diff(b);
        }
        let mut spent: BTreeMap<usize, u64> = BTreeMap::new();
        for (function, difference) in &differ {
            match explains(path, function) {
                Some(entry) => {
                    verdict.explained += difference.addresses;
                    *spent.entry(entry).or_default() += difference.distance;
                }
                None => verdict.unexplained.push(format!(
                    "{path} {function}: {} instructions from {:#x} on: {} and {} executions",
                    difference.addresses, difference.first, difference.sums.0, difference.sums.1
                )),
            }
        }
        for (entry, distance) in spent {
            let share = distance as f64 / total.max(1) as f64;
            let most = verdict.used.entry(entry).or_default();
            *most = most.max(share);
            if allowed[entry].limit.is_some_and(|limit| share > limit) {
                verdict.unexplained.push(format!(
                    "{path}: {:.3} % differ, more than is allowed for: {}",
                    share * 100.0,
                    allowed[entry].reason
                ));
            }
        }
    }
    transfers(one, other, &names, &explains, &mut verdict);
    verdict
}

type Passage<'a> = (bool, (&'a str, u64), (&'a str, u64));

fn passages(process: &ProcessCounts) -> BTreeMap<Passage<'_>, u64> {
    let path = |module: u32| process.modules[module as usize].path.as_str();
    (process.transfers.iter())
        .map(|one| {
            let from = (path(one.from.module), one.from.address);
            let to = (path(one.to.module), one.to.address);
            ((one.kind == TransferKind::Call, from, to), one.count)
        })
        .filter(|((_, from, to), _)| !is_valgrinds(from.0) && !is_valgrinds(to.0))
        .collect()
}

/// A jump or call may differ if it leaves or enters a function that may.
fn transfers(
    one: &ProcessCounts,
    other: &ProcessCounts,
    names: &HashMap<&str, Names>,
    explains: &dyn Fn(&str, &str) -> Option<usize>,
    verdict: &mut Verdict,
) {
    let (left, right) = (passages(one), passages(other));
    for passage in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
        let (a, b) = (left.get(passage), right.get(passage));
        if a == b {
            verdict.same_transfers += 1;
            continue;
        }
        let (call, from, to) = *passage;
        let entry = [from, to]
            .iter()
            .find_map(|(path, address)| explains(path, &names[path].name(*address)));
        if let Some(entry) = entry {
            verdict.used.entry(entry).or_default();
        }
        if entry.is_none() {
            let kind = if call { "call" } else { "jump" };
            verdict.unexplained.push(format!(
                "{kind} {} {:#x} ({}) -> {} {:#x} ({}): {} and {} times",
                from.0,
                from.1,
                names[from.0].name(from.1),
                to.0,
                to.1,
                names[to.0].name(to.1),
                a.copied().unwrap_or(0),
                b.copied().unwrap_or(0)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowed_differences::parse;
    use genba_model::{CodePoint, CountedModule, InstructionCount, Transfer};

    fn process(counts: &[(u64, u64)], taken: u64) -> ProcessCounts {
        let point = |address| CodePoint { module: 0, address };
        ProcessCounts {
            pid: 1,
            command: vec!["x".into()],
            cut_short: None,
            modules: vec![CountedModule {
                path: "/nowhere/x".into(),
                build_id: None,
                instructions: counts
                    .iter()
                    .map(|pair| InstructionCount::from(*pair))
                    .collect(),
            }],
            transfers: vec![Transfer {
                kind: TransferKind::Jump,
                from: point(0x1000),
                to: point(0x2000),
                count: taken,
            }],
            notes: Vec::new(),
            generated: Vec::new(),
            observation: None,
        }
    }

    #[test]
    fn an_unexplained_difference_is_a_failure() {
        let list = parse("y x [1000] - not for this program\nx x [1000] 1% a good reason here\n");
        let list = list.expect("a list");
        let one = process(&[(0x1000, 1000), (0x2000, 5)], 7);
        assert!(compare("x", &one, &one, &[]).unexplained.is_empty());
        // An instruction that ran once more under one engine, or not at all.
        let more = process(&[(0x1000, 1001), (0x2000, 5)], 7);
        assert_eq!(compare("x", &one, &more, &[]).unexplained.len(), 1);
        assert!(compare("x", &one, &more, &list).unexplained.is_empty());
        let none = process(&[(0x1000, 1000)], 7);
        assert_eq!(compare("x", &one, &none, &list).unexplained.len(), 1);
        // Beyond the limit.
        let much = process(&[(0x1000, 2000), (0x2000, 5)], 7);
        assert_eq!(compare("x", &one, &much, &list).unexplained.len(), 1);
        // A jump.
        let taken = process(&[(0x1000, 1000), (0x2000, 5)], 8);
        assert_eq!(compare("x", &one, &taken, &[]).unexplained.len(), 1);
    }
}
