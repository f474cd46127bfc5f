//! The stacks of waiting and of running threads, with names.

use std::collections::{HashMap, HashSet};

use genba_code::{RanBefore, Syntax, disassemble};
use genba_model::WaitPlace;
use genba_profile::reader::{Sample, StackId, Tables};
use genba_profile::wait_sampler::{ScriptFrame, ScriptStacks};
use genba_profile::{ReadError, ReadOptions, Recording};
use genba_symbols::{
    KernelSymbols, ModuleId, ModuleKind, RecordedKernel, Symbolizer, is_library_name,
    is_runtime_library, is_script_runtime, is_toolchain_file,
};

/// Most frames of a stack that are named.
const MAX_FRAMES: usize = 64;

/// Longer functions are not decoded; it bounds what a damaged symbol costs.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

/// A frame of a stack with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFrame {
    /// The function, inlined ones included, and its line.
    pub place: WaitPlace,
    /// Whether it is code that the user may change.
    pub own: bool,
    /// Whether it is the kernel's.
    pub kernel: bool,
    /// Whether it is an interpreted function of a script.
    pub script: bool,
}

/// Stacks of samples by thread and time.
#[derive(Debug, Default)]
pub struct Stacks {
    by_sample: HashMap<(i32, u64), u32>,
    /// The third argument of the system call in which a sample was taken.
    third_arguments: HashMap<(i32, u64), u64>,
    stacks: Vec<Vec<NamedFrame>>,
}

impl Stacks {
    /// Reads the stacks of these samples of a recording, with what scripts did at them.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub fn read(
        recording: &Recording,
        wanted: &HashSet<(i32, u64)>,
        scripts: &ScriptStacks,
    ) -> Result<Self, ReadError> {
        /// rdx, which the kernel gives back as it was (x86-64 psABI, appendix A.2.1).
        const THIRD_ARGUMENT: usize = 2;
        let mut found: HashMap<(i32, u64), (StackId, bool)> = HashMap::new();
        let mut third_arguments = HashMap::new();
        let mut sink = |sample: &Sample, _: &Tables| {
            let key = (sample.tid, sample.time);
            if wanted.contains(&key) {
                found.insert(key, (sample.stack, !sample.kernel));
                if let Some(registers) = sample.registers.filter(|_| sample.kernel) {
                    third_arguments.insert(key, registers[THIRD_ARGUMENT]);
                }
            }
        };
        let tables = recording.scan(&ReadOptions::default(), &mut sink)?;
        let kernel = KernelSymbols::of_recording(RecordedKernel {
            release: recording.info().os_release.clone(),
            reference: tables.kernel_reference.clone(),
        });
        let code = Symbolizer::new(tables.modules.clone(), kernel);
        let mut order = ExecutionOrder::default();
        let mut named: HashMap<(StackId, bool, Option<u32>), u32> = HashMap::new();
        let mut stacks = Self {
            third_arguments,
            ..Self::default()
        };
        for (sample, (id, interrupted)) in found {
            let all = &mut stacks.stacks;
            let script = scripts.id(sample);
            let index = *named.entry((id, interrupted, script)).or_insert_with(|| {
                let frames = script.map_or(&[][..], |script| scripts.frames(script));
                let order = interrupted.then_some(&mut order);
                all.push(name(&code, &tables, id, order, frames));
                all.len() as u32 - 1
            });
            stacks.by_sample.insert(sample, index);
        }
        Ok(stacks)
    }

    /// Stacks that nobody recorded.
    #[cfg(test)]
    pub fn synthetic(
        stacks: HashMap<(i32, u64), Vec<NamedFrame>>,
        third_arguments: HashMap<(i32, u64), u64>,
    ) -> Self {
        let mut made = Self {
            third_arguments,
            ..Self::default()
        };
        for (index, (sample, stack)) in (0..).zip(stacks) {
            made.by_sample.insert(sample, index);
            made.stacks.push(stack);
        }
        made
    }

    /// The stack of a sample, innermost frame first; empty if it is not known.
    pub fn get(&self, sample: (i32, u64)) -> &[NamedFrame] {
        self.by_sample
            .get(&sample)
            .map_or(&[], |index| &self.stacks[*index as usize])
    }

    /// The third argument of the system call in which a sample was taken; `None` outside of the kernel.
    pub fn third_argument(&self, sample: (i32, u64)) -> Option<u64> {
        self.third_arguments.get(&sample).copied()
    }

    /// Number of the stack of a sample, the same for all samples with this stack; `None` if it is not
    /// known.
    pub fn number(&self, sample: (i32, u64)) -> Option<u32> {
        self.by_sample.get(&sample).copied()
    }

    /// The stack of this number, innermost frame first; empty for `None`.
    pub fn numbered(&self, number: Option<u32>) -> &[NamedFrame] {
        number
            .and_then(|number| self.stacks.get(number as usize))
            .map_or(&[], Vec::as_slice)
    }
}

/// The innermost frame of the user's code; else the innermost of any that has a name.
pub fn own_frame(stack: &[NamedFrame]) -> Option<&NamedFrame> {
    stack
        .iter()
        .find(|frame| frame.own)
        .or_else(|| stack.iter().find(|frame| !frame.kernel))
        .or_else(|| stack.first())
}

/// The place of a stack: that of [`own_frame`].
pub fn place_of(stack: &[NamedFrame]) -> WaitPlace {
    own_frame(stack).map_or_else(unknown_place, |frame| frame.place.clone())
}

/// Where nothing is known.
pub fn unknown_place() -> WaitPlace {
    WaitPlace {
        function: "[unknown]".to_owned(),
        file: None,
        line: None,
    }
}

/// The outermost function of the user's code, which tells what a thread is for.
pub fn entry_function(stack: &[NamedFrame]) -> Option<&str> {
    stack
        .iter()
        .rfind(|frame| frame.own)
        .map(|frame| frame.place.function.as_str())
}

/// Order of execution in functions that were interrupted.
#[derive(Default)]
struct ExecutionOrder(HashMap<(ModuleId, u64), RanBefore>);

impl ExecutionOrder {
    /// Address of the instruction whose time it took when the one at `address` was about to run: the one before
    /// it; itself where that is not known.
    fn charged(&mut self, code: &Symbolizer, module: ModuleId, address: u64) -> u64 {
        let Some(function) = code.function_at(module, address) else {
            return address;
        };
        let order = self.0.entry((module, function.address));
        let order = order.or_insert_with(|| {
            let instructions = code.binary(module).ok().and_then(|binary| {
                let size = function.size.min(MAX_FUNCTION_BYTES);
                let end = function.address.saturating_add(size);
                disassemble(binary, function.address, end, Syntax::Intel).ok()
            });
            RanBefore::of(&instructions.unwrap_or_default())
        });
        order.at(address).unwrap_or(address)
    }
}

/// The native frames and, outside of them, those of the script. Where there is a script its interpreter is not the
/// user's code, nor is a library without line information. With `order` the innermost instruction was interrupted
/// in user code, and the one before it is named.
fn name(
    code: &Symbolizer,
    tables: &Tables,
    id: StackId,
    mut order: Option<&mut ExecutionOrder>,
    script: &[ScriptFrame],
) -> Vec<NamedFrame> {
    let mut named = Vec::new();
    for frame in tables.stack(id).take(MAX_FRAMES) {
        let location = tables.location(frame.location);
        let offset = location
            .offset
            .saturating_sub(u64::from(frame.is_return_address));
        let module = location.module;
        let mut address = code.address(module, offset);
        if let Some(order) = order.take() {
            address = order.charged(code, module, address);
        }
        let kernel = code.is_kernel(module);
        let path = code.module_name(module);
        let own_module = code.module(module).kind != ModuleKind::Vdso
            && path.starts_with('/')
            && !is_runtime_library(&path)
            && (script.is_empty() || !is_script_runtime(&path));
        let file = path.rsplit('/').next().unwrap_or(&path);
        let symbol = code.function_at(module, address).map(|found| {
            // Without symbols the name is an address, which says nothing without its file.
            match found.name.starts_with("[0x") {
                true => format!("{} in {file}", found.name),
                false => found.name,
            }
        });
        let lines = code.frames_at(module, address);
        let without_lines = lines.is_empty();
        for line in &lines {
            let function = match (line.inlined, &line.function, &symbol) {
                (false, _, Some(symbol)) => symbol.clone(),
                (_, Some(function), _) => function.to_string(),
                _ => "[unknown]".to_owned(),
            };
            let users = line
                .file
                .as_deref()
                .is_some_and(|file| !is_toolchain_file(file));
            named.push(NamedFrame {
                own: own_module && users && !is_library_name(&function),
                kernel,
                script: false,
                place: WaitPlace {
                    function,
                    file: line.file.as_deref().map(str::to_owned),
                    line: line.line,
                },
            });
        }
        if without_lines {
            let known = symbol.is_some();
            let function = symbol.unwrap_or_else(|| match file {
                // Threads of the kernel have no code of the process.
                "[unknown]" => file.to_owned(),
                file => format!("[unknown in {file}]"),
            });
            named.push(NamedFrame {
                own: own_module
                    && known
                    && script.is_empty()
                    && !is_library_name(&function)
                    && !is_start(&function),
                kernel,
                script: false,
                place: WaitPlace {
                    function,
                    file: None,
                    line: None,
                },
            });
        }
    }
    named.extend(script.iter().map(|frame| NamedFrame {
        own: frame.own,
        kernel: false,
        script: true,
        place: WaitPlace {
            function: frame.function.clone(),
            file: Some(frame.file.clone()),
            line: (frame.line > 0).then_some(frame.line),
        },
    }));
    named
}

/// Functions that the linker adds to every program.
fn is_start(function: &str) -> bool {
    matches!(function, "_start" | "_init" | "_fini") || function.ends_with("@plt")
}
