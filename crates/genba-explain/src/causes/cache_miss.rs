//! `cache-miss`: a load that misses the caches at an address that could be known earlier.
//!
//! **Signature.** A load that takes far longer than an L1d hit and whose address is computed (a
//! hash, an index from elsewhere): no chain from load to load, no constant stride.
//!
//! **Confirmation.** Simulated or counted misses; the same with a working set that fits.
//!
//! **Gain.** Up to the time without the stalls. Smaller elements and a better layout remove a part
//! of it, prefetching for later iterations most of it.
//!
//! **Source.** U. Drepper, "What Every Programmer Should Know About Memory", 2007, section 6; S.
//! Chen et al., "Improving Hash Join Performance through Prefetching", ICDE 2004.

use genba_model::{AddressPattern, Cause, Fix};

use crate::candidate::Candidate;
use crate::constants::gains::CACHE_MISS_SAVED;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Finds loads at computed addresses that take far longer than an L1d hit.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = slow(input, Kind::Scattered);
    all.iter()
        .map(|slow| {
            let goes = CACHE_MISS_SAVED;
            candidate(input, Cause::CacheMiss, Fix::SmallerData, slow, goes, false)
                .fact(slow.address(input, AddressPattern::Computed))
        })
        .collect()
}
