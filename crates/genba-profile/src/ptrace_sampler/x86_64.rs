//! Registers of a stopped thread on x86-64.

/// Registers as `PTRACE_GETREGS` gives them.
pub type Registers = libc::user_regs_struct;

/// Registers in the order of `asm/perf_regs.h` for `sampler::attr::USER_REGS`.
pub fn in_perf_order(r: &Registers) -> [u64; 20] {
    [
        r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.rip, r.eflags, r.cs, r.ss, r.r8,
        r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15,
    ]
}

/// The thread pointer: the base of thread-local storage.
pub fn thread_pointer(r: &Registers) -> u64 {
    r.fs_base
}

/// The instruction pointer and the stack pointer.
pub fn instruction_and_stack_pointer(r: &Registers) -> (u64, u64) {
    (r.rip, r.rsp)
}
