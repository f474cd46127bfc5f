//! `integer-latency-chain`: a checksum or hash each step of which waits for the one before.
//!
//! **Signature.** An innermost loop of many rounds over data whose measured cycles are those of
//! a chain of multiplications and additions, `crc32` instructions, or look-ups combined by
//! exclusive or, into which each round takes something new. Generators, which take nothing in, and
//! state machines, whose steps cannot be taken apart, are none.
//!
//! **Confirmation.** Several steps at once: `h·f⁴ + a·f³ + b·f² + c·f + d`; eight tables; several
//! streams side by side.
//!
//! **Gain.** The loop's round is modelled with the chain split and the loop unrolled as often.
//!
//! **Source.** M. Kounavis, F. Berry, "Novel Table Lookup-Based Algorithms for High-Performance
//! CRC Generation", 2008 (slicing by 8); A. Fog, section 9.5, on dependency chains.

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Origin, Value};
use crate::patterns::latency_chain::{Chained, candidate, chained};
use crate::patterns::reductions::Kind;

/// Identifier.
pub const ID: &str = "integer-latency-chain";

/// Rounds from which another function in place of a mixing one pays.
const LONG: f64 = 64.0;

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let kinds = [Kind::Linear, Kind::Crc, Kind::Table, Kind::Mixing];
    let all = chained(input, &kinds);
    let tellable = all
        .iter()
        .filter(|one| one.kind != Kind::Mixing || one.one.is_long(LONG))
        .filter(|one| one.kind != Kind::Table || !is_sliced(one));
    tellable.map(tell).collect()
}

/// Look-ups of a round whose place does not wait for the chain's others, from which it takes
/// several tables.
const BESIDE: usize = 2;

/// Whether a round looks up several tables side by side already: of the bytewise loop, however
/// often it is unrolled, the place of every look-up waits for the look-up before.
fn is_sliced(chained: &Chained<'_>) -> bool {
    let function = chained.one.input;
    let in_chain = |value: Value| match function.values.origin(value) {
        Origin::Instruction(at) => chained.links.contains(&(at as usize)),
        _ => false,
    };
    let beside = |&at: &usize| {
        let list = function.data[at].memory.iter();
        let mut loads = list.zip(function.values.addresses(at));
        loads.any(|(access, address)| {
            let index = address.and_then(|address| address.index);
            let reads = access.reads && !access.stack;
            reads && index.is_some_and(|(value, factor)| factor >= 4 && !in_chain(value))
        })
    };
    chained.one.usual().filter(beside).count() >= BESIDE
}

fn tell(chained: &Chained<'_>) -> Candidate {
    let mut found = candidate(ID, chained);
    let (fix, example) = match chained.kind {
        Kind::Table => (
            "Take eight bytes a step with eight tables (slicing by 8), so that the look-ups of one step do not wait for each other; or the processor's own instructions (crc32, pclmulqdq).",
            (
                "crc = table[(crc ^ *p++) & 255] ^ crc >> 8;",
                "word = load64(p) ^ crc;   p += 8;\ncrc = t7[word & 255] ^ t6[word >> 8 & 255] ^ … ^ t0[word >> 56];",
            ),
        ),
        Kind::Crc => (
            "Run three streams side by side and put their checksums together (the instruction takes three cycles, but one can begin each cycle).",
            (
                "for (; n; n--) crc = _mm_crc32_u64(crc, *p++);",
                "for (; n; n--, p++) {\n    a = _mm_crc32_u64(a, p[0]);\n    b = _mm_crc32_u64(b, p[third]);\n    c = _mm_crc32_u64(c, p[2 * third]);\n}   /* combine a, b, c */",
            ),
        ),
        Kind::Mixing => (
            "If the values need not stay the same, use a hash that takes eight or more bytes a step in independent lanes (wyhash, xxHash); else hash several keys side by side.",
            (
                "for (; n; n--)\n    h = (h ^ *p++) * PRIME;",
                "for (; n >= 8; n -= 8, p += 8)\n    h = mix(h ^ load64(p));",
            ),
        ),
        _ => (
            "Take four steps at once with the powers of the factor: the same value, a quarter of the chain; the other products do not wait for it.",
            (
                "for (; n; n--)\n    h = h * F + *p++;",
                "for (; n >= 4; n -= 4, p += 4)\n    h = h * F4 + (p[0] * F3 + p[1] * F2 + p[2] * F + p[3]);",
            ),
        ),
    };
    found.fix = fix.to_owned();
    found.example = Some(example);
    found
}
