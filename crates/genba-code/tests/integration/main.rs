//! Decoded code of compiled programs, and its control flow.

mod compiled_code;
mod control_flow;
