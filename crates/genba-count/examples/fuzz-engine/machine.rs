//! Running a sequence from a random state, and looking at the state in which it ends.

use std::arch::global_asm;
use std::fmt::Write;

use crate::generate::{self, Random};

const CODE: u64 = 0x20_0000_0000;
const DATA: u64 = 0x20_0010_0000;
const STACK: u64 = 0x20_0020_0000;
const SIZE: usize = 64 << 10;
/// Flags that may differ where a fault shows them: those that are overwritten before they are
/// read, whatever happens.
const ARITHMETIC: u64 = 0x8D5;

/// State before and after: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15, flags, then `xsave`.
#[repr(C, align(64))]
struct State {
    registers: [u64; 16],
    flags: u64,
    entry: u64,
    host: u64,
    pad: [u64; 5],
    vectors: [u8; 4096],
}

#[unsafe(no_mangle)]
static mut FUZZ_STATE: State = State {
    registers: [0; 16],
    flags: 0,
    entry: 0,
    host: 0,
    pad: [0; 5],
    vectors: [0; 4096],
};

global_asm!(
    ".globl fuzz_run, fuzz_end, fuzz_back",
    // Loads the state, jumps to its entry; comes back with 0, or 1 after a fault.
    "fuzz_run:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rip + FUZZ_STATE + 144], rsp",
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
    "cld",
    "mov eax, 0xE7",
    "xor edx, edx",
    "xsave64 [rip + FUZZ_STATE + 192]",
    "fninit",
    "push 0x1F80",
    "ldmxcsr [rsp]",
    "pop rax",
    "xor eax, eax",
    "jmp 2f",
    "fuzz_back:",
    "mov eax, 1",
    "2:",
    "vzeroupper",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
);

unsafe extern "C" {
    fn fuzz_run() -> u64;
    fn fuzz_end();
    fn fuzz_back();
}

/// Hash of the data; of nothing if the stack was moved there, as what is left below its pointer
/// is nobody's.
fn data_hash(rsp: u64) -> u64 {
    if (DATA..=DATA + SIZE as u64).contains(&rsp) {
        return 0;
    }
    // SAFETY: our own mapping.
    hash(unsafe { std::slice::from_raw_parts(DATA as *const u8, SIZE) })
}

/// Stack pointer at a fault.
static mut FAULT_STACK: u64 = 0;

/// What a fault showed.
static mut FAULT: String = String::new();

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's arguments; one thread; the sequence that faulted holds no locks.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let registers = &mut context.uc_mcontext.gregs;
        let place = &raw mut FAULT;
        let text = &mut *place;
        text.clear();
        let _ = write!(
            text,
            "signal {signal} code {} at {:?}",
            (*info).si_code,
            (*info).si_addr()
        );
        for register in registers.iter().take(17) {
            let _ = write!(text, " {register:x}");
        }
        let flags = registers[libc::REG_EFL as usize] as u64 & !ARITHMETIC;
        let _ = write!(text, " flags {flags:x}");
        let vectors = std::slice::from_raw_parts(context.uc_mcontext.fpregs.cast::<u8>(), 416);
        let _ = write!(
            text,
            " vectors {:x}",
            hash(&vectors[24..28]) ^ hash(&vectors[32..])
        );
        FAULT_STACK = registers[libc::REG_RSP as usize] as u64;
        registers[libc::REG_RIP as usize] = fuzz_back as *const () as i64;
        registers[libc::REG_RSP as usize] = FUZZ_STATE.host as i64;
        registers[libc::REG_EFL as usize] = 0x202;
    }
}

extern "C" fn on_timer(_: i32) {}

fn hash(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

fn map(at: u64, protection: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: addresses that nothing else uses.
    let got = unsafe { libc::mmap(at as *mut _, SIZE, protection, flags, -1, 0) };
    assert_eq!(got as u64, at, "a fixed place");
}

fn handlers() {
    // SAFETY: handlers as above, on a stack of their own.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: Box::leak(vec![0u8; 256 << 10].into_boxed_slice())
                .as_mut_ptr()
                .cast(),
            ss_flags: 0,
            ss_size: 256 << 10,
        };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // The timer waits, so that the state is that of the sequence.
        libc::sigfillset(&raw mut action.sa_mask);
        for signal in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        action.sa_sigaction = on_timer as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: 90,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

/// Runs a batch; or only the case `only`, and shows its code.
pub fn batch(seed: u64, cases: u64, only: Option<u64>) {
    map(CODE, libc::PROT_READ | libc::PROT_WRITE);
    map(DATA, libc::PROT_READ | libc::PROT_WRITE);
    map(STACK, libc::PROT_READ | libc::PROT_WRITE);
    handlers();
    for case in 0..cases {
        let mut random = Random(
            (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ case << 1)
                .wrapping_mul(0xD134_2543_DE82_EF95)
                | 1,
        );
        random.next();
        if only.is_some_and(|only| only != case) {
            continue;
        }
        let line = one(&mut random, only.is_some());
        println!("{case} {line}");
    }
}

fn one(random: &mut Random, show: bool) -> String {
    let at = CODE + random.below(2048);
    let mut code = generate::sequence(random, at, DATA);
    if show {
        print(&code, at);
    }
    // To the end by a detour: the program's address is another in every run, and sequences read
    // what is near them.
    let detour = CODE + 60_000;
    let next = at + code.len() as u64 + 5;
    code.push(0xE9);
    code.extend((detour.wrapping_sub(next) as u32).to_le_bytes());
    let mut jump = vec![0xFF, 0x25, 0, 0, 0, 0];
    jump.extend((fuzz_end as *const () as u64).to_le_bytes());
    // SAFETY: all within our own mappings; the state is ours.
    unsafe {
        libc::mprotect(CODE as *mut _, SIZE, libc::PROT_READ | libc::PROT_WRITE);
        std::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len());
        std::ptr::copy_nonoverlapping(jump.as_ptr(), detour as *mut u8, jump.len());
        libc::mprotect(CODE as *mut _, SIZE, libc::PROT_READ | libc::PROT_EXEC);
        let data = std::slice::from_raw_parts_mut(DATA as *mut u64, SIZE / 8);
        let stack = std::slice::from_raw_parts_mut(STACK as *mut u64, SIZE / 8);
        // What earlier cases left below the stack pointer is nobody's.
        stack.fill(0);
        data.fill(0);
        for word in data.iter_mut().chain(stack.iter_mut()).step_by(7) {
            *word = random.next();
        }
        let place = &raw mut FUZZ_STATE;
        let state = &mut *place;
        for register in &mut state.registers {
            *register = match random.below(24) {
                0 => random.below(256),
                1 => random.next(),
                _ => DATA + 16384 + random.below(32768),
            };
        }
        state.registers[4] = STACK + 32768 + random.below(64) * 8;
        let initial = state.registers[4];
        state.flags = 0x202 | (random.next() & (ARITHMETIC | 0x400));
        state.entry = at;
        for byte in &mut state.vectors {
            *byte = random.next() as u8;
        }
        state.vectors[..32].fill(0);
        state.vectors[0..2].copy_from_slice(&0x37Fu16.to_le_bytes());
        state.vectors[24..28].copy_from_slice(&0x1F80u32.to_le_bytes());
        state.vectors[512..576].fill(0);
        state.vectors[512] = 0xE7 & supported();
        if fuzz_run() != 0 {
            let seen = data_hash(FAULT_STACK);
            return format!("{} data {seen:x}", {
                let place = &raw const FAULT;
                &*place
            });
        }
        let mut text = String::from("end");
        for register in state.registers {
            let _ = write!(text, " {register:x}");
        }
        // Where x87 was last is an address in the copy; and what it did last the processor forgets
        // when a signal comes between.
        state.vectors[6..24].fill(0);
        let used = state.vectors[512];
        let vectors = vector_hash(&state.vectors, used);
        let seen = data_hash(state.registers[4]);
        // Near where it was there may be what was left when it was lower.
        let rsp = (state.registers[4].max(initial).saturating_add(128)).min(STACK + SIZE as u64);
        let above =
            std::slice::from_raw_parts(rsp as *const u8, (STACK + SIZE as u64 - rsp) as usize);
        let _ = write!(
            text,
            " flags {:x} vectors {vectors:x} data {seen:x} stack {:x}",
            state.flags,
            hash(above)
        );
        text
    }
}

/// Components that the processor has; the others are never saved.
fn supported() -> u8 {
    // SAFETY: every processor with xsave has it.
    let enabled = unsafe { core::arch::x86_64::_xgetbv(0) };
    enabled as u8
}

/// Of what is saved; what is not in use is as at first, whatever the area has.
fn vector_hash(area: &[u8; 4096], used: u8) -> u64 {
    let mut parts = vec![(0u8, 0, 24), (0, 32, 128), (1, 160, 256)];
    for component in [2u8, 5, 6, 7] {
        let found = core::arch::x86_64::__cpuid_count(0xD, u32::from(component));
        parts.push((component, found.ebx as usize, found.eax as usize));
    }
    let mut sum = 0u64;
    for (component, offset, size) in parts {
        if (used >> component) & 1 == 1 && offset + size <= area.len() {
            sum = sum.rotate_left(7) ^ hash(&area[offset..offset + size]);
        }
    }
    sum
}

fn print(code: &[u8], at: u64) {
    use iced_x86::{Decoder, Formatter, GasFormatter};
    let mut formatter = GasFormatter::new();
    for instruction in Decoder::with_ip(64, code, at, 0) {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        eprintln!("{:x} {text}", instruction.ip());
    }
}
