//! Simulations.
