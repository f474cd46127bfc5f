//! Skid correction: moves samples back to the instructions that took the time.
//!
//! An interrupt is taken when an instruction has retired, so a sample that is not precise
//! carries the address of the instruction *after* the one whose time it took. Three rules
//! move it back; each keeps the number of samples:
//!
//! 1. **Predecessor.** A sample belongs to the instruction that ran before it. At a block's head
//!    there may be several: the sample is split by the counts of the edges where they were
//!    counted, else evenly.
//!    A repeated string instruction is its own predecessor: it is interrupted at its own address.
//! 2. **Function head.** The first instruction has no predecessor in the function: it keeps
//!    its samples.
//! 3. **Retirement group.** Processors retire several instructions in one cycle and take the
//!    interrupt after the group, and an instruction may wait at the head of the reorder buffer
//!    for another's result. So samples of a long instruction (a division, a square root, a
//!    locked operation) leak over the next few one-cycle instructions. Such an instruction
//!    runs as often as the long one before it in the same block and takes about a cycle where
//!    the other takes [`Cost::Long`]'s cycles; what it carries beyond that proportion goes
//!    to the long one. Instructions further down a chain of dependencies are left alone,
//!    since each of those really adds its cycle to the critical path.
//!
//! Rule 1 and the leak of rule 3 were measured with dependent chains on Zen 4 and Zen 5, for
//! `cpu-clock` and for `cycles` without precise sampling alike: behind a `div`, 74–87 % of the
//! loop's samples stand on the next instruction and 13–22 % on the one after it.

use crate::constants::RETIREMENT_WIDTH;
/// A set of registers, a bit for each.
pub type Registers = u128;

/// Cost class of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// One cycle, registers only.
    Simple,
    /// Anything else: loads, stores, multiplications, branches, calls.
    Other,
    /// Many cycles that do not depend on memory: nominal latency.
    Long(u32),
}

/// An instruction as skid correction sees it.
#[derive(Clone, Debug)]
pub struct AttributionInstruction {
    /// Instructions that may have run just before it, inside the function.
    pub predecessors: Vec<u32>,
    /// Executions of the edge from each of them, where they were counted; else empty.
    pub counts: Vec<u64>,
    /// Whether it is the first of a basic block.
    pub starts_block: bool,
    /// Its cost class.
    pub cost: Cost,
    /// Registers that it reads.
    pub reads: Registers,
    /// Registers that it writes.
    pub writes: Registers,
}

/// Skid-corrects samples per instruction. The sum is kept.
///
/// # Panics
/// If `raw` and `code` differ in length (a programming error, not bad input).
#[must_use]
pub fn attribute(raw: &[f64], code: &[AttributionInstruction]) -> Vec<f64> {
    assert_eq!(raw.len(), code.len(), "one fact for each instruction");
    let mut cost = shift_to_predecessors(raw, code);
    gather_retirement_groups(&mut cost, code);
    cost
}

/// Applies rules 1 and 2.
fn shift_to_predecessors(raw: &[f64], code: &[AttributionInstruction]) -> Vec<f64> {
    let mut cost = vec![0.0; raw.len()];
    for (index, (&samples, fact)) in raw.iter().zip(code).enumerate() {
        if samples == 0.0 {
            continue;
        }
        if fact.predecessors.is_empty() {
            cost[index] += samples;
            continue;
        }
        let all: f64 = fact.counts.iter().map(|&count| count as f64).sum();
        if all > 0.0 && fact.counts.len() == fact.predecessors.len() {
            for (&before, &count) in fact.predecessors.iter().zip(&fact.counts) {
                cost[before as usize] += samples * (count as f64 / all);
            }
            continue;
        }
        let part = samples / fact.predecessors.len() as f64;
        for &before in &fact.predecessors {
            cost[before as usize] += part;
        }
    }
    cost
}

/// Applies rule 3.
fn gather_retirement_groups(cost: &mut [f64], code: &[AttributionInstruction]) {
    for long in 0..code.len() {
        let Cost::Long(cycles) = code[long].cost else {
            continue;
        };
        let bound = cost[long] / f64::from(cycles);
        // Registers whose value is one dependent step (or more) behind the long instruction.
        let mut direct = code[long].writes;
        let mut further: Registers = 0;
        let group = (long + 1)..code.len().min(long + 1 + RETIREMENT_WIDTH);
        for index in group {
            let fact = &code[index];
            if fact.starts_block || matches!(fact.cost, Cost::Long(_)) {
                break;
            }
            if fact.reads & further != 0 {
                direct &= !fact.writes;
                further |= fact.writes;
                continue;
            }
            let waits = fact.reads & direct != 0;
            direct &= !fact.writes;
            if waits {
                further |= fact.writes;
            } else {
                further &= !fact.writes;
            }
            if fact.cost == Cost::Simple && cost[index] > bound {
                cost[long] += cost[index] - bound;
                cost[index] = bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RAX: Registers = 1 << 0;
    const RCX: Registers = 1 << 1;
    const RDX: Registers = 1 << 2;
    const RDI: Registers = 1 << 7;

    fn fact(predecessors: &[u32], starts_block: bool, cost: Cost) -> AttributionInstruction {
        AttributionInstruction {
            predecessors: predecessors.to_vec(),
            counts: Vec::new(),
            starts_block,
            cost,
            reads: 0,
            writes: 0,
        }
    }

    /// `while (n) { s += n % b; n /= b; }` as gcc 12 -O2 writes the loop, with the samples that
    /// `perf record -e cpu-clock:u` showed on Zen 5.
    fn division_loop() -> (Vec<f64>, Vec<AttributionInstruction>) {
        let mut code = vec![
            fact(&[7], true, Cost::Simple),    // mov rax, rdi
            fact(&[0], false, Cost::Simple),   // xor edx, edx
            fact(&[1], false, Cost::Long(20)), // div rsi
            fact(&[2], false, Cost::Simple),   // add rcx, rdx
            fact(&[3], false, Cost::Simple),   // mov rdx, rdi
            fact(&[4], false, Cost::Simple),   // mov rdi, rax
            fact(&[5], false, Cost::Simple),   // cmp rdx, rsi
            fact(&[6], false, Cost::Other),    // jae
        ];
        code[2].writes = RAX | RDX;
        code[3].reads = RCX | RDX;
        code[3].writes = RCX;
        code[4].reads = RDI;
        code[4].writes = RDX;
        code[5].reads = RAX;
        code[5].writes = RDI;
        code[6].reads = RDX;
        (vec![0.1, 1.4, 0.0, 73.9, 14.6, 4.6, 0.0, 5.2], code)
    }

    #[test]
    fn samples_behind_a_division_move_to_the_division() {
        let (raw, code) = division_loop();
        let cost = attribute(&raw, &code);
        let total: f64 = raw.iter().sum();
        assert!(cost[2] / total >= 0.8, "division {:.3}", cost[2] / total);
        assert!(cost[3] / total < 0.05, "successor {:.3}", cost[3] / total);
    }

    #[test]
    fn samples_at_a_repeated_string_instruction_stay() {
        let code = [
            fact(&[], true, Cost::Simple),   // mov rdi, rsp
            fact(&[1], false, Cost::Other),  // rep movsq
            fact(&[1], false, Cost::Simple), // mov rax, rbx
        ];
        assert_eq!(attribute(&[0.0, 36.0, 4.0], &code), [0.0, 40.0, 0.0]);
    }

    #[test]
    fn dependent_instructions_behind_a_division_keep_their_samples() {
        // div; add; rol; xor: each depends on the one before.
        let mut code = vec![
            fact(&[3], true, Cost::Long(20)),
            fact(&[0], false, Cost::Simple),
            fact(&[1], false, Cost::Simple),
            fact(&[2], false, Cost::Simple),
        ];
        for fact in &mut code {
            fact.reads = RAX;
            fact.writes = RAX;
        }
        let cost = attribute(&[10.0, 40.0, 10.0, 40.0], &code);
        assert_eq!(
            cost[2], 40.0,
            "the second dependent instruction keeps its samples"
        );
        assert_eq!(cost[3], 10.0);
        assert_eq!(cost[1], 2.0, "first step waits for the division");
    }

    #[test]
    fn samples_at_a_block_head_split_evenly_over_predecessors_without_edge_counts() {
        let code = vec![
            fact(&[], true, Cost::Simple),
            fact(&[0], false, Cost::Other),
            fact(&[1], true, Cost::Other),
            fact(&[1, 2], true, Cost::Simple),
        ];
        assert_eq!(
            attribute(&[3.0, 0.0, 0.0, 8.0], &code),
            vec![3.0, 4.0, 4.0, 0.0]
        );
    }

    #[test]
    fn samples_at_a_block_head_split_by_edge_counts() {
        let mut code = vec![
            fact(&[], true, Cost::Simple),
            fact(&[0], false, Cost::Other),
            fact(&[1], true, Cost::Other),
            fact(&[1, 2], true, Cost::Simple),
        ];
        code[3].counts = vec![1, 7];
        assert_eq!(
            attribute(&[0.0, 0.0, 0.0, 8.0], &code),
            vec![0.0, 1.0, 7.0, 0.0]
        );
        // Edge counts of zero give no weights: split evenly.
        code[3].counts = vec![0, 0];
        assert_eq!(
            attribute(&[0.0, 0.0, 0.0, 8.0], &code),
            vec![0.0, 4.0, 4.0, 0.0]
        );
    }

    #[test]
    fn retirement_groups_end_at_a_block_head() {
        let code = vec![
            fact(&[], true, Cost::Long(20)),
            fact(&[0], true, Cost::Simple),
            fact(&[1], false, Cost::Simple),
        ];
        assert_eq!(attribute(&[0.0, 10.0, 10.0], &code), vec![10.0, 10.0, 0.0]);
    }

    proptest! {
        #[test]
        fn sum_of_samples_is_kept(
            rows in prop::collection::vec((0.0..1000.0f64, 0u8..3, any::<bool>(), prop::collection::vec((0u32..40, 0u64..9), 0..3), any::<u8>(), any::<u8>()), 1..40),
            counted in any::<bool>(),
        ) {
            let n = rows.len() as u32;
            let raw: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let code: Vec<AttributionInstruction> = rows.iter().map(|row| AttributionInstruction {
                predecessors: row.3.iter().map(|p| p.0 % n).collect(),
                counts: if counted { row.3.iter().map(|p| p.1).collect() } else { Vec::new() },
                starts_block: row.2,
                cost: match row.1 { 0 => Cost::Simple, 1 => Cost::Other, _ => Cost::Long(20) },
                reads: Registers::from(row.4),
                writes: Registers::from(row.5),
            }).collect();
            let cost = attribute(&raw, &code);
            let (before, after): (f64, f64) = (raw.iter().sum(), cost.iter().sum());
            prop_assert!((before - after).abs() <= 1e-9 * before.max(1.0));
            prop_assert!(cost.iter().all(|&c| c >= 0.0));
        }
    }
}
