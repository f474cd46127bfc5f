//! What a change gains.

pub(crate) mod loop_gain;
