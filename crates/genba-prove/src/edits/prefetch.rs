//! What loads will need later is prefetched: the address some bytes further on, in the direction that the
//! program goes.

use genba_count::native::CodeEdit;
use genba_model::{CodeChange, FindingSite};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, OpKind, Register};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::EditAssembler;

/// Distances that are tried, bytes.
const DISTANCES: [i64; 4] = [256, 1024, 4096, -1024];
/// Loads of a plan at most.
const MAX_LOADS: usize = 8;

pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let loads = site.addresses.iter().filter_map(|&at| code.index(at));
    let loads: Vec<&Instruction> = loads
        .map(|index| &code.instructions()[index])
        .filter(|one| is_load(one))
        .take(MAX_LOADS)
        .collect();
    let plan = |distance| {
        let edits = loads.iter().map(|load| edit(code, load, distance));
        let edits: Result<Vec<_>, IcedError> = edits.collect();
        Ok(Plan::equivalent(CodeChange::Prefetch, edits?))
    };
    DISTANCES.into_iter().map(plan).collect()
}

/// Whether an instruction reads memory at an address in registers.
fn is_load(instruction: &Instruction) -> bool {
    let memory = (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
    let general = |register: Register| register == Register::None || register.is_gpr64();
    memory
        && instruction.memory_base().is_gpr64()
        && general(instruction.memory_index())
        && instruction.segment_prefix() == Register::None
        && instruction.mnemonic() != iced_x86::Mnemonic::Lea
}

fn edit(code: &DecodedCode, load: &Instruction, distance: i64) -> Result<CodeEdit, IcedError> {
    let mut edit = EditAssembler::new(code, load)?;
    let displacement = load.memory_displacement64() as i64;
    let further = displacement.wrapping_add(distance);
    if let Ok(further) = i32::try_from(further) {
        let operand = MemoryOperand::new(
            load.memory_base(),
            load.memory_index(),
            load.memory_index_scale(),
            i64::from(further),
            8,
            false,
            Register::None,
        );
        edit.instruction(Instruction::with1(Code::Prefetcht0_m8, operand)?)?;
    }
    edit.original()?;
    edit.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{site, text};

    #[test]
    fn the_address_further_on_is_prefetched_before_the_load() {
        // mov rax,[rdi+rcx*8+16]; mov rax,[rip]; ret
        let bytes = [
            0x48, 0x8B, 0x44, 0xCF, 0x10, 0x48, 0x8B, 0x05, 0, 0, 0, 0, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1000, 0x1005]), &code).expect("encodes");
        assert_eq!(found.len(), DISTANCES.len());
        assert_eq!(found[0].edits.len(), 1);
        assert_eq!(
            text(&found[0].edits[0]),
            ["prefetcht0 [rdi+rcx*8+110h]", "mov rax,[rdi+rcx*8+10h]"]
        );
    }
}
