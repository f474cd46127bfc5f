//! Loops that go through bytes one at a time with the position in memory, and only test them.
//!
//! A parser that keeps where it is in its state (`parser->position++`, `*offset += 1`) reads and stores the
//! position for each byte, or stores it at least, so that each waits for the store of the one before, and tests anew
//! what only changes
//! between runs: whether there is input, in which mode it is. Bytes that nothing is to be done about can be
//! passed by a loop of its own, which has the position in a register and one test, by a table of what stops it.
//!
//! **Near misses.** Loops that store or add up what they read; positions in registers (the byte loops of
//! [`super::byte_loops`]); streams of other data beside the bytes.
//!
//! **Source.** ISO C 6.5 p7 (what is behind pointers is read again after stores); A. Fog, "Optimizing software in
//! C++", section 8.3 ("Pointer aliasing"); store forwarding takes 4 to 5 cycles ("Instruction tables").

use genba_code::{Flow, MemoryAccess, STACK_POINTER};

use crate::constants::counts::{MIN_BYTES_IN_APPENDED_RUN, USUAL_EXECUTIONS};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_BYTE_VALUES;
use crate::input::value_uses::Uses;
use crate::input::values::{Address, CONSTANT, Value};
use crate::patterns::appends::{is_fixed, is_position, position};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step, value_step};

/// A loop that scans through memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryScan {
    /// The load of the byte.
    pub load: usize,
    /// Instructions of the usual iteration.
    pub usual: Vec<usize>,
    /// Bytes that are passed until something else is done.
    pub run: f64,
    /// Loads per iteration of what does not change but for the position.
    pub reloads: usize,
}

/// Whether a loop passes bytes at a position in memory, doing nothing but tests.
pub(crate) fn memory_scan(found: &HotLoop<'_>) -> Option<MemoryScan> {
    let function = found.input;
    if found.has_opaque() {
        return None;
    }
    let usual: Vec<usize> = found.usual().collect();
    let kept = |&at: &usize| {
        let counted = || counted_in_memory(found, &usual, at);
        position(found, at)
            .or_else(counted)
            .or_else(|| stored_for_each(found, at))
    };
    let (positions, stores): (Vec<Value>, Vec<Vec<usize>>) = usual.iter().filter_map(kept).unzip();
    if positions.is_empty() {
        return None;
    }
    let kept = (stores.iter().flatten()).flat_map(|&at| function.values.addresses(at));
    let kept: Vec<Address> = kept.flatten().copied().collect();
    let scan = Scan {
        found,
        usual: &usual,
        positions,
        kept,
    };
    let load = usual.iter().copied().find(|&at| scan.loads_byte(at))?;
    let uses = Uses::of(function);
    let (tables, tests) = scan.uses_of_byte(&uses, load)?;
    if tests == 0 || !usual.iter().all(|&at| scan.only_tests(at, load, &tables)) {
        return None;
    }
    let run = found.cost.iterations as f64 / scan.ends().max(1) as f64;
    if run < MIN_BYTES_IN_APPENDED_RUN {
        return None;
    }
    let reloads = usual.iter().filter(|&&at| scan.reads_fixed(at)).count();
    Some(MemoryScan {
        load,
        run,
        reloads,
        usual,
    })
}

/// A value that is loaded from an address that stays, to which an instruction adds a constant in memory.
fn counted_in_memory(
    found: &HotLoop<'_>,
    usual: &[usize],
    at: usize,
) -> Option<(Value, Vec<usize>)> {
    let function = found.input;
    let counts = matches!(function.code[at].mnemonic, "add" | "sub" | "inc" | "dec");
    let constant = (function.values.reads(at).iter())
        .all(|one| function.data[at].data_reads >> one.0 & 1 == 0);
    let [access] = &function.data[at].memory[..] else {
        return None;
    };
    let to = (*function.values.addresses(at).first()?).filter(|to| is_fixed(found, to))?;
    if !(counts && constant && access.reads && access.writes && !access.stack) {
        return None;
    }
    let loads = usual.iter().filter(|&&load| {
        let from = function.values.addresses(load).first().copied().flatten();
        function.code[load].mnemonic == "mov"
            && !function.data[load].stores()
            && from.is_some_and(|from| (from.base, from.index) == (to.base, to.index))
    });
    let loaded = loads
        .into_iter()
        .find_map(|&load| function.values.writes(load).first())?;
    Some((loaded.1, vec![at]))
}

/// A value that advances by one byte each iteration and is stored at an address that stays each time: a position
/// in a register that others could see.
fn stored_for_each(found: &HotLoop<'_>, at: usize) -> Option<(Value, Vec<usize>)> {
    let function = found.input;
    let data = &function.data[at];
    let [access] = &data.memory[..] else {
        return None;
    };
    let to = (*function.values.addresses(at).first()?).filter(|to| is_fixed(found, to))?;
    let wide = usize::from(access.bytes) >= size_of::<u32>();
    let in_frame = access.stack || access.base == Some(STACK_POINTER);
    if !access.writes || access.reads || in_frame || !wide || to.base.number == CONSTANT {
        return None;
    }
    let mut stored = (function.values.reads(at).iter())
        .filter(|one| data.data_reads >> one.0 & 1 == 1)
        .map(|&(_, value)| Value { offset: 0, ..value });
    let advances = |value: &Value| {
        let step = value_step(function, found.index, *value);
        matches!(step, Some(Step::Constant(1 | -1)))
    };
    stored.find(advances).map(|value| (value, vec![at]))
}

struct Scan<'a> {
    found: &'a HotLoop<'a>,
    usual: &'a [usize],
    /// What is loaded as the position; another one counts columns beside it.
    positions: Vec<Value>,
    /// Where they are kept.
    kept: Vec<Address>,
}

impl Scan<'_> {
    fn accesses(&self, at: usize) -> impl Iterator<Item = (&MemoryAccess, Option<Address>)> {
        let function = self.found.input;
        let addresses = function.values.addresses(at).iter().copied();
        function.data[at].memory.iter().zip(addresses)
    }

    /// Whether an instruction loads one byte at the position.
    fn loads_byte(&self, at: usize) -> bool {
        self.accesses(at).any(|(access, address)| {
            let here = |value: Value| {
                let mut positions = self.positions.iter();
                positions.any(|&one| is_position(self.found.input, value, one))
            };
            let advances = |address: &Address| {
                let step = address_step(self.found.input, self.found.index, address);
                matches!(step, Some(Step::Constant(1 | -1)))
            };
            let at_position = address.is_some_and(|address| {
                here(address.base)
                    || address.index.is_some_and(|(value, _)| here(value))
                    || advances(&address)
            });
            access.reads && !access.writes && access.bytes == 1 && at_position
        })
    }

    fn reads_fixed(&self, at: usize) -> bool {
        self.accesses(at).any(|(access, address)| {
            let fixed = address.is_some_and(|address| is_fixed(self.found, &address));
            access.reads && !access.writes && !access.stack && fixed
        })
    }

    /// Loads from tables by the byte, and how many tests there are of the byte or of what they bring; `None` if
    /// something is made of it in the usual iteration.
    fn uses_of_byte(&self, uses: &Uses, load: usize) -> Option<(Vec<usize>, usize)> {
        let function = self.found.input;
        let (mut tables, mut tests) = (Vec::new(), 0);
        if matches!(function.code[load].mnemonic, "cmp" | "test") {
            tests += 1;
        }
        let written = |at: usize| {
            let writes = function.values.writes(at).iter();
            writes.filter(|one| one.0 < FLAGS).map(|one| one.1)
        };
        let mut values: Vec<Value> = written(load).collect();
        let mut next = 0;
        while let Some(&value) = values.get(next) {
            next += 1;
            if values[..next - 1].contains(&value) {
                continue;
            }
            for reader in uses.readers(value) {
                if reader == load || self.usual.binary_search(&reader).is_err() {
                    continue;
                }
                let (code, data) = (&function.code[reader], &function.data[reader]);
                if data.stores() || values.len() > MAX_BYTE_VALUES {
                    return None;
                }
                if data.loads() && !tables.contains(&reader) {
                    tables.push(reader);
                }
                match code.mnemonic {
                    "cmp" | "test" | "bt" => tests += 1,
                    // A class of bytes is a range, a bit, or an entry of a table.
                    "mov" | "movzx" | "movsx" | "movsxd" | "and" | "sub" | "lea" | "shr"
                    | "shl" | "cdqe"
                        if self.registers_read(reader) <= 1 || data.loads() =>
                    {
                        // The outcome may be tested by a jump right behind.
                        tests += usize::from(code.mnemonic == "and");
                        let made: Vec<Value> = written(reader).collect();
                        values.extend(made);
                    }
                    _ => return None,
                }
            }
        }
        Some((tables, tests))
    }

    /// Values of registers that an instruction computes with.
    fn registers_read(&self, at: usize) -> usize {
        let function = self.found.input;
        let mut numbers: Vec<u32> = (function.values.reads(at).iter())
            .filter(|one| one.0 < FLAGS)
            .map(|one| one.1.number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    /// Whether an instruction of the usual iteration moves, counts, tests or jumps, and its memory is the byte,
    /// tables by the byte, what stays, and the position.
    fn only_tests(&self, at: usize, load: usize, tables: &[usize]) -> bool {
        let function = self.found.input;
        const PLAIN: [&str; 24] = [
            "mov", "movzx", "movsx", "movsxd", "lea", "add", "sub", "inc", "dec", "cmp", "test",
            "bt", "and", "or", "xor", "sbb", "adc", "shl", "shr", "sar", "neg", "not", "nop",
            "cdqe",
        ];
        let code = &function.code[at];
        let plain = PLAIN.contains(&code.mnemonic)
            || code.mnemonic.starts_with("set")
            || code.mnemonic.starts_with("cmov")
            || matches!(code.flow, Flow::CondJump(_) | Flow::Jump(_));
        let known = |(access, address): (&MemoryAccess, Option<Address>)| {
            let Some(address) = address else {
                return false;
            };
            let kept = |one: &Address| (one.base, one.index) == (address.base, address.index);
            match access.writes {
                // The byte itself goes nowhere: what is stored at a place that stays counts beside it.
                true => {
                    access.stack || self.kept.iter().any(kept) || is_fixed(self.found, &address)
                }
                false => {
                    access.stack
                        || at == load
                        || tables.contains(&at)
                        || self.loads_byte(at)
                        || is_fixed(self.found, &address)
                }
            }
        };
        plain && self.accesses(at).all(known)
    }

    /// How often the usual iteration ends elsewhere than at its own head.
    fn ends(&self) -> u64 {
        let function = self.found.input;
        let is_usual = |block: u32| {
            let first = function.flow.blocks()[block as usize].instructions.start as usize;
            self.found.members.binary_search(&first).is_ok()
                && self.found.times(first) >= USUAL_EXECUTIONS
        };
        let mut ends = 0u64;
        for &at in self.usual {
            let Flow::CondJump(target) = function.code[at].flow else {
                continue;
            };
            let (Some(block), Some(taken)) = (
                function.flow.block_of(at),
                function.taken.get(at).copied().flatten(),
            ) else {
                continue;
            };
            for &next in &function.flow.blocks()[block as usize].successors {
                let first = function.flow.blocks()[next as usize].instructions.start as usize;
                let jumps = function.code[first].address == target;
                if !is_usual(next) {
                    let rest = function.counts[at].saturating_sub(taken);
                    ends = ends.saturating_add(if jumps { taken } else { rest });
                }
            }
        }
        ends
    }
}
