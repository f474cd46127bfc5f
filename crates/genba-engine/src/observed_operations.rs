//! What a burst records of an instruction's memory accesses: addresses, sizes, and whether memory
//! is read or written.

use alloc::vec::Vec;

use iced_x86::{
    CodeSize, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

use crate::burst_layout::Operation;
use crate::liveness::general;

/// Maximum number of memory accesses of an instruction that are recorded.
const MAX_OPERATIONS: usize = 4;

/// The address of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Number of the general register that it is relative to.
    pub base: Option<u8>,
    /// Number of the general register that is scaled.
    pub index: Option<u8>,
    /// Scale of the index: 1, 2, 4 or 8.
    pub scale: u8,
    /// Displacement; the address itself without base and index.
    pub displacement: u64,
    /// Whether it is relative to the base of %fs.
    pub fs: bool,
    /// Whether it is cut to 32 bits.
    pub narrow: bool,
}

/// A memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOperation {
    /// What is recorded.
    pub operation: Operation,
    /// How its address is computed.
    pub address: Address,
    /// Number of bytes; of one element for repeated string instructions.
    pub size: u16,
}

/// Returns the memory accesses of an instruction that are recorded, as they are before it is
/// executed. Not recorded are those of several addresses at once (gather, scatter), of bits beyond
/// the operand (`bts` with a register), and of state components (`xsave`).
#[must_use]
pub fn memory_operations(
    instruction: &Instruction,
    factory: &mut InstructionInfoFactory,
) -> Vec<MemoryOperation> {
    let bits = matches!(
        instruction.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    if bits && instruction.op1_kind() == OpKind::Register {
        return Vec::new();
    }
    let repeated = instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
    let popped_to_memory =
        instruction.mnemonic() == Mnemonic::Pop && instruction.op0_kind() == OpKind::Memory;
    let mut found = Vec::new();
    for used in factory.info(instruction).used_memory() {
        let Some(operation) = operation(used.access(), repeated) else {
            continue;
        };
        let size = match repeated {
            true => instruction.memory_size().size(),
            false => used.memory_size().size(),
        };
        let Some(address) = address(used) else {
            continue;
        };
        // Its address is computed after rsp was incremented.
        let after_increment = popped_to_memory
            && operation == Operation::Store
            && used.base().full_register() == Register::RSP;
        if size == 0 || after_increment || found.len() == MAX_OPERATIONS {
            continue;
        }
        let Ok(size) = u16::try_from(size) else {
            continue;
        };
        found.push(MemoryOperation {
            operation,
            address,
            size,
        });
    }
    let is_load =
        |found: &MemoryOperation| matches!(found.operation, Operation::Load | Operation::LoadRange);
    // In the order of the accesses: an instruction reads before it writes.
    found.sort_by_key(|found| !is_load(found));
    found
}

fn operation(access: OpAccess, repeated: bool) -> Option<Operation> {
    match access {
        OpAccess::Read | OpAccess::CondRead if repeated => Some(Operation::LoadRange),
        OpAccess::Read | OpAccess::CondRead => Some(Operation::Load),
        OpAccess::None | OpAccess::NoMemAccess => None,
        _ if repeated => Some(Operation::StoreRange),
        OpAccess::Write | OpAccess::CondWrite => Some(Operation::Store),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Operation::Update),
    }
}

/// Returns the address of a memory access, if it is one that `lea` can compute.
fn address(used: &UsedMemory) -> Option<Address> {
    if used.vsib_size() != 0 {
        return None;
    }
    let number = |register: Register| match register {
        Register::None => Some(None),
        // The table index of `xlat` is a byte.
        _ if register.size() < 4 => None,
        _ => general(register).map(Some),
    };
    let (base, index) = (number(used.base())?, number(used.index())?);
    Some(Address {
        base,
        index,
        scale: u8::try_from(used.scale()).ok()?,
        displacement: used.displacement(),
        fs: used.segment() == Register::FS,
        narrow: used.address_size() == CodeSize::Code32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn of(code: &[u8]) -> Vec<(Operation, u16, Address)> {
        let instruction = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
        assert_eq!(instruction.len(), code.len(), "{code:x?}");
        memory_operations(&instruction, &mut InstructionInfoFactory::new())
            .into_iter()
            .map(|found| (found.operation, found.size, found.address))
            .collect()
    }

    fn at(base: u8, displacement: i64) -> Address {
        Address {
            base: Some(base),
            index: None,
            scale: 1,
            displacement: displacement as u64,
            fs: false,
            narrow: false,
        }
    }

    #[test]
    fn loads_stores_and_updates_are_distinguished() {
        // mov eax, [rdi+4]; mov [rdi+4], eax; add [rdi+4], eax; lea; cmp [rdi], eax
        assert_eq!(of(&[0x8B, 0x47, 4]), [(Operation::Load, 4, at(7, 4))]);
        assert_eq!(of(&[0x89, 0x47, 4]), [(Operation::Store, 4, at(7, 4))]);
        assert_eq!(of(&[0x01, 0x47, 4]), [(Operation::Update, 4, at(7, 4))]);
        assert_eq!(of(&[0x48, 0x8D, 0x47, 4]), []);
        assert_eq!(of(&[0x39, 0x07]), [(Operation::Load, 4, at(7, 0))]);
    }

    #[test]
    fn stack_accesses_are_relative_to_rsp_before_the_instruction() {
        assert_eq!(of(&[0x50]), [(Operation::Store, 8, at(4, -8))]); // push rax
        assert_eq!(of(&[0x58]), [(Operation::Load, 8, at(4, 0))]); // pop rax
        assert_eq!(of(&[0xC3]), [(Operation::Load, 8, at(4, 0))]); // ret
        assert_eq!(of(&[0xC9]), [(Operation::Load, 8, at(5, 0))]); // leave
        assert_eq!(
            of(&[0xE8, 0, 0, 0, 0]),
            [(Operation::Store, 8, at(4, -8))] // call
        );
    }

    #[test]
    fn addresses_relative_to_rip_are_absolute() {
        let found = of(&[0x48, 0x8B, 0x05, 0, 1, 0, 0]);
        assert_eq!(found[0].2.base, None);
        assert_eq!(found[0].2.displacement, 0x1107);
    }

    #[test]
    fn repeated_string_instructions_are_ranges() {
        let found = of(&[0xF3, 0x48, 0xA5]); // rep movsq
        let kinds: Vec<Operation> = found.iter().map(|found| found.0).collect();
        assert!(kinds.contains(&Operation::LoadRange) && kinds.contains(&Operation::StoreRange));
        assert!(found.iter().all(|found| found.1 == 8));
        assert_eq!(of(&[0x48, 0xA5]).len(), 2);
        assert_eq!(of(&[0x48, 0xA5])[0].0, Operation::Load);
    }

    #[test]
    fn accesses_without_one_plain_address_are_not_recorded() {
        assert_eq!(of(&[0xD7]), []); // xlat
        assert_eq!(of(&[0x48, 0x0F, 0xAB, 0x07]), []); // bts [rdi], rax
        // vpgatherdd xmm0, [rdi+xmm1*4], xmm2
        assert_eq!(of(&[0xC4, 0xE2, 0x69, 0x90, 0x04, 0x8F]), []);
    }
}
