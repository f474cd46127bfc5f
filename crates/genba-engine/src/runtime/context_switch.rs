//! Context switches between translated code and the engine, in assembly. Labels divide it into the
//! ranges in which the program's registers are in different places (`signal_recovery`).
//!
//! What must hold: the engine's own code runs on its own stack with all signals blocked, so that a
//! signal never interrupts it. So signal frames are always where they would be natively: the kernel
//! sees the program's stack pointer whenever it delivers a signal.

use core::arch::global_asm;
use core::sync::atomic::{AtomicU64, AtomicUsize};

use crate::thread_state;

use super::assembly_macros::{
    argument_in_code, clone, load_registers, load_state, look_up, return_to_parent, unblock,
};

/// Address, below 2 GiB, of the tables of indirect branches by the low 16 bits of their targets:
/// 65536 addresses in the code cache for jumps and calls, then as many for returns.
pub static TABLE: AtomicUsize = AtomicUsize::new(0);
/// Address of the table of recorded transfers. An entry has target, site and counter, 16 bytes; it
/// is empty if the target is 0. The word before the table is the mask for indices.
pub static TRANSFERS: AtomicU64 = AtomicU64::new(0);
/// Address of the table of all targets of jumps and calls. An entry has target and landing pad; it
/// is empty if the target is 0. The word before the table is the mask for indices.
pub static LOOKUP: AtomicU64 = AtomicU64::new(0);
/// Address of the same table for returns.
pub static RETURNS: AtomicU64 = AtomicU64::new(0);

global_asm!(
    ".globl genba_dispatch, genba_dispatch_saved, genba_dispatch_blocked, genba_resume",
    ".globl genba_resume_unblocked, genba_resume_end, genba_jump_lookup, genba_jump_lookup_all_saved",
    ".globl genba_jump_lookup_end, genba_syscall, genba_syscall_number, genba_syscall_flags",
    ".globl genba_syscall_now, genba_syscall_done, genba_syscall_special, genba_syscall_end",
    ".globl genba_record_transfer, genba_record_transfer_all_saved, genba_record_transfer_counted, genba_record_transfer_end, genba_record_transfer_unknown",
    ".hidden genba_record_transfer, genba_record_transfer_all_saved, genba_record_transfer_counted, genba_record_transfer_end, genba_record_transfer_unknown",
    ".globl genba_signal, genba_clone, genba_exit, genba_sigreturn, genba_begin",
    ".hidden genba_dispatch, genba_dispatch_saved, genba_dispatch_blocked, genba_resume",
    ".hidden genba_resume_unblocked, genba_resume_end, genba_jump_lookup, genba_jump_lookup_all_saved",
    ".globl genba_jump_lookup_rax_saved, genba_record_transfer_rax_saved, genba_return_lookup, genba_return_lookup_rax_saved",
    ".globl genba_return_lookup_all_saved, genba_return_lookup_popped, genba_return_lookup_end",
    ".hidden genba_jump_lookup_rax_saved, genba_record_transfer_rax_saved, genba_return_lookup, genba_return_lookup_rax_saved",
    ".hidden genba_return_lookup_all_saved, genba_return_lookup_popped, genba_return_lookup_end",
    ".hidden genba_jump_lookup_end, genba_syscall, genba_syscall_number, genba_syscall_flags",
    ".hidden genba_syscall_now, genba_syscall_done, genba_syscall_special, genba_syscall_end",
    ".hidden genba_signal, genba_clone, genba_exit, genba_sigreturn, genba_begin",

    // Leaves translated code; every register has the program's value, EXIT has the reason.
    "genba_dispatch:",
    "mov gs:[{context} + 0], rax",
    "mov gs:[{context} + 8], rcx",
    "mov gs:[{context} + 16], rdx",
    "mov gs:[{context} + 24], rbx",
    "mov gs:[{context} + 32], rsp",
    "mov gs:[{context} + 40], rbp",
    "mov gs:[{context} + 48], rsi",
    "mov gs:[{context} + 56], rdi",
    "mov gs:[{context} + 64], r8",
    "mov gs:[{context} + 72], r9",
    "mov gs:[{context} + 80], r10",
    "mov gs:[{context} + 88], r11",
    "mov gs:[{context} + 96], r12",
    "mov gs:[{context} + 104], r13",
    "mov gs:[{context} + 112], r14",
    "mov gs:[{context} + 120], r15",
    "genba_dispatch_saved:",
    // rt_sigprocmask(SIG_SETMASK, all, old, 8): changes no flags.
    "rdgsbase rsi",
    "lea rdx, [rsi + {mask}]",
    "lea rsi, [rsi + {mask_all}]",
    "mov edi, 2",
    "mov r10d, 8",
    "mov eax, 14",
    "syscall",
    "genba_dispatch_blocked:",
    "mov rsp, gs:[{engine_stack}]",
    "pushfq",
    "pop qword ptr gs:[{context} + 128]",
    // Flags as functions expect them: direction and alignment check clear.
    "push 0x202",
    "popfq",
    "mov eax, {components}",
    "mov edx, -1",
    "xsave64 gs:[{xsave}]",
    "mov rdi, gs:[{self_}]",
    "call {dispatch}",

    // Enters translated code with the registers in CONTEXT and XSAVE. Signals are blocked.
    "genba_resume:",
    load_state!(),
    unblock!(),
    "genba_resume_unblocked:",
    "mov rax, gs:[{context} + 0]",
    load_registers!(),
    "jmp qword ptr gs:[{resume_code}]",
    "genba_resume_end:",

    // Looks up an indirect branch that the table by 16 bits does not have: TARGET is its target,
    // rcx is saved.
    "genba_jump_lookup:",
    "mov gs:[{rax}], rax",
    "genba_jump_lookup_rax_saved:",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "mov gs:[{rdx}], rdx",
    "genba_jump_lookup_all_saved:",
    "mov rcx, gs:[{target}]",
    "mov rax, [rip + {lookup}]",
    look_up!(),
    "mov [rax], rdx",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rdx, gs:[{rdx}]",
    "jmp qword ptr gs:[{lookup_slot}]",
    "4:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rdx, gs:[{rdx}]",
    "mov rcx, gs:[{rcx}]",
    "mov rax, gs:[{rax}]",
    "mov dword ptr gs:[{exit}], 0",
    "jmp genba_dispatch",
    "genba_jump_lookup_end:",

    // The same for a return, whose target is on the stack.
    "genba_return_lookup:",
    "mov gs:[{rax}], rax",
    "genba_return_lookup_rax_saved:",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "mov gs:[{rdx}], rdx",
    "genba_return_lookup_all_saved:",
    "mov rcx, [rsp]",
    "mov gs:[{target}], rcx",
    "mov rax, [rip + {returns}]",
    look_up!(),
    "mov [rax + {table_bytes}], rdx",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rdx, gs:[{rdx}]",
    "jmp qword ptr gs:[{lookup_slot}]",
    "4:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "lea rsp, [rsp + 8]",
    "genba_return_lookup_popped:",
    "mov rdx, gs:[{rdx}]",
    "mov rcx, gs:[{rcx}]",
    "mov rax, gs:[{rax}]",
    "mov dword ptr gs:[{exit}], -3",
    "jmp genba_dispatch",
    "genba_return_lookup_end:",

    // Records an indirect branch: TARGET is its target, SITE its number, rcx is saved.
    "genba_record_transfer:",
    "mov gs:[{rax}], rax",
    "genba_record_transfer_rax_saved:",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "mov gs:[{rdx}], rdx",
    "genba_record_transfer_all_saved:",
    "mov rcx, gs:[{target}]",
    "mov eax, gs:[{site}]",
    "imul rdx, rcx, 0x1E3779B1",
    "imul rax, rax, 0x2C1B3C6D",
    "xor rdx, rax",
    "mov rax, [rip + {transfers}]",
    "shr rdx, 16",
    "2:",
    "and rdx, [rax - 8]",
    "shl rdx, 4",
    "cmp [rax + rdx], rcx",
    "jne 3f",
    "mov ecx, gs:[{site}]",
    "cmp [rax + rdx + 8], ecx",
    "mov rcx, gs:[{target}]",
    "je 5f",
    "3:",
    "cmp qword ptr [rax + rdx], 0",
    "je 4f",
    "shr rdx, 4",
    "inc rdx",
    "jmp 2b",
    "5:",
    "mov edx, [rax + rdx + 12]",
    "movzx eax, cx",
    "shl eax, 3",
    "add rax, [rip + {table}]",
    "mov rax, [rax]",
    "mov gs:[{lookup_slot}], rax",
    "inc qword ptr gs:[rdx * 8 + {counters}]",
    "genba_record_transfer_counted:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, gs:[{rax}]",
    "mov rdx, gs:[{rdx}]",
    "jmp qword ptr gs:[{lookup_slot}]",
    "genba_record_transfer_unknown:",
    "4:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rdx, gs:[{rdx}]",
    "mov rcx, gs:[{rcx}]",
    "mov rax, gs:[{rax}]",
    "mov dword ptr gs:[{exit}], -2",
    "jmp genba_dispatch",
    "genba_record_transfer_end:",

    // Makes a system call: rcx is the address in the code cache to come back to; rcx and r11 are
    // free.
    "genba_syscall:",
    "mov gs:[{syscall_next}], rcx",
    "mov r11, rax",
    "genba_syscall_number:",
    "lahf",
    "seto al",
    "mov gs:[{flags}], rax",
    "genba_syscall_flags:",
    "cmp r11, {syscalls}",
    "jae 5f",
    "cmp byte ptr gs:[r11 + {syscall_table}], 0",
    "jne 5f",
    "mov rcx, gs:[{code_bytes}]",
    "test rcx, rcx",
    "jne 7f",
    "6:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, r11",
    "genba_syscall_now:",
    "syscall",
    "genba_syscall_done:",
    "jmp qword ptr gs:[{syscall_next}]",
    // The engine must see calls with an argument in write-protected code.
    "7:",
    argument_in_code!("rdi"),
    argument_in_code!("rsi"),
    argument_in_code!("rdx"),
    argument_in_code!("r10"),
    argument_in_code!("r8"),
    argument_in_code!("r9"),
    "jmp 6b",
    "5:",
    "mov rax, gs:[{flags}]",
    "add al, 127",
    "sahf",
    "mov rax, r11",
    "genba_syscall_special:",
    "mov dword ptr gs:[{exit}], -1",
    "jmp genba_dispatch",
    "genba_syscall_end:",

    // Entry of every handled signal, as the kernel delivers it: on the program's stack, with all
    // signals blocked; the program's registers are in the frame.
    "genba_signal:",
    "mov gs:[{signal_number}], rdi",
    "mov gs:[{signal_info}], rsi",
    "mov gs:[{signal_context}], rdx",
    "mov gs:[{signal_frame}], rsp",
    "mov rsp, gs:[{engine_stack}]",
    // The kernel does not clear the alignment check for handlers.
    "push 0x202",
    "popfq",
    "mov rdi, gs:[{self_}]",
    "call {signal}",
    "jmp genba_resume",

    // genba_clone(arguments, state): the child resumes as its state says.
    "genba_clone:",
    clone!(),
    "jmp genba_resume",
    return_to_parent!(),

    // genba_exit(flag, status): sets the flag to 0 and ends the thread, without touching memory in
    // between.
    "genba_exit:",
    "mov dword ptr [rdi], 0",
    "mov rdi, rsi",
    "mov eax, 60",
    "syscall",
    "ud2",

    // genba_sigreturn(rsp): resumes as the frame says.
    "genba_sigreturn:",
    "mov rsp, rdi",
    "mov eax, 15",
    "syscall",
    "ud2",

    // genba_begin(state): enters translated code for the first time.
    "genba_begin:",
    "wrgsbase rdi",
    "jmp genba_resume",
    context = const thread_state::CONTEXT,
    mask = const thread_state::MASK,
    mask_all = const thread_state::MASK_ALL,
    engine_stack = const thread_state::ENGINE_STACK,
    xsave = const thread_state::XSAVE,
    components = const !thread_state::PROTECTION_KEYS,
    self_ = const thread_state::SELF,
    resume_code = const thread_state::RESUME_CODE,
    target = const thread_state::TARGET,
    flags = const thread_state::FLAGS,
    rax = const thread_state::RAX,
    rcx = const thread_state::RCX,
    rdx = const thread_state::RDX,
    exit = const thread_state::EXIT,
    lookup_slot = const thread_state::LOOKUP,
    syscall_next = const thread_state::SYSCALL_NEXT,
    syscalls = const thread_state::SYSCALLS,
    code_low = const thread_state::CODE_LOW,
    code_bytes = const thread_state::CODE_BYTES,
    syscall_table = const thread_state::SYSCALL_TABLE,
    signal_number = const thread_state::SIGNAL_NUMBER,
    signal_info = const thread_state::SIGNAL_INFO,
    signal_context = const thread_state::SIGNAL_CONTEXT,
    signal_frame = const thread_state::SIGNAL_FRAME,
    site = const thread_state::SITE,
    counters = const thread_state::COUNTERS,
    transfers = sym TRANSFERS,
    lookup = sym LOOKUP,
    returns = sym RETURNS,
    table_bytes = const crate::fragment::TABLE_BYTES,
    table = sym TABLE,
    dispatch = sym super::dispatch::dispatch,
    signal = sym super::signal_delivery::signal,
);

/// Labels in the assembly above.
#[expect(missing_docs)]
pub mod label {
    unsafe extern "C" {
        pub fn genba_dispatch();
        pub fn genba_dispatch_saved();
        pub fn genba_dispatch_blocked();
        pub fn genba_resume();
        pub fn genba_resume_unblocked();
        pub fn genba_resume_end();
        pub fn genba_jump_lookup();
        pub fn genba_jump_lookup_rax_saved();
        pub fn genba_jump_lookup_all_saved();
        pub fn genba_jump_lookup_end();
        pub fn genba_syscall();
        pub fn genba_syscall_number();
        pub fn genba_syscall_flags();
        pub fn genba_syscall_now();
        pub fn genba_syscall_done();
        pub fn genba_syscall_special();
        pub fn genba_syscall_end();
        pub fn genba_return_lookup();
        pub fn genba_return_lookup_rax_saved();
        pub fn genba_return_lookup_all_saved();
        pub fn genba_return_lookup_popped();
        pub fn genba_return_lookup_end();
        pub fn genba_record_transfer();
        pub fn genba_record_transfer_rax_saved();
        pub fn genba_record_transfer_all_saved();
        pub fn genba_record_transfer_counted();
        pub fn genba_record_transfer_unknown();
        pub fn genba_record_transfer_end();
        pub fn genba_signal();
        pub fn genba_clone(arguments: *const usize, state: usize) -> isize;
        pub fn genba_exit(flag: *const u32, status: usize) -> !;
        pub fn genba_sigreturn(rsp: usize) -> !;
        pub fn genba_begin(state: usize) -> !;
    }
}
