//! What a fix gains, computed in this one place: detectors return shares of time and residual
//! fractions; [`loop_gain`] derives those of a changed loop from the loop model, [`saved_time`] adds
//! up several parts of the program, [`same_line`] puts those of one line together, [`amdahl`] makes the
//! program's speedup of them, [`calibration`] the interval of outcomes, [`worth_reporting`] and [`overlap`] decide which are reported.

pub(crate) mod amdahl;
pub(crate) mod calibration;
pub(crate) mod loop_gain;
pub(crate) mod overlap;
pub(crate) mod same_line;
pub(crate) mod saved_time;
pub(crate) mod worth_reporting;
