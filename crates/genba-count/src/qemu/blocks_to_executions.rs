//! Converts the plugin's counts of blocks to executions by module.

use genba_model::{CodePoint, TransferKind};

use super::plugin_file::{Block, Counts};
use crate::process_counts_builder::{GENERATED, ProcessCountsBuilder};
use crate::x86_64::{self, Flow};

/// Converts the counts of a process.
pub fn convert(counts: &Counts<'_>) -> ProcessCountsBuilder {
    let mut builder = ProcessCountsBuilder::default();
    let modules: Vec<u32> = (counts.files.iter())
        .map(|path| builder.module(&String::from_utf8_lossy(path)))
        .collect();
    let starts: Vec<CodePoint> = (counts.blocks.iter())
        .map(|block| start(block, &modules, &mut builder))
        .collect();
    for (block, start) in counts.blocks.iter().zip(&starts) {
        // The same instruction may be in several blocks, if a block is jumped into.
        let mut address = start.address;
        let executed = block.lengths.len() - usize::from(block.is_last_cut());
        for length in &block.lengths[..executed] {
            let module = start.module;
            if block.count > 0 {
                builder.count(CodePoint { module, address }, block.count);
            }
            address = address.wrapping_add(u64::from(*length));
        }
    }
    for edge in &counts.edges {
        let (Some(block), Some(from), Some(to)) = (
            counts.blocks.get(edge.from),
            starts.get(edge.from),
            starts.get(edge.to),
        ) else {
            continue;
        };
        // A block that ends before its last instruction does not branch.
        if edge.count == 0 || block.is_last_cut() {
            continue;
        }
        let last = CodePoint {
            module: from.module,
            address: from.address.wrapping_add(block.before_last()),
        };
        builder.edge(last, *to, edge.count);
        if builder.code(last.module).is_none()
            && let Some(kind) = kind(block.last, last.address)
        {
            builder.kinds.insert(last, kind);
        }
    }
    for binding in &counts.bindings {
        if let (Some(stub), Some(to)) = (starts.get(binding.from), starts.get(binding.to)) {
            builder.stubs.entry(*stub).or_default().insert(*to);
        }
    }
    builder
}

/// Returns the start of a block: in its file if that is a program or library, else in memory.
fn start(block: &Block<'_>, modules: &[u32], builder: &mut ProcessCountsBuilder) -> CodePoint {
    let linked = block.place.and_then(|(file, offset)| {
        let module = *modules.get(file as usize)?;
        let address = builder.code(module)?.address_of(offset)?;
        Some(CodePoint { module, address })
    });
    linked.unwrap_or_else(|| CodePoint {
        module: builder.module(GENERATED),
        address: block.address,
    })
}

fn kind(code: &[u8], address: u64) -> Option<TransferKind> {
    match x86_64::decode(code, address)?.flow {
        Flow::Call(_) => Some(TransferKind::Call),
        Flow::Jump(_) | Flow::Branch(_) => Some(TransferKind::Jump),
        Flow::Repeat | Flow::Other => None,
    }
}
