//! A hot function as detectors see it: code, counts, costs, places, calls.

use std::ops::Range;

use genba_code::{BlockId, ControlFlow, DataFlow, Instruction};
use genba_loop_model::LoopAnalysis;
use genba_model::Estimate;
use genba_symbols::{is_script_runtime, is_toolchain_file};

use super::analysis_input::{Place, UserCall};
use super::runtime_services::is_library;
use super::values::Values;

/// Where a call went.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTarget {
    /// Name of the function.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Calls from this site.
    pub count: u64,
    /// Main source file of its translation unit, where debug information names it.
    pub unit: Option<String>,
    /// Its code, instructions: how many there are; 0 if unknown.
    pub size: u32,
    /// Its instructions executed for each call, its callees' not among them.
    pub instructions_per_call: f64,
    /// Whether it calls others in turn, more than rarely.
    pub calls_others: bool,
}

/// A call instruction (or a jump out of the function) with its counted targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSite {
    /// Index of the instruction.
    pub at: usize,
    /// Through a register or memory.
    pub indirect: bool,
    /// Through a stub of the procedure linkage table.
    pub plt: bool,
    /// Targets, most calls first.
    pub targets: Vec<CallTarget>,
}

/// Who called a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Name of the calling function.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Address of the call.
    pub address: u64,
    /// Where the call is in the source.
    pub place: Place,
    /// Calls from there.
    pub count: u64,
    /// Whether it is the user's own code: not of the system's libraries, with lines.
    pub own: bool,
}

/// A function that carries time. The lists that are by instruction have one entry for each of
/// `code`, or are empty where nothing is known.
#[derive(Debug)]
pub struct FunctionInput {
    /// Demangled name without parameters.
    pub function: String,
    /// Path of the module.
    pub module: String,
    /// Address in the module.
    pub address: u64,
    /// Share of all time in the function itself.
    pub share: Estimate,
    /// Counted: how many times it was entered.
    pub calls: Option<u64>,
    /// Instructions.
    pub code: Vec<Instruction>,
    /// Blocks and loops, indirect jumps resolved where they were counted.
    pub flow: ControlFlow,
    /// What each instruction reads and writes.
    pub data: Vec<DataFlow>,
    /// Value numbers of what they read and write.
    pub values: Values,
    /// Share of all time.
    pub heat: Vec<f64>,
    /// Samples by instruction, skid-corrected.
    pub samples: Vec<f64>,
    /// Counted: executions.
    pub counts: Vec<u64>,
    /// Counted: how often a jump was taken.
    pub taken: Vec<Option<u64>>,
    /// Measured ÷ counted: cycles for each execution.
    pub cycles: Vec<Option<Estimate>>,
    /// What holds each loop up, in the order of [`ControlFlow::loops`].
    pub loops: Vec<Option<LoopAnalysis>>,
    /// Where they are in the source.
    pub places: Vec<Place>,
    /// Whether they are of a language's library, inlined into the place that [`Self::places`] has.
    pub of_library: Vec<bool>,
    /// Calls that were made.
    pub call_sites: Vec<CallSite>,
    /// Who called it, most calls first.
    pub callers: Vec<Caller>,
    /// The user's calls that lead to it, through whatever libraries, most calls first.
    pub user_callers: Vec<UserCall>,
    /// Of a function of the C library that scans: the same, through functions of the user's own that hand the
    /// call on.
    pub callers_behind_wrappers: Vec<UserCall>,
    /// Main source file of its translation unit.
    pub unit: Option<String>,
    /// Compiler and options, where debug information says so.
    pub producer: Option<String>,
    /// Whether it is the user's own code: not of the system's libraries.
    pub own: bool,
    /// Whether executions were counted.
    pub counted: bool,
}

impl FunctionInput {
    /// Whether it is code that the user writes: of their own module, with most of its time in
    /// their own files, or without line information and a library's name.
    #[must_use]
    pub fn is_users(&self) -> bool {
        let file_of = |place: &Place| place.file.as_deref().map(|f| !is_toolchain_file(f));
        let (mut users, mut others) = (0.0, 0.0);
        for (place, heat) in self.places.iter().zip(&self.heat) {
            match file_of(place) {
                Some(true) => users += heat,
                Some(false) => others += heat,
                None => {}
            }
        }
        self.can_be_changed() && (!self.has_lines() || users > 0.0 && users >= others)
    }

    /// Whether it is code that whoever builds its module could change: of no library of the system,
    /// and without line information of none that was linked in, by its name, nor of an interpreter whose
    /// scripts are read with their own lines.
    #[must_use]
    pub fn can_be_changed(&self) -> bool {
        let linker = || self.function.ends_with("@plt") || self.function == "_start";
        let library = || is_library(&self.function) || linker() || is_script_runtime(&self.module);
        self.own && (self.has_lines() || !library())
    }

    /// Whether all of it comes from a library's headers: an instance of a template of the library's.
    #[must_use]
    pub fn is_library_template(&self) -> bool {
        !self.of_library.is_empty() && self.of_library.iter().all(|&one| one)
    }

    /// Whether debug information says where its instructions come from.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.places.iter().any(|place| place.line.is_some())
    }

    /// Bytes that all executions of an instruction store (or load), but for those of the frame.
    pub(crate) fn bytes_moved(&self, at: usize, stores: bool) -> f64 {
        let accesses = self.data[at].memory.iter();
        let of_kind =
            accesses.filter(|one| !one.stack && if stores { one.writes } else { one.reads });
        let each: u64 = of_kind.map(|one| u64::from(one.bytes)).sum();
        each as f64 * self.counts[at] as f64
    }

    /// Share of all time that a set of instructions takes.
    pub fn heat_of(&self, instructions: impl IntoIterator<Item = usize>) -> f64 {
        instructions
            .into_iter()
            .filter_map(|index| self.heat.get(index))
            .sum()
    }

    /// Instructions of a loop, those of loops inside it among them, in address order.
    #[must_use]
    pub fn loop_instructions(&self, index: u32) -> Vec<usize> {
        // Blocks are in address order, and far fewer than instructions.
        let mut blocks = self.flow.loop_blocks(index).to_vec();
        blocks.sort_unstable();
        blocks.into_iter().flat_map(|b| self.of_block(b)).collect()
    }

    fn of_block(&self, block: BlockId) -> Range<usize> {
        let range = &self.flow.blocks()[block as usize].instructions;
        range.start as usize..range.end as usize
    }

    /// Whether a loop has no loop inside it.
    #[must_use]
    pub fn is_innermost(&self, index: u32) -> bool {
        !self.flow.loops().iter().any(|l| l.parent == Some(index))
    }

    /// Whether a loop is another one or inside it.
    #[must_use]
    pub fn is_loop_within(&self, inner: u32, outer: u32) -> bool {
        let head = self.flow.loops()[inner as usize].head;
        self.flow.loop_blocks(outer).contains(&head)
    }

    /// The innermost loop of an instruction and those around it, inside out.
    pub fn loops_around(&self, instruction: usize) -> impl Iterator<Item = u32> + '_ {
        let first = self.flow.loop_of_instruction(instruction);
        std::iter::successors(first, |&index| self.flow.loops()[index as usize].parent)
    }

    /// Share of all time in a loop.
    #[must_use]
    pub fn loop_heat(&self, index: u32) -> f64 {
        let blocks = self.flow.loop_blocks(index).iter();
        self.heat_of(blocks.flat_map(|&block| self.of_block(block)))
    }
}
