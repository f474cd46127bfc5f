//! Searches for a culprit under noise: in an ordered list, among the elements of a set.

pub(crate) mod delta_debugging;
mod hadamard_design;
mod huber_regression;
pub(crate) mod screening;
pub(crate) mod sequential_bifurcation;
mod step_likelihood;
pub(crate) mod step_search;
