//! Calls through a register or memory whose target the linker chose: the program has no choice there.
//!
//! Compilers call functions of other objects through slots of the global offset table, which the
//! dynamic linker fills (`call [rip+f@GOTPCREL]`); where a loop calls one often, they load the slot
//! into a register before the loop. Linkers that know the address make a `lea` of the load.

use std::ops::Range;

use genba_code::{Flow, Instruction, STACK_POINTER};
use genba_symbols::Section;

use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::values::{CONSTANT, Origin, Value, Values};

/// Where slots of the linker and code are in a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkedPlaces {
    slots: Vec<Range<u64>>,
    code: Vec<Range<u64>>,
}

impl LinkedPlaces {
    pub(crate) fn of(sections: &[Section]) -> Self {
        let ranges = |is: &dyn Fn(&Section) -> bool| {
            let list = sections.iter().filter(|one| is(one));
            list.map(|one| one.address..one.address.saturating_add(one.size))
                .collect()
        };
        Self {
            slots: ranges(&|one| one.name.starts_with(".got")),
            code: ranges(&|one| one.executable),
        }
    }

    /// Whether an indirect call or jump goes where the linker says.
    pub(crate) fn is_linked(&self, code: &[Instruction], values: &Values, at: usize) -> bool {
        if self.is_slot(code[at].data_target) {
            return true;
        }
        // A call through memory reads registers for the address alone.
        if code[at].text.contains('[') || code[at].flow != Flow::IndirectCall {
            return false;
        }
        let pointer = (values.reads(at).iter()).find(|one| one.0 != STACK_POINTER);
        pointer.is_some_and(|&(_, value)| self.is_link(code, values, value))
    }

    /// Whether a value is a function's address by the linker, on whichever way it came.
    fn is_link(&self, code: &[Instruction], values: &Values, value: Value) -> bool {
        let mut followed = vec![value];
        let mut next = 0;
        while let Some(&one) = followed.get(next) {
            next += 1;
            let is_constant = one.number == CONSTANT;
            if one.offset != 0 && !is_constant || followed.len() > MAX_VALUES_FOLLOWED {
                return false;
            }
            match values.origin(one) {
                Origin::Constant if contains(&self.code, Some(one.offset as u64)) => {}
                Origin::Instruction(from) => {
                    let from = &code[from as usize];
                    if from.mnemonic != "mov" || !self.is_slot(from.data_target) {
                        return false;
                    }
                }
                Origin::Join(_) => {
                    let new = values.met(one).iter().copied();
                    let new: Vec<Value> = new.filter(|one| !followed.contains(one)).collect();
                    followed.extend(new);
                }
                Origin::Constant | Origin::Entry => return false,
            }
        }
        true
    }

    fn is_slot(&self, address: Option<u64>) -> bool {
        contains(&self.slots, address)
    }
}

fn contains(ranges: &[Range<u64>], address: Option<u64>) -> bool {
    address.is_some_and(|address| ranges.iter().any(|range| range.contains(&address)))
}

#[cfg(test)]
mod tests {
    use iced_x86::IcedError;
    use iced_x86::code_asm::*;

    use super::*;
    use crate::tests::synthetic::function;

    const SLOT: u64 = 0x5000;
    const DATA: u64 = 0x6000;
    const OTHER_FUNCTION: u64 = 0x1800;

    /// `mov r13, [rip + …]` (8b) or `lea r13, [rip + …]` (8d) at 0x1000.
    fn relative(operation: u8, address: u64) -> Vec<u8> {
        let distance = (address - 0x1007) as u32;
        [&[0x4c, operation, 0x2d][..], &distance.to_le_bytes()].concat()
    }

    /// Whether `for (…) f();` calls what the linker chose, of a pointer that was made so before the loop.
    fn loop_of_calls(load: impl Fn(&mut CodeAssembler) -> Result<(), IcedError>) -> bool {
        let one = function(
            "work",
            |a| {
                let mut head = a.create_label();
                load(a)?;
                a.set_label(&mut head)?;
                a.call(r13)?;
                a.sub(rbx, 1)?;
                a.jne(head)?;
                a.ret()
            },
            &[1, 100, 100, 100, 1],
            &[0.0, 0.5, 0.0, 0.0, 0.0],
            &[(3, 99)],
        );
        let places = LinkedPlaces {
            slots: std::iter::once(SLOT..SLOT + 0x100).collect(),
            code: std::iter::once(0x1000..0x2000).collect(),
        };
        places.is_linked(&one.code, &one.values, 1)
    }

    #[test]
    fn slot_that_was_loaded_before_the_loop_is_the_linkers_choice() {
        assert!(loop_of_calls(|a| a.db(&relative(0x8b, SLOT))));
        assert!(loop_of_calls(|a| a.db(&relative(0x8d, OTHER_FUNCTION))));
    }

    #[test]
    fn pointer_of_the_program_is_its_own_choice() {
        assert!(
            !loop_of_calls(|a| a.db(&relative(0x8b, DATA))),
            "a variable"
        );
        assert!(
            !loop_of_calls(|a| a.mov(r13, qword_ptr(rdi + 8))),
            "a table"
        );
        assert!(!loop_of_calls(|a| a.mov(r13, rdi)), "an argument");
        assert!(!loop_of_calls(|a| a.db(&relative(0x8d, DATA))));
    }
}
