//! Which instruction ran just before another, as far as the code alone tells.

use crate::{ControlFlow, Instruction};

/// For a function whose counts are not known: the instruction before each one to which a single way leads.
///
/// A sample that is not precise carries the address of the instruction after the one whose time it took. Where
/// several ways lead to an instruction counts would have to say which was taken; it is left out.
#[derive(Debug, Default)]
pub struct RanBefore {
    /// Addresses of an instruction and of the one before it, in order.
    pairs: Vec<(u64, u64)>,
}

impl RanBefore {
    /// Of a function's instructions in address order, its entry first.
    #[must_use]
    pub fn of(instructions: &[Instruction]) -> Self {
        let flow = ControlFlow::build(instructions);
        let before = |(index, one): (usize, &Instruction)| {
            // Interrupted between its repetitions, at its own address (Intel SDM volume 2, "REP").
            if one.text.starts_with("rep") {
                return None;
            }
            match *flow.predecessors(index) {
                [before] => Some((one.address, instructions[before as usize].address)),
                _ => None,
            }
        };
        let pairs = instructions.iter().enumerate().filter_map(before).collect();
        Self { pairs }
    }

    /// Address of the instruction that ran before the one at `address`; `None` where several may have, or none of
    /// this function.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<u64> {
        let index = self.pairs.binary_search_by_key(&address, |pair| pair.0);
        index.ok().map(|index| self.pairs[index].1)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Disassembler, Syntax};

    use super::RanBefore;

    #[test]
    fn instruction_before_is_known_where_one_way_leads() {
        // xor eax, eax / loop: idiv ecx / add rbx, rax / rep movsb / dec edx / jne loop / ret
        let code = [
            0x31, 0xc0, 0xf7, 0xf9, 0x48, 0x01, 0xc3, 0xf3, 0xa4, 0xff, 0xca, 0x75, 0xf5, 0xc3,
        ];
        let instructions =
            Disassembler::x86_64(Syntax::Intel).disassemble(&code, 0x1000, &|_| None);
        let before = RanBefore::of(&instructions);
        assert_eq!(before.at(0x1000), None, "the entry");
        assert_eq!(before.at(0x1002), None, "the entry and the jump lead to it");
        assert_eq!(before.at(0x1004), Some(0x1002));
        assert_eq!(before.at(0x1007), None, "repeats itself");
        assert_eq!(before.at(0x1009), Some(0x1007));
        assert_eq!(before.at(0x100d), Some(0x100b), "behind the jump");
        assert_eq!(before.at(0x1003), None, "no instruction begins there");
    }
}
