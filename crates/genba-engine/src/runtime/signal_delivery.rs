//! Signal delivery. The kernel delivers every signal that the program handles to `genba_signal`, on
//! the program's own stack and with the program's flags, so signal frames, alternate stacks and
//! restarts of system calls are the kernel's. Here the frame is changed to what the program would
//! find natively, the counts are corrected, and the program's handler is run as translated code.

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State, register};

use super::EngineLock;
use super::context_switch::label;
use super::dispatch::{NextAction, set_resume_point};
use super::engine::Engine;
use super::program_mask;
use super::signal_recovery::InterruptedState;
use super::syscall_interception::Call;
use super::thread_slots::fresh_vectors;
use super::writable_code::WriteFault;
use super::{burst_timer, bursts, duet, replica};

const SIGQUIT: usize = 3;
const SIGILL: usize = 4;
const SIGTRAP: usize = 5;
const SIGABRT: usize = 6;
const SIGBUS: usize = 7;
const SIGFPE: usize = 8;
/// SIGSEGV.
pub const SIGSEGV: usize = 11;
const SIGXCPU: usize = 24;
const SIGXFSZ: usize = 25;
const SIGSYS: usize = 31;
/// Signals that instructions raise, or that leave a core dump. They are handled even if the program
/// does not, so that the counts are correct when it dies of them, and the core has the program's
/// registers.
const HANDLED_FAULTS: [usize; 10] = [
    SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGABRT, SIGQUIT, SIGXCPU, SIGXFSZ,
];

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;
const SA_SIGINFO: u64 = 4;
const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTORER: u64 = 0x0400_0000;
const SA_RESTART: u64 = 0x1000_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;
const EFAULT: isize = -14;

/// `struct sigaction` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

/// A process's signal actions, by number.
#[derive(Clone, Copy)]
pub struct SignalActions {
    actions: [Action; 65],
}

/// Offsets in `ucontext_t` (`asm/sigcontext.h`).
pub(super) mod context {
    pub const FLAGS: usize = 176;
    pub const RIP: usize = 168;
    /// Error code of a page fault.
    pub const ERROR: usize = 192;
    pub const MASK: usize = 296;
    /// Offsets of the general registers, by their numbers.
    pub const REGISTERS: [usize; 16] = [
        144, 152, 136, 128, 160, 120, 112, 104, 40, 48, 56, 64, 72, 80, 88, 96,
    ];
}

/// Whether eight bytes are readable. The kernel is asked to add them to the signal mask, in which
/// all signals are blocked anyway.
#[must_use]
pub fn readable(address: usize) -> bool {
    // SAFETY: reads, if it can; SIG_BLOCK.
    unsafe { raw_syscall::call(nr::RT_SIGPROCMASK, [0, address, 0, 8, 0, 0]) == 0 }
}

/// Whether eight bytes are writable; overwrites them.
#[must_use]
pub fn writable(address: usize) -> bool {
    // SAFETY: the program gave the address to be written to.
    unsafe { raw_syscall::call(nr::RT_SIGPROCMASK, [0, 0, address, 8, 0, 0]) == 0 }
}

unsafe fn kernel_action(signal: usize, new: Option<&Action>, old: Option<&mut Action>) -> isize {
    let new = new.map_or(0, |action| &raw const *action as usize);
    let old = old.map_or(0, |action| &raw mut *action as usize);
    // SAFETY: both are actions of ours.
    unsafe { raw_syscall::call(nr::RT_SIGACTION, [signal, new, old, 8, 0, 0]) }
}

/// Returns the action that is registered with the kernel for an action of the program's.
fn registered_action(signal: usize, action: &Action) -> Action {
    let handled = action.handler != SIG_DFL && action.handler != SIG_IGN;
    let timers = signal == burst_timer::SIGNAL && burst_timer::in_use();
    // A program that ignores the signal has no bursts.
    let default = action.handler == SIG_DFL;
    if default && timers {
        return Action {
            handler: label::genba_signal as *const () as u64,
            flags: SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_RESTART,
            restorer: action.restorer,
            mask: u64::MAX,
        };
    }
    // An ignored signal must not interrupt system calls, as a handled one would. An ignored fault
    // ends the program all the same; its block is counted as a whole.
    let needed = program_mask::needed() & program_mask::bit(signal) != 0;
    let ignored = action.handler == SIG_IGN && !needed;
    if !handled && (ignored || !HANDLED_FAULTS.contains(&signal)) {
        return *action;
    }
    Action {
        handler: label::genba_signal as *const () as u64,
        flags: if handled {
            // A signal of the engine's own must not reset the action; `run` does it for the
            // program's.
            let once = if needed || timers { SA_RESETHAND } else { 0 };
            action.flags & !once | SA_SIGINFO
        } else {
            SA_SIGINFO | SA_ONSTACK | SA_RESTORER
        },
        restorer: action.restorer,
        mask: u64::MAX,
    }
}

impl SignalActions {
    /// Registers the program's own actions with the kernel.
    ///
    /// # Safety
    /// The process must be about to leave the engine, with signal actions of its own, and all
    /// signals blocked.
    pub unsafe fn register_with_kernel(&self) {
        for (signal, action) in self.actions.iter().enumerate().skip(1) {
            if registered_action(signal, action) != *action {
                // SAFETY: as the program has asked for.
                unsafe { kernel_action(signal, Some(action), None) };
            }
        }
    }

    /// Registers a signal again that the engine needs from now on.
    ///
    /// # Safety
    /// The actions must be those of this process.
    pub unsafe fn register_needed(&self, signal: usize) {
        let action = registered_action(signal, &self.actions[signal]);
        // SAFETY: a handler that the engine understands.
        unsafe { kernel_action(signal, Some(&action), None) };
    }

    /// Registers signals as ignored that the program ignores and the engine handles: an executed
    /// program inherits that.
    ///
    /// # Safety
    /// The process must be about to execute another program.
    pub unsafe fn register_ignored(&self) {
        for (signal, action) in self.actions.iter().enumerate().skip(1) {
            if action.handler == SIG_IGN && registered_action(signal, action) != *action {
                // SAFETY: as the program has asked for.
                unsafe { kernel_action(signal, Some(action), None) };
            }
        }
    }

    /// Returns the actions of a new program; handles faults from now on.
    #[must_use]
    pub fn first() -> Self {
        let mut process = Self {
            actions: [Action::default(); 65],
        };
        for signal in 1..65 {
            // SAFETY: nothing but handlers of faults changes, which the engine understands.
            unsafe {
                kernel_action(signal, None, Some(&mut process.actions[signal]));
                let registered = registered_action(signal, &process.actions[signal]);
                if registered != process.actions[signal] {
                    kernel_action(signal, Some(&registered), None);
                }
            }
        }
        process
    }
}

/// Makes `rt_sigaction` for the program; its result.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn action(engine: &mut Engine, state: State, call: &Call) -> isize {
    let [signal, new, old, size, ..] = call.arguments;
    // SAFETY: the caller's promise; the program's memory is asked for before it is used.
    unsafe {
        if size != 8 || !(1..65).contains(&signal) || (new != 0 && matches!(signal, 9 | 19)) {
            return raw_syscall::call(call.number, call.arguments);
        }
        let process = state.get(thread_state::PROCESS) as usize;
        let before = engine.processes[process].actions[signal];
        if new != 0 {
            if !readable(new) || !readable(new + 24) {
                return EFAULT;
            }
            let mut action = (new as *const Action).read_unaligned();
            // SIGKILL and SIGSTOP are never blocked.
            action.mask &= !(1 << 8 | 1 << 18);
            let result = kernel_action(signal, Some(&registered_action(signal, &action)), None);
            if result != 0 {
                return result;
            }
            engine.processes[process].actions[signal] = action;
            if signal == burst_timer::SIGNAL && before.handler == SIG_IGN {
                bursts::restart(engine, state);
            }
        }
        if old != 0 {
            if !writable(old) || !writable(old + 24) {
                return EFAULT;
            }
            (old as *mut Action).write_unaligned(before);
        }
        0
    }
}

/// Prepares `rt_sigreturn`: the kernel makes it, after the program's address in the frame was
/// replaced by one in the code cache.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn sigreturn(engine: &mut Engine, state: State) -> NextAction {
    // SAFETY: the caller's promise; the frame is asked for first.
    unsafe {
        let rsp = state.register(register::RSP) as usize;
        let rip = rsp + context::RIP;
        if readable(rip) {
            let mask = (rsp + context::MASK) as *mut u64;
            program_mask::set_program_mask(state, mask.read_unaligned());
            mask.write_unaligned(state.get(thread_state::MASK));
            let pc = (rip as *const u64).read_unaligned();
            let place = engine.get(pc);
            (rip as *mut u64).write_unaligned(place.address());
        }
        NextAction::Sigreturn(rsp)
    }
}

/// Called by `genba_signal` on the engine's stack, with all signals blocked.
pub extern "C" fn signal(state: usize) {
    let state = State(state);
    // SAFETY: it is this thread's own state, and the kernel's frame is whole.
    let after = unsafe {
        let mut locked = EngineLock::take();
        deliver(locked.engine(), state)
    };
    if let NextAction::Sigreturn(rsp) = after {
        // SAFETY: the frame that the kernel made.
        unsafe { label::genba_sigreturn(rsp) }
    }
}

unsafe fn deliver(engine: &mut Engine, state: State) -> NextAction {
    // SAFETY: the caller's promise.
    unsafe {
        let number = state.get(thread_state::SIGNAL_NUMBER) as usize;
        let info = state.get(thread_state::SIGNAL_INFO) as usize;
        let frame = state.get(thread_state::SIGNAL_CONTEXT) as usize;
        let word = |offset: usize| (frame + offset) as *mut u64;
        let rip = word(context::RIP).read();
        let registers = context::REGISTERS.map(|offset| word(offset).read());
        let flags = word(context::FLAGS).read();
        let fault = if number == SIGSEGV {
            let code = ((info + 8) as *const i32).read();
            let address = ((info + 16) as *const u64).read();
            engine.write_fault(code, word(context::ERROR).read(), address, rip)
        } else {
            WriteFault::None
        };
        if fault == WriteFault::Repeat {
            return NextAction::Sigreturn(frame);
        }
        engine.look_up_code_of(rip);
        if replica::is_one() {
            replica::end_by_signal(engine, state, frame, rip);
        }
        if let Some(action) = duet::intercept_signal(engine, state) {
            return action;
        }
        if engine.bursts.is_some()
            && let own_code = fault == WriteFault::OwnCode
            && let Some(action) = bursts::intercept_signal(engine, state, rip, own_code)
        {
            return action;
        }
        let found = InterruptedState::find(engine, state, rip, registers, flags);
        for (offset, value) in context::REGISTERS.into_iter().zip(found.registers) {
            word(offset).write(value);
        }
        word(context::RIP).write(found.pc);
        word(context::FLAGS).write(found.flags);
        if let Some((block, correction)) = found.correction {
            engine.correct(state, block, correction);
        }
        if let Some((from, to)) = found.unrecorded {
            engine.record_transfer(state, from, to);
        }
        duet::forget_words(engine, state);
        if fault == WriteFault::OwnCode {
            word(context::RIP).write(engine.step(found.pc));
            return NextAction::Sigreturn(frame);
        }
        // For these signals, the address in `siginfo_t` is the instruction's.
        let address = (info + 16) as *mut u64;
        if matches!(number, SIGILL | SIGFPE | SIGTRAP | SIGSYS) && address.read() == rip {
            address.write(found.pc);
        }
        run(engine, state, number, &found)
    }
}

/// Does what the program's action for a signal says.
unsafe fn run(
    engine: &mut Engine,
    state: State,
    number: usize,
    found: &InterruptedState,
) -> NextAction {
    // SAFETY: the caller's promise.
    unsafe {
        let info = state.get(thread_state::SIGNAL_INFO);
        let frame = state.get(thread_state::SIGNAL_CONTEXT);
        let process = state.get(thread_state::PROCESS) as usize;
        let action = engine.processes[process].actions[number];
        let code = ((info + 8) as *const i32).read();
        if program_mask::hides(state, number) {
            // As the kernel: a fault ends the program, another signal waits.
            if code > 0 {
                return die(number, info, frame);
            }
            program_mask::hold(state, info as usize);
            return resume(engine, frame);
        }
        match action.handler {
            // Faults cannot be ignored.
            SIG_IGN if code <= 0 => return resume(engine, frame),
            SIG_DFL | SIG_IGN => return die(number, info, frame),
            _ => {}
        }
        if action.flags & SA_RESETHAND != 0 {
            engine.processes[process].actions[number].handler = SIG_DFL;
            let default = engine.processes[process].actions[number];
            let registered = registered_action(number, &default);
            if registered != default {
                kernel_action(number, Some(&registered), None);
            }
        }
        for (number, value) in (0..).zip(found.registers) {
            state.set_register(number, value);
        }
        state.set_register(register::RAX, 0);
        state.set_register(register::RDI, number as u64);
        state.set_register(register::RSI, info);
        state.set_register(register::RDX, frame);
        state.set_register(register::RSP, state.get(thread_state::SIGNAL_FRAME));
        // The kernel clears direction, trap and resume flags for handlers.
        state.set(
            thread_state::CONTEXT_FLAGS,
            found.flags & !(0x400 | 0x100 | 0x1_0000),
        );
        // The program finds its own mask in the frame.
        let saved = (frame as usize + context::MASK) as *mut u64;
        saved.write(saved.read() | state.get(thread_state::HIDDEN_MASK));
        let mut mask = saved.read() | action.mask;
        if action.flags & SA_NODEFER == 0 {
            mask |= 1 << (number - 1);
        }
        program_mask::set_program_mask(state, mask);
        fresh_vectors(state);
        let place = engine.get(action.handler);
        set_resume_point(state, action.handler, place);
        NextAction::Resume
    }
}

/// Resumes where the signal came.
unsafe fn resume(engine: &mut Engine, frame: u64) -> NextAction {
    let rip = (frame as usize + context::RIP) as *mut u64;
    // SAFETY: the kernel's frame.
    unsafe { rip.write(engine.get(rip.read()).address()) };
    NextAction::Sigreturn(frame as usize)
}

/// Lets the program die of the signal, with its own registers and program counter.
unsafe fn die(number: usize, info: u64, frame: u64) -> NextAction {
    let default = Action::default();
    // SAFETY: the signal is sent again with all that is known of it, blocked until the kernel
    // has the program's registers back.
    unsafe {
        kernel_action(number, Some(&default), None);
        let pid = raw_syscall::call(nr::GETPID, [0; 6]) as usize;
        let thread = raw_syscall::call(nr::GETTID, [0; 6]) as usize;
        let arguments = [pid, thread, number, info as usize, 0, 0];
        raw_syscall::call(nr::RT_TGSIGQUEUEINFO, arguments);
        // The signal must not stay blocked, even if the program had blocked it.
        let mask = (frame as usize + context::MASK) as *mut u64;
        mask.write(mask.read() & !(1 << (number - 1)));
    }
    NextAction::Sigreturn(frame as usize)
}
