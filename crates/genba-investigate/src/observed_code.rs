//! What the analyses of bursts must know of the code: whose it is, arguments, allocators,
//! loops, variables.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use genba_code::{
    AskedIf, ControlFlow, EntryReads, Flow, Instruction, Locations, Returned, Syntax, asked_if,
    data_flow_of, disassemble, entry_reads,
};
use genba_model::CodePoint;
use genba_observe::{Allocation, ArgumentRegisters, Asked, CodeKnowledge, Watched};
use genba_symbols::Binary;

/// Largest function whose arguments are looked for, bytes.
const MAX_FUNCTION_BYTES: u64 = 64 << 10;

/// Functions and parts of functions that are read to find the arguments of one.
const MAX_PARTS_OF_FUNCTION: usize = 32;

/// Registers of integer arguments in the System V calling convention for x86-64, by number: rdi,
/// rsi, rdx, rcx, r8, r9.
const INTEGER_ARGUMENTS: [u32; 6] = [7, 6, 2, 1, 8, 9];

/// Registers of vector arguments: the first eight of them, by number.
const VECTOR_ARGUMENTS: std::ops::Range<u32> = 16..24;

/// The code of the modules that bursts met.
pub(crate) struct ObservedCode {
    modules: Vec<Module>,
    functions: HashMap<CodePoint, Callee>,
    reads: ReadsOfEntries,
    seen: SeenWays,
    /// Heads of the loops around each block, inside out.
    nests: Vec<Vec<CodePoint>>,
    /// The nest that each instruction is in.
    loops: HashMap<CodePoint, usize>,
    /// Of calls whose result is not always asked for.
    asked: HashMap<CodePoint, Asked>,
}

/// What is known of a function that was called.
struct Callee {
    /// Found when they are first asked for: it takes reading the function.
    arguments: OnceLock<Option<ArgumentRegisters>>,
    allocation: Option<Allocation>,
    frees: bool,
    format: Option<u8>,
    compares: bool,
}

struct Module {
    path: String,
    own: bool,
    binary: OnceLock<Option<Binary>>,
}

impl Module {
    fn binary(&self) -> Option<&Binary> {
        let open = || {
            let file = self.path.starts_with('/');
            file.then(|| Binary::open(&self.path).ok()).flatten()
        };
        self.binary.get_or_init(open).as_ref()
    }
}

impl ObservedCode {
    /// Reads the functions that were called in bursts.
    pub(crate) fn of(watched: &Watched) -> Self {
        let module = |path: &String| Module {
            path: path.clone(),
            own: genba_explain::is_own(path),
            binary: OnceLock::new(),
        };
        let mut code = Self {
            modules: watched.modules.iter().map(module).collect(),
            functions: HashMap::new(),
            reads: ReadsOfEntries::default(),
            seen: SeenWays::of(watched),
            nests: Vec::new(),
            loops: HashMap::new(),
            asked: HashMap::new(),
        };
        for target in watched.call_targets() {
            if let Some(binary) = code.binary(target.module) {
                let aliases = binary.aliases(target.address);
                let callee = Callee {
                    arguments: OnceLock::new(),
                    allocation: aliases.iter().find_map(|one| allocation(&one.name)),
                    frees: aliases.iter().any(|one| frees(&one.name)),
                    format: (aliases.iter()).find_map(|one| format_argument(&one.name)),
                    compares: !code.is_own(target.module)
                        && (aliases.iter()).any(|one| genba_explain::compares_texts(&one.name)),
                };
                code.functions.insert(target, callee);
            }
        }
        code.find_loops(&watched.blocks());
        code
    }

    /// Finds the loops of the user's own functions that have one of these blocks, and calls whose result is not
    /// always asked for.
    fn find_loops(&mut self, blocks: &[CodePoint]) {
        let mut loops = HashMap::new();
        let mut nests: Vec<Vec<CodePoint>> = Vec::new();
        let mut asked = HashMap::new();
        // The module and end of the function that was looked at last: blocks are in order.
        let mut done: Option<(u32, u64)> = None;
        for &CodePoint { module, address } in blocks {
            if !self.is_own(module) || done.is_some_and(|one| one.0 == module && address < one.1) {
                continue;
            }
            let Some(binary) = self.binary(module) else {
                continue;
            };
            let Some(range) = binary.code_range_at(address) else {
                continue;
            };
            done = Some((module, range.end));
            if range.end - range.start > MAX_FUNCTION_BYTES {
                continue;
            }
            let Ok(code) = disassemble(binary, range.start, range.end, Syntax::Intel) else {
                continue;
            };
            let flow = self.seen.flow_of(&code, module);
            if let Ok(data) = data_flow_of(binary, range.start, range.end) {
                let calls =
                    |one: &Instruction| matches!(one.flow, Flow::Call(_) | Flow::IndirectCall);
                let calls = (0..code.len()).filter(|&at| calls(&code[at]));
                let symbol = binary.symbol_at(range.start);
                let function = binary.function_at(range.start);
                let returned = match symbol.is_some_and(|one| is_rust(&one.name)) {
                    _ if function.is_some_and(|one| !one.returns_value) => Returned::Nothing,
                    true => Returned::Pair,
                    false => Returned::OneValue,
                };
                asked.extend(calls.filter_map(|at| {
                    let address = code[at].address;
                    let test = asked_if(&code, &data, &flow, at, returned)?;
                    Some((
                        CodePoint { module, address },
                        at_addresses(test, &code, module),
                    ))
                }));
            }
            for (index, one) in (0u32..).zip(flow.blocks()) {
                let parent = |&index: &u32| flow.loops()[index as usize].parent;
                let around = std::iter::successors(flow.innermost_loop(index), parent);
                let nest: Vec<CodePoint> = around
                    .map(|index| {
                        let head = flow.loops()[index as usize].head as usize;
                        let first = flow.blocks()[head].instructions.start as usize;
                        let address = code[first].address;
                        CodePoint { module, address }
                    })
                    .collect();
                if nest.is_empty() {
                    continue;
                }
                for at in one.instructions.clone() {
                    let address = code[at as usize].address;
                    loops.insert(CodePoint { module, address }, nests.len());
                }
                nests.push(nest);
            }
        }
        (self.loops, self.nests) = (loops, nests);
        self.asked = asked;
    }

    fn binary(&self, module: u32) -> Option<&Binary> {
        self.modules.get(module as usize)?.binary()
    }
}

impl CodeKnowledge for ObservedCode {
    fn is_own(&self, module: u32) -> bool {
        (self.modules.get(module as usize)).is_some_and(|module| module.own)
    }

    fn arguments(&self, entry: CodePoint) -> Option<ArgumentRegisters> {
        let find = || {
            let binary = self.binary(entry.module)?;
            let reads = self.reads.after_entry(binary, entry, &self.seen)?;
            Some(arguments(reads))
        };
        *self.functions.get(&entry)?.arguments.get_or_init(find)
    }

    fn allocation(&self, entry: CodePoint) -> Option<Allocation> {
        self.functions.get(&entry)?.allocation
    }

    fn frees(&self, entry: CodePoint) -> bool {
        self.functions.get(&entry).is_some_and(|one| one.frees)
    }

    fn format_argument(&self, entry: CodePoint) -> Option<u8> {
        self.functions.get(&entry)?.format
    }

    fn compares(&self, entry: CodePoint) -> bool {
        self.functions.get(&entry).is_some_and(|one| one.compares)
    }

    fn loops_around(&self, at: CodePoint) -> &[CodePoint] {
        (self.loops.get(&at)).map_or(&[], |&nest| self.nests[nest].as_slice())
    }

    fn asked_if(&self, call: CodePoint) -> Option<Asked> {
        self.asked.get(&call).copied()
    }

    fn variable(&self, at: CodePoint) -> Option<u64> {
        let variable = self.binary(at.module)?.variable_at(at.address)?;
        Some(variable.address)
    }
}

/// Ways through the code that bursts saw.
struct SeenWays {
    /// Where blocks began.
    blocks: HashSet<CodePoint>,
    /// Where indirect jumps went.
    jumps: HashMap<CodePoint, Vec<u64>>,
}

impl SeenWays {
    fn of(watched: &Watched) -> Self {
        Self {
            blocks: watched.blocks().into_iter().collect(),
            jumps: watched.jumps(),
        }
    }

    /// Blocks and loops of code, with the ways that a `switch` took; what only unseen cases lead to has no way on.
    fn flow_of(&self, code: &[Instruction], module: u32) -> ControlFlow {
        let point = |one: &Instruction| CodePoint {
            module,
            address: one.address,
        };
        let seen_targets =
            |jump: &Instruction| self.jumps.get(&point(jump)).cloned().unwrap_or_default();
        ControlFlow::build_with(
            code,
            seen_targets,
            |_| false,
            |one| self.never_began(one, module),
        )
    }

    fn never_began(&self, block: &Instruction, module: u32) -> bool {
        let address = block.address;
        !self.blocks.contains(&CodePoint { module, address })
    }
}

fn at_addresses(test: AskedIf, code: &[Instruction], module: u32) -> Asked {
    let point = |at: usize| CodePoint {
        module,
        address: code[at].address,
    };
    match test {
        AskedIf::Branch {
            at,
            dropped_if_taken,
        } => Asked::Branch {
            at: point(at),
            dropped_if_taken,
        },
        AskedIf::Value { at, load, asked } => Asked::Value {
            at: point(at),
            load: point(load),
            equal: asked.equal,
            constant: asked.constant,
        },
    }
}

fn arguments(reads: Locations) -> ArgumentRegisters {
    let is_read = |register: u32| reads >> register & 1 == 1;
    let integer = (INTEGER_ARGUMENTS.iter().enumerate())
        .filter(|&(_, &register)| is_read(register))
        .fold(0, |mask, (index, _)| mask | 1 << index);
    ArgumentRegisters {
        integer,
        vector: VECTOR_ARGUMENTS.into_iter().any(is_read),
    }
}

/// What code reads from its entries on, each entry read once: many functions jump to the same parts.
#[derive(Default)]
struct ReadsOfEntries(Mutex<HashMap<CodePoint, Option<Arc<EntryReads>>>>);

impl ReadsOfEntries {
    /// Registers that the code from `entry` on reads before it writes them, with the functions and
    /// parts of functions that it jumps to; `None` if that is not all known.
    fn after_entry(&self, binary: &Binary, entry: CodePoint, seen: &SeenWays) -> Option<Locations> {
        let mut reads = 0;
        let mut work: Vec<(u64, Locations)> = vec![(entry.address, 0)];
        let mut done: Vec<(u64, Locations)> = Vec::new();
        while let Some((address, written)) = work.pop() {
            // What is written on the way there only grows less.
            if done
                .iter()
                .any(|one| one.0 == address && one.1 & !written == 0)
            {
                continue;
            }
            done.push((address, written));
            if done.len() > MAX_PARTS_OF_FUNCTION {
                return None;
            }
            let found = self.of_part(binary, CodePoint { address, ..entry }, seen)?;
            reads |= found.reads & !written;
            work.extend(found.exits.iter().map(|&(to, here)| (to, here | written)));
        }
        Some(reads)
    }

    /// The same of the code from an entry to the end of its function, without what it jumps to.
    fn of_part(
        &self,
        binary: &Binary,
        entry: CodePoint,
        seen: &SeenWays,
    ) -> Option<Arc<EntryReads>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(entry).or_insert_with(|| {
            let range = binary.code_range_at(entry.address)?;
            if range.end - range.start > MAX_FUNCTION_BYTES {
                return None;
            }
            let (from, to) = (entry.address, range.end);
            let code = disassemble(binary, from, to, Syntax::Intel).ok()?;
            let data = data_flow_of(binary, from, to).ok()?;
            let flow = seen.flow_of(&code, entry.module);
            let never_ran = |one: &Instruction| seen.never_began(one, entry.module);
            Some(Arc::new(entry_reads(&code, &data, &flow, &never_ran)))
        });
        found.clone()
    }
}

/// Which argument of a function of this name is a format.
fn format_argument(name: &str) -> Option<u8> {
    let register = u32::from(genba_explain::input::format_register(name)?);
    let index = (INTEGER_ARGUMENTS.iter()).position(|&one| one == register)?;
    u8::try_from(index).ok()
}

fn allocation(name: &str) -> Option<Allocation> {
    match name.split('@').next().unwrap_or_default() {
        "malloc" | "valloc" | "pvalloc" => Some(Allocation::Size(0)),
        "realloc" | "aligned_alloc" | "memalign" => Some(Allocation::Size(1)),
        "calloc" => Some(Allocation::Product(0, 1)),
        // `operator new` and `operator new[]`, with any further argument.
        name if name.starts_with("_Znwm") || name.starts_with("_Znam") => Some(Allocation::Size(0)),
        _ => None,
    }
}

/// Whether a function of this name gives memory back: `free`, `operator delete`.
fn frees(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or_default();
    matches!(name, "free" | "cfree") || name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv")
}

/// Whether a mangled name is Rust's: `_R…`, or `_ZN…17h<16 digits>E`.
fn is_rust(name: &str) -> bool {
    let legacy = || {
        let hash = name
            .strip_suffix('E')
            .and_then(|name| name.get(name.len().checked_sub(19)?..));
        let digits = hash.and_then(|hash| hash.strip_prefix("17h"));
        digits.is_some_and(|digits| digits.bytes().all(|one| one.is_ascii_hexdigit()))
    };
    name.starts_with("_R") || name.starts_with("_ZN") && legacy()
}
