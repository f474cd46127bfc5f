//! Synthetic streams for tests.

use genba_model::{Burst, BurstEvent, CodePoint, Observed};

use crate::cache_geometry::{CacheGeometry, CacheSize};
use crate::code_knowledge::{Allocation, ArgumentRegisters, Asked, CodeKnowledge};

/// Caches of usual sizes, without a third level.
pub(crate) fn geometry() -> CacheGeometry {
    CacheGeometry {
        line_bytes: 64,
        l1: CacheSize {
            bytes: 32 << 10,
            ways: 8,
        },
        l2_bytes: 1 << 20,
        l3_bytes: None,
        page_bytes: 4096,
        tlb_pages: 64,
    }
}

pub(crate) const fn at(address: u64) -> CodePoint {
    CodePoint { module: 0, address }
}

pub(crate) fn load(code: u64, address: u64, size: u16, value: u64) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Load {
            address,
            size,
            value,
        },
    }
}

pub(crate) fn store(code: u64, address: u64, size: u16, before: u64, value: u64) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Store {
            address,
            size,
            before,
            value,
            reads: false,
        },
    }
}

pub(crate) fn branch(code: u64, taken: bool) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Branch { taken },
    }
}

pub(crate) fn block(code: u64, instructions: u32) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Block { instructions },
    }
}

pub(crate) fn call(code: u64, target: CodePoint, arguments: [u64; 6]) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Call { target, arguments },
    }
}

pub(crate) fn ret(code: u64, value: u64) -> BurstEvent {
    BurstEvent {
        at: at(code),
        what: Observed::Return { value },
    }
}

/// Entry of a library's function that compares texts.
pub(crate) const COMPARER: CodePoint = CodePoint {
    module: 1,
    address: 0xc03b,
};

/// A function of the library whose first argument is a format.
pub(crate) const FORMATTER: CodePoint = CodePoint {
    module: 1,
    address: 0x900,
};

/// Entry of a function of the user's that takes a floating-point number.
pub(crate) const FLOAT_WRITER: CodePoint = at(0xf10a);

/// An event in a library: module 1.
pub(crate) fn in_library(mut event: BurstEvent) -> BurstEvent {
    event.at.module = 1;
    event
}

pub(crate) fn burst(events: Vec<BurstEvent>) -> Burst {
    let instructions = (events.iter())
        .map(|event| match event.what {
            Observed::Block { instructions } => u64::from(instructions),
            _ => 0,
        })
        .sum::<u64>();
    Burst {
        pid: 1,
        thread: 0,
        began_cpu_seconds: 0.0,
        began_wall_seconds: 0.0,
        instructions_before: 0,
        instructions: instructions.max(events.len() as u64),
        weight: 1.0,
        events,
    }
}

/// Module 0 is the user's, all others are libraries; functions take rdi alone. A loop has the
/// addresses 0x100 to 0x1ff, another one those from 0x300 to 0x3ff, with one inside it from 0x340 to 0x37f. The result of
/// the call at 0x800 is asked for if the load at 0x806 brings one.
pub(crate) struct AllOwn;

impl CodeKnowledge for AllOwn {
    fn is_own(&self, module: u32) -> bool {
        module == 0
    }

    fn arguments(&self, entry: CodePoint) -> Option<ArgumentRegisters> {
        Some(ArgumentRegisters {
            integer: 1,
            vector: entry == FLOAT_WRITER,
        })
    }

    fn allocation(&self, entry: CodePoint) -> Option<Allocation> {
        (entry == at(0xa110c)).then_some(Allocation::Size(0))
    }

    fn frees(&self, entry: CodePoint) -> bool {
        entry == at(0xf4ee)
    }

    fn compares(&self, entry: CodePoint) -> bool {
        entry == COMPARER
    }

    fn format_argument(&self, entry: CodePoint) -> Option<u8> {
        (entry == FORMATTER).then_some(0)
    }

    fn loops_around(&self, one: CodePoint) -> &[CodePoint] {
        const NEST: [CodePoint; 2] = [at(0x340), at(0x300)];
        match (one.module, one.address) {
            (0, 0x100..0x200) => &[const { at(0x100) }],
            (0, 0x340..0x380) => &NEST,
            (0, 0x300..0x400) => &NEST[1..],
            _ => &[],
        }
    }

    fn variable(&self, _: CodePoint) -> Option<u64> {
        None
    }

    fn asked_if(&self, call: CodePoint) -> Option<Asked> {
        (call == at(0x800)).then_some(Asked::Value {
            at: at(0x80a),
            load: at(0x806),
            equal: true,
            constant: 1,
        })
    }
}
