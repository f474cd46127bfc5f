//! Layout of a fragment: the copies of several blocks, one behind the other as control most
//! likely runs, then what is needed seldom.
//!
//! ```text
//! landing   where indirect branches arrive: checks that it is they who are meant
//! block     instructions, counter, branch ─ falls into the next block
//! …
//! call      a real call, so that the processor predicts the return; behind it a landing pad
//! …         for returns, and the block at the return address
//! calls     put the program's return address on the stack in place of ours, jump to the callee
//! misses    another target than the landing pad's: to the lookup
//! exits     to the dispatcher, which translates what is missing and links
//! ```
//!
//! What must hold: at every place the marks say where the program's registers are. A branch's
//! displacement does not cross a cache line, so that linking is one store.

mod block_body;
mod branches;
mod landing_pad;
mod out_of_line;
#[cfg(test)]
mod tests;
mod unrolled_loop;

use alloc::vec::Vec;

use iced_x86::{Instruction, InstructionInfoFactory};

use crate::basic_block::{Block, BlockEnd, decode};
use crate::emitter::{Emitter, TooFar};
use crate::liveness::ProgramCode;
use crate::recovery_marks::{Mark, Marked};

/// Most blocks of a fragment.
const MAX_FRAGMENT_BLOCKS: usize = 16;
/// Bytes of code after which no further block is begun.
const MAX_FRAGMENT_BYTES: usize = 8 << 10;
/// Copies of a short loop.
const UNROLL_COPIES: usize = 16;
/// Most instructions of a loop that is copied.
const MAX_UNROLLED_INSTRUCTIONS: usize = 10;
const RAX: u8 = 0;
const RCX: u8 = 1;
/// Bytes of an exit's stub.
pub const EXIT_STUB_BYTES: usize = 20;
/// Bytes of a table of indirect branches.
pub const TABLE_BYTES: u32 = 8 << 16;

/// What building needs to know of the rest.
pub trait BuildContext: ProgramCode {
    /// Address in the cache of the block at this address.
    fn known(&self, pc: u64) -> Option<u64>;
    /// Address in the cache of the call that returns to this address.
    fn call_site(&self, returns_to: u64) -> Option<u64>;
    /// A new counter for a block; a copy of one that loops is entered by its own jump only, so its
    /// count is also that of the jump.
    ///
    /// # Errors
    /// When there are no more.
    fn counter(&mut self, block: &Block, copy: bool) -> Result<u32, Error>;
    /// Whether a jump from there is recorded: a conditional one to a place, or an indirect one.
    fn records(&self, from: u64, to: Option<u64>) -> bool;
    /// A function may begin there.
    fn enters(&mut self, pc: u64);
    /// A new counter for how often a jump is taken.
    ///
    /// # Errors
    /// When there are no more.
    fn transfer(&mut self, from: u64, to: u64) -> Result<u32, Error>;
    /// The number of an indirect jump whose targets are recorded.
    fn site(&mut self, from: u64) -> u32;
    /// Address of the table that indirect branches look into by the low 16 bits of the target;
    /// in the low 2 GiB. That for returns is [`TABLE_BYTES`] behind.
    fn table(&self) -> u32;
}

/// Why there is no fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// What the engine does not do.
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
    /// Instructions.
    pub instructions: u16,
    /// Its counter; `u32::MAX` for none.
    pub counter: u32,
    /// There is another copy of it, which others are led to.
    pub copy: bool,
}

/// A place where control leaves a block for a fixed address.
#[derive(Clone, Copy, Debug)]
pub struct NewExit {
    /// Address in the program.
    pub target: u64,
    /// Offset of the displacement.
    pub site: u16,
    /// Offset of the stub that goes to the dispatcher; 0 for none, as the target was known.
    pub stub: u16,
    /// Address in the cache of the copy of the target that is meant.
    aimed: Option<u64>,
}

/// A fragment, ready to be put at its base.
pub struct Fragment {
    /// Code, to be at its base.
    pub emitter: Emitter,
    /// Its blocks; the first is the one that was asked for.
    pub blocks: Vec<NewBlock>,
    /// Its exits.
    pub exits: Vec<NewExit>,
    /// Landing pads: address in the program, offset.
    pub landing_pads: Vec<(u64, u16)>,
    /// Landing pads for returns: address in the program, offset.
    pub returns: Vec<(u64, u16)>,
    /// Calls: return address in the program, offset.
    pub calls: Vec<(u64, u16)>,
    /// What holds where.
    pub marks: Vec<Marked>,
}

/// A call whose second half is still to be written.
struct PendingCall {
    /// Offset after the call instruction.
    after: usize,
    returns_to: u64,
    /// `None`: rcx says.
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

/// A landing pad's way out when it was not meant.
struct PendingMismatch {
    /// Offset of the displacement.
    at: usize,
    kind: LandingPad,
    block: u8,
}

/// What arrives at a landing pad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandingPad {
    /// Indirect jumps and calls: TARGET says where they go.
    Jump,
    /// Returns: the top of the stack says it.
    Return,
}

/// How it goes on behind a block.
struct Next {
    pc: u64,
    landing: bool,
}

/// Number of a conditional jump's condition; `None` for `loop` and `jrcxz`.
fn condition(raw: &[u8]) -> Option<u8> {
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
    world: &'a mut W,
    factory: &'a mut InstructionInfoFactory,
    fragment: Fragment,
    pending_calls: Vec<PendingCall>,
    misses: Vec<PendingMismatch>,
    taken: Vec<PendingTaken>,
    /// The block that is being emitted.
    block: u8,
}

/// Builds the fragment that begins with the block at `pc`, for the address `base`; with a
/// landing in front of it if wanted. Exits' stubs number exits from `first_exit` on.
///
/// # Errors
/// When the block cannot be translated.
pub fn build<W: BuildContext>(
    world: &mut W,
    factory: &mut InstructionInfoFactory,
    pc: u64,
    landing: Option<LandingPad>,
    base: u64,
    first_exit: u32,
) -> Result<Fragment, Error> {
    let mut builder = Builder::new(world, factory, base);
    if let Some(kind) = landing {
        builder.landing(pc, kind);
    }
    let mut block = decode(pc, builder.world.bytes(pc));
    loop {
        let next = if builder.is_short_loop(&block) {
            builder.unroll(&block)?
        } else {
            builder.block(&block)?
        };
        let Some(next) = next else {
            break;
        };
        if next.landing {
            builder.landing(next.pc, LandingPad::Return);
        }
        let Some(following) = builder.goes_on(next.pc) else {
            if next.landing {
                builder.stand_in(next.pc);
            }
            builder.jump(next.pc);
            break;
        };
        block = following;
    }
    builder.finish(first_exit)
}

/// A landing pad alone, for a block that exists at `code`.
///
/// # Errors
/// When that is too far away.
pub fn build_landing_pad<W: BuildContext>(
    world: &mut W,
    factory: &mut InstructionInfoFactory,
    pc: u64,
    kind: LandingPad,
    base: u64,
    first_exit: u32,
) -> Result<Fragment, Error> {
    let mut builder = Builder::new(world, factory, base);
    builder.landing(pc, kind);
    builder.stand_in(pc);
    builder.jump(pc);
    builder.finish(first_exit)
}

impl<'a, W: BuildContext> Builder<'a, W> {
    fn new(world: &'a mut W, factory: &'a mut InstructionInfoFactory, base: u64) -> Self {
        Self {
            world,
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
            },
            pending_calls: Vec::new(),
            misses: Vec::new(),
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

    /// A landing pad needs a block behind it, whose address says what it is for; here it is
    /// somewhere else.
    fn stand_in(&mut self, pc: u64) {
        self.block = self.fragment.blocks.len() as u8;
        self.fragment.blocks.push(NewBlock {
            pc,
            offset: self.fragment.emitter.offset() as u16,
            instructions: 0,
            counter: u32::MAX,
            copy: true,
        });
        self.mark(Mark::Block);
    }

    fn local(&self, pc: u64) -> Option<u64> {
        let blocks = self.fragment.blocks.iter();
        blocks
            .filter(|block| block.pc == pc && block.counter != u32::MAX)
            .map(|block| self.fragment.emitter.base + u64::from(block.offset))
            .next()
    }

    /// The block at `pc`, if it may be put behind what is there.
    fn goes_on(&self, pc: u64) -> Option<Block> {
        if self.fragment.blocks.len() >= MAX_FRAGMENT_BLOCKS
            || self.fragment.emitter.offset() >= MAX_FRAGMENT_BYTES
            || self.local(pc).is_some()
            || self.world.known(pc).is_some()
        {
            return None;
        }
        let block = decode(pc, self.world.bytes(pc));
        (!matches!(block.end, BlockEnd::Native | BlockEnd::Refused(_))).then_some(block)
    }

    fn raw(&self, instruction: &Instruction) -> Vec<u8> {
        let bytes = self.world.bytes(instruction.ip());
        bytes.get(..instruction.len()).unwrap_or_default().to_vec()
    }

    /// Notes that the displacement about to be written is an exit to `target`.
    fn exit(&mut self, target: u64) {
        let site = self.fragment.emitter.offset() as u16;
        self.fragment.exits.push(NewExit {
            target,
            site,
            stub: 0,
            aimed: None,
        });
        self.emitter().u32(0);
    }

    fn finish(mut self, first_exit: u32) -> Result<Fragment, Error> {
        self.write_calls();
        self.write_taken();
        self.write_misses();
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
