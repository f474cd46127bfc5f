//! `bytewise-compare`: long stretches compared or searched a byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte and only compares it, with another
//! stretch's or with a constant, in runs of 16 bytes and more.
//!
//! **Confirmation.** The counted length of runs; short runs are left alone: wider code does not
//! pay there.
//!
//! **Gain.** Eight to 32 bytes a comparison, and some cycles to begin and to find the place.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};
use crate::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "bytewise-compare";

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    all.iter()
        .filter(|one| one.stores.is_empty())
        .map(candidate)
        .collect()
}

fn candidate(found: &ByteLoop) -> Candidate {
    let mut one = Candidate::new(ID, Some(found.function), found.loads.clone());
    one.affected = found.path.clone();
    one.residual_fraction =
        found.residual_fraction([12.0, 4.0, 28.0], [1.0 / 8.0, 1.0 / 32.0, 1.0 / 4.0]);
    one.executions = Some(found.rounds);
    one.cycles = Some(genba_model::Estimate::exact(found.each));
    if found.compares_two {
        one.fix = "Compare eight bytes or more at a time: memcmp for equality; for the first difference load eight \
                   bytes of each with memcpy, xor them and count trailing zeros."
            .to_owned();
        one.example = Some((
            "while (b < end && *a == *b)\n    a++, b++;",
            "while (b + 8 <= end) {\n    uint64_t x, y;\n    memcpy(&x, a, 8); memcpy(&y, b, 8);\n    \
             if (x != y)\n        return b + (__builtin_ctzll(x ^ y) >> 3) - start;\n    a += 8, b += 8;\n}",
        ));
    } else {
        one.fix = "Search with memchr (or strcspn, std::find on bytes with -O3, the memchr crate in Rust): the library \
                   looks at 16 to 64 bytes at a time."
            .to_owned();
        one.example = Some((
            "while (p < end && *p != '\\n')\n    p++;",
            "p = memchr(p, '\\n', end - p);",
        ));
    }
    one.confirm = "change it, then: genba bench ./old ./new".to_owned();
    one.counted(format!(
        "{} bytes are compared one at a time, in runs of {:.0} bytes on average",
        count(found.rounds),
        found.run
    ))
    .measured(format!(
        "{} of the time, {} cycles a byte",
        percent(found.share),
        cycles(found.each)
    ))
    .model("eight bytes at a time take about a cycle, and a dozen to begin and to find the place")
}
