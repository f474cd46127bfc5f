//! Functions of counted code: who was executed, and by which name.

use std::collections::HashMap;

use genba_model::{CodePoint, GeneratedFunction, InstructionCount};
use genba_symbols::{
    FunctionSymbol, JitSymbol, KernelSymbols, Module, ModuleId, ModuleKind, PerfMap, Symbolizer,
    build_id_from_hex,
};

use super::counts_index::{CountIndex, ModuleIndex};

/// A function that was executed.
#[derive(Clone, Debug)]
pub struct ExecutedFunction {
    /// Its module.
    pub module: ModuleIndex,
    /// Its first address; of no meaning where `known` is false.
    pub address: u64,
    /// The address after its last.
    pub end: u64,
    /// Its name without parameters.
    pub name: String,
    /// False for the row that gathers what has no function in a module.
    pub known: bool,
    /// Instructions executed in it.
    pub instructions: u64,
}

/// The functions that were executed, by module and address.
pub struct ExecutedFunctions {
    /// In order of modules and addresses.
    pub list: Vec<ExecutedFunction>,
    /// The modules' symbols and code.
    pub code: Symbolizer,
    /// By module: functions in address order, as (address, end, index).
    ranges: HashMap<ModuleIndex, Vec<(u64, u64, u32)>>,
}

impl ExecutedFunctions {
    /// Names every executed instruction.
    pub fn of(index: &CountIndex) -> Self {
        let modules = index.modules.iter().map(|module| {
            let kind = match module.path.as_str() {
                "[vdso]" => ModuleKind::Vdso,
                _ if module.generated.is_some() => ModuleKind::Anonymous,
                path if path.starts_with('/') => ModuleKind::File,
                _ => ModuleKind::Unknown,
            };
            Module {
                path: module.path.clone(),
                build_id: module.build_id.as_deref().and_then(build_id_from_hex),
                kind,
                pid: module.generated.as_ref().map(|generated| generated.pid),
            }
        });
        let mut found = Self {
            list: Vec::new(),
            code: Symbolizer::new(modules.collect(), KernelSymbols::unwanted()),
            ranges: HashMap::new(),
        };
        for module in 0..index.modules.len() as ModuleIndex {
            if let Some(generated) = &index.modules[module as usize].generated
                && !generated.functions.is_empty()
            {
                let map = PerfMap::of_functions(generated.functions.iter().map(symbol));
                found.code.set_generated(ModuleId(module), map);
            }
            found.add_module(index, module);
        }
        found
    }

    fn add_module(&mut self, index: &CountIndex, module: ModuleIndex) {
        let executed = &index.modules[module as usize].instructions;
        let mut nameless: Option<u32> = None;
        let mut at = 0;
        while let Some(first) = executed.get(at) {
            let named = self.code.function_at(ModuleId(module), first.address);
            let known = named.is_some();
            let (address, end, name) = match named {
                Some(named) if named.name.starts_with("[0x") => {
                    self.without_symbol(module, &executed[at..], &named)
                }
                Some(named) => (
                    named.address,
                    named
                        .address
                        .saturating_add(named.size)
                        .max(first.address.saturating_add(1)),
                    named.name,
                ),
                None => (
                    first.address,
                    first.address.saturating_add(1),
                    "[unknown]".to_owned(),
                ),
            };
            // Together all functions have all instructions, so searching would take longer.
            let own = (executed[at..].iter()).take_while(|one| one.address < end);
            let (number, instructions) = own.fold((0, 0u64), |(number, sum), one| {
                (number + 1, sum.saturating_add(one.count))
            });
            at += number;
            let id = self.list.len() as u32;
            let ranges = self.ranges.entry(module).or_default();
            if known {
                // A symbol without a size gives its instructions one by one.
                if let Some(&(before, last_end, id)) = ranges.last()
                    && before == address
                    && self.list[id as usize].known
                {
                    let last = &mut self.list[id as usize];
                    last.instructions = last.instructions.saturating_add(instructions);
                    last.end = last.end.max(end);
                    ranges.pop();
                    ranges.push((address, last_end.max(end), id));
                    continue;
                }
                ranges.push((address, end, id));
            } else if let Some(id) = nameless {
                let row = &mut self.list[id as usize];
                row.instructions = row.instructions.saturating_add(instructions);
                ranges.push((address, end, id));
                continue;
            } else {
                nameless = Some(id);
                ranges.push((address, end, id));
            }
            self.list.push(ExecutedFunction {
                module,
                address,
                end,
                name,
                known,
                instructions,
            });
        }
    }

    /// Start, end and name of code that has no symbol but is in a range of the unwind tables,
    /// `executed` being what ran from there on. Such a range may be more than one function (one
    /// covers the whole PLT), so what has a symbol in it is excluded.
    fn without_symbol(
        &self,
        module: ModuleIndex,
        executed: &[InstructionCount],
        named: &FunctionSymbol,
    ) -> (u64, u64, String) {
        let first = executed.first().map_or(named.address, |one| one.address);
        let before = self.ranges.get(&module).and_then(|ranges| ranges.last());
        let cut = before.is_some_and(|before| named.address < before.1);
        let address = if cut { first } else { named.address };
        let end = named.address.saturating_add(named.size);
        let end = self.next_function(module, executed, named, end);
        (
            address,
            end.unwrap_or(first).max(first.saturating_add(1)),
            format!("[{address:#x}]"),
        )
    }

    /// The first executed instruction before `end` that is another function's than this one, which has
    /// no symbol; else `end`. Only where a symbol begins can that be, so few of them are looked up.
    fn next_function(
        &self,
        module: ModuleIndex,
        executed: &[InstructionCount],
        named: &FunctionSymbol,
        end: u64,
    ) -> Option<u64> {
        let mut from = executed.first()?.address;
        loop {
            let symbol = self.code.next_symbol_address(ModuleId(module), from);
            let Some(symbol) = symbol.filter(|&symbol| symbol < end) else {
                return Some(end);
            };
            let next = executed.partition_point(|one| one.address < symbol);
            let Some(one) = executed.get(next).filter(|one| one.address < end) else {
                return Some(end);
            };
            let there = self.code.function_at(ModuleId(module), one.address);
            if there.is_none_or(|there| there.address != named.address) {
                return Some(one.address);
            }
            from = one.address;
        }
    }

    /// Functions that are known already, in address order, without any code.
    #[cfg(test)]
    pub fn known(list: Vec<ExecutedFunction>) -> Self {
        let mut ranges: HashMap<ModuleIndex, Vec<(u64, u64, u32)>> = HashMap::new();
        for (id, one) in (0u32..).zip(&list) {
            let module = ranges.entry(one.module).or_default();
            module.push((one.address, one.end, id));
        }
        Self {
            list,
            code: Symbolizer::new(Vec::new(), KernelSymbols::unwanted()),
            ranges,
        }
    }

    /// The function at a place.
    pub fn at(&self, place: CodePoint) -> Option<u32> {
        let ranges = self.ranges.get(&place.module)?;
        let after = ranges.partition_point(|range| range.0 <= place.address);
        let &(_, end, id) = ranges.get(after.checked_sub(1)?)?;
        (place.address < end).then_some(id)
    }
}

fn symbol(function: &GeneratedFunction) -> JitSymbol {
    JitSymbol {
        start: function.address,
        end: function.address.saturating_add(function.size),
        name: function.name.clone(),
        replaces: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::synthetic::raw;
    use genba_model::{CountedModule, ProcessCounts};

    fn process(pid: i32, generated: Vec<GeneratedFunction>) -> ProcessCounts {
        ProcessCounts {
            pid,
            command: Vec::new(),
            cut_short: None,
            modules: vec![CountedModule {
                path: "[generated]".to_owned(),
                build_id: None,
                instructions: [(0x100, 7), (0x104, 9), (0x200, 1)]
                    .map(Into::into)
                    .to_vec(),
            }],
            transfers: Vec::new(),
            generated,
            notes: Vec::new(),
            observation: None,
        }
    }

    #[test]
    fn generated_functions_have_the_names_that_were_kept_for_their_process() {
        let function = GeneratedFunction {
            address: 0x100,
            size: 16,
            name: "JS:*sum".to_owned(),
        };
        // No process has this number, so there is no perf map to be read.
        let counts = raw(vec![
            process(i32::MAX, vec![function]),
            process(i32::MAX - 1, Vec::new()),
        ]);
        let found = ExecutedFunctions::of(&CountIndex::new(&counts));
        let list: Vec<(&str, u64, bool)> = (found.list.iter())
            .map(|one| (one.name.as_str(), one.instructions, one.known))
            .collect();
        assert_eq!(
            list,
            [
                ("JS:*sum", 16, true),
                ("[unknown]", 1, false),
                ("[unknown]", 17, false)
            ]
        );
    }

    /// Code that unwind tables describe as one function, with a symbol in its middle.
    const HALF_NAMED: &str = r#"
__asm__(".text\n.cfi_startproc\n"
        "nop\nnop\nnop\nnop\n"
        ".globl known\n.type known,@function\n"
        "known: nop\nnop\n.size known, 2\n"
        "nop\nnop\n.cfi_endproc\n");
"#;

    #[test]
    fn symbol_within_code_without_one_is_a_function_of_its_own() {
        let test = "symbol_within_code_without_one_is_a_function_of_its_own";
        let directory = tempfile::tempdir().expect("a directory");
        let flags = ["-shared", "-nostdlib"];
        let Some(path) = genba_testing::compile_c(test, directory.path(), HALF_NAMED, &flags, &[])
        else {
            return;
        };
        let binary = genba_symbols::Binary::open(&path).expect("an ELF file");
        let known = (binary.symbols())
            .find(|symbol| symbol.name == "known")
            .expect("the symbol")
            .address;
        assert_eq!(binary.next_symbol_address(known - 4), Some(known));
        let counted = |executed: &[(u64, u64)]| {
            let mut process = process(1, Vec::new());
            process.modules[0].path = path.display().to_string();
            process.modules[0].instructions = (executed.iter())
                .map(|&(offset, count)| (known - 4 + offset, count).into())
                .collect();
            let found = ExecutedFunctions::of(&CountIndex::new(&raw(vec![process])));
            let list = found
                .list
                .iter()
                .map(|one| (one.name.clone(), one.instructions));
            list.collect::<Vec<_>>()
        };
        let name = |offset: u64| format!("[{:#x}]", known - 4 + offset);
        let all: Vec<(u64, u64)> = (0..8).map(|offset| (offset, 10)).collect();
        assert_eq!(
            counted(&all),
            [(name(0), 40), ("known".to_owned(), 20), (name(6), 20)]
        );
        // The symbol's code was not executed: one function, as far as anybody can tell.
        assert_eq!(counted(&[(1, 5), (7, 5)]), [(name(0), 10)]);
        assert_eq!(
            counted(&[(2, 5), (5, 1)]),
            [(name(0), 5), ("known".to_owned(), 1)]
        );
    }
}
