//! Which instructions anything needs that a function does: the others are faint code (R. Giegerich et al., "Invariance of
//! approximative semantics with respect to program transformations", 1981), found backward over the blocks until
//! nothing changes. A loop that makes nothing that is needed, and can be left to one place only, is not needed itself
//! (Cytron et al., TOPLAS 1991, who ask for control dependence of all branches).

use std::collections::BTreeSet;

use genba_code::{Block, BlockId, Flow, Locations, MemoryAccess, STACK_POINTER};

use crate::causes::loop_invariant_call::changes_nothing;
use crate::constants::registers::{ARGUMENTS, FLAGS, LIVE_AT_RETURN, RAX, RDI, RDX, XMM0};
use crate::constants::search_limits::MAX_INSTRUCTIONS_FOR_WORK;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::Origin;
use crate::patterns::invariance::value_at;

/// Registers, flags not among them.
const REGISTERS: Locations = (1 << FLAGS) - 1;

/// Bytes of a word of the frame.
const WORD: i64 = 4;

/// What a function needs.
pub(crate) struct Needs {
    /// By instruction: whether anything that the function does needs it.
    pub(crate) instructions: Vec<bool>,
    /// By block: what is read from its begin on.
    live: Vec<Live>,
}

/// A part of a function that ends with a test, and the way that the test goes this time.
pub(crate) struct Before<'a> {
    /// By block: whether it is in the part. It is left at the test, or for good.
    pub(crate) part: &'a [bool],
    /// The block that ends with the test.
    pub(crate) test: BlockId,
    /// Where it goes on.
    pub(crate) then: BlockId,
}

/// These stores, and the instructions that are needed for nothing else.
pub(crate) fn needed_for_only(function: &FunctionInput, stores: &[usize]) -> Vec<usize> {
    let (Some(without), Some(with)) = (solved(function, stores, None), needs(function)) else {
        return stores.to_vec();
    };
    let (without, with) = (without.instructions, with.instructions);
    let only = |at: &usize| stores.contains(at) || (with[*at] && !without[*at]);
    (0..function.code.len()).filter(only).collect()
}

/// What never ran needs nothing; of branches those are needed that went both ways. `None` of a function that is too large, or
/// was not counted.
pub(crate) fn needs(function: &FunctionInput) -> Option<Needs> {
    solved(function, &[], None)
}

/// By instruction of a part of the function: whether it is needed if the test behind goes this way, this time; later it may
/// go any.
pub(crate) fn needed_before(
    function: &FunctionInput,
    all: &Needs,
    before: &Before<'_>,
) -> Option<Vec<bool>> {
    Some(solved(function, &[], Some((all, before)))?.instructions)
}

fn solved(
    function: &FunctionInput,
    ignored: &[usize],
    part: Option<(&Needs, &Before<'_>)>,
) -> Option<Needs> {
    let length = function.code.len();
    if length > MAX_INSTRUCTIONS_FOR_WORK || function.counts.len() != length {
        return None;
    }
    let blocks = function.flow.blocks();
    let is_solved = |block: usize| part.is_none_or(|(_, before)| before.part[block]);
    let frame = Frame::of(function);
    let of_caller = read_by_callers(function);
    let decides = |at: usize| {
        let taken = function.taken.get(at).copied().flatten();
        taken.is_none_or(|taken| taken > 0 && taken < function.counts[at])
    };
    // Loops that make something that is needed, or decide where it goes on.
    let mut alive: Vec<bool> = (0..function.flow.loops().len() as u32)
        .map(|index| {
            let members = function.flow.loop_blocks(index);
            let whole = members.iter().all(|block| is_solved(*block as usize));
            !whole || exits(function, index).len() != 1
        })
        .collect();
    let mut live: Vec<Live> = match part {
        Some((all, before)) => {
            let known = all.live.iter().zip(before.part);
            known
                .map(|(live, inside)| if *inside { Live::default() } else { *live })
                .collect()
        }
        None => vec![Live::default(); blocks.len()],
    };
    let mut needed = vec![false; length];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            let range = block.instructions.start as usize..block.instructions.end as usize;
            if range.is_empty() || function.counts[range.start] == 0 || !is_solved(index) {
                continue;
            }
            let innermost = function.flow.innermost_loop(index as BlockId);
            let mut now = match part.filter(|(_, before)| before.test as usize == index) {
                Some((all, before)) => all.live[before.then as usize],
                None => (block.successors.iter())
                    .fold(Live::default(), |all, &next| all.or(live[next as usize])),
            };
            now.registers |= read_outside(function, block, of_caller);
            for at in range.rev().filter(|at| !ignored.contains(at)) {
                let data = &function.data[at];
                let place = frame.place(function, at);
                let wanted = match function.code[at].flow {
                    Flow::Next if data.opaque.is_none() => {
                        let stored = match place.filter(|place| place.writes) {
                            Some(place) => place.words & now.words != 0,
                            None => data.stores(),
                        };
                        stored || data.writes & now.registers != 0
                    }
                    // The way round a loop is decided by what it makes.
                    Flow::CondJump(_) => {
                        decides(at) && innermost.is_none_or(|index| alive[index as usize])
                    }
                    Flow::Jump(_) => false,
                    _ if is_call(function, at) && only_computes(function, at) => {
                        data.writes & now.registers & LIVE_AT_RETURN != 0
                    }
                    _ => true,
                };
                if wanted {
                    needed[at] = true;
                    let arguments = called_with(function, at);
                    now.registers = now.registers & !data.writes | data.reads() | arguments;
                    // Further arguments of a call lie in the frame.
                    if arguments != 0 {
                        now.words = u128::MAX;
                    }
                    match place {
                        Some(place) if place.writes => now.words &= !place.whole_words,
                        Some(place) => now.words |= place.words,
                        None => {}
                    }
                    changed |= innermost.is_some_and(|index| wake(function, index, &mut alive));
                }
            }
            changed |= now != live[index];
            live[index] = now;
        }
    }
    Some(Needs {
        instructions: needed,
        live,
    })
}

/// Marks a loop and those around it as alive; whether that is news.
fn wake(function: &FunctionInput, index: u32, alive: &mut [bool]) -> bool {
    let loops = function.flow.loops();
    let parent = |index: &u32| loops[*index as usize].parent;
    let mut news = false;
    for index in std::iter::successors(Some(index), parent) {
        news |= !std::mem::replace(&mut alive[index as usize], true);
    }
    news
}

/// Where it goes on behind a loop, of what ran.
fn exits(function: &FunctionInput, index: u32) -> BTreeSet<BlockId> {
    let blocks = function.flow.blocks();
    let members = function.flow.loop_blocks(index);
    let runs =
        |block: BlockId| function.counts[blocks[block as usize].instructions.start as usize] > 0;
    (members.iter().copied().filter(|from| runs(*from)))
        .flat_map(|from| blocks[from as usize].successors.iter().copied())
        .filter(|to| runs(*to) && !members.contains(to))
        .collect()
}

/// What is read later.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Live {
    registers: Locations,
    /// Words of the frame, by their bits in [`Frame`].
    words: u128,
}

impl Live {
    fn or(self, other: Self) -> Self {
        Self {
            registers: self.registers | other.registers,
            words: self.words | other.words,
        }
    }
}

/// The words of a function's frame that only its own code reaches.
struct Frame {
    /// Numbers of words from the stack pointer on; each one's place is its bit.
    words: Vec<i64>,
    /// The first place to which a pointer is made: what is behind it may be read through that.
    first_shared: i64,
}

/// An access to such words.
#[derive(Clone, Copy)]
struct Place {
    writes: bool,
    words: u128,
    /// Those that a store changes as a whole.
    whole_words: u128,
}

impl Frame {
    fn of(function: &FunctionInput) -> Self {
        let ran = (0..function.code.len()).filter(|&at| function.counts[at] > 0);
        let pointers = ran.clone().filter_map(|at| {
            let data = &function.data[at];
            let from_frame = data.memory.is_empty() && data.data_reads >> STACK_POINTER & 1 == 1;
            let moves = from_frame && data.writes & REGISTERS & !(1 << STACK_POINTER) != 0;
            moves.then(|| {
                let plain = data.components.as_ref().filter(|one| one.index.is_none());
                plain.map_or(i64::MIN, |one| one.displacement)
            })
        });
        let mut frame = Self {
            words: Vec::new(),
            first_shared: pointers.min().unwrap_or(i64::MAX),
        };
        let all = ran.filter_map(|at| frame.access(function, at));
        let mut words: Vec<i64> = all.flat_map(|one| words_of(&one)).collect();
        words.sort_unstable();
        words.dedup();
        words.truncate(u128::BITS as usize);
        frame.words = words;
        frame
    }

    /// The load or store of an instruction, if it is all that it does with memory.
    fn access(&self, function: &FunctionInput, at: usize) -> Option<MemoryAccess> {
        let data = &function.data[at];
        let [one] = data.memory.as_slice() else {
            return None;
        };
        let plain = data.opaque.is_none() && one.index.is_none() && one.reads != one.writes;
        let own = plain && one.base == Some(STACK_POINTER) && one.displacement < self.first_shared;
        (own && one.bytes > 0).then_some(*one)
    }

    /// `None` of other accesses, and of words that have no bit.
    fn place(&self, function: &FunctionInput, at: usize) -> Option<Place> {
        let one = self.access(function, at)?;
        let mut place = Place {
            writes: one.writes,
            words: 0,
            whole_words: 0,
        };
        let end = one.displacement + i64::from(one.bytes);
        for word in words_of(&one) {
            let bit = 1 << self.words.binary_search(&word).ok()?;
            place.words |= bit;
            if word * WORD >= one.displacement && (word + 1) * WORD <= end {
                place.whole_words |= bit;
            }
        }
        Some(place)
    }
}

fn words_of(one: &MemoryAccess) -> impl Iterator<Item = i64> + use<> {
    let last = one.displacement + i64::from(one.bytes) - 1;
    one.displacement.div_euclid(WORD)..=last.div_euclid(WORD)
}

/// What callers may read behind a return. A function that hands back its first argument returns its result in memory
/// (System V psABI, section 3.2.3): what vector registers hold then is left over, as is what a call leaves in rdx.
fn read_by_callers(function: &FunctionInput) -> Locations {
    let values = &function.values;
    let given = (0..function.code.len())
        .filter_map(|at| values.read(at, RDI))
        .find(|value| values.origin(*value) == Origin::Entry);
    let returns = (0..function.code.len())
        .filter(|&at| function.code[at].flow == Flow::Return && function.counts[at] > 0);
    let hands_back = |at: usize| value_at(function, at, RAX) == given;
    let left_by_call = |at: usize| {
        let origin = value_at(function, at, RDX).map(|value| values.origin(value));
        matches!(origin, Some(Origin::Instruction(by)) if is_call(function, by as usize))
    };
    if given.is_none() || !returns.clone().all(hands_back) {
        return LIVE_AT_RETURN;
    }
    let rdx = match returns.clone().all(left_by_call) {
        true => 1 << RDX,
        false => 0,
    };
    LIVE_AT_RETURN & !(rdx | 0b11 << XMM0)
}

fn is_call(function: &FunctionInput, at: usize) -> bool {
    matches!(function.code[at].flow, Flow::Call(_) | Flow::IndirectCall)
}

/// Registers that may be read where a block's ways lead out of the function: what a return leaves, or anything behind a
/// jump to another function.
fn read_outside(function: &FunctionInput, block: &Block, of_caller: Locations) -> Locations {
    let last = function.code[block.instructions.end as usize - 1].flow;
    match (last, block.successors.len()) {
        (Flow::Return, _) => of_caller,
        (Flow::CondJump(_), ways) if ways < 2 => REGISTERS,
        (_, 0) => REGISTERS,
        _ => 0,
    }
}

/// Whether nothing but the result of a call can be of use.
fn only_computes(function: &FunctionInput, at: usize) -> bool {
    let mut sites = function.call_sites.iter().filter(|site| site.at == at);
    sites.next().is_some_and(|site| {
        let mut targets = site.targets.iter();
        !site.targets.is_empty() && targets.all(|target| changes_nothing(&target.function))
    })
}

/// Registers that a call may hand over.
fn called_with(function: &FunctionInput, at: usize) -> Locations {
    match is_call(function, at) {
        true => ARGUMENTS.iter().fold(0, |all, one| all | 1 << one),
        false => 0,
    }
}
