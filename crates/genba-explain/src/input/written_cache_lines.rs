//! Stores of loops whose address is the same in every iteration.

use genba_code::{Flow, Location, STACK_POINTER};

use crate::constants::counts::MIN_STORES_PER_ITERATION;
use crate::constants::registers::XMM0;
use crate::constants::time_shares::MIN_SHARE_OF_SHARED_WRITES;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};

/// A store in a loop whose address does not change there.
#[derive(Clone, Debug)]
pub struct FixedWrite {
    /// Its place in the list.
    pub id: usize,
    /// Index of the function in [`AnalysisInput::functions`].
    pub function: usize,
    /// Index of the instruction.
    pub at: usize,
    /// Index of the loop.
    pub around: u32,
    /// Its loop's instructions: their addresses.
    members: Vec<u64>,
    base: Location,
    index: Option<(Location, u8)>,
    displacement: i64,
    /// Bytes that it writes.
    pub bytes: u16,
}

impl FixedWrite {
    /// Whether an instruction is of its loop.
    #[must_use]
    pub fn covers(&self, input: &AnalysisInput, module: &str, address: u64) -> bool {
        input.functions[self.function].module == module
            && self.members.binary_search(&address).is_ok()
    }

    /// The address that it writes to.
    #[must_use]
    pub fn address(&self, registers: &[u64; 16]) -> u64 {
        let base = registers[self.base as usize];
        let index = self.index.map_or(0, |(register, scale)| {
            registers[register as usize].wrapping_mul(u64::from(scale))
        });
        base.wrapping_add(index)
            .wrapping_add_signed(self.displacement)
    }
}

/// All such stores of loops that carry time, in code of the user's.
#[must_use]
pub fn fixed_writes(input: &AnalysisInput) -> Vec<FixedWrite> {
    let mut list = Vec::new();
    for (number, function) in input.functions.iter().enumerate() {
        if !function.own || !function.counted || function.counts.len() != function.code.len() {
            continue;
        }
        for around in 0..function.flow.loops().len() as u32 {
            if function.is_innermost(around)
                && function.loop_heat(around) >= MIN_SHARE_OF_SHARED_WRITES
            {
                of_loop(&mut list, number, function, around);
            }
        }
    }
    list
}

fn of_loop(list: &mut Vec<FixedWrite>, number: usize, function: &FunctionInput, around: u32) {
    let members = function.loop_instructions(around);
    let most = members
        .iter()
        .map(|&at| function.counts[at])
        .max()
        .unwrap_or(0);
    let mut written: genba_code::Locations = 0;
    for &at in &members {
        // Calls may change anything.
        if matches!(
            function.code[at].flow,
            Flow::Call(_) | Flow::IndirectCall | Flow::Syscall
        ) {
            return;
        }
        written |= function.data[at].writes;
    }
    let changed = |register: Location| written >> register & 1 == 1;
    for &at in &members {
        let code = &function.code[at];
        if !code.writes_memory
            || (function.counts[at] as f64) < MIN_STORES_PER_ITERATION * most as f64
        {
            continue;
        }
        for access in function.data[at]
            .memory
            .iter()
            .filter(|access| access.writes && !access.segment)
        {
            let Some(base) = access
                .base
                .filter(|&base| base < XMM0 && base != STACK_POINTER)
            else {
                continue;
            };
            let index = access.index.map(|index| (index, access.scale));
            if changed(base) || index.is_some_and(|(index, _)| index >= XMM0 || changed(index)) {
                continue;
            }
            let addresses = members.iter().map(|&at| function.code[at].address);
            list.push(FixedWrite {
                id: list.len(),
                function: number,
                at,
                around,
                members: addresses.collect(),
                base,
                index,
                displacement: access.displacement,
                bytes: access.bytes,
            });
            break;
        }
    }
}
