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

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::slow_loads::{Kind, candidate, slow};

/// Identifier.
pub const ID: &str = "cache-miss";

/// Looks for it.
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
            let mut found = candidate(input, ID, slow, goes, false)
                .counted("its address follows neither a list nor a steady step");
            found.fix = "Make what is looked up smaller, so that more of it fits the caches (narrower types, only the fields that the look-up needs), put together what is used together, or prefetch the places of some rounds ahead."
                .to_owned();
            found.example = Some((
                "for (i = 0; i < n; i++)\n    sum += table[hash(key[i])].value;",
                "for (i = 0; i < n; i++) {\n    __builtin_prefetch(&table[hash(key[i + 8])]);\n    sum += table[hash(key[i])].value;\n}",
            ));
            found
        })
        .collect()
}
