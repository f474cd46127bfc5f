//! Calls between functions, of the transfers that an engine recorded.

use std::collections::HashMap;

use genba_model::{CodePoint, Transfer, TransferKind};

use super::inclusive::Node;
use super::index::CountIndex;
use super::names::{ExecutedFunction, ExecutedFunctions};

/// Calls from one place to one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallSite {
    /// The call, or the jump that leaves for the other function.
    pub from: CodePoint,
    /// Index of the calling function.
    pub caller: u32,
    /// Index of the called one.
    pub callee: u32,
    pub count: u64,
}

/// All calls, jumps to another function's entry (tail calls) among them.
///
/// Engines see through stubs of the PLT: the call of a stub is told as one of the function that
/// the stub leads to. The stub's own jump there is then no call any more, nor is that with which
/// the dynamic linker goes to a function that it has just found; counted as well, they would
/// have everything twice, and all functions in one circle through the linker.
pub(super) fn call_sites(index: &CountIndex, found: &ExecutedFunctions) -> Vec<CallSite> {
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
