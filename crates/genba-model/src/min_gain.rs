//! The minimum gain for a finding to be reported.

/// Minimum gain for a finding to be reported, as a share of the time. Chosen: hardly anybody
/// changes a program for less. The noise of wall times is not part of it: findings rest on samples
/// and counts, which show smaller gains than wall times on a noisy machine do.
pub const MIN_GAIN: f64 = 0.02;
