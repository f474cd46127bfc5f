//! Assembly that is needed more than once, in [`super::context_switch`] and
//! [`super::uncounted_child`].

/// Loads all registers of CONTEXT but rax and rsp.
macro_rules! load_registers {
    () => {
        concat!(
            "mov rcx, gs:[{context} + 8]\n",
            "mov rdx, gs:[{context} + 16]\n",
            "mov rbx, gs:[{context} + 24]\n",
            "mov rbp, gs:[{context} + 40]\n",
            "mov rsi, gs:[{context} + 48]\n",
            "mov rdi, gs:[{context} + 56]\n",
            "mov r8, gs:[{context} + 64]\n",
            "mov r9, gs:[{context} + 72]\n",
            "mov r10, gs:[{context} + 80]\n",
            "mov r11, gs:[{context} + 88]\n",
            "mov r12, gs:[{context} + 96]\n",
            "mov r13, gs:[{context} + 104]\n",
            "mov r14, gs:[{context} + 112]\n",
            "mov r15, gs:[{context} + 120]\n",
        )
    };
}
/// Loads vector registers of XSAVE, flags and stack pointer of CONTEXT; overwrites all other
/// registers.
macro_rules! load_state {
    () => {
        concat!(
            "mov eax, {components}\n",
            "mov edx, -1\n",
            "xrstor64 gs:[{xsave}]\n",
            "mov rsp, gs:[{engine_stack}]\n",
            "push qword ptr gs:[{context} + 128]\n",
            "popfq\n",
            "mov rsp, gs:[{context} + 32]\n",
        )
    };
}
/// `rt_sigprocmask(SIG_SETMASK, MASK, 0, 8)`: changes no flags.
macro_rules! unblock {
    () => {
        concat!(
            "rdgsbase rsi\n",
            "lea rsi, [rsi + {mask}]\n",
            "mov edi, 2\n",
            "mov edx, 0\n",
            "mov r10d, 8\n",
            "mov eax, 14\n",
            "syscall\n",
        )
    };
}
/// Makes the system call of the arguments that rdi points to; in the child, continues with the
/// state in rsi.
macro_rules! clone {
    () => {
        concat!(
            "push rbx\n",
            "push rbp\n",
            "mov rbx, rdi\n",
            "mov rbp, rsi\n",
            "mov rax, [rbx]\n",
            "mov rdi, [rbx + 8]\n",
            "mov rsi, [rbx + 16]\n",
            "mov rdx, [rbx + 24]\n",
            "mov r10, [rbx + 32]\n",
            "mov r8, [rbx + 40]\n",
            "syscall\n",
            "test rax, rax\n",
            "jnz 6f\n",
            "wrgsbase rbp\n",
        )
    };
}
/// Continues in the parent.
macro_rules! return_to_parent {
    () => {
        concat!("6:\n", "pop rbp\n", "pop rbx\n", "ret\n",)
    };
}
/// Looks rcx up in the table of all targets at rax. If it is there, its landing pad is in rdx and
/// LOOKUP, and the address of its entry in the table by 16 bits in rax; else continues at label 4.
macro_rules! look_up {
    () => {
        concat!(
            "imul rdx, rcx, 0x1E3779B1\n",
            "shr rdx, 16\n",
            "2:\n",
            "and rdx, [rax - 8]\n",
            "shl rdx, 4\n",
            "cmp [rax + rdx], rcx\n",
            "je 3f\n",
            "cmp qword ptr [rax + rdx], 0\n",
            "je 4f\n",
            "shr rdx, 4\n",
            "inc rdx\n",
            "jmp 2b\n",
            "3:\n",
            "mov rdx, [rax + rdx + 8]\n",
            "test rdx, rdx\n",
            "je 4f\n",
            "mov gs:[{lookup_slot}], rdx\n",
            "movzx eax, cx\n",
            "shl eax, 3\n",
            "add rax, [rip + {table}]\n",
        )
    };
}

/// Continues at label 5 if a register is in the range of write-protected code, whose size is in
/// rcx; overwrites rax.
macro_rules! argument_in_code {
    ($register:literal) => {
        concat!(
            "mov rax, ",
            $register,
            "\n",
            "sub rax, gs:[{code_low}]\n",
            "cmp rax, rcx\n",
            "jb 5f\n",
        )
    };
}

pub(super) use {
    argument_in_code, clone, load_registers, load_state, look_up, return_to_parent, unblock,
};
