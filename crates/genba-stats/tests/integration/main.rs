//! Judge, searches and curves on simulated and recorded noise.

mod bisect_simulation;
mod common;
mod contract;
mod knees;
mod recorded_noise;
mod simulation;
