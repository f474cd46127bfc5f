//! From counters to executions of instructions.

use std::collections::HashMap;

use genba_engine::layout::{KIND_BINDING, KIND_BLOCK, KIND_LESS, KIND_MORE, KIND_TRANSFER};
use genba_model::CodePoint;

use super::file::{Counts, Module};
use crate::Transfers;
use crate::draft::{Draft, GENERATED};
use crate::x86_64::Flow;

/// Makes a draft. Corrections take away from what blocks add, so sums are signed until the end.
pub fn draft(counts: &Counts, transfers: &Transfers) -> Draft {
    let mut draft = Draft::default();
    let modules: Vec<u32> = (counts.modules.iter())
        .map(|module| draft.module(&path(module)))
        .collect();
    let mut sums: HashMap<CodePoint, i128> = HashMap::new();
    let mut looped = Vec::new();
    for counted in &counts.counted {
        let sign = match counted.kind {
            KIND_BLOCK | KIND_MORE => 1,
            KIND_LESS => -1,
            _ => continue,
        };
        let module = counted
            .module
            .map(|index| (modules[index], &counts.modules[index]));
        let mut pc = counted.pc;
        if counted.kind == KIND_BLOCK && counted.to != 0 && transfers.any() {
            looped.push((module, counted));
        }
        for length in &counted.lengths {
            let point = point(&mut draft, module, pc);
            *sums.entry(point).or_default() += sign * i128::from(counted.count);
            pc = pc.wrapping_add(u64::from(*length));
        }
    }
    for (module, counted) in looped {
        let lengths = counted.lengths.iter().rev().skip(1);
        let before: u64 = lengths.map(|&length| u64::from(length)).sum();
        let from = point(&mut draft, module, counted.pc.wrapping_add(before));
        let to = point(&mut draft, module, counted.to);
        draft.edge(from, to, counted.count);
    }
    for (point, sum) in sums {
        if let Ok(count @ 1..) = u64::try_from(sum) {
            draft.count(point, count);
            always(&mut draft, point, count, transfers);
        }
    }
    for counted in &counts.counted {
        if !matches!(counted.kind, KIND_TRANSFER | KIND_BINDING) || !transfers.any() {
            continue;
        }
        let place =
            |index: Option<usize>| index.map(|index| (modules[index], &counts.modules[index]));
        let from = point(&mut draft, place(counted.module), counted.pc);
        let to = point(&mut draft, place(counted.to_module), counted.to);
        if counted.kind == KIND_TRANSFER {
            draft.edge(from, to, counted.count);
            continue;
        }
        // Stubs are 8 or 16 bytes long, and begin at multiples of that.
        for address in [from.address, from.address & !7, from.address & !15] {
            let stub = CodePoint {
                module: from.module,
                address,
            };
            draft.stubs.entry(stub).or_default().insert(to);
        }
    }
    draft
}

/// What always goes to the same place went there as often as it was executed.
fn always(draft: &mut Draft, from: CodePoint, count: u64, transfers: &Transfers) {
    if !transfers.any() {
        return;
    }
    let Some(decoded) = draft.decode(from) else {
        return;
    };
    if let Flow::Call(Some(address)) | Flow::Jump(Some(address)) = decoded.flow {
        // Only jumps back can be jumps to where a function begins.
        let calls = matches!(decoded.flow, Flow::Call(_));
        if *transfers == Transfers::Entries && (calls || address > from.address) {
            return;
        }
        let module = from.module;
        draft.edge(from, CodePoint { module, address }, count);
    }
}

/// What a mapping is called.
fn path(module: &Module) -> String {
    if module.path.is_empty() {
        return GENERATED.to_owned();
    }
    String::from_utf8_lossy(&module.path).into_owned()
}

/// Where an address in memory is.
fn point(draft: &mut Draft, module: Option<(u32, &Module)>, pc: u64) -> CodePoint {
    let placed = module.and_then(|(index, module)| {
        let offset = pc.wrapping_sub(module.start).wrapping_add(module.offset);
        if module.path == b"[vdso]" {
            return Some(CodePoint {
                module: index,
                address: offset,
            });
        }
        let address = draft.image(index)?.address_of(offset)?;
        Some(CodePoint {
            module: index,
            address,
        })
    });
    placed.unwrap_or_else(|| CodePoint {
        module: draft.module(GENERATED),
        address: pc,
    })
}
