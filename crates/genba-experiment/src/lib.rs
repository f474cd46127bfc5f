//! Experiments: variants in one interleaved schedule, judged pair by pair.
