//! From which registers a function takes its arguments.

use crate::dataflow::{DataFlow, Locations};
use crate::flow::ControlFlow;
use crate::instruction::{Flow, Instruction};

/// What a function takes from its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryReads {
    /// Registers whose value at the entry is read before it is written, on some path.
    pub reads: Locations,
    /// Jumps to addresses outside: the target, and what is written on all paths there. What is read
    /// behind them is not in [`Self::reads`].
    pub exits: Vec<(u64, Locations)>,
}

/// What a function takes from its caller. What a call inside reads is not known and not counted; what
/// it may change by the System V calling convention for x86-64 is written after it. Behind a jump to
/// an address that is not known everything is read. The rest of a register of which an instruction writes a part is no
/// argument: compilers put a condition, or the upper half of a vector, into one that nothing has written. `data` is of the
/// same instructions as `code`. `never_ran` says of an instruction that nothing jumped there in the runs that the answer
/// is about, nor came there from a jump above that was not taken.
#[must_use]
pub fn entry_reads(
    code: &[Instruction],
    data: &[DataFlow],
    flow: &ControlFlow,
    never_ran: &dyn Fn(&Instruction) -> bool,
) -> EntryReads {
    /// rax, rcx, rdx, rsi, rdi, r8 to r11, and all vector and mask registers.
    const CHANGED_BY_CALLS: Locations = 0b1111_1100_0111 | ((1 << 40) - 1) << 16;
    let mut found = EntryReads::default();
    if code.len() != data.len() || flow.blocks().is_empty() {
        return found;
    }
    // What is written on all paths to the start of each block that was reached.
    let mut written: Vec<Option<Locations>> = vec![None; flow.blocks().len()];
    let inside = code.first().map_or(0, |one| one.address)..code.last().map_or(0, Instruction::end);
    let Some(first) = flow.block_of(0) else {
        return found;
    };
    // Padding in front of an aligned block is never executed: nothing comes through it.
    let is_padding = |block: u32| {
        let range = flow.blocks()[block as usize].instructions.clone();
        let mut all = code[range.start as usize..range.end as usize].iter();
        all.all(|one| one.mnemonic == "nop")
    };
    // What comes from elsewhere (switch tables, landing pads) may come with nothing written.
    let from_elsewhere = (0..flow.blocks().len() as u32).filter(|&block| {
        block == first || !flow.blocks()[block as usize].known_entry && !is_padding(block)
    });
    let mut work: Vec<u32> = from_elsewhere.collect();
    for &block in &work {
        written[block as usize] = Some(0);
    }
    while let Some(block) = work.pop() {
        let mut known = written[block as usize].unwrap_or(0);
        let range = flow.blocks()[block as usize].instructions.clone();
        for index in range.start as usize..range.end as usize {
            let one = &data[index];
            found.reads |= (one.address_reads | one.data_reads & !one.kept) & !known;
            known |= one.writes;
            match code[index].flow {
                Flow::Call(_) | Flow::IndirectCall => known |= CHANGED_BY_CALLS,
                Flow::IndirectJump if flow.blocks()[block as usize].successors.is_empty() => {
                    found.reads |= !known;
                }
                Flow::Jump(to) | Flow::CondJump(to) if !inside.contains(&to) => {
                    match found.exits.iter_mut().find(|exit| exit.0 == to) {
                        Some(exit) => exit.1 &= known,
                        None => found.exits.push((to, known)),
                    }
                }
                _ => {}
            }
        }
        for &next in &flow.blocks()[block as usize].successors {
            let start = flow.blocks()[next as usize].instructions.start as usize;
            // A block that the code above runs into does not begin by a jump.
            let is_jumped_to = start > 0 && is_jump(code[start - 1].flow);
            if is_jumped_to && never_ran(&code[start]) {
                continue;
            }
            let before = written[next as usize];
            let both = before.map_or(known, |before| before & known);
            if before != Some(both) {
                written[next as usize] = Some(both);
                work.push(next);
            }
        }
    }
    found
}

fn is_jump(flow: Flow) -> bool {
    matches!(
        flow,
        Flow::Jump(_) | Flow::CondJump(_) | Flow::IndirectJump | Flow::Return
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::Architecture;

    use crate::{Disassembler, Syntax, data_flow};

    const RSI: Locations = 1 << 6;
    const RDI: Locations = 1 << 7;
    const XMM0: Locations = 1 << 16;

    fn of(bytes: &[u8]) -> Locations {
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0x1000, &|_| None);
        let flow = ControlFlow::build(&code);
        entry_reads(
            &code,
            &data_flow(Architecture::X86_64, bytes, 0x1000).expect("x86-64"),
            &flow,
            &|_| false,
        )
        .reads
    }

    #[test]
    fn read_on_one_path_is_an_argument_and_read_after_a_write_is_not() {
        // test edi, edi; je +3; mov rax, rsi; ret (je goes to the ret)
        let found = of(&[0x85, 0xff, 0x74, 0x03, 0x48, 0x89, 0xf0, 0xc3]);
        assert!(found & RDI != 0 && found & RSI != 0);
        // mov rsi, rdi; mov rax, rsi; ret
        let found = of(&[0x48, 0x89, 0xfe, 0x48, 0x89, 0xf0, 0xc3]);
        assert!(found & RDI != 0 && found & RSI == 0);
    }

    #[test]
    fn floating_point_argument_is_seen_and_a_cleared_register_is_not() {
        // addsd xmm0, xmm0; ret
        assert!(of(&[0xf2, 0x0f, 0x58, 0xc0, 0xc3]) & XMM0 != 0);
        // pxor xmm0, xmm0; addsd xmm0, xmm0; ret
        assert!(of(&[0x66, 0x0f, 0xef, 0xc0, 0xf2, 0x0f, 0x58, 0xc0, 0xc3]) & XMM0 == 0);
    }

    #[test]
    fn rest_of_a_register_that_is_kept_is_no_argument() {
        // test edi, edi; sete sil; movzx eax, sil; ret
        let condition = [
            0x85, 0xff, 0x40, 0x0f, 0x94, 0xc6, 0x40, 0x0f, 0xb6, 0xc6, 0xc3,
        ];
        assert_eq!(of(&condition) & (RDI | RSI), RDI);
        // or sil, dil; ret
        assert!(of(&[0x40, 0x08, 0xfe, 0xc3]) & RSI != 0);
        // movhlps xmm1, xmm0; ret
        assert_eq!(of(&[0x0f, 0x12, 0xc8, 0xc3]) & (XMM0 | XMM0 << 1), XMM0);
        // movhlps xmm0, xmm0; ret
        assert!(of(&[0x0f, 0x12, 0xc0, 0xc3]) & XMM0 != 0);
        // cvtsi2sd xmm0, edi; ret
        assert_eq!(of(&[0xf2, 0x0f, 0x2a, 0xc7, 0xc3]) & (RDI | XMM0), RDI);
    }

    #[test]
    fn way_that_nothing_took_hands_nothing_on() {
        // test edi, edi; je +1; ret; jmp +0x100
        let bytes = [0x85, 0xff, 0x74, 0x01, 0xc3, 0xe9, 0, 1, 0, 0];
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&bytes, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, &bytes, 0x1000).expect("x86-64");
        let flow = ControlFlow::build(&code);
        let exits = |never_ran: &dyn Fn(&Instruction) -> bool| {
            entry_reads(&code, &data, &flow, never_ran).exits.len()
        };
        assert_eq!(exits(&|_| false), 1);
        assert_eq!(exits(&|one| one.address == 0x1005), 0);
        // Code that the code above runs into does not begin by a jump: nop; test edi, edi; jne -5; jmp +0x100
        let bytes = [0x90, 0x85, 0xff, 0x75, 0xfb, 0xe9, 0, 1, 0, 0];
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&bytes, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, &bytes, 0x1000).expect("x86-64");
        let flow = ControlFlow::build(&code);
        let found = entry_reads(&code, &data, &flow, &|one| one.address == 0x1001);
        assert!(found.reads & RDI != 0 && found.exits.len() == 1);
    }

    #[test]
    fn tail_jump_hands_on_what_was_not_written() {
        // xor esi, esi; jmp +0x100
        let bytes = [0x31, 0xf6, 0xe9, 0, 1, 0, 0];
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&bytes, 0x1000, &|_| None);
        let flow = ControlFlow::build(&code);
        let found = entry_reads(
            &code,
            &data_flow(Architecture::X86_64, &bytes, 0x1000).expect("x86-64"),
            &flow,
            &|_| false,
        );
        let (target, written) = found.exits[0];
        assert!(target == 0x1107 && written & RSI != 0 && written & RDI == 0);
        // jmp rax
        assert!(of(&[0xff, 0xe0]) & RDI != 0);
    }

    #[test]
    fn jump_through_a_table_reads_what_is_read_where_it_went() {
        // jmp rax; mov rax, rsi; ret; mov rax, rdx; ret
        let bytes = [0xff, 0xe0, 0x48, 0x89, 0xf0, 0xc3, 0x48, 0x89, 0xd0, 0xc3];
        let code = Disassembler::x86_64(Syntax::Intel).disassemble(&bytes, 0x1000, &|_| None);
        let data = data_flow(Architecture::X86_64, &bytes, 0x1000).expect("x86-64");
        let never = |_: &Instruction| false;
        let of = |targets: &[u64], never_ran: &dyn Fn(&Instruction) -> bool| {
            let flow = ControlFlow::build_with(&code, |_| targets.to_vec(), never, never_ran);
            entry_reads(&code, &data, &flow, never_ran).reads
        };
        let found = of(&[0x1002], &|one| one.address >= 0x1006);
        assert!(found & RSI != 0 && found & RDI == 0 && found & XMM0 == 0);
        assert!(of(&[], &never) & XMM0 != 0);
    }

    #[test]
    fn padding_in_front_of_a_block_is_not_a_way_into_it() {
        // xor esi, esi; test edi, edi; jne +4; ret; nop (3 bytes); mov rax, rsi; ret
        let padded = [
            0x31, 0xf6, 0x85, 0xff, 0x75, 0x04, 0xc3, 0x0f, 0x1f, 0x00, 0x48, 0x89, 0xf0, 0xc3,
        ];
        assert_eq!(of(&padded) & (RSI | RDI), RDI);
        // The same with code that a table may lead to: xchg rdx, rax in place of the padding.
        let mut reached = padded;
        reached[7..10].copy_from_slice(&[0x48, 0x87, 0xd0]);
        assert_eq!(of(&reached) & (RSI | RDI), RSI | RDI);
    }

    #[test]
    fn what_a_call_leaves_behind_is_not_an_argument() {
        // call +0; mov rax, rdi; ret
        assert!(of(&[0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xf8, 0xc3]) & RDI == 0);
    }
}
