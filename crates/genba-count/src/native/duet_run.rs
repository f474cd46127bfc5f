//! Runs a command under the engine with a duet: blocks with edits exist twice, as they are and edited,
//! and each thread goes from one to the other.

use std::path::Path;
use std::time::Duration;

use genba_engine::count_file_layout::{STATUS_FAILED, STATUS_REFUSED, TRANSFERS_NONE, path_hash};
use genba_engine::duet_layout::{
    self, BRANCH_ALWAYS, BRANCH_AS_IS, BRANCH_IF, BRANCH_NEVER, DuetParameters, EDIT_CAPACITY,
    EDIT_CODE_BYTES, Edit, NOT_CONTAINED, OPEN, RESTORE_CAPACITY, Restore,
};
use genba_engine::runtime::bursts::BurstParameters;
use genba_engine::runtime::replica;
use genba_run::{Cancel, CommandSpec, Finished, Launcher};

use super::count_file::Counts;
use super::duet_windows::{DuetFile, DuetWindow};
use super::inject::EngineOptions;
use super::{Native, failed, refuse, run};
use crate::elf_code::ElfCode;
use crate::{CountError, CountRequest, Engine, Transfers};

/// A register of the program that a part of an edit has saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedRegister {
    /// Offset in the code of the first instruction that finds it changed.
    pub begin: u8,
    /// Offset after the last; [`SavedRegister::TO_THE_END_OF_THE_GROUP`].
    pub end: u8,
    /// Its number in instructions.
    pub register: u8,
    /// Number of the word of edits that has its value.
    pub slot: u8,
}

impl SavedRegister {
    /// [`Self::end`]: the end of the second edit of the group.
    pub const TO_THE_END_OF_THE_GROUP: u8 = OPEN;
}

/// What replaces an instruction on the edited side. What must hold of it is said in
/// [`genba_engine::duet_layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeEdit {
    /// Address of the instruction in the module.
    pub address: u64,
    /// Its bytes.
    pub original: Vec<u8>,
    /// The code, with the original where it contains it.
    pub code: Vec<u8>,
    /// Offset in the code of the original instruction.
    pub original_at: Option<u8>,
    /// Whether the original instruction has no lock prefix in the code.
    pub without_lock: bool,
    /// Number of its group of two edits that are made only together, in one block; 0 for none.
    pub group: u8,
    /// Offset in the code from which on the instruction has been executed, if not its end.
    pub executed_at: Option<u8>,
    /// Registers that are saved in parts of the code.
    pub saved: Vec<SavedRegister>,
    /// On which side it is made.
    pub side: Side,
    /// Of a conditional jump, which follows the code: when it is taken.
    pub branch: EditedBranch,
}

/// A side of a duet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The code as it is. Only with replicas it has edits.
    AsIs,
    /// The edited one.
    #[default]
    Edited,
}

impl From<Side> for u8 {
    fn from(side: Side) -> Self {
        match side {
            Side::AsIs => 0,
            Side::Edited => 1,
        }
    }
}

/// When an edited conditional jump is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditedBranch {
    /// As in the program.
    #[default]
    AsIs,
    /// Never.
    Never,
    /// Always.
    Always,
    /// By the condition with this number in opcodes.
    If(u8),
}

/// Windows in forked copies of the process, which end with them: the process itself only executes the code as
/// it is, so the other side may compute something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replicas {
    /// Bytes of an entry of the log that edits of the side as it is write, and those of the other read; 0 for none.
    pub log_entry: u64,
    /// Bits of the pattern by which edited branches go.
    pub pattern: u64,
    /// What may differ where both copies of a pair end: a bit for each general register by its number, and
    /// [`Self::PLACE`].
    pub ignored: u64,
}

impl Replicas {
    /// [`Self::ignored`]: the program counter.
    pub const PLACE: u64 = duet_layout::IGNORED_PLACE;
}

/// Offset in the thread's state (`%gs`) of the address of the log's next entry.
pub const LOG_OFFSET: u32 = duet_layout::LOG_OFFSET;
/// Offset there of the bytes from entry to entry.
pub const LOG_STEP_OFFSET: u32 = duet_layout::LOG_STEP_OFFSET;
/// Offset there of the pattern of [`Replicas`].
pub const PATTERN_OFFSET: u32 = duet_layout::PATTERN_OFFSET;

/// A request for a run with a duet.
#[derive(Clone, Debug)]
pub struct DuetRequest {
    /// The command, and how it is run.
    pub spec: CommandSpec,
    /// Path of the module that is edited, as mapped.
    pub module: String,
    /// What is edited.
    pub edits: Vec<CodeEdit>,
    /// Whether edits are made. If not, both sides are the code as it is.
    pub edited: bool,
    /// Whether the edits are right only while there is one thread.
    pub single_thread: bool,
    /// Whether windows are those of forked copies.
    pub replicas: Option<Replicas>,
    /// Mean length of windows, CPU time of a thread. Zero: all threads stay on the side `seed & 1`.
    pub window: Duration,
    /// Seed of lengths and order.
    pub seed: u64,
}

/// A run with a duet.
#[derive(Clone, Debug)]
pub struct DuetRun {
    /// How it ended, what it took, and its output where it was counted.
    pub finished: Finished,
    /// The windows, by process and in the order of their ends.
    pub windows: Vec<DuetWindow>,
    /// Number of blocks that were laid down twice.
    pub blocks: u32,
    /// Number of edits that were not made because the code was another.
    pub foreign: u32,
    /// Number of pairs of replicas that were not noted: one died, or they did not do the same.
    pub failed_replicas: u32,
    /// Why there were no replicas, where that is known.
    pub no_replicas: Option<NoReplicas>,
}

/// Why there were no replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReplicas {
    /// The kernel has no filters of system calls.
    Unconfined,
    /// The program had more than one thread.
    Threads,
    /// The kernel created no process.
    NoFork,
}

/// Runs a command with a duet.
///
/// # Errors
/// If the engine cannot run the command, an edit is not one that it can make, or the command cannot be
/// started.
pub fn run_duet(
    request: &DuetRequest,
    launcher: &mut Launcher,
    cancel: &Cancel,
) -> Result<DuetRun, CountError> {
    let counted = CountRequest {
        spec: request.spec.clone(),
        transfers: Transfers::None,
        children: false,
        observe: None,
        native_exit: None,
    };
    Native.check(&counted)?;
    let edits = engine_edits(request).map_err(|reason| refuse(&counted, reason))?;
    let options = EngineOptions {
        children: false,
        transfers: TRANSFERS_NONE,
        code_ranges: Vec::new(),
        bursts: BurstParameters::default(),
        duet: DuetParameters {
            plain: 1,
            edited: request.edited.into(),
            window_nanoseconds: u64::try_from(request.window.as_nanos()).unwrap_or(u64::MAX >> 1),
            seed: request.seed,
            single_thread: request.single_thread.into(),
            replicas: request.replicas.is_some().into(),
            log_entry: request.replicas.map_or(0, |one| one.log_entry),
            pattern: request.replicas.map_or(0, |one| one.pattern),
            ignored: request.replicas.map_or(0, |one| one.ignored),
        },
        edits,
    };
    let (finished, followed) = run(&counted, &options, launcher, cancel)?;
    if let Some(reason) = followed.refused {
        return Err(refuse(&counted, reason));
    }
    let mut found = DuetRun {
        finished,
        windows: Vec::new(),
        blocks: 0,
        foreign: 0,
        failed_replicas: 0,
        no_replicas: None,
    };
    for (index, process) in (0u64..).zip(&followed.processes) {
        let counts = Counts::read(&process.file, false)
            .map_err(|error| failed(&counted, error.to_string()))?;
        match counts.status {
            STATUS_REFUSED => return Err(refuse(&counted, counts.detail)),
            STATUS_FAILED => return Err(failed(&counted, counts.detail)),
            _ => {}
        }
        let file =
            DuetFile::read(&process.file).map_err(|error| failed(&counted, error.to_string()))?;
        let windows = file.windows.into_iter().map(|window| DuetWindow {
            thread: window.thread | index << 32,
            ..window
        });
        found.windows.extend(windows);
        found.blocks += file.blocks;
        found.foreign += file.foreign;
        found.failed_replicas += file.failed_replicas;
        found.no_replicas = found.no_replicas.or(no_replicas(file.replica_notes));
    }
    Ok(found)
}

fn no_replicas(notes: u32) -> Option<NoReplicas> {
    let all = [
        (replica::NOTE_UNCONFINED, NoReplicas::Unconfined),
        (replica::NOTE_THREADS, NoReplicas::Threads),
        (replica::NOTE_NO_FORK, NoReplicas::NoFork),
    ];
    let mut noted = all.into_iter().filter(|&(bit, _)| notes & bit != 0);
    noted.next().map(|(_, why)| why)
}

/// Returns the edits of a request as the engine reads them; a sentence if one cannot be made.
fn engine_edits(request: &DuetRequest) -> Result<Vec<Edit>, String> {
    let module = &request.module;
    let code = ElfCode::read(Path::new(module))
        .ok_or_else(|| format!("{module} is missing or not an ELF file"))?;
    if request.edits.len() > EDIT_CAPACITY as usize {
        return Err(format!(
            "{} instructions are too many to edit, at most {EDIT_CAPACITY}",
            request.edits.len()
        ));
    }
    let path = path_hash(module.as_bytes());
    let edit = |edit: &CodeEdit| {
        let offset = code.offset_of(edit.address);
        let there = code.code_at(edit.address);
        match offset.filter(|_| there.is_some_and(|code| code.starts_with(&edit.original))) {
            Some(offset) => engine_edit(edit, path, offset)
                .ok_or_else(|| format!("the edit at {:#x} of {module} is too long", edit.address)),
            None => Err(format!(
                "{module} has another instruction at {:#x} than when it was measured",
                edit.address
            )),
        }
    };
    request.edits.iter().map(edit).collect()
}

fn engine_edit(edit: &CodeEdit, path: u64, offset: u64) -> Option<Edit> {
    let own = match edit.original_at {
        Some(_) => edit.original.len(),
        None => 0,
    };
    let mut without = edit.code.clone();
    if let Some(at) = edit.original_at {
        let at = usize::from(at);
        if edit.code.get(at..at + own) != Some(&edit.original[..]) {
            return None;
        }
        without.drain(at..at + own);
    }
    let mut found = Edit {
        path,
        offset,
        original: [0; 15],
        original_length: edit.original.len() as u8,
        code_length: u8::try_from(without.len()).ok()?,
        original_at: edit.original_at.unwrap_or(NOT_CONTAINED),
        restores: edit.saved.len() as u8,
        without_lock: edit.without_lock.into(),
        group: edit.group,
        executed_at: edit.executed_at.unwrap_or(NOT_CONTAINED),
        side: edit.side.into(),
        branch: match edit.branch {
            EditedBranch::AsIs => BRANCH_AS_IS,
            EditedBranch::Never => BRANCH_NEVER,
            EditedBranch::Always => BRANCH_ALWAYS,
            EditedBranch::If(condition) => BRANCH_IF | condition & 15,
        },
        code: [0; EDIT_CODE_BYTES],
        restore: [Restore::default(); RESTORE_CAPACITY],
    };
    let saved = edit.saved.iter().map(|saved| Restore {
        begin: saved.begin,
        end: saved.end,
        register: saved.register,
        slot: saved.slot,
    });
    found
        .original
        .get_mut(..edit.original.len())?
        .copy_from_slice(&edit.original);
    found
        .code
        .get_mut(..without.len())?
        .copy_from_slice(&without);
    let to = found.restore.get_mut(..edit.saved.len())?;
    to.iter_mut().zip(saved).for_each(|(to, saved)| *to = saved);
    Some(found)
}
