//! Rounds of SipHash, by their rotations.
//!
//! **Near misses.** Other ciphers and hashes rotate by other distances (ChaCha by 16, 12, 8 and 7, xxHash by 1, 7, 12 and
//! 18, SHA-512 by 14, 18 and 41).
//!
//! **Source.** J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.

use std::ops::Range;

use crate::input::analysis_input::FunctionInput;

/// Distances of a round's rotations of words of 64 bits; by the last one it rotates twice.
const ROTATIONS: [u64; 5] = [13, 16, 17, 21, 32];

/// Bits of a word.
const WORD_BITS: u64 = 64;

/// Rounds without a jump between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SipRounds {
    /// From the first rotation to the last one.
    pub instructions: Range<usize>,
    /// How many rounds.
    pub rounds: usize,
}

/// Executed rounds of a function, in order.
pub(crate) fn sip_rounds(function: &FunctionInput) -> Vec<SipRounds> {
    let blocks = function.flow.blocks().iter();
    let found = blocks.filter_map(|block| {
        let range = block.instructions.start as usize..block.instructions.end as usize;
        let executed = function
            .counts
            .get(range.start)
            .is_some_and(|&count| count > 0);
        let rotations: Vec<(usize, u64)> = range
            .filter_map(|at| Some((at, rotation(function, at)?)))
            .collect();
        let times = |by: &u64| rotations.iter().filter(|one| one.1 == *by).count();
        let rounds = ROTATIONS.iter().map(times).min()?;
        let (first, last) = (rotations.first()?.0, rotations.last()?.0);
        (executed && rounds > 0).then_some(SipRounds {
            instructions: first..last + 1,
            rounds,
        })
    });
    found.collect()
}

/// The distance by which an instruction rotates a word to the left, if it is one of a round's.
fn rotation(function: &FunctionInput, at: usize) -> Option<u64> {
    let code = &function.code[at];
    let number = code.last_number()?;
    let by = match code.mnemonic {
        "rol" => number,
        "ror" | "rorx" => WORD_BITS.checked_sub(number)?,
        _ => return None,
    };
    ROTATIONS.contains(&by).then_some(by)
}
