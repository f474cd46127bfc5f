//! Building fragments. A *fragment* is the translated code of several blocks, laid out in the order
//! in which control most likely runs, followed by what is executed rarely.
//!
//! ```text
//! landing pad  where indirect branches arrive; checks that their target is this block
//! block        instructions, counter increment, branch; falls through into the next block
//! …
//! call         a real call, so that the processor predicts the return; after it a landing pad
//! …            for returns, and the block at the return address
//! call stubs   replace the pushed return address by the program's, jump to the callee
//! mismatches   of landing pads whose target is another block: to the branch lookup
//! exit stubs   enter the dispatcher, which translates what is missing and links the exit
//! ```
//!
//! What must hold: at every place the recovery marks say where the program's registers are. The
//! displacement of an exit does not cross a cache line, so that linking is one store.

mod block_body;
mod branches;
mod counter_increment;
mod duet_block;
mod instruction_bytes;
mod landing_pad;
mod observed_memory;
mod observing_block;
mod out_of_line;
#[cfg(test)]
mod tests;
mod unrolled_loop;

pub use observing_block::{ObserveContext, build_observing};

use alloc::vec::Vec;

use iced_x86::{Instruction, InstructionInfoFactory};

use crate::basic_block::{Block, BlockEnd, decode};
use crate::duet_layout::Edit;
use crate::emitter::{Emitter, TooFar};
use crate::liveness::ProgramCode;
use crate::recovery_marks::{Mark, Marked};
use instruction_bytes::InstructionBytes;

/// Maximum number of blocks of a fragment.
const MAX_FRAGMENT_BLOCKS: usize = 16;
/// No further block is begun after this many bytes of code.
const MAX_FRAGMENT_BYTES: usize = 8 << 10;
/// Number of copies of an unrolled loop.
const UNROLL_COPIES: usize = 16;
/// Maximum number of instructions of a loop that is unrolled.
const MAX_UNROLLED_INSTRUCTIONS: usize = 10;
const RAX: u8 = 0;
const RCX: u8 = 1;
/// Bytes of an exit stub.
pub const EXIT_STUB_BYTES: usize = 20;
/// Bytes of a table of indirect branches.
pub const TABLE_BYTES: u32 = 8 << 16;

/// What building a fragment needs to know of the engine, and allocates from it.
pub trait BuildContext: ProgramCode {
    /// Returns the address in the code cache of the block at a program address.
    fn known(&self, pc: u64) -> Option<u64>;
    /// Returns the address in the code cache of the call that returns to a program address.
    fn call_site(&self, returns_to: u64) -> Option<u64>;
    /// Tells that a block leads to an address, by a call or otherwise: it will be asked for soon.
    fn expect(&self, _pc: u64, _returns_to: Option<u64>) {}
    /// Allocates a counter for a block. An `unrolled` copy of a loop is entered only by its own
    /// jump, so its count is also the jump's.
    ///
    /// # Errors
    /// If there are no counters left.
    fn counter(&mut self, block: &Block, unrolled: bool) -> Result<u32, Error>;
    /// Whether a jump is recorded: a conditional one to `to`, or an indirect one.
    fn records(&self, from: u64, to: Option<u64>) -> bool;
    /// Notes that a function may begin at an address.
    fn enters(&mut self, pc: u64);
    /// Allocates a counter for a jump that is taken.
    ///
    /// # Errors
    /// If there are no counters left.
    fn transfer(&mut self, from: u64, to: u64) -> Result<u32, Error>;
    /// Returns the number of an indirect jump whose targets are recorded.
    fn site(&mut self, from: u64) -> u32;
    /// Whether only blocks with edits are counted.
    fn is_plain(&self) -> bool {
        false
    }
    /// Whether an instruction in this range is edited.
    fn edits_within(&self, _begin: u64, _end: u64) -> bool {
        false
    }
    /// Whether edits are made, rather than blocks laid down twice as they are.
    fn makes_edits(&self) -> bool {
        false
    }
    /// Returns the edit of an instruction on a side.
    fn edit(&self, _pc: u64, _side: u8) -> Option<&Edit> {
        None
    }
    /// Returns the number of a new block that is laid down twice; `None` if there are too many.
    fn new_duet_block(&mut self) -> Option<u32> {
        None
    }
    /// Notes that an edit is not for the instruction at its place.
    fn note_foreign_edit(&self) {}
    /// Returns the address, below 2 GiB, of the table that indirect branches look into by the low
    /// 16 bits of their target. The table of returns is [`TABLE_BYTES`] after it.
    fn table(&self) -> u32;
}

/// Why a fragment could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The code cannot be counted; the reason.
    Refused(&'static str),
    /// A table is full.
    Full(&'static str),
}

impl From<TooFar> for Error {
    fn from(_: TooFar) -> Self {
        Self::Refused("its code refers to data more than 2 GiB away")
    }
}

/// A block of a fragment.
#[derive(Clone, Copy, Debug)]
pub struct NewBlock {
    /// Address in the program.
    pub pc: u64,
    /// Offset in the fragment.
    pub offset: u16,
    /// Number of its instructions.
    pub instructions: u16,
    /// Its counter; `u32::MAX` for none.
    pub counter: u32,
    /// Target of the direct branch that ends it; 0 for none.
    pub target: u64,
    /// It is an additional copy; other fragments are linked to the first one.
    pub copy: bool,
}

/// An exit: a branch that leaves a block for a fixed address.
#[derive(Clone, Copy, Debug)]
pub struct NewExit {
    /// Address in the program to which it leads.
    pub target: u64,
    /// Offset of the branch's displacement.
    pub site: u16,
    /// Offset of the exit stub, which enters the dispatcher; 0 for none, as the target was
    /// translated before.
    pub stub: u16,
    /// Address in the code cache of the copy of the target that is meant, if not the first.
    aimed: Option<u64>,
    /// Whether it ends a burst: the target is not observed.
    pub leaves_burst: bool,
}

/// A block that is laid down twice.
#[derive(Clone, Copy, Debug)]
pub struct NewDuet {
    /// Offsets of both sides.
    pub sides: [u16; 2],
    /// Offsets after them.
    pub ends: [u16; 2],
    /// Whether it branches to itself, past its selector.
    pub repeats: bool,
    /// Its counter.
    pub counter: u32,
}

/// A part of an edit in which a register of the program is elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct NewRestore {
    /// Offset of the first byte.
    pub begin: u16,
    /// Offset after the last.
    pub end: u16,
    /// Number of the register.
    pub register: u8,
    /// Number of the word of edits that has it.
    pub slot: u8,
}

/// A fragment, ready to be put at its base address.
pub struct Fragment {
    /// The code, to be at its base.
    pub emitter: Emitter,
    /// Its blocks; the first is the one that was requested.
    pub blocks: Vec<NewBlock>,
    /// Its exits, in the order of their numbers.
    pub exits: Vec<NewExit>,
    /// Landing pads for jumps and calls: address in the program, offset.
    pub landing_pads: Vec<(u64, u16)>,
    /// Landing pads for returns: address in the program, offset.
    pub returns: Vec<(u64, u16)>,
    /// Calls: return address in the program, offset.
    pub calls: Vec<(u64, u16)>,
    /// Recovery marks, in the order of their offsets.
    pub marks: Vec<Marked>,
    /// Blocks that are laid down twice, in the order of their numbers.
    pub duets: Vec<NewDuet>,
    /// Where registers of the program are in words of edits.
    pub restores: Vec<NewRestore>,
}

/// A call whose call stub is still to be emitted.
struct PendingCall {
    /// Offset after the call instruction.
    after: usize,
    returns_to: u64,
    /// `None` for an indirect call: rcx has the low bits of the target.
    target: Option<u64>,
    /// Address of the call.
    from: u64,
    block: u8,
}

/// A conditional jump that is recorded when it is taken.
struct PendingTaken {
    /// Offset of the displacement.
    at: usize,
    counter: u32,
    target: u64,
    block: u8,
}

/// A landing pad's branch for another target than its own.
struct PendingMismatch {
    /// Offset of the displacement.
    at: usize,
    kind: LandingPad,
    block: u8,
}

/// The two kinds of landing pads, by what arrives there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandingPad {
    /// Indirect jumps and calls; TARGET has their target.
    Jump,
    /// Returns; the top of the stack has their target.
    Return,
}

/// The block that follows another one.
struct NextBlock {
    pc: u64,
    landing: bool,
}

/// Condition code of a conditional jump; `None` for `loop` and `jrcxz`.
fn condition_code(raw: &[u8]) -> Option<u8> {
    let prefix = |byte: &u8| {
        matches!(
            byte,
            0x26 | 0x2E | 0x36 | 0x3E | 0x40..=0x4F | 0x64..=0x67 | 0xF2 | 0xF3
        )
    };
    let opcode = raw.iter().position(|byte| !prefix(byte))?;
    match raw.get(opcode) {
        Some(byte @ 0x70..=0x7F) => Some(byte & 15),
        Some(0x0F) => raw.get(opcode + 1).map(|byte| byte & 15),
        _ => None,
    }
}

struct Builder<'a, W: BuildContext> {
    context: &'a mut W,
    factory: &'a mut InstructionInfoFactory,
    fragment: Fragment,
    pending_calls: Vec<PendingCall>,
    mismatches: Vec<PendingMismatch>,
    taken: Vec<PendingTaken>,
    /// The block that is being emitted.
    block: u8,
}

/// Builds the fragment that begins with the block at `pc`, to be put at the address `base`, with a
/// landing pad in front of it if one is requested. Its exits are numbered from `first_exit` on.
///
/// # Errors
/// If the block cannot be translated.
pub fn build<W: BuildContext>(
    context: &mut W,
    factory: &mut InstructionInfoFactory,
    pc: u64,
    landing: Option<LandingPad>,
    base: u64,
    first_exit: u32,
) -> Result<Fragment, Error> {
    let mut builder = Builder::new(context, factory, base);
    if let Some(kind) = landing {
        builder.landing_pad(pc, kind);
    }
    let mut block = decode(pc, builder.context.bytes(pc));
    loop {
        builder.expect_successors(&block);
        let next = if builder.is_short_loop(&block) && !builder.context.is_plain() {
            builder.unroll(&block)?
        } else {
            builder.block(&block)?
        };
        let Some(next) = next else {
            break;
        };
        if next.landing {
            builder.landing_pad(next.pc, LandingPad::Return);
        }
        let Some(following) = builder.appendable_block(next.pc) else {
            if next.landing {
                builder.add_placeholder_block(next.pc);
            }
            builder.jump(next.pc);
            break;
        };
        block = following;
    }
    builder.finish(first_exit)
}

/// Builds a landing pad alone, for a block that is translated already.
///
/// # Errors
/// If the block is out of reach.
pub fn build_landing_pad<W: BuildContext>(
    context: &mut W,
    factory: &mut InstructionInfoFactory,
    pc: u64,
    kind: LandingPad,
    base: u64,
    first_exit: u32,
) -> Result<Fragment, Error> {
    let mut builder = Builder::new(context, factory, base);
    builder.landing_pad(pc, kind);
    builder.add_placeholder_block(pc);
    builder.jump(pc);
    builder.finish(first_exit)
}

impl<'a, W: BuildContext> Builder<'a, W> {
    fn new(context: &'a mut W, factory: &'a mut InstructionInfoFactory, base: u64) -> Self {
        Self {
            context,
            factory,
            fragment: Fragment {
                emitter: Emitter {
                    base,
                    code: Vec::with_capacity(1024),
                },
                blocks: Vec::new(),
                exits: Vec::new(),
                landing_pads: Vec::new(),
                returns: Vec::new(),
                calls: Vec::new(),
                marks: Vec::with_capacity(128),
                duets: Vec::new(),
                restores: Vec::new(),
            },
            pending_calls: Vec::new(),
            mismatches: Vec::new(),
            taken: Vec::new(),
            block: 0,
        }
    }

    fn mark(&mut self, mark: Mark) {
        let offset = self.fragment.emitter.offset() as u16;
        self.fragment.marks.push(Marked {
            offset,
            mark,
            block: self.block,
        });
    }

    fn emitter(&mut self) -> &mut Emitter {
        &mut self.fragment.emitter
    }

    /// Adds a block without instructions after a landing pad whose block is elsewhere, as marks
    /// need a block whose address is the pad's.
    fn add_placeholder_block(&mut self, pc: u64) {
        self.block = self.fragment.blocks.len() as u8;
        self.fragment.blocks.push(NewBlock {
            pc,
            offset: self.fragment.emitter.offset() as u16,
            instructions: 0,
            counter: u32::MAX,
            target: 0,
            copy: true,
        });
        self.mark(Mark::Block);
    }

    fn translated_here(&self, pc: u64) -> Option<u64> {
        let blocks = self.fragment.blocks.iter();
        blocks
            .filter(|block| block.pc == pc && block.counter != u32::MAX)
            .map(|block| self.fragment.emitter.base + u64::from(block.offset))
            .next()
    }

    /// Returns the block at `pc` if it may be appended to the fragment.
    fn appendable_block(&self, pc: u64) -> Option<Block> {
        if self.fragment.blocks.len() >= MAX_FRAGMENT_BLOCKS
            || self.fragment.emitter.offset() >= MAX_FRAGMENT_BYTES
            || self.translated_here(pc).is_some()
            || self.context.known(pc).is_some()
        {
            return None;
        }
        let block = decode(pc, self.context.bytes(pc));
        (!matches!(block.end, BlockEnd::Native | BlockEnd::Refused(_))).then_some(block)
    }

    /// Tells the engine what will be asked for at the end of the block: it can be fetched from memory
    /// while the block is emitted.
    fn expect_successors(&self, block: &Block) {
        let next = block.next();
        let calls = matches!(block.end, BlockEnd::Call(_) | BlockEnd::CallIndirect);
        self.context.expect(next, calls.then_some(next));
        if let Some(target) = Some(block.target()).filter(|&target| target != 0) {
            self.context.expect(target, None);
        }
    }

    fn raw(&self, instruction: &Instruction) -> InstructionBytes {
        let code = self.context.bytes(instruction.ip());
        InstructionBytes::new(code, instruction.len())
    }

    /// Emits a displacement that is an exit to `target`.
    fn exit(&mut self, target: u64) {
        let site = self.fragment.emitter.offset() as u16;
        self.fragment.exits.push(NewExit {
            target,
            site,
            stub: 0,
            aimed: None,
            leaves_burst: false,
        });
        self.emitter().u32(0);
    }

    fn finish(mut self, first_exit: u32) -> Result<Fragment, Error> {
        self.write_calls();
        self.write_taken();
        self.write_mismatches();
        self.write_exits(first_exit);
        debug_assert!(
            self.fragment
                .marks
                .iter()
                .all(|marked| usize::from(marked.block) < self.fragment.blocks.len())
        );
        if self.fragment.emitter.offset() > usize::from(u16::MAX) {
            return Err(Error::Full("a fragment is too large"));
        }
        Ok(self.fragment)
    }
}
