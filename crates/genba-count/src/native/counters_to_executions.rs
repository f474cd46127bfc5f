//! Converts counters of the count file to executions of instructions and edges.

use genba_engine::count_file_layout::{
    KIND_ADD, KIND_BINDING, KIND_BLOCK, KIND_SUBTRACT, KIND_TRANSFER,
};
use genba_model::{CodePoint, InstructionCount};

use super::count_file::{Counted, Counts, Module};
use crate::Transfers;
use crate::process_counts_builder::{GENERATED, ProcessCountsBuilder};
use crate::x86_64::{self, Flow};

/// Converts the counts of a process. Corrections are subtracted from counts of blocks, so sums are
/// signed until the end.
pub fn convert(counts: &Counts, transfers: &Transfers) -> ProcessCountsBuilder {
    let mut builder = ProcessCountsBuilder::default();
    let modules: Vec<u32> = (counts.modules.iter())
        .map(|module| builder.module(&path(module)))
        .collect();
    let mut sums: Vec<(CodePoint, i64)> = Vec::new();
    let mut looped = Vec::new();
    // In the order of their addresses, so that the instructions nearly are, too.
    let mut blocks: Vec<&Counted> = counts.counted.iter().collect();
    blocks.sort_unstable_by_key(|block| (block.module, block.pc));
    for counted in blocks {
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
            sums.push((point, (counted.count as i64).wrapping_mul(sign)));
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
    for (module, counts) in added_up(sums) {
        for one in &counts {
            let address = one.address;
            let point = CodePoint { module, address };
            add_direct_edge(&mut builder, point, one.count, transfers);
        }
        builder.count_ordered(module, counts);
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

/// Adds up what belongs to the same instruction; what is positive, by module, in the order of addresses.
fn added_up(mut sums: Vec<(CodePoint, i64)>) -> Vec<(u32, Vec<InstructionCount>)> {
    // Stable, because it uses the order that is already there.
    sums.sort_by_key(|(point, _)| *point);
    let mut modules: Vec<(u32, Vec<InstructionCount>)> = Vec::new();
    for same in sums.chunk_by(|one, other| one.0 == other.0) {
        let (point, _) = same[0];
        let sum = same.iter().fold(0i64, |sum, one| sum.wrapping_add(one.1));
        let Ok(count @ 1..) = u64::try_from(sum) else {
            continue;
        };
        let one = InstructionCount {
            address: point.address,
            count,
        };
        match modules.last_mut() {
            Some((module, counts)) if *module == point.module => counts.push(one),
            _ => modules.push((point.module, vec![one])),
        }
    }
    modules
}

/// Adds the edge of a direct branch, which is as frequent as its instruction.
fn add_direct_edge(
    builder: &mut ProcessCountsBuilder,
    from: CodePoint,
    count: u64,
    transfers: &Transfers,
) {
    if !transfers.any() || !builder.bytes(from).is_some_and(x86_64::looks_direct) {
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
        let address = match builder.code(index) {
            Some(code) => code.address_of(offset)?,
            // A file that is gone: only the offset in it is known.
            None if module.path.starts_with(b"/") => offset,
            None => return None,
        };
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
