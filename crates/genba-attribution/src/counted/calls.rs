//! Calls between functions, of the transfers that an engine recorded.

use std::collections::HashMap;

use genba_model::{CodePoint, Transfer, TransferKind};

use super::counts_index::CountIndex;
use super::executed_functions::{ExecutedFunction, ExecutedFunctions};
use super::inclusive::Node;

/// Calls from one place to one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The call, or the jump that leaves for the other function.
    pub from: CodePoint,
    /// Index of the calling function.
    pub caller: u32,
    /// Index of the called one.
    pub callee: u32,
    /// How often the call was executed.
    pub count: u64,
}

/// All calls, jumps to another function's entry (tail calls) among them.
///
/// Engines see through stubs of the PLT: the call of a stub is recorded as one of the function that
/// the stub leads to. The stub's own jump there is then no call any more, nor is that with which
/// the dynamic linker goes to a function that it has just found; counted as well, they would
/// have everything twice, and all functions in one circle through the linker.
pub fn call_sites(index: &CountIndex, found: &ExecutedFunctions) -> Vec<CallSite> {
    // What ends at a stub: jumps there (tail calls), and calls of which the engine could not
    // tell where the stub leads.
    let mut at_stub: HashMap<u32, u64> = HashMap::new();
    for transfer in index.transfers() {
        if let Some(callee) = found.at(transfer.to)
            && is_stub(&found.list[callee as usize])
            && found.at(transfer.from) != Some(callee)
        {
            let sum = at_stub.entry(callee).or_default();
            *sum = sum.saturating_add(transfer.count);
        }
    }
    let site = |transfer: &Transfer| {
        let (caller, callee) = (found.at(transfer.from)?, found.at(transfer.to)?);
        let mut count = transfer.count;
        if transfer.kind == TransferKind::Jump {
            let from = &found.list[caller as usize];
            let enters = found.list[callee as usize].address == transfer.to.address;
            if !enters || caller == callee || is_resolver(from) {
                return None;
            }
            if is_stub(from) {
                count = count.min(at_stub.get(&caller).copied().unwrap_or(0));
            }
        }
        (count > 0).then_some(CallSite {
            from: transfer.from,
            caller,
            callee,
            count,
        })
    };
    index.transfers().iter().filter_map(site).collect()
}

/// A function as the model of inclusive costs sees it.
pub(super) fn node(index: &CountIndex, one: &ExecutedFunction) -> Node {
    Node {
        own: one.instructions,
        calls: match one.known && !is_stub(one) {
            true => index.entered(one.module, one.address, one.end),
            // Its calls are told as those of the function behind it; what has no name has no
            // entry.
            false => 0,
        },
    }
}

/// A stub of the procedure linkage table.
fn is_stub(function: &ExecutedFunction) -> bool {
    function.known && function.name.ends_with("@plt")
}

/// glibc's `_dl_runtime_resolve_xsavec` and its like.
fn is_resolver(function: &ExecutedFunction) -> bool {
    function.name.starts_with("_dl_runtime_resolve")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::synthetic::raw;
    use genba_model::{CountedModule, ProcessCounts};

    /// Functions of 16 bytes each, by name, at 0x10, 0x20, …
    fn functions(names: &[&str]) -> ExecutedFunctions {
        let one = |(at, name): (u64, &&str)| ExecutedFunction {
            module: 0,
            address: at * 16,
            end: at * 16 + 16,
            name: (*name).to_owned(),
            known: true,
            instructions: 1,
        };
        ExecutedFunctions::known((1u64..).zip(names).map(one).collect())
    }

    /// Transfers between them: kind, from (a byte into the function), to (its entry), count.
    fn index(transfers: &[(TransferKind, u64, u64, u64)]) -> CountIndex {
        let point = |address| CodePoint { module: 0, address };
        let process = ProcessCounts {
            pid: 1,
            command: Vec::new(),
            cut_short: None,
            modules: vec![CountedModule {
                path: "/a".to_owned(),
                build_id: None,
                instructions: (1..10).map(|at| (at * 16, 100).into()).collect(),
            }],
            transfers: transfers
                .iter()
                .map(|&(kind, from, to, count)| Transfer {
                    kind,
                    from: point(from * 16 + 4),
                    to: point(to * 16),
                    count,
                })
                .collect(),
            notes: Vec::new(),
            generated: Vec::new(),
            observation: None,
        };
        CountIndex::new(&raw(vec![process]))
    }

    /// Caller, callee, count, by their numbers from 1.
    fn found(index: &CountIndex, functions: &ExecutedFunctions) -> Vec<(u32, u32, u64)> {
        let sites = call_sites(index, functions);
        let mut list: Vec<(u32, u32, u64)> = sites
            .iter()
            .map(|site| (site.caller + 1, site.callee + 1, site.count))
            .collect();
        list.sort_unstable();
        list
    }

    const CALL: TransferKind = TransferKind::Call;
    const JUMP: TransferKind = TransferKind::Jump;

    #[test]
    fn call_through_a_plt_stub_counts_once() {
        let functions = functions(&["main", "f@plt", "f"]);
        // The engine told the call as one of `f`; the stub jumps there all the same.
        let seen = index(&[(CALL, 1, 3, 100), (JUMP, 2, 3, 100)]);
        assert_eq!(found(&seen, &functions), [(1, 3, 100)]);
        // It could not tell for some, and a tail call went to the stub.
        let partly = index(&[
            (CALL, 1, 3, 90),
            (CALL, 1, 2, 7),
            (JUMP, 1, 2, 3),
            (JUMP, 2, 3, 100),
        ]);
        assert_eq!(
            found(&partly, &functions),
            [(1, 2, 3), (1, 2, 7), (1, 3, 90), (2, 3, 10)]
        );
        // An engine that does not see through stubs.
        let plain = index(&[(CALL, 1, 2, 100), (JUMP, 2, 3, 100)]);
        assert_eq!(found(&plain, &functions), [(1, 2, 100), (2, 3, 100)]);
    }

    #[test]
    fn dynamic_linker_is_not_the_caller_of_resolved_functions() {
        let functions = functions(&["main", "_dl_runtime_resolve_xsavec", "f", "_dl_fixup"]);
        let index = index(&[(CALL, 1, 3, 1), (CALL, 2, 4, 1), (JUMP, 2, 3, 1)]);
        assert_eq!(found(&index, &functions), [(1, 3, 1), (2, 4, 1)]);
    }

    #[test]
    fn tail_calls_count_as_calls_loop_jumps_do_not() {
        let functions = functions(&["main", "f"]);
        let mut transfers = vec![(JUMP, 1, 2, 5), (JUMP, 2, 2, 9)];
        assert_eq!(found(&index(&transfers), &functions), [(1, 2, 5)]);
        // A call of itself is one.
        transfers.push((CALL, 2, 2, 4));
        assert_eq!(
            found(&index(&transfers), &functions),
            [(1, 2, 5), (2, 2, 4)]
        );
    }

    #[test]
    fn plt_stubs_have_no_calls() {
        let functions = functions(&["main", "f@plt", "f"]);
        let index = index(&[(CALL, 1, 3, 100), (JUMP, 2, 3, 100)]);
        let calls = |at: usize| node(&index, &functions.list[at]).calls;
        assert_eq!((calls(1), calls(2)), (0, 100));
    }
}
