//! `cache-miss`: a load whose data are far, at an address that could have been known earlier.
//!
//! **Signature.** A load that takes far longer than from the first cache, whose address is
//! computed (a hash, an index from elsewhere): no chain from load to load, no steady step.
//!
//! **Confirmation.** Simulated or counted misses; the same with a working set that fits.
//!
//! **Gain.** Up to the time without the waiting. Smaller elements and a better layout take a part
//! of it away, prefetching what the next rounds need most of it.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 6;
//! S. Chen et al., "Improving Hash Join Performance through Prefetching", ICDE 2004.

use genba_model::{AddressPattern, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Finds loads at computed addresses that take far longer than an L1d hit.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Scattered);
    all.iter()
        .map(|slow| {
            let goes = Estimate {
                value: 0.6,
                low: 0.2,
                high: 0.95,
            };
            candidate(input, Cause::CacheMiss, Fix::SmallerData, slow, goes, false)
                .fact(slow.address(input, AddressPattern::Computed))
        })
        .collect()
}
