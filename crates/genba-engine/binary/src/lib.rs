//! The engine binary: the engine, and what a program without std and libc must supply itself.
#![no_std]

use core::panic::PanicInfo;

use genba_engine::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap::new();

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    genba_engine::refuse("the engine has no memory left, or has met a state that cannot be")
}

/// Where the process begins: `argument` points to the [`genba_engine::startup::BootParameters`].
///
/// # Safety
/// Called once, by the loader, on a stack of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_start(argument: usize) -> ! {
    // SAFETY: as the loader promises.
    unsafe { genba_engine::startup::start(argument) }
}

// The compiler calls these by name.
core::arch::global_asm!(
    ".globl memcpy, memmove, memset, memcmp, bcmp, strlen, rust_eh_personality, _Unwind_Resume",
    ".hidden memcpy, memmove, memset, memcmp, bcmp, strlen, rust_eh_personality, _Unwind_Resume",
    "memcpy:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    "memmove:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "mov r8, rdi",
    "sub r8, rsi",
    "cmp r8, rdx",
    "jb 2f",
    "rep movsb",
    "ret",
    "2:",
    "lea rdi, [rdi + rdx - 1]",
    "lea rsi, [rsi + rdx - 1]",
    "std",
    "rep movsb",
    "cld",
    "ret",
    "memset:",
    "mov r9, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r9",
    "ret",
    "memcmp:",
    "bcmp:",
    "xor eax, eax",
    "xor ecx, ecx",
    "3:",
    "cmp rcx, rdx",
    "je 4f",
    "movzx eax, byte ptr [rdi + rcx]",
    "movzx r8d, byte ptr [rsi + rcx]",
    "inc rcx",
    "sub eax, r8d",
    "je 3b",
    "4:",
    "ret",
    "strlen:",
    "xor eax, eax",
    "5:",
    "cmp byte ptr [rdi + rax], 0",
    "je 6f",
    "inc rax",
    "jmp 5b",
    "6:",
    "ret",
    "rust_eh_personality:",
    "_Unwind_Resume:",
    "ud2",
);
