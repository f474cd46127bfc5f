//! Converts counters of the count file to executions of instructions and edges.

use std::collections::HashMap;

use genba_engine::count_file_layout::{
    KIND_ADD, KIND_BINDING, KIND_BLOCK, KIND_SUBTRACT, KIND_TRANSFER,
};
use genba_model::CodePoint;

use super::count_file::{Counts, Module};
use crate::Transfers;
use crate::process_counts_builder::{GENERATED, ProcessCountsBuilder};
use crate::x86_64::Flow;

/// Converts the counts of a process. Corrections are subtracted from counts of blocks, so sums are
/// signed until the end.
pub fn convert(counts: &Counts, transfers: &Transfers) -> ProcessCountsBuilder {
    let mut builder = ProcessCountsBuilder::default();
    let modules: Vec<u32> = (counts.modules.iter())
        .map(|module| builder.module(&path(module)))
        .collect();
    let mut sums: HashMap<CodePoint, i128> = HashMap::new();
    let mut looped = Vec::new();
    for counted in &counts.counted {
        let sign = match counted.kind {
            KIND_BLOCK | KIND_ADD => 1,
            KIND_SUBTRACT => -1,
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
            let point = point(&mut builder, module, pc);
            *sums.entry(point).or_default() += sign * i128::from(counted.count);
            pc = pc.wrapping_add(u64::from(*length));
        }
    }
    for (module, counted) in looped {
        let lengths = counted.lengths.iter().rev().skip(1);
        let before: u64 = lengths.map(|&length| u64::from(length)).sum();
        let from = point(&mut builder, module, counted.pc.wrapping_add(before));
        let to = point(&mut builder, module, counted.to);
        builder.edge(from, to, counted.count);
    }
    for (point, sum) in sums {
        if let Ok(count @ 1..) = u64::try_from(sum) {
            builder.count(point, count);
            add_direct_edge(&mut builder, point, count, transfers);
        }
    }
    for counted in &counts.counted {
        if !matches!(counted.kind, KIND_TRANSFER | KIND_BINDING) || !transfers.any() {
            continue;
        }
        let place =
            |index: Option<usize>| index.map(|index| (modules[index], &counts.modules[index]));
        let from = point(&mut builder, place(counted.module), counted.pc);
        let to = point(&mut builder, place(counted.to_module), counted.to);
        if counted.kind == KIND_TRANSFER {
            builder.edge(from, to, counted.count);
            continue;
        }
        // PLT stubs have 8 or 16 bytes, and are aligned to that.
        for address in [from.address, from.address & !7, from.address & !15] {
            let stub = CodePoint {
                module: from.module,
                address,
            };
            builder.stubs.entry(stub).or_default().insert(to);
        }
    }
    builder
}

/// Adds the edge of a direct branch, which is as frequent as its instruction.
fn add_direct_edge(
    builder: &mut ProcessCountsBuilder,
    from: CodePoint,
    count: u64,
    transfers: &Transfers,
) {
    if !transfers.any() {
        return;
    }
    let Some(decoded) = builder.decode(from) else {
        return;
    };
    if let Flow::Call(Some(address)) | Flow::Jump(Some(address)) = decoded.flow {
        // Only backward jumps can lead to a function's first instruction.
        let calls = matches!(decoded.flow, Flow::Call(_));
        if *transfers == Transfers::Entries && (calls || address > from.address) {
            return;
        }
        let module = from.module;
        builder.edge(from, CodePoint { module, address }, count);
    }
}

/// Returns the module path of a mapping.
fn path(module: &Module) -> String {
    if module.path.is_empty() {
        return GENERATED.to_owned();
    }
    String::from_utf8_lossy(&module.path).into_owned()
}

/// Returns the module and link-time address of an address in memory.
fn point(builder: &mut ProcessCountsBuilder, module: Option<(u32, &Module)>, pc: u64) -> CodePoint {
    let placed = module.and_then(|(index, module)| {
        let offset = pc.wrapping_sub(module.start).wrapping_add(module.offset);
        if module.path == b"[vdso]" {
            return Some(CodePoint {
                module: index,
                address: offset,
            });
        }
        let address = builder.code(index)?.address_of(offset)?;
        Some(CodePoint {
            module: index,
            address,
        })
    });
    placed.unwrap_or_else(|| CodePoint {
        module: builder.module(GENERATED),
        address: pc,
    })
}
