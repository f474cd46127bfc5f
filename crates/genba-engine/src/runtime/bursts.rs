//! Bursts: now and then a thread executes observing code for a while, which records what it does. A
//! signal of the thread's own timer leads it there from whatever place it is at, as recovery finds
//! the program's state there; the count goes on meanwhile.
//!
//! What must hold: during a burst all signals are blocked but those that instructions raise, so
//! nothing is delivered in its middle. A fault ends the burst, and its instruction is executed again
//! by counting code, so that the program sees exactly that fault. System calls end a burst before
//! they are made, so that none is made with this mask.
//!
//! Arnold and Ryder, "A Framework for Reducing the Cost of Instrumented Code" (PLDI 2001), and
//! Hirzel and Chilimbi, "Bursty Tracing" (FDDO 2001), describe the duplicated code; the redirection
//! by a signal spares their checks in code that is not observing.

use core::sync::atomic::Ordering;

use crate::burst_layout::{BURST_CAPACITY, BURST_WORDS, NOTE_TIMER, RECORDING_END};
use crate::fragment::{BuildContext, LandingPad};
use crate::random_numbers::next_random;
use crate::thread_state::{self, State};

use super::burst_recording::{self, FinishedBurst, KeptBursts};
use super::context_switch::label;
use super::dispatch::NextAction;
use super::engine::{Engine, ResumePoint, aim};
use super::program_mask;
use super::signal_delivery::context;
use super::signal_recovery::InterruptedState;
use super::{burst_timer, duet};

/// Bursts take at most this part of a thread's CPU time.
const TIME_PER_BURST_TIME: u64 = 6;
/// CPU time after which a burst is tried again when its beginning was not possible, nanoseconds.
const RETRY_NANOSECONDS: u64 = 1_000_000;
/// Number of threads whose memory for a burst's words is kept from burst to burst.
const RECORDINGS_KEPT: u64 = 8;
/// Signals that instructions raise: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
const RAISED_BY_INSTRUCTIONS: u64 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30;
/// Those after which the instruction is executed again: SIGILL, SIGBUS, SIGFPE, SIGSEGV.
const REPEATED: u64 = 1 << 3 | 1 << 6 | 1 << 7 | 1 << 10;

/// Which bursts genba requests; all zero for none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstParameters {
    /// Maximum number of bursts that are kept.
    pub bursts: u64,
    /// Number of words of a burst.
    pub words: u64,
    /// Mean of the first intervals, nanoseconds of CPU time.
    pub interval_nanoseconds: u64,
    /// Seed of the random intervals.
    pub seed: u64,
}

/// The bursts of a process.
pub struct Bursts {
    plan: BurstParameters,
    kept: KeptBursts,
    random: u64,
    /// Mean interval until the next burst of a thread, nanoseconds.
    mean_nanoseconds: u64,
    began: u64,
    spent_nanoseconds: u64,
    threads: u64,
    /// When the process began.
    wall_zero: u64,
}

impl Bursts {
    /// Returns the bursts of a new process; `None` if none are requested.
    #[must_use]
    pub fn new(plan: BurstParameters) -> Option<Self> {
        if plan.bursts == 0 || plan.words == 0 {
            return None;
        }
        burst_timer::use_signal();
        let plan = BurstParameters {
            bursts: plan.bursts.min(u64::from(BURST_CAPACITY)),
            words: plan.words.min(u64::from(BURST_WORDS)),
            ..plan
        };
        Some(Self {
            plan,
            kept: KeptBursts::default(),
            random: plan.seed ^ 0x9E37_79B9_7F4A_7C15,
            mean_nanoseconds: plan.interval_nanoseconds.max(1),
            began: 0,
            spent_nanoseconds: 0,
            threads: 0,
            wall_zero: burst_timer::wall_nanoseconds(),
        })
    }

    /// Offset of the first word of a burst: the last word is at the end of the recording.
    fn first_position(&self) -> u64 {
        u64::from(RECORDING_END) - self.plan.words * 8
    }

    /// Returns an exponentially distributed interval, nanoseconds.
    fn interval(&mut self) -> u64 {
        exponential(next_random(&mut self.random) | 1, self.mean_nanoseconds)
    }

    fn note_cost(&mut self, nanoseconds: u64) {
        self.spent_nanoseconds += nanoseconds;
        self.began += 1;
        let cost = self.spent_nanoseconds / self.began;
        self.mean_nanoseconds = self.mean_nanoseconds.max(cost * TIME_PER_BURST_TIME);
    }
}

/// Returns `mean · −ln(u)` for a random number, u = random ÷ 2⁶⁴: the logarithm to base 2 by the
/// number of leading zeros and, within the octave, linearly (its error is below 0.09).
fn exponential(random: u64, mean: u64) -> u64 {
    let zeros = random.leading_zeros();
    let fraction = (random << zeros) << 1 >> 48;
    // −log2(u), in units of 2⁻¹⁶.
    let bits = ((u64::from(zeros) + 1) << 16) - fraction;
    // ln 2 = 45426 ÷ 65536.
    let factor = (bits * 45_426) >> 16;
    ((u128::from(mean) * u128::from(factor)) >> 16) as u64
}

/// Whether a thread is in a burst.
///
/// # Safety
/// The state must be the caller's own.
#[must_use]
pub unsafe fn under_way(state: State) -> bool {
    // SAFETY: the caller's promise.
    unsafe { state.get(thread_state::BURST) != 0 }
}

/// Whether new threads begin in the dispatcher: for bursts, or for the side of a duet.
#[must_use]
pub fn prepares_threads(engine: &Engine) -> bool {
    engine.bursts.is_some() || engine.code_map.duet.is_plain()
}

/// Returns the time until the timer of a thread is to fire, nanoseconds; `None` if it has none.
fn next_interval(engine: &mut Engine) -> Option<u64> {
    match &mut engine.bursts {
        Some(bursts) => Some(bursts.interval()),
        None if engine.code_map.duet.has_windows() => Some(engine.code_map.duet.interval()),
        None => None,
    }
}

/// Gives the calling thread a timer, if bursts or windows are requested.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn begin_thread(engine: &mut Engine, state: State) {
    // SAFETY: the caller's promise.
    unsafe {
        if engine.code_map.duet.is_plain() {
            duet::begin_thread(engine, state);
        }
        if let Some(bursts) = &mut engine.bursts {
            bursts.threads += 1;
            state.set(thread_state::BURST_THREAD, bursts.threads);
        }
        let Some(interval) = next_interval(engine) else {
            return;
        };
        if burst_timer::create(state) {
            burst_timer::set(state, interval);
        } else {
            let notes = &engine.code_map.shared.control().burst_notes;
            notes.fetch_or(NOTE_TIMER, Ordering::Relaxed);
        }
    }
}

/// Sets the timer of the calling thread again if it has fired without effect, because the program
/// ignored its signal.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn restart(engine: &mut Engine, state: State) {
    // SAFETY: the caller's promise.
    unsafe {
        if burst_timer::has_fired(state)
            && let Some(interval) = next_interval(engine)
        {
            burst_timer::set(state, interval);
        }
    }
}

/// Makes a new thread enter the dispatcher first, which gives it a timer.
///
/// # Safety
/// The state must be that of a thread that does not run yet, and complete.
pub unsafe fn prepare_thread(child: State) {
    // SAFETY: the caller's promise.
    unsafe {
        let dispatch = label::genba_dispatch as *const () as u64;
        child.set(thread_state::RESUME_CODE, dispatch);
        child.set(
            thread_state::EXIT,
            u64::from(thread_state::EXIT_THREAD_BEGINS),
        );
    }
}

/// Begins with the bursts of a forked process, which has no timers and no bursts yet.
///
/// # Safety
/// The state must be the caller's own, and it must be the only thread.
pub unsafe fn begin_forked(engine: &mut Engine, state: State) {
    if let Some(bursts) = &engine.bursts {
        engine.bursts = Bursts::new(bursts.plan);
        // SAFETY: the caller's promise.
        unsafe {
            state.set(thread_state::BURST_TIMER, 0);
            begin_thread(engine, state);
        }
    }
}

/// Ends the timer of a thread that ends, or executes another program.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn end_thread(state: State) {
    // SAFETY: the caller's promise.
    unsafe { burst_timer::delete(state) };
}

/// Follows an exit of observing code.
///
/// # Safety
/// The state must be the caller's own, in a burst.
pub unsafe fn follow(engine: &mut Engine, state: State, number: u32) -> (u64, ResumePoint) {
    let target = engine.exit_target(number);
    let exit = engine.exits[number as usize];
    let code = match exit.leaves_burst() {
        true => None,
        false => engine.observing_code(target),
    };
    let Some(code) = code else {
        // SAFETY: the caller's promise.
        unsafe { leave(engine, state, target) };
        return (target, engine.get(target));
    };
    if aim(exit.site, code) {
        engine.note_linked(number, target);
    }
    (target, ResumePoint::Cache(code))
}

/// Follows an indirect branch of observing code to `pc`.
///
/// # Safety
/// The state must be the caller's own, in a burst.
pub unsafe fn follow_indirect(
    engine: &mut Engine,
    state: State,
    pc: u64,
    kind: LandingPad,
) -> ResumePoint {
    if kind == LandingPad::Jump {
        engine.code_map.enters(pc);
    }
    match engine.observing_code(pc) {
        Some(code) => ResumePoint::Cache(code),
        None => {
            // SAFETY: the caller's promise.
            unsafe { leave(engine, state, pc) };
            engine.get(pc)
        }
    }
}

/// Ends a burst in the dispatcher, before the instruction at `pc`.
unsafe fn leave(engine: &mut Engine, state: State, pc: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let end = state.get(thread_state::BURST_POSITION);
        finish(engine, state, end, pc);
        let mask = program_mask::hide_needed(state, state.get(thread_state::BURST_MASK));
        state.set(thread_state::MASK, mask);
    }
}

/// Ends a burst in the middle of a block, whose words do not count.
unsafe fn abandon_block(engine: &mut Engine, state: State) {
    // SAFETY: the caller's own state; the block's first word has been written.
    unsafe {
        let at = state.get(thread_state::BURST_BLOCK);
        let word = (state.0 + thread_state::RECORDING as usize + at as usize) as *const u64;
        let shared = engine.code_map.shared;
        let pc = burst_recording::counter_of(shared, word.read())
            .and_then(|counter| shared.read_record(counter))
            .map_or(0, |record| record.pc);
        finish(engine, state, at, pc);
    }
}

/// Ends a burst whose words end at this offset: keeps it, and sets the timer for the next.
unsafe fn finish(engine: &mut Engine, state: State, end: u64, pc: u64) {
    let shared = engine.code_map.shared;
    let Some(bursts) = &mut engine.bursts else {
        return;
    };
    // SAFETY: the caller's own state.
    unsafe {
        state.set(thread_state::BURST, 0);
        let first = bursts.first_position();
        let words = end.saturating_sub(first) / 8;
        let began = state.get(thread_state::BURST_CPU);
        if words > 0 {
            let burst = FinishedBurst {
                thread: state.get(thread_state::BURST_THREAD).saturating_sub(1) as u32,
                words_at: state.0 + thread_state::RECORDING as usize + first as usize,
                words: words as u32,
                number: bursts.began,
                cpu_nanoseconds: began,
                wall_nanoseconds: state.get(thread_state::BURST_WALL),
                end_pc: pc,
                instructions_before: state.get(thread_state::BURST_INSTRUCTIONS),
            };
            if bursts.kept.keep(shared, &burst, bursts.plan.bursts as u32) {
                bursts.mean_nanoseconds *= 2;
            }
            burst_recording::write_maps(shared);
        }
        if state.get(thread_state::SLOT) >= RECORDINGS_KEPT {
            burst_recording::discard_recording(state, first, end);
        }
        bursts.note_cost(burst_timer::cpu_nanoseconds().saturating_sub(began));
        burst_timer::set(state, bursts.interval());
    }
}

/// Handles a signal that concerns bursts: one of the timer, or one that comes during a burst.
/// `None` if it is to be delivered to the program. `own_code` says that the instruction writes to
/// the code that it is translated from.
///
/// # Safety
/// The state must be the caller's own, with the signal in it.
pub unsafe fn intercept_signal(
    engine: &mut Engine,
    state: State,
    rip: u64,
    own_code: bool,
) -> Option<NextAction> {
    // SAFETY: the caller's promise; the frame is the kernel's.
    unsafe {
        let number = state.get(thread_state::SIGNAL_NUMBER) as usize;
        let info = state.get(thread_state::SIGNAL_INFO) as usize;
        let frame = state.get(thread_state::SIGNAL_CONTEXT) as usize;
        let mask = (frame + context::MASK) as *mut u64;
        if under_way(state) {
            let code = ((info + 8) as *const i32).read();
            let repeated = REPEATED >> (number - 1) & 1 != 0 && code > 0;
            mask.write(program_mask::hide_needed(
                state,
                state.get(thread_state::BURST_MASK),
            ));
            if !repeated {
                abandon_block(engine, state);
                return None;
            }
            let found = recover(engine, state, rip, frame);
            abandon_block(engine, state);
            resume_at(engine, state, frame, &found, |engine, pc| match own_code {
                true => engine.step(pc),
                false => engine.get(pc).address(),
            });
            return Some(NextAction::Sigreturn(frame));
        }
        if !burst_timer::is_own(state, number, info) {
            return None;
        }
        let in_code = engine.in_cache(rip) || in_lookup(rip);
        let found = in_code.then(|| recover(engine, state, rip, frame));
        let begins = found.filter(|found| engine.observing_code(found.pc).is_some());
        match begins {
            Some(found) => begin(engine, state, frame, &found),
            None => burst_timer::set(state, RETRY_NANOSECONDS),
        }
        Some(NextAction::Sigreturn(frame))
    }
}

/// Whether a place is in the look-up of indirect branches.
fn in_lookup(rip: u64) -> bool {
    let within = |from: unsafe extern "C" fn(), to: unsafe extern "C" fn()| {
        (from as *const () as u64..to as *const () as u64).contains(&rip)
    };
    within(label::genba_jump_lookup, label::genba_jump_lookup_end)
        || within(label::genba_return_lookup, label::genba_return_lookup_end)
}

unsafe fn recover(engine: &Engine, state: State, rip: u64, frame: usize) -> InterruptedState {
    // SAFETY: the caller's own state, and the kernel's frame.
    unsafe {
        let word = |offset: usize| ((frame + offset) as *const u64).read();
        let registers = context::REGISTERS.map(word);
        InterruptedState::find(engine, state, rip, registers, word(context::FLAGS))
    }
}

/// Makes a thread that was interrupted in translated code continue there by way of its program's state,
/// so that it enters blocks anew.
///
/// # Safety
/// The state must be the caller's own, and the frame the kernel's.
pub unsafe fn continue_in_new_code(engine: &mut Engine, state: State, rip: u64, frame: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let found = recover(engine, state, rip, frame);
        resume_at(engine, state, frame, &found, |engine, pc| {
            engine.get(pc).address()
        });
    }
}

/// Makes the interrupted thread continue in the code for the instruction that is next.
unsafe fn resume_at(
    engine: &mut Engine,
    state: State,
    frame: usize,
    found: &InterruptedState,
    code: impl FnOnce(&mut Engine, u64) -> u64,
) {
    // SAFETY: the caller's own state, and the kernel's frame.
    unsafe {
        let word = |offset: usize| (frame + offset) as *mut u64;
        for (offset, value) in context::REGISTERS.into_iter().zip(found.registers) {
            word(offset).write(value);
        }
        word(context::FLAGS).write(found.flags);
        if let Some((block, correction)) = found.correction {
            engine.correct(state, block, correction);
        }
        if let Some((from, to)) = found.unrecorded {
            engine.record_transfer(state, from, to);
        }
        word(context::RIP).write(code(engine, found.pc));
    }
}

/// Begins a burst at the place where the timer has interrupted the thread.
unsafe fn begin(engine: &mut Engine, state: State, frame: usize, found: &InterruptedState) {
    // SAFETY: the caller's own state, and the kernel's frame.
    unsafe {
        let Some(bursts) = &engine.bursts else { return };
        let first = bursts.first_position();
        let wall = burst_timer::wall_nanoseconds().saturating_sub(bursts.wall_zero);
        let mask = (frame + context::MASK) as *mut u64;
        state.set(thread_state::BURST, 1);
        state.set(thread_state::BURST_MASK, mask.read());
        state.set(thread_state::BURST_POSITION, first);
        state.set(thread_state::BURST_BLOCK, first);
        state.set(thread_state::BURST_CPU, burst_timer::cpu_nanoseconds());
        state.set(thread_state::BURST_WALL, wall);
        let instructions = engine.code_map.shared.instructions_of(state);
        state.set(thread_state::BURST_INSTRUCTIONS, instructions);
        mask.write(!RAISED_BY_INSTRUCTIONS);
        resume_at(engine, state, frame, found, |engine, pc| {
            match engine.observing_code(pc) {
                Some(code) => code,
                None => super::fatal("a translated block is missing"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{exponential, next_random};

    #[test]
    fn intervals_are_exponentially_distributed() {
        let mean = 8_000_000u64;
        let mut random = 88_172_645_463_325_252u64;
        let (mut sum, mut over) = (0, 0);
        let count = 100_000;
        for _ in 0..count {
            let interval = exponential(next_random(&mut random), mean);
            sum += interval;
            over += u64::from(interval > mean);
        }
        let found = sum / count;
        assert!(found.abs_diff(mean) < mean / 20, "{found}");
        // e⁻¹ of them are longer than the mean.
        assert!((35_000..39_000).contains(&over), "{over}");
    }

    #[test]
    fn extreme_random_numbers_give_intervals() {
        assert!(exponential(u64::MAX, 1000) < 10);
        assert!((44_000..45_500).contains(&exponential(1, 1000)));
        assert!(exponential(1, u64::MAX >> 8) > 0);
    }
}
