//! `fp-latency-chain`: a floating-point sum (product, extreme) that each round waits for.
//!
//! **Signature.** An innermost loop of many rounds whose measured cycles are those of a chain of
//! floating-point additions (multiplications, minima or maxima), each of which takes the one
//! before and something new; nothing else in the loop looks at what is gathered. Recurrences
//! that need each result (filters, Horner's rule, sums that are stored) are none.
//!
//! **Confirmation.** Several partial sums that are added at the end; the result may differ in the
//! last digits, because rounding depends on the order.
//!
//! **Gain.** The loop's round is modelled with every such chain split in four and the loop
//! unrolled as often; vectors of two or four numbers bound it from below.
//!
//! **Source.** A. Fog, "Optimizing subroutines in assembly language", section 9.5, on loop-carried
//! dependency chains; Intel's optimisation manual, "multiple accumulators".

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::latency_chain::{Chained, candidate, chained};
use crate::patterns::memory_streams::bounded;
use crate::patterns::reductions::Kind;

/// Identifier.
pub const ID: &str = "fp-latency-chain";

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let kinds = [Kind::FloatSum, Kind::FloatProduct, Kind::FloatExtreme];
    let all = chained(input, &kinds);
    let mut found: Vec<Candidate> = all.iter().map(tell).collect();
    for (candidate, chained) in found.iter_mut().zip(&all) {
        candidate.residual_fraction = bounded(input, &chained.one, candidate.residual_fraction);
    }
    found
}

fn tell(chained: &Chained<'_>) -> Candidate {
    let mut found = candidate(ID, chained);
    // Compilers make vectors of what stands side by side.
    let lanes = lanes(chained);
    if lanes > 1.0 {
        found.residual_fraction.low /= lanes;
        found.residual_fraction.value /= 0.5 + 0.5 * lanes.min(2.0);
    }
    // Two sums instead of four are a fix as well.
    found.residual_fraction.high = found.residual_fraction.high.max(0.6);
    let what = match chained.kind {
        Kind::FloatProduct => "products",
        Kind::FloatExtreme => "extremes",
        _ => "sums",
    };
    found.fix = format!(
        "Gather into four to eight partial {what} and put them together after the loop, by hand, or with -fassociative-math (-ffast-math) or `#pragma omp simd reduction`; the rounding of the result changes."
    );
    found.example = Some((
        "for (i = 0; i < n; i++)\n    sum += a[i] * b[i];",
        "for (i = 0; i + 4 <= n; i += 4) {\n    s0 += a[i] * b[i];         s1 += a[i + 1] * b[i + 1];\n    s2 += a[i + 2] * b[i + 2]; s3 += a[i + 3] * b[i + 3];\n}\nsum = (s0 + s1) + (s2 + s3);   /* and the rest */",
    ));
    found
}

/// Numbers that a vector of 16 bytes holds, if the chain is of single ones.
fn lanes(chained: &Chained<'_>) -> f64 {
    let form = |at: &usize| chained.one.input.data[*at].form.as_str();
    let name = |at: &usize| form(at).split(' ').next().unwrap_or_default();
    if chained.links.iter().any(|at| name(at).ends_with("ss")) {
        4.0
    } else if chained.links.iter().any(|at| name(at).ends_with("sd")) {
        2.0
    } else {
        1.0
    }
}
