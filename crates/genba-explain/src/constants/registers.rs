//! Registers as [`Location`]s, and the System V AMD64 calling convention (psABI 3.2).

use genba_code::Location;

/// rax.
pub(crate) const RAX: Location = 0;

/// rcx: fourth argument.
pub(crate) const RCX: Location = 1;

/// r8: fifth argument.
pub(crate) const R8: Location = 8;

/// rdx: third argument, and the high half of a product.
pub(crate) const RDX: Location = 2;

/// rbp.
pub(crate) const RBP: Location = 5;

/// rsi: second argument.
pub(crate) const RSI: Location = 6;

/// rdi: first argument.
pub(crate) const RDI: Location = 7;

/// xmm0: first floating-point argument and result. Locations below are general registers.
pub(crate) const XMM0: Location = 16;

/// The last vector register that arguments are passed in.
pub(crate) const XMM7: Location = 23;

/// k0. Locations from xmm0 to here are vector registers.
pub(crate) const K0: Location = 48;

/// The first flag. Locations from here on are flags.
pub(crate) const FLAGS: Location = 64;

/// Locations that are followed: general registers, vectors, masks, flags.
pub(crate) const LOCATIONS: usize = 128;

/// The set of vector registers.
pub(crate) const VECTORS: u128 = 0xffff_ffff << XMM0;

/// Registers of pointer arguments: rdi, rsi, rdx, rcx.
pub(crate) const POINTER_ARGUMENTS: [Location; 4] = [RDI, RSI, RDX, RCX];

/// Registers of arguments: rdi, rsi, rdx, rcx, r8, r9, xmm0 to xmm7.
pub(crate) const ARGUMENTS: [Location; 14] =
    [RDI, RSI, RDX, RCX, R8, 9, 16, 17, 18, 19, 20, 21, 22, 23];

/// What a caller may read behind a return: rax, rdx, xmm0, xmm1, and rbx, rsp, rbp, r12 to r15, which are as they were.
pub(crate) const LIVE_AT_RETURN: u128 =
    1 << RAX | 1 << RDX | 0b11 << XMM0 | 0b0011_1000 | 0b1111 << 12;

/// Registers of results: rax, xmm0.
pub(crate) const RESULTS: [Location; 2] = [RAX, XMM0];

/// Locations that a call may change: rax, rcx, rdx, rsi, rdi, r8 to r11, all vector and mask
/// registers, flags.
pub(crate) const CALL_CLOBBERED: u128 = {
    let general = 0b1111_1100_0111;
    let masks = ((1u128 << 8) - 1) << K0;
    let flags = ((1u128 << 7) - 1) << FLAGS;
    general | VECTORS | masks | flags
};

/// General registers that a function must leave as they were: rbx, rbp, r12 to r15.
pub(crate) const CALLEE_SAVED: u128 = 1 << 3 | 1 << RBP | 0b1111 << 12;

/// General registers that a function may change: rax, rcx, rdx, rsi, rdi, r8 to r11.
pub(crate) const FREE_REGISTERS: u32 = 9;
