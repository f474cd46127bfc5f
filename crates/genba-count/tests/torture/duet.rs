//! Programs with a duet: blocks exist twice, and on one side instructions at random places are replaced by
//! code that changes a register, puts it right and executes them. Threads change sides at random moments. Of
//! each instruction of that code the engine must know what the program's state is.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use genba_count::CountError;
use genba_count::native::{
    CodeEdit, DuetRequest, EditedBranch, Replicas, SavedRegister, Side, run_duet, slot_offset,
};
use genba_run::{Cancel, Launcher};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use object::{Object, ObjectSection};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::check::{self, Behaviour};
use crate::programs::{Expect, Program};

/// Instructions that are replaced, as many as the engine takes.
const EDITS: usize = 64;

/// Blocks that existed twice, of all programs.
pub static BLOCKS: AtomicU32 = AtomicU32::new(0);

/// The word in which the register is kept.
const SLOT: u8 = 62;

/// Whether an instruction is one that the program goes on from, at the next.
fn can_be_replaced(instruction: &Instruction) -> bool {
    let code = instruction.code();
    instruction.flow_control() == FlowControl::Next
        && !matches!(code, Code::INVALID | Code::Syscall)
        && !instruction.is_privileged()
}

/// `rax` kept, changed and put right, then the instruction.
fn edit(instruction: &Instruction, bytes: &[u8], garbage: u32) -> CodeEdit {
    let word = slot_offset(SLOT).to_le_bytes();
    let mut code = [&[0x65, 0x48, 0x89, 0x04, 0x25], &word[..]].concat();
    code.extend([&[0xB8], &garbage.to_le_bytes()[..]].concat());
    let begin = code.len() as u8;
    code.extend([&[0x65, 0x48, 0x8B, 0x04, 0x25], &word[..]].concat());
    let end = code.len() as u8;
    code.extend(bytes);
    CodeEdit {
        address: instruction.ip(),
        original: bytes.to_vec(),
        code,
        original_at: Some(end),
        without_lock: false,
        group: 0,
        executed_at: None,
        saved: vec![SavedRegister {
            begin,
            end,
            register: 0,
            slot: SLOT,
        }],
        side: Side::Edited,
        branch: EditedBranch::AsIs,
    }
}

/// Edits of different instructions of a program.
fn edits(path: &Path, random: &mut Xoshiro256PlusPlus) -> Vec<CodeEdit> {
    let bytes = std::fs::read(path).expect("a program");
    let file = object::File::parse(bytes.as_slice()).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let (code, begin) = (text.data().expect("code"), text.address());
    let decoder = Decoder::with_ip(64, code, begin, DecoderOptions::NONE);
    let mut all: Vec<Instruction> = decoder.into_iter().filter(can_be_replaced).collect();
    let mut found = Vec::new();
    while found.len() < EDITS && !all.is_empty() {
        let one = all.swap_remove(random.random_range(0..all.len()));
        let at = (one.ip() - begin) as usize;
        found.push(edit(&one, &code[at..at + one.len()], random.random()));
    }
    found
}

/// Runs it with a duet; the differences, a sentence each. Runs of even numbers stay on the changed side, others
/// change sides, half of these in forked copies that end with their windows.
pub fn run(
    directory: &Path,
    path: &Path,
    program: &Program,
    native: &Behaviour,
    run: u64,
) -> Vec<String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(run);
    let path = std::fs::canonicalize(path).expect("a path");
    let request = DuetRequest {
        spec: check::request(directory, &path, program, false, false).spec,
        module: path.display().to_string(),
        edits: edits(&path, &mut random),
        edited: true,
        single_thread: false,
        replicas: (run % 4 == 3).then(Replicas::default),
        // As often as the kernel's timers allow, or never.
        window: Duration::from_nanos(run % 2),
        // Without windows, the side.
        seed: 2 * run + 1,
    };
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    match run_duet(&request, &mut launcher, &cancel) {
        Ok(run) => {
            BLOCKS.fetch_add(run.blocks, Ordering::Relaxed);
            let here =
                check::behaviour(directory, check::status(program, run.finished.record.exit));
            check::difference(native, &here)
        }
        Err(CountError::Unable { .. }) if program.expect != Expect::Same => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}
