//! All constants of detection and rating, each with its source or the reason for its value.

/// Gains that may be smaller than this (lower end of the interval, as a share of the time) are
/// uncertain. Chosen; no measurement.
pub(crate) const MIN_CERTAIN_GAIN: f64 = 0.01;

/// Minimum likely gain of uncertain findings. Chosen; no measurement.
pub(crate) const MIN_GAIN_IF_UNCERTAIN: f64 = 0.05;

/// Relative uncertainty of the time that a fix does not change, by the code around the change
/// running faster or slower. Chosen to cover the gains measured with `make corpus`.
pub(crate) const UNCHANGED_TIME_UNCERTAINTY: f64 = 0.1;

/// Speedup from which the rest of the time is mostly starting and ending. Chosen; no measurement.
pub(crate) const NEARLY_ALL_GONE_SPEEDUP: f64 = 10.0;

/// Additional relative uncertainty of larger speedups. Chosen; no measurement.
pub(crate) const NEARLY_ALL_GONE_UNCERTAINTY: f64 = 0.5;

/// Largest speedup that is predicted: the residual time is never known to less than 1 % of the
/// time before. Chosen; no measurement.
pub(crate) const MAX_SPEEDUP_VALUE: f64 = 100.0;

/// Seconds that a program takes to start and to end, whatever it does. Chosen; order of magnitude
/// of `genba bench true`.
pub(crate) const PROCESS_START_SECONDS: f64 = 5e-4;

/// Upper bound of speedups where the program's time is not known.
pub(crate) const MAX_SPEEDUP_IF_TIME_UNKNOWN: f64 = 1000.0;

/// Smallest residual fraction of a fix that affects the whole program. Chosen; no measurement.
pub(crate) const MIN_RESIDUAL_OF_PROGRAM: f64 = 0.015;
