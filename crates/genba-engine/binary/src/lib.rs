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

// The compiler calls these by name. Most copies are of a few bytes, for which string instructions
// take longer to start than to run.
core::arch::global_asm!(
    ".globl memcpy, memmove, memset, memcmp, bcmp, strlen, rust_eh_personality, _Unwind_Resume",
    ".hidden memcpy, memmove, memset, memcmp, bcmp, strlen, rust_eh_personality, _Unwind_Resume",
    "memcpy:",
    "mov rax, rdi",
    "cmp rdx, 16",
    "ja 23f",
    "cmp rdx, 8",
    "jae 24f",
    "cmp rdx, 4",
    "jae 25f",
    "test rdx, rdx",
    "je 26f",
    // One to three bytes: the first, the middle and the last.
    "mov rcx, rdx",
    "shr rcx, 1",
    "movzx r8d, byte ptr [rsi]",
    "movzx r9d, byte ptr [rsi + rcx]",
    "movzx r10d, byte ptr [rsi + rdx - 1]",
    "mov [rdi], r8b",
    "mov [rdi + rcx], r9b",
    "mov [rdi + rdx - 1], r10b",
    "26:",
    "ret",
    // Up to twice the size of a load: the first and the last bytes, which may overlap.
    "25:",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    "24:",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    "23:",
    "cmp rdx, 64",
    "ja 28f",
    "movups xmm0, [rsi + rdx - 16]",
    "27:",
    "movups xmm1, [rsi]",
    "movups [rdi], xmm1",
    "add rsi, 16",
    "add rdi, 16",
    "sub rdx, 16",
    "cmp rdx, 16",
    "ja 27b",
    "movups [rdi + rdx - 16], xmm0",
    "ret",
    "28:",
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
