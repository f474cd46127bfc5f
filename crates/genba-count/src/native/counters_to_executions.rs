//! Converts counters of the count file to executions of instructions and edges.

use genba_engine::count_file_layout::{
    KIND_ADD, KIND_BINDING, KIND_BLOCK, KIND_SUBTRACT, KIND_TRANSFER,
};
use genba_model::CodePoint;

use super::count_file::{Counts, Module};
use super::executions_by_address::{Executed, added_up};
use crate::Transfers;
use crate::process_counts_builder::{GENERATED, ProcessCountsBuilder};
use crate::x86_64::{self, Flow};

/// Converts the counts of a process.
pub fn convert(counts: &Counts, transfers: &Transfers) -> ProcessCountsBuilder {
    let mut builder = ProcessCountsBuilder::default();
    let modules: Vec<u32> = (counts.modules.iter())
        .map(|module| builder.module(&path(module)))
        .collect();
    let generated = builder.module(GENERATED);
    let place = |index: Option<u32>| {
        let index = index.map(|index| index as usize);
        Mapping {
            module: index.and_then(|index| Some((*modules.get(index)?, &counts.modules[index]))),
            generated,
        }
    };
    let mut blocks = Vec::with_capacity(counts.counted.len());
    let mut branches = Vec::new();
    let mut looped = Vec::new();
    for counted in &counts.counted {
        // Corrections are subtracted from counts of blocks, so sums are signed until the end.
        let sign = match counted.kind {
            KIND_BLOCK | KIND_ADD => 1,
            KIND_SUBTRACT => -1,
            _ => continue,
        };
        let mapping = place(counted.module);
        let lengths = counts.lengths_of(counted);
        if counted.kind == KIND_BLOCK && counted.to != 0 && transfers.any() {
            looped.push((mapping, counted));
        }
        let count = (counted.count as i64).wrapping_mul(sign);
        let first = blocks.len();
        add_block(&builder, &mut blocks, mapping, counted.pc, lengths, count);
        if transfers.any() {
            let added = blocks[first..].iter();
            branches.extend(added.filter_map(|block| direct_branch(&builder, block)));
        }
    }
    for (mapping, counted) in looped {
        let lengths = counts.lengths_of(counted).iter().rev().skip(1);
        let before: u64 = lengths.map(|&length| u64::from(length)).sum();
        let from = mapping.point(&builder, counted.pc.wrapping_add(before));
        let to = mapping.point(&builder, counted.to);
        builder.edge(from, to, counted.count);
    }
    branches.sort_unstable();
    branches.dedup();
    let mut branches = branches.as_slice();
    for (module, counts) in added_up(blocks) {
        for one in &counts {
            let address = one.address;
            let point = CodePoint { module, address };
            while let [first, rest @ ..] = branches
                && *first < point
            {
                branches = rest;
            }
            if branches.first() == Some(&point) {
                add_direct_edge(&mut builder, point, one.count, transfers);
            }
        }
        builder.count_ordered(module, counts);
    }
    for counted in &counts.counted {
        if !matches!(counted.kind, KIND_TRANSFER | KIND_BINDING) || !transfers.any() {
            continue;
        }
        let from = place(counted.module).point(&builder, counted.pc);
        let to = place(counted.to_module).point(&builder, counted.to);
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

/// Adds executions of the instructions at `pc`: as one block if their addresses in the module follow
/// one another as they do in memory, else each by itself.
fn add_block<'a>(
    builder: &ProcessCountsBuilder,
    blocks: &mut Vec<Executed<'a>>,
    mapping: Mapping<'_>,
    pc: u64,
    lengths: &'a [u8],
    count: i64,
) {
    let Some((_, before_last)) = lengths.split_last() else {
        return;
    };
    let executed = |point: CodePoint, lengths| Executed {
        module: point.module,
        address: point.address,
        lengths,
        count,
    };
    let size: u64 = before_last.iter().map(|&length| u64::from(length)).sum();
    let first = mapping.point(builder, pc);
    let last = mapping.point(builder, pc.wrapping_add(size));
    if first.module == last.module && last.address.wrapping_sub(first.address) == size {
        blocks.push(executed(first, lengths));
        return;
    }
    let mut pc = pc;
    for length in lengths.chunks(1) {
        blocks.push(executed(mapping.point(builder, pc), length));
        pc = pc.wrapping_add(u64::from(length[0]));
    }
}

/// Returns the place of the instruction that ends a block if it looks like a direct branch. Within a
/// block there is none.
fn direct_branch(builder: &ProcessCountsBuilder, block: &Executed<'_>) -> Option<CodePoint> {
    let (_, before) = block.lengths.split_last()?;
    let size: u64 = before.iter().map(|&length| u64::from(length)).sum();
    let last = CodePoint {
        module: block.module,
        address: block.address.wrapping_add(size),
    };
    (builder.bytes(last))
        .is_some_and(x86_64::looks_direct)
        .then_some(last)
}

/// Adds the edge of a direct branch, which is as frequent as its instruction.
fn add_direct_edge(
    builder: &mut ProcessCountsBuilder,
    from: CodePoint,
    count: u64,
    transfers: &Transfers,
) {
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

/// A mapping of the process.
#[derive(Clone, Copy)]
struct Mapping<'a> {
    /// Index of its module, and the module; `None` if it is not known.
    module: Option<(u32, &'a Module)>,
    /// Index of the module that stands for generated code.
    generated: u32,
}

impl Mapping<'_> {
    /// Returns the module and link-time address of an address in memory.
    fn point(&self, builder: &ProcessCountsBuilder, pc: u64) -> CodePoint {
        self.placed(builder, pc).unwrap_or(CodePoint {
            module: self.generated,
            address: pc,
        })
    }

    /// The same for code of a file.
    fn placed(&self, builder: &ProcessCountsBuilder, pc: u64) -> Option<CodePoint> {
        let (index, module) = self.module?;
        let offset = pc.wrapping_sub(module.start).wrapping_add(module.offset);
        let address = match builder.code(index) {
            _ if module.path == b"[vdso]" => offset,
            Some(code) => code.address_of(offset)?,
            // A file that is gone: only the offset in it is known.
            None if module.path.starts_with(b"/") => offset,
            None => return None,
        };
        Some(CodePoint {
            module: index,
            address,
        })
    }
}
