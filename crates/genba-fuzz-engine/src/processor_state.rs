//! Switches to a sequence with a given processor state, and back.

use std::arch::global_asm;

/// Processor state before and after a sequence: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15, flags,
/// then the `xsave` area.
#[repr(C, align(64))]
pub struct State {
    pub registers: [u64; 16],
    pub flags: u64,
    pub entry: u64,
    /// The fuzzer's stack pointer and %fs base meanwhile.
    pub host: u64,
    pub host_fs: u64,
    /// The sequence's %fs base.
    pub fs: u64,
    pad: [u64; 3],
    pub vectors: [u8; 4096],
}

impl State {
    const fn new() -> Self {
        Self {
            registers: [0; 16],
            flags: 0,
            entry: 0,
            host: 0,
            host_fs: 0,
            fs: 0,
            pad: [0; 3],
            vectors: [0; 4096],
        }
    }
}

#[unsafe(no_mangle)]
pub static mut FUZZ_STATE: State = State::new();

global_asm!(
    ".globl fuzz_run, fuzz_end, fuzz_back, fuzz_fault",
    // Loads the state and jumps to its entry; returns 0, or 1 if the sequence was given up.
    "fuzz_run:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rip + FUZZ_STATE + 144], rsp",
    "rdfsbase rax",
    "mov [rip + FUZZ_STATE + 152], rax",
    "mov rax, [rip + FUZZ_STATE + 160]",
    "wrfsbase rax",
    "mov eax, 0xE7",
    "xor edx, edx",
    "xrstor64 [rip + FUZZ_STATE + 192]",
    "push qword ptr [rip + FUZZ_STATE + 128]",
    "popfq",
    "mov rax, [rip + FUZZ_STATE]",
    "mov rcx, [rip + FUZZ_STATE + 8]",
    "mov rdx, [rip + FUZZ_STATE + 16]",
    "mov rbx, [rip + FUZZ_STATE + 24]",
    "mov rsp, [rip + FUZZ_STATE + 32]",
    "mov rbp, [rip + FUZZ_STATE + 40]",
    "mov rsi, [rip + FUZZ_STATE + 48]",
    "mov rdi, [rip + FUZZ_STATE + 56]",
    "mov r8, [rip + FUZZ_STATE + 64]",
    "mov r9, [rip + FUZZ_STATE + 72]",
    "mov r10, [rip + FUZZ_STATE + 80]",
    "mov r11, [rip + FUZZ_STATE + 88]",
    "mov r12, [rip + FUZZ_STATE + 96]",
    "mov r13, [rip + FUZZ_STATE + 104]",
    "mov r14, [rip + FUZZ_STATE + 112]",
    "mov r15, [rip + FUZZ_STATE + 120]",
    "jmp [rip + FUZZ_STATE + 136]",
    "fuzz_end:",
    "mov [rip + FUZZ_STATE], rax",
    "mov [rip + FUZZ_STATE + 8], rcx",
    "mov [rip + FUZZ_STATE + 16], rdx",
    "mov [rip + FUZZ_STATE + 24], rbx",
    "mov [rip + FUZZ_STATE + 32], rsp",
    "mov [rip + FUZZ_STATE + 40], rbp",
    "mov [rip + FUZZ_STATE + 48], rsi",
    "mov [rip + FUZZ_STATE + 56], rdi",
    "mov [rip + FUZZ_STATE + 64], r8",
    "mov [rip + FUZZ_STATE + 72], r9",
    "mov [rip + FUZZ_STATE + 80], r10",
    "mov [rip + FUZZ_STATE + 88], r11",
    "mov [rip + FUZZ_STATE + 96], r12",
    "mov [rip + FUZZ_STATE + 104], r13",
    "mov [rip + FUZZ_STATE + 112], r14",
    "mov [rip + FUZZ_STATE + 120], r15",
    "mov rsp, [rip + FUZZ_STATE + 144]",
    "pushfq",
    "pop qword ptr [rip + FUZZ_STATE + 128]",
    "mov eax, 0xE7",
    "xor edx, edx",
    "xsave64 [rip + FUZZ_STATE + 192]",
    "fninit",
    "push 0x1F80",
    "ldmxcsr [rsp]",
    "pop rax",
    "rdfsbase rax",
    "mov [rip + FUZZ_STATE + 160], rax",
    "xor eax, eax",
    "jmp 2f",
    "fuzz_back:",
    "mov eax, 1",
    "2:",
    "push 0x202",
    "popfq",
    "mov rdx, [rip + FUZZ_STATE + 152]",
    "wrfsbase rdx",
    "vzeroupper",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    // Fault handler entry: sets flags and %fs as functions expect them. The kernel does not clear
    // alignment check for handlers.
    "fuzz_fault:",
    "rdfsbase rax",
    "mov [rip + FUZZ_STATE + 160], rax",
    "mov rax, [rip + FUZZ_STATE + 152]",
    "wrfsbase rax",
    "push 0x202",
    "popfq",
    "push rbx",
    "call {fault}",
    "pop rbx",
    "mov rax, [rip + FUZZ_STATE + 160]",
    "wrfsbase rax",
    "ret",
    fault = sym super::fault_observer::on_fault,
);

unsafe extern "C" {
    pub fn fuzz_run() -> u64;
    pub fn fuzz_end();
    pub fn fuzz_back();
    pub fn fuzz_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void);
}
