//! What an instruction costs, asked by its form. Pure.
//!
//! A form is a mnemonic, a space, and the kinds of the operands separated by `, `: `r8` to
//! `r64`, `xmm`, `ymm`, `zmm`, `k`, `mm`, memory `m8` to `m512` or `m`, immediates `i`.
//!
//! **What is assumed**, as it holds on every x86-64 CPU known: operands of 8, 16 and 32 bits
//! cost what those of 64 do in additions, logic, shifts and moves (never in multiplication and
//! division, which are measured apart); a VEX form costs what the legacy one of the same
//! operation does; forms that differ by a condition or by an immediate cost the same. An
//! operand in memory adds the latency of a load from L1: what caches add to that is for the
//! reader to see in `load [L2]` and so on.
//!
//! A form that no entry speaks for has no cost here; nothing is guessed.

mod equivalent_forms;
mod form_cost;
mod lookup_candidates;
mod parse_form;

pub use form_cost::{FormCost, cost_of};
