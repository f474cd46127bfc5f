//! What the innermost script function of a sample called: the native frames below the interpreter's loop.

use std::collections::HashMap;

use genba_profile::Recording;
use genba_profile::reader::{StackId, Tables};

use super::interpreter_detection::may_be_interpreter;
use crate::function_names::{FunctionName, FunctionNames};

/// The native frames that the innermost script function called.
#[derive(Clone)]
pub(super) struct NativeCallees {
    /// Numbers of names, outermost first.
    pub(super) frames: Vec<u32>,
    /// Whether the sample is in the interpreter's loop itself.
    pub(super) in_loop: bool,
}

/// Names of native functions, each with a number.
#[derive(Default)]
pub(super) struct NameTable {
    names: FunctionNames,
    list: Vec<FunctionName>,
    numbers: HashMap<FunctionName, u32>,
}

impl NameTable {
    /// The name of a number that this table gave.
    pub(super) fn name(&self, number: u32) -> &FunctionName {
        &self.list[number as usize]
    }

    fn number(&mut self, name: FunctionName) -> u32 {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            list.push(name.clone());
            list.len() as u32 - 1
        })
    }

    /// Native frames with the method of the language that is written in C at the outer end, instead of frames without a name.
    pub(super) fn under_c_method(&mut self, method: &str, native: &NativeCallees) -> NativeCallees {
        let mut modules = self.list.iter().map(|name| &name.module);
        let interpreter = modules.find(|module| may_be_interpreter(module));
        let outermost = FunctionName {
            function: format!("{method} (C)"),
            module: interpreter.cloned().unwrap_or_default(),
            kernel: false,
        };
        let outermost = self.number(outermost);
        let named = native.frames.iter().copied().filter(|id| {
            let function = &self.list[*id as usize].function;
            !function.starts_with("[0x") && function != "[unknown]"
        });
        NativeCallees {
            frames: std::iter::once(outermost).chain(named).collect(),
            in_loop: false,
        }
    }

    /// The native frames that the innermost script function called. Where there is no script
    /// stack, or the interpreter's loop is not on the native one, it is the leaf alone, or all.
    pub(super) fn native_callees(
        &mut self,
        recording: &Recording,
        tables: &Tables,
        stack: StackId,
        script: bool,
    ) -> NativeCallees {
        let mut frames: Vec<u32> = Vec::new();
        for frame in tables.stack(stack) {
            let location = tables.location(frame.location);
            let name = self
                .names
                .of(recording, tables, location, frame.is_return_address);
            if script && is_loop(&name.function) {
                // CRuby's loop is a function that only `rb_vm_exec` calls; a stripped library has
                // no name for it.
                if name.function == "rb_vm_exec"
                    && let Some(&last) = frames.last()
                    && let Some(inner) = self.list.get(last as usize)
                    && inner.module == name.module
                    && inner.function.starts_with("[0x")
                {
                    frames.pop();
                }
                frames.reverse();
                return NativeCallees {
                    in_loop: frames.is_empty(),
                    frames,
                };
            }
            frames.push(self.number(name));
        }
        if script {
            // The leaf is certain.
            frames.truncate(1);
        }
        frames.reverse();
        NativeCallees {
            frames,
            in_loop: false,
        }
    }
}

/// Whether a C function is the loop that executes byte code. A part of it that the compiler has
/// moved away has a suffix.
fn is_loop(function: &str) -> bool {
    let base = function.split('.').next().unwrap_or(function);
    matches!(
        base,
        "_PyEval_EvalFrameDefault" | "vm_exec_core" | "vm_exec" | "rb_vm_exec"
    )
}
