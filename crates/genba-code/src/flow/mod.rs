//! Control flow of one function: basic blocks, edges, dominators, loops.
//!
//! Everything here is iterative and linear or nearly so in the number of instructions;
//! functions of 50,000 instructions and code that jumps into the middle of itself are data,
//! not errors.

mod blocks;
mod depth_first_walk;
mod dominators;
mod loops;

pub use blocks::{Block, BlockId, ControlFlow};
pub use loops::Loop;
