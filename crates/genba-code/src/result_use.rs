//! Whether the result of a call is always asked for, or only if something else says so.

mod held;
mod returned;

use crate::dataflow::{DataFlow, Location, Locations};
use crate::flow::{BlockId, ControlFlow};
use crate::instruction::{Flow, Instruction};
use held::{Held, Step};

/// What decides whether anybody asks for the result of a call. Indices are of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedIf {
    /// A branch: behind one of its ways nobody reads the result.
    Branch {
        /// The branch.
        at: usize,
        /// Whether the result is dropped where it is taken; else where it is not.
        dropped_if_taken: bool,
    },
    /// A conditional move, by how a loaded value compares with a constant.
    Value {
        /// The conditional move.
        at: usize,
        /// The load.
        load: usize,
        /// When the result is asked for.
        asked: Comparison,
    },
}

/// A comparison of a value with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Whether it must be equal; else it must not.
    pub equal: bool,
    /// To this.
    pub constant: u64,
}

/// Registers in which functions return results, by the System V calling convention: rax and rdx, or xmm0 and xmm1;
/// the first alone is what a caller may ask of its callee in turn.
const RESULTS: [[Locations; 2]; 2] = [[1, 1 << 2], [1 << 16, 1 << 17]];

/// Carry to overflow.
const FLAGS: Locations = 0b11_1111 << 64;

/// Blocks that are followed to see whether a result is read.
const MAX_BLOCKS: usize = 200;

/// Blocks behind a call in which its result is only kept or changed, before the test.
const MAX_BLOCKS_BEFORE_TEST: usize = 16;

/// What becomes of a result in a block.
enum Decided {
    /// The test at its end decides, or a move in it, where the result is at these places.
    Here(AskedIf, Held),
    /// It is still there, at these places.
    Later(Held),
}

/// The code of one function. `data` is of the same instructions as `code`.
#[derive(Clone, Copy)]
struct Function<'a> {
    code: &'a [Instruction],
    data: &'a [DataFlow],
    flow: &'a ControlFlow,
    /// Registers whose content the function's own caller may ask for.
    returned: Locations,
}

/// What a function returns to its own caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nothing.
    Nothing,
    /// At most one value.
    OneValue,
    /// Perhaps values in a general and a vector register at a time: Rust's functions do so for `Option<f64>`.
    Pair,
}

/// What decides whether the result of the call at this index is asked for; `None` where it always is, may be, or
/// never is. `data` is of the same instructions as `code`.
#[must_use]
pub fn asked_if(
    code: &[Instruction],
    data: &[DataFlow],
    flow: &ControlFlow,
    call: usize,
    returned: Returned,
) -> Option<AskedIf> {
    if code.len() != data.len() {
        return None;
    }
    let block = flow.block_of(call)?;
    let of = |returned| Function {
        code,
        data,
        flow,
        returned,
    };
    let held = |[first, further]: [Locations; 2]| Held {
        registers: first | further,
        slots: Vec::new(),
    };
    let [general, vector] = RESULTS;
    // What nobody reads in registers of the other kind is not a result.
    [(general, vector), (vector, general)]
        .into_iter()
        .find_map(|(kind, other)| {
            let found = of(kind[0]).asked_if(block, call, held(kind)).or_else(|| {
                let found = of(0).asked_if(block, call, held(kind))?;
                let returns_other = match returned {
                    Returned::Nothing => true,
                    Returned::OneValue => {
                        of(0).leaves_as_entered(kind[0]) || of(0).sets_for_return(other[0])
                    }
                    Returned::Pair => of(0).leaves_as_entered(kind[0]),
                };
                returns_other.then_some(found)
            })?;
            let no_result = of(0).is_read_from((block, call + 1), held(other)) == Some(false);
            no_result.then_some(found)
        })
}

/// The first instructions that read the result of the call at this index behind the branch that [`asked_if`] found: behind
/// further tests, perhaps. Empty where there is no such branch, or a way is not known.
#[must_use]
pub fn first_readers(
    code: &[Instruction],
    data: &[DataFlow],
    flow: &ControlFlow,
    call: usize,
) -> Vec<usize> {
    let Some(block) = flow.block_of(call).filter(|_| code.len() == data.len()) else {
        return Vec::new();
    };
    let of = |returned| Function {
        code,
        data,
        flow,
        returned,
    };
    let function = of(0);
    let of_kind = |[first, further]: [Locations; 2]| {
        let held = Held {
            registers: first | further,
            slots: Vec::new(),
        };
        let (AskedIf::Branch { at, .. }, held) = function.decided(block, call, held)? else {
            return None;
        };
        let (ways, read) = function.ways((flow.block_of(at)?, at), &held)?;
        let asked = ways[read.iter().position(|read| *read == Some(true))?];
        let head = flow.blocks()[asked as usize].instructions.start as usize;
        let mut readers = Vec::new();
        // Where it may be returned, the caller may read it.
        of(first).first_reads((asked, head), held, &mut |at| {
            readers.push(at);
            true
        })?;
        Some(readers)
    };
    let mut readers: Vec<usize> = RESULTS.into_iter().find_map(of_kind).unwrap_or_default();
    readers.sort_unstable();
    readers.dedup();
    readers
}

impl Function<'_> {
    fn asked_if(&self, block: BlockId, call: usize, held: Held) -> Option<AskedIf> {
        self.decided(block, call, held).map(|found| found.0)
    }

    /// The test, and where the result is at it.
    fn decided(&self, block: BlockId, call: usize, held: Held) -> Option<(AskedIf, Held)> {
        let mut found: Option<(AskedIf, Held)> = None;
        let mut met = vec![block];
        let mut work = vec![(block, call + 1, held)];
        while let Some((block, from, held)) = work.pop() {
            match self.decided_in((block, from), call, held)? {
                Decided::Here(test, held) => match &mut found {
                    None => found = Some((test, held)),
                    Some((other, places)) if *other == test => places.add(held),
                    // It is not one test that decides.
                    Some(_) => return None,
                },
                Decided::Later(held) => {
                    for &next in &self.flow.blocks()[block as usize].successors {
                        // Round a loop the next call comes before the test.
                        if next == met[0] || met.len() > MAX_BLOCKS_BEFORE_TEST {
                            return None;
                        }
                        if !met.contains(&next) {
                            met.push(next);
                            let start = self.flow.blocks()[next as usize].instructions.start;
                            work.push((next, start as usize, held.clone()));
                        }
                    }
                }
            }
        }
        found
    }

    /// What becomes of a result from an instruction of a block to the block's end; `None` where it is asked for or lost.
    fn decided_in(
        &self,
        (block, from): (BlockId, usize),
        call: usize,
        mut held: Held,
    ) -> Option<Decided> {
        let end = self.flow.blocks()[block as usize].instructions.end as usize;
        for at in from..end {
            let (code, data) = (&self.code[at], &self.data[at]);
            if let Flow::CondJump(_) = code.flow {
                if data.reads() & held.registers != 0 {
                    return None;
                }
                let (_, asked) = self.ways((block, at), &held)?;
                let test = |dropped_if_taken| AskedIf::Branch {
                    at,
                    dropped_if_taken,
                };
                return match asked {
                    [Some(false), Some(true)] => Some(Decided::Here(test(true), held)),
                    [Some(true), Some(false)] => Some(Decided::Here(test(false), held)),
                    // What lies between may make something else.
                    [Some(true), Some(true)] => Some(Decided::Later(held)),
                    _ => None,
                };
            }
            if code.mnemonic.starts_with("cmov") && held.is_read(data) {
                let found = self.conditional_move((call, at), &held)?;
                held.registers &= !data.writes;
                let later = self.is_read_from((block, at + 1), held);
                return (later == Some(false)).then(|| Decided::Here(found, Held::default()));
            }
            if held.step(code, data) == Step::Asks || held.is_empty() {
                return None;
            }
        }
        Some(Decided::Later(held))
    }

    /// Where a branch leads where it is taken, and where it is not, and whether a result is read there.
    fn ways(
        &self,
        (block, at): (BlockId, usize),
        held: &Held,
    ) -> Option<([BlockId; 2], [Option<bool>; 2])> {
        let Self { code, flow, .. } = *self;
        let Flow::CondJump(target) = code[at].flow else {
            return None;
        };
        let ways = &flow.blocks()[block as usize].successors;
        let [first, second] = ways[..] else {
            return None;
        };
        let head = |block: BlockId| flow.blocks()[block as usize].instructions.start as usize;
        let (taken, other) = match code[head(first)].address == target {
            true => (first, second),
            false => (second, first),
        };
        let ways = [taken, other];
        let read = ways.map(|way| self.is_read_from((way, head(way)), held.clone()));
        Some((ways, read))
    }

    /// Whether a result is read from an instruction of a block on; `None` where that is not known.
    fn is_read_from(&self, from: (BlockId, usize), held: Held) -> Option<bool> {
        let mut read = false;
        self.first_reads(from, held, &mut |_| {
            read = true;
            false
        })?;
        Some(read)
    }

    /// Calls `found` for the first instructions that read a result from an instruction of a block on, while it returns
    /// `true`; `None` where a way is not known.
    fn first_reads(
        &self,
        (start, first): (BlockId, usize),
        held: Held,
        found: &mut dyn FnMut(usize) -> bool,
    ) -> Option<()> {
        let Self {
            code, data, flow, ..
        } = *self;
        let mut done: Vec<(BlockId, Held)> = Vec::new();
        let mut rounds = 0;
        let mut work = vec![(start, first, held)];
        while let Some((block, from, mut held)) = work.pop() {
            let known = |one: &(BlockId, Held)| {
                one.0 == block
                    && held.registers & !one.1.registers == 0
                    && held.slots.iter().all(|slot| one.1.slots.contains(slot))
            };
            if done.iter().any(known) {
                continue;
            }
            // A block that is entered in the middle is met again from its start.
            let range = flow.blocks()[block as usize].instructions.clone();
            if from == range.start as usize {
                done.push((block, held.clone()));
            }
            rounds += 1;
            if rounds > MAX_BLOCKS {
                return None;
            }
            let mut passed = true;
            for at in from..range.end as usize {
                let returns = code[at].flow == Flow::Return && held.registers & self.returned != 0;
                if matches!(code[at].flow, Flow::IndirectJump | Flow::Invalid) {
                    return None;
                }
                // The caller may ask for what is in the result registers.
                if returns
                    || held.is_read(&data[at])
                    || held.step(&code[at], &data[at]) == Step::Asks
                {
                    if !found(at) {
                        return Some(());
                    }
                    passed = false;
                    break;
                }
            }
            if passed && !held.is_empty() {
                let next = flow.blocks()[block as usize].successors.iter();
                let start =
                    |next: BlockId| flow.blocks()[next as usize].instructions.start as usize;
                work.extend(next.map(|&next| (next, start(next), held.clone())));
            }
        }
        Some(())
    }

    fn conditional_move(&self, (call, at): (usize, usize), held: &Held) -> Option<AskedIf> {
        let Self { code, data, .. } = *self;
        let one = &data[at];
        let to = one.writes & !FLAGS;
        let sources = one.data_reads & !FLAGS & !to;
        if to.count_ones() != 1 || one.data_reads & FLAGS & held.registers != 0 {
            return None;
        }
        let moved = match code[at].mnemonic {
            "cmove" | "cmovz" => true,
            "cmovne" | "cmovnz" => false,
            _ => return None,
        };
        let from_result = match (sources & held.registers != 0, to & held.registers != 0) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let test = (0..at)
            .rev()
            .find(|&before| data[before].writes & FLAGS != 0)?;
        let (load, constant) = self.compared((call, test))?;
        Some(AskedIf::Value {
            at,
            load,
            asked: Comparison {
                equal: moved == from_result,
                constant,
            },
        })
    }

    /// The load of the value that a comparison compares with a constant, and the constant; behind the call only.
    fn compared(&self, (call, test): (usize, usize)) -> Option<(usize, u64)> {
        let Self { code, data, .. } = *self;
        if test <= call {
            return None;
        }
        let operands = data[test].data_reads;
        let constant = match code[test].mnemonic {
            "test" if operands.count_ones() == 1 && data[test].form.matches(" r").count() == 2 => 0,
            "cmp" if data[test].form.ends_with(", i") => code[test].last_number()?,
            _ => return None,
        };
        if data[test].loads() {
            return Some((test, constant));
        }
        let register = operands.trailing_zeros() as Location;
        let made = (call + 1..test)
            .rev()
            .find(|&at| data[at].writes >> register & 1 == 1)?;
        let plain = code[made].mnemonic == "mov" || code[made].mnemonic == "movzx";
        (plain && data[made].loads()).then_some((made, constant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::Architecture;

    use crate::{Disassembler, Syntax, data_flow};

    /// Of the first call in `bytes`.
    fn of(bytes: &[u8]) -> Option<AskedIf> {
        of_function(bytes, Returned::OneValue)
    }

    /// The same in a function that returns this.
    fn of_function(bytes: &[u8], returned: Returned) -> Option<AskedIf> {
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, bytes, 0x1000).expect("x86-64");
        let call = code
            .iter()
            .position(|one| matches!(one.flow, Flow::IndirectCall));
        asked_if(
            &code,
            &data,
            &ControlFlow::build(&code),
            call.expect("a call"),
            returned,
        )
    }

    #[test]
    fn moved_if_a_value_loaded_behind_the_call_is_zero() {
        // call [rax+0x10]; mov edx, [r15+0xc]; sar rax, 0x20; test edx, edx; cmove edx, eax; xor eax, eax; ret
        let bytes = [
            0xff, 0x50, 0x10, 0x41, 0x8b, 0x57, 0x0c, 0x48, 0xc1, 0xf8, 0x20, 0x85, 0xd2, 0x0f,
            0x44, 0xd0, 0x31, 0xc0, 0xc3,
        ];
        let asked = Comparison {
            equal: true,
            constant: 0,
        };
        let (at, load) = (4, 1);
        assert_eq!(of(&bytes), Some(AskedIf::Value { at, load, asked }));
        // Its caller gets it in any case: without the xor.
        let mut bytes = bytes.to_vec();
        bytes.drain(16..18);
        assert_eq!(of(&bytes), None);
        assert!(of_function(&bytes, Returned::Nothing).is_some());
    }

    #[test]
    fn result_read_behind_one_way_of_a_branch_only() {
        // call [rax+0x10]; mov rbx, rax; cmp dword ptr [r15], 5; je +3; mov [rdi], rbx; xor eax, eax; xor ebx, ebx; ret
        let bytes = [
            0xff, 0x50, 0x10, 0x48, 0x89, 0xc3, 0x41, 0x83, 0x3f, 0x05, 0x74, 0x03, 0x48, 0x89,
            0x1f, 0x31, 0xc0, 0x31, 0xdb, 0xc3,
        ];
        let dropped = AskedIf::Branch {
            at: 3,
            dropped_if_taken: true,
        };
        assert_eq!(of(&bytes), Some(dropped));
        // The branch is on the result: cmp eax, 5 (and two nops).
        let mut on_result = bytes;
        on_result[6..10].copy_from_slice(&[0x83, 0xf8, 0x05, 0x90]);
        assert_eq!(of(&on_result), None);
        // It is stored before.
        let mut stored = bytes;
        stored[3..6].copy_from_slice(&[0x48, 0x89, 0x07]);
        assert_eq!(of(&stored), None);
    }

    #[test]
    fn test_behind_a_choice_of_something_else_decides() {
        // call [rax+0x10]; mov rbx, rax; test ecx, ecx; je +2; add edx, edi; cmp dword ptr [r15], 5; je +3;
        // mov [rdi], rbx; xor eax, eax; xor ebx, ebx; ret
        let bytes = [
            0xff, 0x50, 0x10, 0x48, 0x89, 0xc3, 0x85, 0xc9, 0x74, 0x02, 0x01, 0xfa, 0x41, 0x83,
            0x3f, 0x05, 0x74, 0x03, 0x48, 0x89, 0x1f, 0x31, 0xc0, 0x31, 0xdb, 0xc3,
        ];
        let dropped = AskedIf::Branch {
            at: 6,
            dropped_if_taken: true,
        };
        assert_eq!(of(&bytes), Some(dropped));
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&bytes, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, &bytes, 0x1000).expect("x86-64");
        let readers = first_readers(&code, &data, &ControlFlow::build(&code), 0);
        assert_eq!(readers, [7]);
        // It is stored behind a further test, else returned: call [rax+0x10]; test ecx, ecx; je +9; cmp dword ptr [r15], 5; je +2;
        // mov [rdi], eax; ret; xor eax, eax; ret
        let returned = [
            0xff, 0x50, 0x10, 0x85, 0xc9, 0x74, 0x09, 0x41, 0x83, 0x3f, 0x05, 0x74, 0x02, 0x89,
            0x07, 0xc3, 0x31, 0xc0, 0xc3,
        ];
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&returned, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, &returned, 0x1000).expect("x86-64");
        let readers = first_readers(&code, &data, &ControlFlow::build(&code), 0);
        assert_eq!(readers, [5, 6], "the store, and the return");
        // One way of the choice asks: mov [rdi], ebx.
        let mut asks = bytes;
        asks[10..12].copy_from_slice(&[0x89, 0x1f]);
        assert_eq!(of(&asks), None);
        // It is made of the result: test ebx, ebx.
        let mut of_result = bytes;
        of_result[7] = 0xdb;
        assert_eq!(of(&of_result), None);
    }

    #[test]
    fn function_that_may_return_a_register_as_it_was_returns_nothing_in_it() {
        // test edi, edi; je +11; call [rsi+0x10]; cmp dword ptr [r15], 5; je +2; mov [rbx], eax; ret
        let bytes = [
            0x85, 0xff, 0x74, 0x0b, 0xff, 0x56, 0x10, 0x41, 0x83, 0x3f, 0x05, 0x74, 0x02, 0x89,
            0x03, 0xc3,
        ];
        let dropped = AskedIf::Branch {
            at: 4,
            dropped_if_taken: true,
        };
        assert_eq!(of(&bytes), Some(dropped));
        // Where all ways call, the caller may get the result.
        let mut always = bytes;
        always[0..4].fill(0x90);
        assert_eq!(of(&always), None);
    }

    #[test]
    fn function_that_sets_a_register_for_its_caller_returns_nothing_in_another() {
        // call [rax+0x10]; cmp dword ptr [r15], 5; je +4; movsd [rdi], xmm0; mov eax, 1; ret
        let bytes = [
            0xff, 0x50, 0x10, 0x41, 0x83, 0x3f, 0x05, 0x74, 0x04, 0xf2, 0x0f, 0x11, 0x07, 0xb8,
            0x01, 0x00, 0x00, 0x00, 0xc3,
        ];
        let dropped = AskedIf::Branch {
            at: 2,
            dropped_if_taken: true,
        };
        assert_eq!(of(&bytes), Some(dropped));
        // mov ecx, 1: its caller may get xmm0.
        let mut other = bytes;
        other[13] = 0xb9;
        assert_eq!(of(&other), None);
        // The stack's end, not a result: pop rax.
        let popped = [&bytes[..13], &[0x58, 0xc3]].concat();
        assert_eq!(of(&popped), None);
        // Somebody else reads it: mov [rbx], eax.
        let read = [&bytes[..18], &[0x89, 0x03, 0xc3]].concat();
        assert_eq!(of(&read), None);
    }
}
