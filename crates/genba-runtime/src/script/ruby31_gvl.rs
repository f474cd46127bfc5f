//! The GVL of CRuby 3.1, its mutexes, and its threads by thread id.
//!
//! Offsets are those of vm_core.h, ractor_core.h and thread_pthread.h of 3.1 with glibc on 64-bit machines (taken from a
//! compilation of `rb_mjit_min_header-3.1.7.h`), and of `rb_mutex_t` in thread_sync.c.

use std::collections::HashMap;

use super::ruby_frames::Ruby;
use super::thread_memory::{Memory, word_at};

mod vm {
    /// `ractor.set`: the list of all ractors.
    pub const MAIN_RACTOR: u64 = 32;
}
mod ractor {
    /// `threads.set`: the list of its threads.
    pub const THREADS: u64 = 304;
    /// `threads.gvl`, whose first word is its owner.
    pub const GVL: u64 = 336;
    pub const GVL_SIZE: u64 = 184;
    /// `threads.gvl.waitq`.
    pub const WAITING: u64 = 384;
}
mod thread {
    pub const RACTOR: usize = 24;
    pub const THREAD_ID: usize = 80;
    pub const TID: usize = 88;
    /// `native_thread_data.node`: a place in the GVL's list of waiting threads.
    pub const NODE: usize = 104;
    /// `native_thread_data.cond`, on which it waits for the GVL as well as in `sleep` or for a Mutex.
    pub const CONDITION: usize = 120;
    pub const CONDITION_SIZE: usize = 48;
    /// The Mutex that it waits for.
    pub const LOCKING: usize = 264;
    /// The first of those that it holds.
    pub const KEEPING: usize = 272;
    /// Threads that wait for its end.
    pub const JOINED_BY: usize = 280;
    pub const SIZE: usize = 288;
}
/// `rb_waiting_thread_list` of thread.c.
mod joining {
    pub const NEXT: u64 = 0;
    pub const THREAD: u64 = 8;
}
mod typed_data {
    pub const DATA: u64 = 32;
}
mod mutex {
    pub const NEXT: u64 = 8;
}
/// `Qfalse`, and a value that no object has.
const FALSE: u64 = 0;
/// Threads, waiting threads and held locks that are looked at at most.
const MAX_THREADS: usize = 4096;

type Thread = [u8; thread::SIZE];

impl Ruby {
    /// Thread pointers by thread id.
    pub fn thread_pointers(&self, memory: &impl Memory) -> HashMap<i32, u64> {
        self.threads(memory)
            .map(|(_, thread)| (tid(&thread), word_at(&thread, thread::THREAD_ID)))
            .collect()
    }

    /// Whether a thread that is blocked on this word waits for the GVL, and the id of its holder.
    #[allow(clippy::option_option)]
    pub fn waits_for_gvl(
        &self,
        memory: &impl Memory,
        waiting: i32,
        word: Option<u64>,
    ) -> Option<Option<i32>> {
        let address = word?;
        let (at, thread) = self.thread(memory, waiting)?;
        let ractor = word_at(&thread, thread::RACTOR);
        let gvl = ractor.wrapping_add(ractor::GVL);
        let in_gvl = (gvl..gvl.wrapping_add(ractor::GVL_SIZE)).contains(&address);
        // Its own condition serves for other waits, too: for the GVL only while it is in that list.
        let queued = || is_own_condition(at, address) && is_queued(memory, at, ractor);
        if !in_gvl && !queued() {
            return None;
        }
        let owner = memory.word(gvl)?;
        let id = (owner != 0)
            .then(|| memory.bytes::<4>(owner.wrapping_add(thread::TID as u64)))
            .flatten()
            .map(i32::from_le_bytes);
        Some(id.filter(|id| *id > 0))
    }

    /// The id of the thread that holds the Mutex for which this one waits on this word.
    pub fn mutex_holder(
        &self,
        memory: &impl Memory,
        waiting: i32,
        word: Option<u64>,
    ) -> Option<i32> {
        let (at, thread) = self.thread(memory, waiting)?;
        let object = word_at(&thread, thread::LOCKING);
        if !may_sleep_on(at, word) || object == FALSE {
            return None;
        }
        let wanted = memory.word(object.wrapping_add(typed_data::DATA))?;
        self.threads(memory)
            .find(|(_, thread)| {
                let mut held = word_at(thread, thread::KEEPING);
                for _ in 0..MAX_THREADS {
                    if held == wanted {
                        return held != 0;
                    }
                    match memory.word(held.wrapping_add(mutex::NEXT)) {
                        Some(next) if held != 0 => held = next,
                        _ => return false,
                    }
                }
                false
            })
            .map(|(_, thread)| tid(&thread))
            .filter(|holder| *holder != waiting)
    }

    /// The id of the thread whose end this one waits for on this word.
    pub fn joined(&self, memory: &impl Memory, waiting: i32, word: Option<u64>) -> Option<i32> {
        let (at, _) = self.thread(memory, waiting)?;
        if !may_sleep_on(at, word) {
            return None;
        }
        let mut threads = self.threads(memory);
        threads
            .find(|(_, thread)| {
                let mut joins = word_at(thread, thread::JOINED_BY);
                for _ in 0..MAX_THREADS {
                    if joins == 0 {
                        return false;
                    }
                    if memory.word(joins.wrapping_add(joining::THREAD)) == Some(at) {
                        return true;
                    }
                    joins = memory.word(joins.wrapping_add(joining::NEXT)).unwrap_or(0);
                }
                false
            })
            .map(|(_, thread)| tid(&thread))
    }

    fn thread(&self, memory: &impl Memory, wanted: i32) -> Option<(u64, Thread)> {
        self.threads(memory)
            .find(|(_, thread)| tid(thread) == wanted)
    }

    /// The threads of the main ractor: where each is, and its bytes.
    fn threads<'m>(&self, memory: &'m impl Memory) -> impl Iterator<Item = (u64, Thread)> + 'm {
        let vm = self.vm_with_known_gvl().and_then(|at| memory.word(at));
        let vm = vm.filter(|vm| *vm != 0);
        let ractor = vm.and_then(|vm| memory.word(vm.wrapping_add(vm::MAIN_RACTOR)));
        let head = ractor.map_or(0, |ractor| ractor.wrapping_add(ractor::THREADS));
        let mut at = head;
        // A thread begins with its place in the list.
        std::iter::from_fn(move || {
            at = memory.word(at)?;
            if at == head {
                return None;
            }
            Some((at, memory.bytes(at)?))
        })
        .take(MAX_THREADS)
    }
}

fn tid(thread: &Thread) -> i32 {
    word_at(thread, thread::TID) as u32 as i32
}

/// Whether a thread that is blocked on this word may sleep: on its own condition, or, if it looks at signals for
/// all, on their descriptor.
fn may_sleep_on(thread: u64, word: Option<u64>) -> bool {
    word.is_none_or(|word| is_own_condition(thread, word))
}

fn is_own_condition(thread: u64, address: u64) -> bool {
    let first = thread.wrapping_add(thread::CONDITION as u64);
    (first..first.wrapping_add(thread::CONDITION_SIZE as u64)).contains(&address)
}

/// Whether a thread is in the list of those that wait for the GVL.
fn is_queued(memory: &impl Memory, thread: u64, ractor: u64) -> bool {
    let own = thread.wrapping_add(thread::NODE as u64);
    let head = ractor.wrapping_add(ractor::WAITING);
    let mut at = head;
    for _ in 0..MAX_THREADS {
        match memory.word(at) {
            Some(next) if next == own => return true,
            Some(next) if next != head => at = next,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::ruby_frames::{ContextPlace, IdentifierTable};
    use super::super::ruby_layout::RubyLayout;
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::*;

    const RACTOR: u64 = 0x3000;
    const ONE: u64 = 0x4000;
    const TWO: u64 = 0x5000;

    /// Threads 500 and 501; `queued`: the first waits for the GVL, which the other has.
    fn process(queued: bool) -> (SyntheticMemory, Ruby) {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 8, &[(0, 0x2000)]);
        memory.object(0x2000, 64, &[(32, RACTOR)]);
        let (head, node) = (RACTOR + 384, ONE + 104);
        memory.object(
            RACTOR,
            600,
            &[
                (304, ONE),
                (336, TWO),
                (384, if queued { node } else { head }),
            ],
        );
        memory.object(
            ONE,
            thread::SIZE,
            &[
                (0, TWO),
                (24, RACTOR),
                (80, 0x77),
                (88, 500),
                (104, if queued { head } else { node }),
                (264, 0x6000),
            ],
        );
        memory.object(
            TWO,
            thread::SIZE,
            &[
                (0, RACTOR + 304),
                (24, RACTOR),
                (80, 0x88),
                (88, 501),
                (272, 0x7100),
            ],
        );
        memory.object(0x6000, 40, &[(32, 0x7000)]);
        // Holds 0x7100, then 0x7000.
        memory.object(0x7000, 32, &[]);
        memory.object(0x7100, 32, &[(8, 0x7000)]);
        let layout = RubyLayout::of("3.1.2").expect("known");
        (
            memory,
            Ruby::new(
                layout,
                ContextPlace::OfLockHolder(0),
                Some(0x1000),
                IdentifierTable::Within(Vec::new()),
            ),
        )
    }

    #[test]
    fn thread_in_the_queue_waits_for_the_gvl() {
        let (memory, ruby) = process(true);
        assert_eq!(
            ruby.waits_for_gvl(&memory, 500, Some(ONE + 128)),
            Some(Some(501))
        );
        let pointers = ruby.thread_pointers(&memory);
        assert_eq!((pointers[&500], pointers[&501]), (0x77, 0x88));
        // Another word than that of its condition.
        assert_eq!(ruby.waits_for_gvl(&memory, 500, Some(0x9000)), None);
        // The GVL's own mutex.
        assert_eq!(
            ruby.waits_for_gvl(&memory, 500, Some(RACTOR + 344)),
            Some(Some(501))
        );
    }

    #[test]
    fn same_condition_outside_the_queue_is_not_the_gvl() {
        let (memory, ruby) = process(false);
        assert_eq!(ruby.waits_for_gvl(&memory, 500, Some(ONE + 128)), None);
        assert_eq!(ruby.mutex_holder(&memory, 500, Some(ONE + 128)), Some(501));
        // Nobody joins.
        assert_eq!(ruby.joined(&memory, 500, Some(ONE + 128)), None);
        // The same while it looks at signals.
        assert_eq!(ruby.mutex_holder(&memory, 500, None), Some(501));
        assert_eq!(ruby.waits_for_gvl(&memory, 500, None), None);
        // This thread waits for no Mutex.
        assert_eq!(ruby.mutex_holder(&memory, 501, Some(TWO + 128)), None);
    }

    #[test]
    fn joined_thread_has_who_waits_for_its_end() {
        let (mut memory, ruby) = process(false);
        memory.object(
            TWO,
            thread::SIZE,
            &[(0, RACTOR + 304), (24, RACTOR), (88, 501), (280, 0x8000)],
        );
        // Another thread joins it as well.
        memory.object(0x8000, 24, &[(0, 0x8100), (8, 0x9999)]);
        memory.object(0x8100, 24, &[(8, ONE)]);
        assert_eq!(ruby.joined(&memory, 500, Some(ONE + 128)), Some(501));
        assert_eq!(ruby.joined(&memory, 500, Some(0x9000)), None);
        assert_eq!(ruby.joined(&memory, 501, Some(TWO + 128)), None);
    }

    #[test]
    fn circular_lists_end() {
        let (mut memory, ruby) = process(false);
        memory.object(TWO, thread::SIZE, &[(0, ONE), (24, RACTOR), (88, 501)]);
        memory.object(RACTOR, 600, &[(304, ONE), (384, 0x8000)]);
        memory.object(0x8000, 16, &[(0, 0x8000)]);
        assert_eq!(ruby.waits_for_gvl(&memory, 500, Some(ONE + 128)), None);
        assert_eq!(ruby.mutex_holder(&memory, 500, Some(ONE + 128)), None);
    }
}
