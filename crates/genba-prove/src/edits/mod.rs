//! Edits for the causes whose fix can be made in machine code: one file for each kind of change. Pure.

mod checks_left_out;
mod division_pair;
mod invariant_divisor;
mod plain_operations;
mod predicted_branches;
mod prefetch;
mod replayed_loads;
mod replayed_results;
mod skipped_stores;

use genba_count::native::{CodeEdit, EditedBranch, Replicas, Side};
use genba_model::{CodeChange, FindingSite, ProofKind};
use iced_x86::{IcedError, Instruction};

use crate::DecodedCode;
use crate::branch_shares::BranchShares;

/// A change that may be the fix of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it is.
    pub change: CodeChange,
    /// What the changed program computes.
    pub kind: ProofKind,
    /// The edits, each of an instruction.
    pub edits: Vec<CodeEdit>,
    /// Whether the edits are right only while there is one thread.
    pub single_thread: bool,
    /// Of an upper bound: its windows are those of copies of the process.
    pub replicas: Option<Replicas>,
}

impl Plan {
    fn equivalent(change: CodeChange, edits: Vec<CodeEdit>) -> Self {
        Self {
            change,
            kind: ProofKind::Equivalent,
            edits,
            single_thread: false,
            replicas: None,
        }
    }

    fn upper_bound(change: CodeChange, edits: Vec<CodeEdit>) -> Self {
        Self {
            change,
            kind: ProofKind::UpperBound,
            edits,
            single_thread: false,
            replicas: Some(Replicas::default()),
        }
    }
}

/// An edit that leaves an instruction out on the edited side.
fn left_out(code: &DecodedCode, instruction: &Instruction, branch: EditedBranch) -> CodeEdit {
    CodeEdit {
        address: instruction.ip(),
        original: code.bytes(instruction).to_vec(),
        code: Vec::new(),
        original_at: None,
        without_lock: false,
        group: 0,
        executed_at: None,
        saved: Vec::new(),
        side: Side::Edited,
        branch,
    }
}

/// Whether the upper bound of a cause depends on how often branches are taken.
#[must_use]
pub fn needs_branch_shares(cause: &str) -> bool {
    matches!(cause, "unpredictable-branch" | "invariant-check")
}

/// What is taken out of the running code for the upper bound of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TakenOut {
    Loads,
    Results,
    Calls,
    Mispredictions,
    Checks,
}

/// What may be taken out, in the order in which it is tried.
fn taken_out(cause: &str) -> &'static [TakenOut] {
    use TakenOut::{Calls, Checks, Loads, Mispredictions, Results};
    match cause {
        "cache-miss" | "pointer-chase" | "strided-access" | "field-order" => &[Loads],
        "store-forward-stall" => &[Loads, Results],
        "unpredictable-branch" => &[Mispredictions],
        "invariant-check" => &[Checks],
        "fp-latency-chain" | "integer-latency-chain" | "division-as-overflow-check" => &[Results],
        "duplicate-division" | "loop-invariant-divisor" | "known-operand" => &[Results, Calls],
        "loop-invariant-call"
        | "redundant-computation"
        | "tiny-callee-not-inlined"
        | "tls-lookup"
        | "costly-conversion"
        | "discarded-work"
        | "general-case-first" => &[Calls],
        _ => &[],
    }
}

/// Whether anything is known to be made of a cause's code: a fix, or its upper bound.
#[must_use]
pub fn can_be_changed(cause: &str) -> bool {
    matches!(cause, "needless-atomic" | "dead-store") || has_bounds(cause)
}

/// Whether a cause can be taken out of the running code.
#[must_use]
pub fn has_bounds(cause: &str) -> bool {
    !taken_out(cause).is_empty()
}

/// Returns the changes that bound from above what a fix of a finding can gain, none without edits. They may
/// compute something else, and are executed in copies of the process that end with the measurement.
///
/// # Errors
/// A sentence that says why there is none.
pub fn bounds(
    cause: &str,
    site: &FindingSite,
    code: &DecodedCode,
    shares: &BranchShares,
) -> Result<Vec<Plan>, String> {
    let kinds = taken_out(cause);
    if kinds.is_empty() {
        return Err(format!(
            "{cause} cannot be taken out of the running code yet: make the fix in the source and compare \
             (genba bench)"
        ));
    }
    let mut found = Vec::new();
    for kind in kinds {
        found.extend(
            match kind {
                TakenOut::Loads => replayed_loads::plans(site, code),
                TakenOut::Results => replayed_results::plans(site, code),
                TakenOut::Calls => replayed_results::calls(site, code),
                TakenOut::Mispredictions => predicted_branches::plans(site, code, shares),
                TakenOut::Checks => checks_left_out::plans(site, code, shares),
            }
            .map_err(not_edited)?,
        );
    }
    with_edits(Ok(found))
}

/// Returns the changes that may be the fix of a finding, none without edits.
///
/// # Errors
/// A sentence that says why there is none.
pub fn plans(cause: &str, site: &FindingSite, code: &DecodedCode) -> Result<Vec<Plan>, String> {
    let made = match cause {
        "duplicate-division" => division_pair::plans(site, code),
        "loop-invariant-divisor" | "division-as-overflow-check" | "known-operand" => {
            invariant_divisor::plans(site, code)
        }
        "needless-atomic" => plain_operations::plans(site, code),
        "dead-store" => skipped_stores::plans(site, code),
        "cache-miss" | "strided-access" => prefetch::plans(site, code),
        _ => {
            return Err(format!(
                "the fix of {cause} cannot be made in machine code yet: make it in the source and \
                 compare (genba bench)"
            ));
        }
    };
    with_edits(made)
}

fn with_edits(made: Plans) -> Result<Vec<Plan>, String> {
    let found: Vec<Plan> = made
        .map_err(not_edited)?
        .into_iter()
        .filter(|plan| !plan.edits.is_empty())
        .collect();
    match found.is_empty() {
        true => Err(
            "its instructions have a form that cannot be edited: make the change in the source and \
             compare (genba bench)"
                .to_owned(),
        ),
        false => Ok(found),
    }
}

fn not_edited(error: IcedError) -> String {
    format!("its instructions cannot be edited: {error}")
}

type Plans = Result<Vec<Plan>, IcedError>;

#[cfg(test)]
mod tests {
    use super::*;
    use genba_count::native::slot_offset;
    use iced_x86::{Decoder, Formatter, Instruction, IntelFormatter, Mnemonic, OpKind, Register};

    pub fn site(addresses: &[u64]) -> FindingSite {
        FindingSite {
            function: "f".to_owned(),
            module: "/bin/f".to_owned(),
            file: None,
            line: None,
            end_line: None,
            addresses: addresses.to_vec(),
            called_from: None,
            inside: None,
        }
    }

    pub fn text(edit: &CodeEdit) -> Vec<String> {
        let mut formatter = IntelFormatter::new();
        formatter.options_mut().set_branch_leading_zeros(false);
        let decoder = Decoder::with_ip(64, &edit.code, 0, 0);
        let text = |instruction: Instruction| {
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            text
        };
        decoder.into_iter().map(text).collect()
    }

    /// The words of edits at the start of a thread.
    pub fn initial_words() -> [u64; 64] {
        core::array::from_fn(|slot| u64::from(slot % 2 == 0))
    }

    /// Executes an edit of `div rsi` or `div esi` with rdx = 0: rax and rdx. At each instruction, what is
    /// restored must be the state before the division.
    pub fn emulate_division(
        edit: &CodeEdit,
        words: &mut [u64; 64],
        dividend: u64,
        divisor: u64,
    ) -> (u64, u64) {
        let mut registers = [0u64; 16];
        registers[Register::RAX.number()] = dividend;
        registers[Register::RSI.number()] = divisor;
        let before = registers;
        let (mut carry, mut zero) = (false, false);
        let mut at = 0;
        while at < edit.code.len() {
            let mut restored = registers;
            for saved in &edit.saved {
                if (usize::from(saved.begin)..usize::from(saved.end)).contains(&at) {
                    restored[usize::from(saved.register)] = words[usize::from(saved.slot)];
                }
            }
            assert_eq!(restored, before, "at {at:#x} of {:?}", text(edit));
            let one = Decoder::with_ip(64, &edit.code[at..], at as u64, 0).decode();
            at += one.len();
            let slot =
                |one: &Instruction| ((one.memory_displacement32() - slot_offset(0)) / 8) as usize;
            let size = |one: &Instruction, operand| match one.op_kind(operand) {
                OpKind::Register => one.op_register(operand).size(),
                _ => one.memory_size().size(),
            };
            let mask = |bytes: usize| if bytes == 4 { 0xFFFF_FFFF } else { u64::MAX };
            let read =
                |one: &Instruction, operand: u32, words: &[u64; 64], registers: &[u64; 16]| {
                    let all = match one.op_kind(operand) {
                        OpKind::Register => registers[one.op_register(operand).number()],
                        OpKind::Memory => words[slot(one)],
                        _ => return one.immediate(operand),
                    };
                    all & mask(size(one, operand))
                };
            let value = |operand| read(&one, operand, words, &registers);
            let result = match one.mnemonic() {
                Mnemonic::Cmovb => match carry {
                    true => Some(value(1)),
                    // A conditional move of 32 bits zeroes the upper ones in either case.
                    false => Some(value(0)),
                },
                Mnemonic::Sbb => Some((if carry { u64::MAX } else { 0 }) & mask(size(&one, 0))),
                Mnemonic::Cmp
                | Mnemonic::Sub
                | Mnemonic::Test
                | Mnemonic::And
                | Mnemonic::Xor
                | Mnemonic::Or
                | Mnemonic::Add => {
                    let (a, b) = (value(0), value(1) & mask(size(&one, 0)));
                    let result = match one.mnemonic() {
                        Mnemonic::Test | Mnemonic::And => a & b,
                        Mnemonic::Xor => a ^ b,
                        Mnemonic::Or => a | b,
                        Mnemonic::Add => a.wrapping_add(b),
                        _ => a.wrapping_sub(b),
                    } & mask(size(&one, 0));
                    carry = matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Sub) && a < b;
                    zero = result == 0;
                    let compares = matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
                    (!compares).then_some(result)
                }
                Mnemonic::Mov => Some(value(1)),
                Mnemonic::Shr => {
                    let result = value(0) >> value(1);
                    zero = result == 0;
                    Some(result)
                }
                Mnemonic::Tzcnt => Some(u64::from(value(1).trailing_zeros())),
                Mnemonic::Shrx => Some(value(1) >> (value(2) & (size(&one, 0) as u64 * 8 - 1))),
                Mnemonic::Mulx => {
                    let product =
                        u128::from(registers[Register::RDX.number()]) * u128::from(value(2));
                    registers[one.op1_register().number()] = product as u64;
                    Some((product >> 64) as u64)
                }
                Mnemonic::Div => {
                    let bytes = size(&one, 0);
                    let by = value(0);
                    let number = registers[Register::RAX.number()] & mask(bytes);
                    assert_eq!(registers[Register::RDX.number()] & mask(bytes), 0);
                    registers[Register::RAX.number()] = number / by;
                    registers[Register::RDX.number()] = number % by;
                    if at == edit.code.len() {
                        break;
                    }
                    None
                }
                Mnemonic::Jmp | Mnemonic::Je | Mnemonic::Jne | Mnemonic::Jb | Mnemonic::Jae => {
                    let taken = match one.mnemonic() {
                        Mnemonic::Je => zero,
                        Mnemonic::Jne => !zero,
                        Mnemonic::Jb => carry,
                        Mnemonic::Jae => !carry,
                        _ => true,
                    };
                    if taken {
                        at = one.near_branch_target() as usize;
                    }
                    None
                }
                other => panic!("{other:?}"),
            };
            match (result, one.op0_kind()) {
                (Some(result), OpKind::Register) => registers[one.op0_register().number()] = result,
                (Some(result), _) => words[slot(&one)] = result,
                (None, _) => {}
            }
        }
        (
            registers[Register::RAX.number()],
            registers[Register::RDX.number()],
        )
    }

    #[test]
    fn causes_without_a_change_in_machine_code_are_refused_with_a_reason() {
        let code = DecodedCode::new(0x1000, &[0xC3]);
        let refused = plans("pointer-chase", &site(&[0x1000]), &code);
        assert!(refused.is_err_and(|reason| reason.contains("pointer-chase")));
        assert!(plans("duplicate-division", &site(&[0x1000]), &code).is_err());
    }
}
