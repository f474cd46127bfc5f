//! Searches for what is responsible, under noise: a place in an ordered list, items of a set.

pub(crate) mod delta;
mod hadamard;
mod huber;
pub(crate) mod screening;
pub(crate) mod split;
pub(crate) mod step;
mod step_data;
