//! Kinds of x86-64 instructions, as far as edges need them.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

/// Maximum size of an instruction.
const MAX_INSTRUCTION_BYTES: usize = 15;

/// What an instruction does to the control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A call; its target if it is direct.
    Call(Option<u64>),
    /// An unconditional jump; its target if it is direct.
    Jump(Option<u64>),
    /// A conditional jump (also `loop`, `jrcxz`), with its target.
    Branch(u64),
    /// A string instruction with a repeat prefix.
    Repeat,
    /// Anything else.
    Other,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What it does to the control flow.
    pub flow: Flow,
    /// Address of the next instruction.
    pub next: u64,
    /// Whether it is a jump through memory relative to rip, such as a slot of the global offset
    /// table.
    pub through_slot: bool,
}

/// Decodes the first instruction of `code`, which is at `address`; `None` if it is invalid.
#[must_use]
pub fn decode(code: &[u8], address: u64) -> Option<Decoded> {
    let code = code.get(..MAX_INSTRUCTION_BYTES).unwrap_or(code);
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        return None;
    }
    let direct = || {
        matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
        .then(|| instruction.near_branch_target())
    };
    let flow = match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => Flow::Call(direct()),
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => Flow::Jump(direct()),
        FlowControl::ConditionalBranch => Flow::Branch(instruction.near_branch_target()),
        _ if repeats(&instruction) => Flow::Repeat,
        _ => Flow::Other,
    };
    let through_slot =
        matches!(flow, Flow::Jump(None)) && instruction.memory_base() == Register::RIP;
    Some(Decoded {
        flow,
        next: instruction.next_ip(),
        through_slot,
    })
}

/// Whether `code` begins with a direct call or unconditional jump, by its opcode alone: much faster than
/// decoding it, and true for all that decode as one.
#[must_use]
pub fn looks_direct(code: &[u8]) -> bool {
    let is_prefix = |byte: u8| {
        matches!(
            byte,
            0x26 | 0x2E | 0x36 | 0x3E | 0x40..=0x4F | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3
        )
    };
    let mut bytes = code.iter().take(MAX_INSTRUCTION_BYTES);
    let opcode = bytes.find(|byte| !is_prefix(**byte));
    matches!(opcode, Some(0xE8 | 0xE9 | 0xEB))
}

/// Whether an instruction is repeated. `f3` and `f2` before anything but a string instruction have
/// another meaning, or none.
fn repeats(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

/// Returns the address of the indirect jump of the PLT stub at `address`. A stub is `[endbr64]
/// [bnd] jmp *slot(%rip)`.
#[must_use]
pub fn stub(code: &[u8], address: u64) -> Option<u64> {
    let first = decode(code, address)?;
    if first.through_slot {
        return Some(address);
    }
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let rest = code.strip_prefix(&ENDBR64)?;
    let second = decode(rest, first.next)?;
    second.through_slot.then_some(first.next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_that_decodes_as_direct_looks_direct(
            prefixes in prop::collection::vec(prop::sample::select(vec![0x66u8, 0x67, 0x2E, 0x3E, 0x48, 0xF2, 0xF3]), 0..4),
            code in prop::collection::vec(any::<u8>(), 1..12),
            opcode in prop::option::of(prop::sample::select(vec![0xE8u8, 0xE9, 0xEB])),
        ) {
            let code: Vec<u8> = prefixes.into_iter().chain(opcode).chain(code).collect();
            let flow = decode(&code, 0x1000).map(|one| one.flow);
            if matches!(flow, Some(Flow::Call(Some(_)) | Flow::Jump(Some(_)))) {
                prop_assert!(looks_direct(&code));
            }
        }
    }

    fn flow(code: &[u8]) -> Flow {
        decode(code, 0x1000).expect("an instruction").flow
    }

    #[test]
    fn control_flow_of_instructions_is_recognised() {
        assert_eq!(flow(&[0xe8, 0, 0, 0, 0]), Flow::Call(Some(0x1005)));
        assert_eq!(flow(&[0xff, 0xd0]), Flow::Call(None)); // call *%rax
        assert_eq!(flow(&[0xeb, 0xfe]), Flow::Jump(Some(0x1000)));
        assert_eq!(flow(&[0x3e, 0xff, 0xe0]), Flow::Jump(None)); // notrack jmp *%rax
        assert_eq!(flow(&[0x75, 0x10]), Flow::Branch(0x1012));
        assert_eq!(flow(&[0xe2, 0xfe]), Flow::Branch(0x1000)); // loop
        assert_eq!(flow(&[0xf3, 0xaa]), Flow::Repeat); // rep stosb
        assert_eq!(flow(&[0xf2, 0xae]), Flow::Repeat); // repne scasb
        assert_eq!(flow(&[0xf3, 0xc3]), Flow::Other); // rep ret
        assert_eq!(flow(&[0xf3, 0x90]), Flow::Other); // pause
        assert_eq!(flow(&[0xaa]), Flow::Other); // stosb
        assert_eq!(flow(&[0xf3, 0x0f, 0x10, 0xc1]), Flow::Other); // movss
    }

    #[test]
    fn stubs_are_recognised_with_and_without_endbr64() {
        let plain = [0xff, 0x25, 0x10, 0, 0, 0];
        assert_eq!(stub(&plain, 0x1000), Some(0x1000));
        let mut ibt = vec![0xf3, 0x0f, 0x1e, 0xfa, 0xf2];
        ibt.extend(plain);
        assert_eq!(stub(&ibt, 0x1000), Some(0x1004));
        assert_eq!(stub(&[0xff, 0xe0], 0x1000), None);
        assert_eq!(stub(&[0x90, 0xff, 0x25, 0, 0, 0, 0], 0x1000), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(code in prop::collection::vec(any::<u8>(), 0..32), address: u64) {
            let _ = (decode(&code, address), stub(&code, address));
        }
    }
}
