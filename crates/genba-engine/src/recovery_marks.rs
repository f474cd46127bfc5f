//! Recovery marks: for each offset of a fragment, how to recover the program's state there. Made
//! while code is emitted, read when a signal interrupts it.

use alloc::vec::Vec;

/// How to recover the program's state from a place in the code cache on. *Saved* means that the
/// thread's state has the program's value, and the register has the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// A block begins: its counter has not been incremented, its first instruction is next.
    Block,
    /// The block's next instruction begins here.
    Instruction,
    /// The block's counter has been incremented; nothing else changes.
    Counted,
    /// rax is saved.
    RaxSaved,
    /// rcx is saved.
    RcxSaved,
    /// rax and rcx are saved.
    RaxRcxSaved,
    /// rax, rcx and rdx are saved.
    RaxRcxRdxSaved,
    /// A call has pushed the return address in the code cache; nothing else has happened.
    ReturnPushed,
    /// As [`Mark::ReturnPushed`], and rcx is saved. Also where a return has pushed the landing
    /// pad's address.
    ReturnPushedRcxSaved,
    /// That return address has been popped again; nothing else has happened.
    ReturnPopped,
    /// As [`Mark::ReturnPopped`], and rcx is saved.
    ReturnPoppedRcxSaved,
    /// The block's last instruction, a branch, was executed and taken.
    Taken,
    /// As [`Mark::Taken`], and has not been recorded yet.
    TakenUnrecorded,
    /// As [`Mark::TakenUnrecorded`], and rax is saved.
    TakenUnrecordedRaxSaved,
    /// As [`Mark::Taken`], and rax is saved.
    TakenRaxSaved,
    /// The block's last instruction was executed and not taken.
    NotTaken,
    /// The block's last instruction, an indirect call or jump, was executed; TARGET is its target;
    /// rcx is saved. It has not been recorded yet, if it is to be.
    BranchedIndirectly,
    /// A landing pad for jumps and calls, before the target is checked: TARGET is the target; rcx
    /// is saved.
    JumpPad,
    /// A landing pad for returns, before the target is checked: the top of the stack is the target
    /// and is still to be popped; rcx is saved.
    ReturnPad,
    /// As [`Mark::ReturnPad`], after the pop: the target is below the top of the stack.
    ReturnPadPopped,
    /// A landing pad whose check has succeeded: the block is next; rcx is saved.
    PadMatched,
    /// A system call was executed; rcx has the engine's value.
    SyscallDone,
    /// Constants, which no thread executes.
    Data,
    /// An exit stub; the fragment's exits have the target.
    ExitStub,
}

impl Mark {
    /// All marks, by their number.
    const ALL: [Self; 24] = [
        Self::Block,
        Self::Instruction,
        Self::Counted,
        Self::RaxSaved,
        Self::RcxSaved,
        Self::RaxRcxSaved,
        Self::RaxRcxRdxSaved,
        Self::ReturnPushed,
        Self::ReturnPushedRcxSaved,
        Self::ReturnPopped,
        Self::ReturnPoppedRcxSaved,
        Self::Taken,
        Self::TakenUnrecorded,
        Self::TakenUnrecordedRaxSaved,
        Self::TakenRaxSaved,
        Self::NotTaken,
        Self::BranchedIndirectly,
        Self::JumpPad,
        Self::ReturnPad,
        Self::ReturnPadPopped,
        Self::PadMatched,
        Self::SyscallDone,
        Self::Data,
        Self::ExitStub,
    ];
}

/// The marks of all fragments, one after another: a byte for most. Large programs have millions.
///
/// A mark for the next instruction of the same block, at most 127 bytes after the mark before, is that
/// distance. Any other is its number and [`OTHER`], the distance (or [`FAR`] and two bytes) and, with
/// [`NEW_BLOCK`], its block.
#[derive(Default)]
pub struct PackedMarks {
    bytes: Vec<u8>,
}

/// Bit of a byte that is not a distance.
const OTHER: u8 = 0x80;
/// Bit of a mark that is for another block than the one before.
const NEW_BLOCK: u8 = 0x40;
/// Stands for a distance that takes two bytes.
const FAR: u8 = 0xFF;

const _: () = assert!(Mark::ALL.len() <= NEW_BLOCK as usize);

impl PackedMarks {
    /// Appends the marks of a fragment, which are in the order of their offsets; where they begin.
    pub fn push(&mut self, marks: &[Marked]) -> usize {
        let begin = self.bytes.len();
        let (mut offset, mut block) = (0, 0);
        for marked in marks {
            let distance = marked.offset.wrapping_sub(offset);
            let new_block = marked.block != block;
            (offset, block) = (marked.offset, marked.block);
            if marked.mark == Mark::Instruction && !new_block && distance < u16::from(OTHER) {
                self.bytes.push(distance as u8);
                continue;
            }
            let flag = if new_block { NEW_BLOCK } else { 0 };
            self.bytes.push(OTHER | flag | marked.mark as u8);
            if distance < u16::from(FAR) {
                self.bytes.push(distance as u8);
            } else {
                self.bytes.push(FAR);
                self.bytes.extend_from_slice(&distance.to_le_bytes());
            }
            if new_block {
                self.bytes.push(block);
            }
        }
        begin
    }

    /// Returns the marks of a fragment, by where they begin and how many there are.
    #[must_use]
    pub fn unpack(&self, begin: usize, count: usize) -> Vec<Marked> {
        let mut bytes = self.bytes.iter().skip(begin).copied();
        let (mut offset, mut block) = (0u16, 0);
        let mut marked = || {
            let first = bytes.next()?;
            let mut mark = Mark::Instruction;
            let mut distance = u16::from(first);
            if first & OTHER != 0 {
                mark = *Mark::ALL.get(usize::from(first & !(OTHER | NEW_BLOCK)))?;
                distance = match bytes.next()? {
                    FAR => u16::from_le_bytes([bytes.next()?, bytes.next()?]),
                    near => u16::from(near),
                };
                if first & NEW_BLOCK != 0 {
                    block = bytes.next()?;
                }
            }
            offset = offset.wrapping_add(distance);
            Some(Marked {
                offset,
                mark,
                block,
            })
        };
        (0..count).map_while(|_| marked()).collect()
    }
}

/// A mark, from an offset on, for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Offset in the fragment.
    pub offset: u16,
    /// What holds from there on.
    pub mark: Mark,
    /// Index of the block in the fragment.
    pub block: u8,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_in_the_list_by_their_number() {
        for (number, mark) in Mark::ALL.into_iter().enumerate() {
            assert_eq!(mark as usize, number);
        }
        assert_eq!(Mark::ALL.len(), Mark::ExitStub as usize + 1);
    }

    proptest! {
        #[test]
        fn unpacked_marks_are_those_that_were_packed(
            fragments in prop::collection::vec(
                prop::collection::vec((0u16..400, 0usize..Mark::ALL.len(), 0u8..4, any::<bool>()), 0..60), 1..5)
        ) {
            let mut packed = PackedMarks::default();
            let mut all = Vec::new();
            for fragment in fragments {
                let mut offset = 0u16;
                let marks: Vec<Marked> = (fragment.into_iter())
                    .map(|(distance, mark, block, plain)| {
                        offset = offset.saturating_add(distance);
                        let mark = if plain { Mark::Instruction } else { Mark::ALL[mark] };
                        Marked { offset, mark, block: block * 80 }
                    })
                    .collect();
                all.push((packed.push(&marks), marks));
            }
            for (begin, marks) in all {
                prop_assert_eq!(packed.unpack(begin, marks.len()), marks);
            }
        }
    }
}
