//! Loops that go through memory a byte at a time and do nothing with the bytes but store or
//! compare them: what `bytewise-copy` and `bytewise-compare` start from.
//!
//! Only the usual path counts: blocks that at least half of the iterations execute. What leaves it
//! ends a run, whether it leaves the loop or handles something rare inside it.

mod steps;

use genba_code::{BlockId, Flow, Shortcut};
use genba_model::{ByteOperation, Estimate, LoopFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_PATH_COUNT_LOSS_DIVISOR, MIN_BYTES_IN_COMPARED_RUN, MIN_BYTES_IN_COPIED_RUN,
    MIN_BYTES_IN_RUN, MIN_CALLS_HABITUAL,
};
use crate::constants::registers::XMM0;
use crate::constants::search_limits::{
    MAX_BLOCKS_OF_BYTE_LOOP, MAX_BYTE_DEPTH, MAX_BYTE_VALUES, MAX_VALUES_FOLLOWED,
};
use crate::constants::time_shares::MIN_SHARE_OF_BYTE_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::memory_streams::{cycles_of_lines, opened};

/// A loop over bytes.
#[derive(Clone, Debug)]
pub struct ByteLoop {
    /// Index of the function.
    pub function: usize,
    /// Instructions of the usual path, and the first behind its ends, where samples of the
    /// misprediction of the end stand.
    pub path: Vec<usize>,
    /// Loads of a byte.
    pub loads: Vec<usize>,
    /// Stores of a byte.
    pub stores: Vec<usize>,
    /// Comparisons of one loaded byte with another.
    pub compares_two: bool,
    /// Whether it goes up at one place and down at another: bytes turned round.
    pub turns_round: bool,
    /// Whether a table says of each byte whether it stops a run.
    pub by_table: bool,
    /// Iterations.
    pub iterations: u64,
    /// Bytes of each run in an iteration.
    pub width: f64,
    /// Bytes in a run, on average.
    pub run: f64,
    /// Measured cycles a byte.
    pub each: f64,
    /// Share of all time.
    pub share: f64,
}

/// Finds them.
#[must_use]
pub fn byte_loops(input: &AnalysisInput) -> Vec<ByteLoop> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, function) in input.functions.iter().enumerate() {
        if !function.counted || !function.own || function.share.value < MIN_SHARE_OF_BYTE_LOOP {
            continue;
        }
        let mut uses = None;
        for index in 0..function.flow.loops().len() as u32 {
            let Some(path) = Path::of(function, index) else {
                continue;
            };
            let share = function.heat_of(path.members.iter().copied());
            let few = path.members.len() <= MAX_VALUES_FOLLOWED;
            if share < MIN_SHARE_OF_BYTE_LOOP || !few || !path.has_bytes(function) {
                continue;
            }
            let uses = uses.get_or_insert_with(|| Uses::of(function));
            let Some(bytes) = path.bytes(function, uses) else {
                continue;
            };
            let width = bytes.width as f64;
            let run = path.iterations as f64 / path.leaves.max(1) as f64 * width;
            let each = share * all / (path.iterations as f64 * width);
            let min_run = match (bytes.stores.is_empty(), bytes.compares_two) {
                (true, true) => MIN_BYTES_IN_COMPARED_RUN,
                (true, false) => MIN_BYTES_IN_RUN,
                (false, _) => MIN_BYTES_IN_COPIED_RUN,
            };
            if run < min_run || !each.is_finite() {
                continue;
            }
            let mut members = path.members;
            let inside = |at: &usize| function.flow.loop_of_instruction(*at).is_some();
            members.extend(path.ends.into_iter().filter(inside));
            members.sort_unstable();
            members.dedup();
            let share = function.heat_of(members.iter().copied());
            let each = share * all / (path.iterations as f64 * width);
            found.push(ByteLoop {
                function: number,
                path: members,
                loads: bytes.loads,
                stores: bytes.stores,
                compares_two: bytes.compares_two,
                turns_round: bytes.turns_round,
                by_table: bytes.by_table,
                iterations: path.iterations,
                width,
                run,
                each,
                share,
            });
        }
    }
    found
}

impl ByteLoop {
    /// Adds to a candidate what both causes about bytes rest on: runs, time, cost of wide code.
    #[must_use]
    pub fn facts(&self, operation: ByteOperation, candidate: Candidate) -> Candidate {
        candidate
            .fact(LoopFact::ByteRuns {
                operation,
                bytes: self.iterations,
                mean_run: self.run,
            })
            .fact(LoopFact::ByteTime {
                share: self.share,
                cycles: self.each,
            })
            .fact(LoopFact::WideByteCost { operation })
    }

    /// What stays if a run takes so many cycles: to begin, and a byte; value, least, most. Memory delivers the
    /// bytes of long runs no faster than before.
    #[must_use]
    pub fn residual_fraction(
        &self,
        input: &AnalysisInput,
        [begin, byte]: [[f64; 3]; 2],
    ) -> Estimate {
        let now = self.run * self.each;
        let part = |i: usize| ((begin[i] + byte[i] * self.run) / now).min(1.0);
        let wide = Estimate {
            value: part(0),
            low: part(1),
            high: part(2),
        };
        let lines = cycles_of_lines(input, self.function, &self.loads) / self.width;
        opened(wide, lines / self.each)
    }
}

/// The usual path of a loop.
struct Path {
    index: u32,
    head: BlockId,
    blocks: Vec<BlockId>,
    members: Vec<usize>,
    iterations: u64,
    leaves: u64,
    /// First instructions behind its ends.
    ends: Vec<usize>,
}

struct Bytes {
    loads: Vec<usize>,
    stores: Vec<usize>,
    compares_two: bool,
    turns_round: bool,
    by_table: bool,
    width: usize,
}

impl Path {
    fn of(function: &FunctionInput, index: u32) -> Option<Self> {
        let flow = &function.flow;
        let found = &flow.loops()[index as usize];
        let first = |block: BlockId| flow.blocks()[block as usize].instructions.start as usize;
        let count = |block: BlockId| function.counts.get(first(block)).copied().unwrap_or(0);
        let iterations = count(found.head);
        if iterations < MIN_CALLS_HABITUAL || found.irreducible {
            return None;
        }
        let own = |block: &&BlockId| flow.innermost_loop(**block) == Some(index);
        let blocks: Vec<BlockId> = (flow.loop_blocks(index).iter().filter(own))
            .copied()
            .filter(|&block| count(block) >= iterations.div_ceil(2))
            .collect();
        if blocks.len() > MAX_BLOCKS_OF_BYTE_LOOP {
            return None;
        }
        let mut leaves = 0u64;
        let mut ends = Vec::new();
        for &block in &blocks {
            let this = &flow.blocks()[block as usize];
            let last = (this.instructions.end as usize).checked_sub(1)?;
            let all = count(block);
            let target = |to: u64| {
                (this.successors.iter().copied())
                    .find(|&next| function.code[first(next)].address == to)
            };
            match function.code[last].flow {
                Flow::CondJump(to) => {
                    let taken = function.taken.get(last).copied().flatten()?;
                    let jumped = target(to);
                    let next = this.successors.iter().copied().find(|&b| Some(b) != jumped);
                    for (to, times) in [(jumped, taken), (next, all.saturating_sub(taken))] {
                        if !to.is_some_and(|to| blocks.contains(&to)) {
                            leaves += times;
                            ends.extend(to.map(first).filter(|_| times > 0));
                        }
                    }
                }
                _ => {
                    if !this.successors.iter().all(|to| blocks.contains(to)) {
                        leaves += all;
                    }
                }
            }
        }
        // Nothing but ends of runs may skip a part of the path.
        let most = blocks.iter().map(|&b| count(b)).max()?;
        let least = blocks.iter().map(|&b| count(b)).min()?;
        if least.saturating_add(leaves) < most - most / MAX_PATH_COUNT_LOSS_DIVISOR {
            return None;
        }
        let mut members: Vec<usize> = (blocks.iter())
            .flat_map(|&block| {
                let range = &flow.blocks()[block as usize].instructions;
                range.start as usize..range.end as usize
            })
            .collect();
        members.sort_unstable();
        Some(Self {
            index,
            head: found.head,
            blocks,
            members,
            iterations,
            leaves,
            ends,
        })
    }

    fn has_bytes(&self, function: &FunctionInput) -> bool {
        let byte = |&at: &usize| {
            let data = &function.data[at];
            data.memory.iter().any(|m| m.reads && m.bytes == 1)
        };
        self.members.iter().any(byte)
    }

    fn bytes(&self, function: &FunctionInput, uses: &Uses) -> Option<Bytes> {
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        let mut steps: Vec<i64> = Vec::new();
        let mut tables = Vec::new();
        for &at in &self.members {
            let data = &function.data[at];
            if data.opaque.is_some() || !is_plain(function, at) {
                return None;
            }
            for (access, address) in data.memory.iter().zip(function.values.addresses(at)) {
                let address = address.as_ref()?;
                if access.reads && !access.writes && self.is_of_table(function, address) {
                    tables.push(at);
                    continue;
                }
                let step = self.address_step(function, address)?;
                if access.bytes != 1 {
                    // A pointer or a bound that is kept in memory.
                    if step != 0 {
                        return None;
                    }
                } else if access.reads && access.writes {
                    return None;
                } else if step != 0 {
                    steps.push(step);
                    if access.writes {
                        stores.push(at);
                    } else {
                        loads.push(at);
                    }
                } else if access.writes {
                    return None;
                }
            }
        }
        let width = steps.iter().map(|step| step.unsigned_abs()).max()? as usize;
        let same = steps
            .iter()
            .all(|step| step.unsigned_abs() as usize == width);
        let most = loads.len().max(stores.len());
        if loads.is_empty() || !same || width > most {
            return None;
        }
        let mut compared: Vec<usize> = Vec::new();
        for &at in &loads {
            self.follow(function, uses, at, (&stores, &tables), &mut compared)?;
        }
        for &at in &tables {
            self.follow(function, uses, at, (&stores, &[]), &mut compared)?;
        }
        // What a table makes of bytes that are stored is another text.
        if !stores.iter().all(|&at| self.stores_loaded(function, at))
            || !(stores.is_empty() || tables.is_empty())
        {
            return None;
        }
        // A byte against a byte: of registers both loaded, or of a register with memory.
        let loaded = |value: &Value| self.is_loaded(function, *value, MAX_BYTE_DEPTH);
        let compares_two = (self.members.iter()).any(|&at| {
            let data = &function.data[at];
            let compare = function.code[at].mnemonic == "cmp";
            let bytes = function.values.reads(at);
            let from_memory = data.memory.iter().any(|m| m.bytes == 1);
            let address = |location: &u8| data.address_reads & (1 << location) != 0;
            let registers = bytes
                .iter()
                .filter(|(location, value)| !address(location) && loaded(value))
                .count();
            compare && registers + usize::from(from_memory) >= 2
        });
        let compares = compares_two || !compared.is_empty() || self.compares_memory(function);
        (!stores.is_empty() || compares).then_some(Bytes {
            loads,
            stores,
            compares_two,
            turns_round: steps.iter().any(|step| step.signum() != steps[0].signum()),
            by_table: !tables.is_empty(),
            width,
        })
    }

    /// Whether an address is that of a byte's element in a table.
    fn is_of_table(&self, function: &FunctionInput, address: &Address) -> bool {
        let Some((index, _)) = address.index else {
            return false;
        };
        let parts = [(address.base, index), (index, address.base)];
        parts.into_iter().any(|(table, byte)| {
            self.is_outside(function, table) && self.is_loaded(function, byte, MAX_BYTE_DEPTH)
        })
    }

    fn compares_memory(&self, function: &FunctionInput) -> bool {
        self.members.iter().any(|&at| {
            matches!(function.code[at].mnemonic, "cmp" | "test")
                && function.data[at].memory.iter().any(|m| m.bytes == 1)
        })
    }

    /// Follows a loaded byte: `None` if it goes into anything but comparisons and stores.
    fn follow(
        &self,
        function: &FunctionInput,
        uses: &Uses,
        load: usize,
        (stores, tables): (&[usize], &[usize]),
        compared: &mut Vec<usize>,
    ) -> Option<()> {
        let general = |one: &&(u8, Value)| one.0 < XMM0;
        let mut values: Vec<Value> = (function.values.writes(load).iter().filter(general))
            .map(|one| one.1)
            .collect();
        if matches!(function.code[load].mnemonic, "cmp" | "test") {
            return Some(());
        }
        let mut next = 0;
        while let Some(&value) = values.get(next) {
            next += 1;
            for reader in uses.readers(value) {
                if !self.members.contains(&reader) || reader == load || stores.contains(&reader) {
                    continue;
                }
                let data = &function.data[reader];
                let reads = function.values.reads(reader).iter();
                let as_address = reads
                    .filter(|(_, read)| read.number == value.number)
                    .any(|(location, _)| data.address_reads & (1 << location) != 0);
                if as_address && tables.contains(&reader) {
                    continue;
                }
                if as_address {
                    return None;
                }
                match function.code[reader].mnemonic {
                    "cmp" | "test" => compared.push(reader),
                    "mov" | "movzx" | "movsx" if values.len() < MAX_BYTE_VALUES => {
                        // A load into a part of the register reads its rest.
                        if data.memory.is_empty() {
                            for &(_, copy) in function.values.writes(reader).iter().filter(general)
                            {
                                // A copy is the same value.
                                if !values.contains(&copy) {
                                    values.push(copy);
                                }
                            }
                        }
                    }
                    _ => return None,
                }
            }
        }
        Some(())
    }

    /// Whether a store writes what was loaded.
    fn stores_loaded(&self, function: &FunctionInput, at: usize) -> bool {
        let data = &function.data[at];
        let stored = |location: &u8| {
            data.data_reads & (1 << location) != 0 && data.address_reads & (1 << location) == 0
        };
        let mut reads = function.values.reads(at).iter();
        reads.any(|(location, value)| {
            stored(location) && self.is_loaded(function, *value, MAX_BYTE_DEPTH)
        })
    }

    fn is_loaded(&self, function: &FunctionInput, value: Value, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        match function.values.origin(value) {
            Origin::Instruction(at) => {
                let at = at as usize;
                let data = &function.data[at];
                let moves = matches!(function.code[at].mnemonic, "mov" | "movzx" | "movsx");
                if !moves || data.stores() {
                    return false;
                }
                match data.memory.first() {
                    Some(access) => access.bytes == 1,
                    None => (function.values.reads(at).iter())
                        .any(|one| self.is_loaded(function, one.1, depth)),
                }
            }
            Origin::Join(block) => {
                let mut others = (self.usually_met(function, block, value))
                    .filter(|one| one.number != value.number)
                    .peekable();
                others.peek().is_some() && others.all(|one| self.is_loaded(function, one, depth))
            }
            Origin::Constant | Origin::Entry => false,
        }
    }
}

/// Whether an instruction only moves, counts, compares or jumps.
fn is_plain(function: &FunctionInput, at: usize) -> bool {
    let code = &function.code[at];
    if matches!(
        function.data[at].shortcut,
        Shortcut::Nothing | Shortcut::Constant
    ) {
        return true;
    }
    if matches!(code.flow, Flow::CondJump(_) | Flow::Jump(_)) {
        return true;
    }
    matches!(
        code.mnemonic,
        "mov"
            | "movzx"
            | "movsx"
            | "movsxd"
            | "cdqe"
            | "add"
            | "sub"
            | "inc"
            | "dec"
            | "lea"
            | "cmp"
            | "test"
            | "and"
    )
}
