//! The GVL of CRuby 3.1 to 3.4, its mutexes, and its threads by thread id.
//!
//! Offsets that differ between versions are in [`ThreadLayout`]; `rb_mutex_t` is that of thread_sync.c.

use std::collections::HashMap;

use super::ruby_frames::Ruby;
use super::ruby_layout::ThreadLayout;
use super::thread_memory::{Memory, word_at};

mod vm {
    /// `ractor.main_ractor`.
    pub const MAIN_RACTOR: u64 = 32;
}
mod thread {
    pub const RACTOR: usize = 24;
    pub const VM: u64 = 32;
}
/// `sizeof(pthread_cond_t)`.
const CONDITION_SIZE: u64 = 48;
/// `rb_waiting_thread_list` of thread.c, since 3.3 `rb_waiting_list` of vm_core.h.
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

/// A thread of the main ractor.
struct Thread {
    /// Where it is.
    at: u64,
    ractor: u64,
    locking: u64,
    keeping: u64,
    joined_by: u64,
    /// The native thread: its thread pointer, number, and the address of its condition.
    pointer: u64,
    tid: i32,
    condition: u64,
}

impl Thread {
    fn read(memory: &impl Memory, layout: &ThreadLayout, at: u64) -> Option<Self> {
        let mut bytes = vec![0; layout.joined_by + 8];
        memory.fill(at, &mut bytes)?;
        let native = match layout.native {
            Some(native) => word_at(&bytes, native),
            None => at,
        };
        let mut natives = vec![0; layout.tid + 8];
        // A thread that has not begun has none.
        let _ = memory.fill(native, &mut natives);
        Some(Self {
            at,
            ractor: word_at(&bytes, thread::RACTOR),
            locking: word_at(&bytes, layout.locking),
            keeping: word_at(&bytes, layout.keeping),
            joined_by: word_at(&bytes, layout.joined_by),
            pointer: word_at(&natives, layout.pointer),
            tid: word_at(&natives, layout.tid) as u32 as i32,
            condition: native.wrapping_add(layout.condition as u64),
        })
    }

    /// Whether it may sleep while it is blocked on this word: on its own condition, or, if it looks at signals for
    /// all, on their descriptor.
    fn may_sleep_on(&self, word: Option<u64>) -> bool {
        word.is_none_or(|word| self.is_own_condition(word))
    }

    fn is_own_condition(&self, address: u64) -> bool {
        (self.condition..self.condition.wrapping_add(CONDITION_SIZE)).contains(&address)
    }

    /// Whether it is in the list of those that wait for the GVL.
    fn is_queued(&self, memory: &impl Memory, layout: &ThreadLayout) -> bool {
        let own = self.at.wrapping_add(layout.node as u64);
        let head = self.ractor.wrapping_add(layout.waiting);
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
}

/// Whether a VM is there: the first thread of its main ractor leads to both.
fn is_vm(memory: &impl Memory, layout: &ThreadLayout, at: u64) -> bool {
    /// Of what `malloc` gives.
    const ALIGNMENT: u64 = 16;
    let leads = || {
        let ractor = memory.word(at.checked_add(vm::MAIN_RACTOR)?)?;
        let list = ractor.checked_add(layout.threads)?;
        let thread = memory.word(list).filter(|thread| *thread != list)?;
        let of_ractor = memory.word(thread.checked_add(thread::RACTOR as u64)?)?;
        let of_vm = memory.word(thread.checked_add(thread::VM)?)?;
        Some(ractor != 0 && of_ractor == ractor && of_vm == at)
    };
    at != 0 && at.is_multiple_of(ALIGNMENT) && leads() == Some(true)
}

impl Ruby {
    /// Thread pointers by thread id.
    pub fn thread_pointers(&mut self, memory: &impl Memory) -> HashMap<i32, u64> {
        self.locate_vm(|layout, at| is_vm(memory, layout, at), memory);
        self.threads(memory)
            .map(|thread| (thread.tid, thread.pointer))
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
        let (_, layout) = self.vm_with_known_gvl()?;
        let thread = self.thread(memory, waiting)?;
        let gvl = thread.ractor.wrapping_add(layout.gvl);
        let in_gvl = (gvl..gvl.wrapping_add(layout.gvl_size)).contains(&address);
        // Its own condition serves for other waits, too: for the GVL only while it is in that list.
        let queued = || thread.is_own_condition(address) && thread.is_queued(memory, layout);
        if !in_gvl && !queued() {
            return None;
        }
        let owner = memory.word(thread.ractor.wrapping_add(layout.owner))?;
        let owner = (owner != 0)
            .then(|| Thread::read(memory, layout, owner))
            .flatten();
        Some(owner.map(|owner| owner.tid).filter(|tid| *tid > 0))
    }

    /// The id of the thread that holds the Mutex for which this one waits on this word.
    pub fn mutex_holder(
        &self,
        memory: &impl Memory,
        waiting: i32,
        word: Option<u64>,
    ) -> Option<i32> {
        let thread = self.thread(memory, waiting)?;
        if !thread.may_sleep_on(word) || thread.locking == FALSE {
            return None;
        }
        let wanted = memory.word(thread.locking.wrapping_add(typed_data::DATA))?;
        self.threads(memory)
            .find(|thread| {
                let mut held = thread.keeping;
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
            .map(|thread| thread.tid)
            .filter(|holder| *holder != waiting)
    }

    /// The id of the thread whose end this one waits for on this word.
    pub fn joined(&self, memory: &impl Memory, waiting: i32, word: Option<u64>) -> Option<i32> {
        let waiting = self.thread(memory, waiting)?;
        if !waiting.may_sleep_on(word) {
            return None;
        }
        let mut threads = self.threads(memory);
        threads
            .find(|thread| {
                let mut joins = thread.joined_by;
                for _ in 0..MAX_THREADS {
                    if joins == 0 {
                        return false;
                    }
                    if memory.word(joins.wrapping_add(joining::THREAD)) == Some(waiting.at) {
                        return true;
                    }
                    joins = memory.word(joins.wrapping_add(joining::NEXT)).unwrap_or(0);
                }
                false
            })
            .map(|thread| thread.tid)
    }

    fn thread(&self, memory: &impl Memory, wanted: i32) -> Option<Thread> {
        self.threads(memory).find(|thread| thread.tid == wanted)
    }

    /// The threads of the main ractor.
    fn threads<'m>(&self, memory: &'m impl Memory) -> impl Iterator<Item = Thread> + 'm {
        let known = self.vm_with_known_gvl();
        let vm = known.and_then(|(at, _)| memory.word(at));
        let vm = vm.filter(|vm| *vm != 0);
        let ractor = vm.and_then(|vm| memory.word(vm.wrapping_add(vm::MAIN_RACTOR)));
        let head = ractor.zip(known).map_or(0, |(ractor, (_, layout))| {
            ractor.wrapping_add(layout.threads)
        });
        let mut at = head;
        // A thread begins with its place in the list.
        std::iter::from_fn(move || {
            let (_, layout) = known?;
            at = memory.word(at)?;
            if at == head {
                return None;
            }
            Thread::read(memory, layout, at)
        })
        .take(MAX_THREADS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ruby_frames::{ContextPlace, Variable, Variables};
    use super::super::ruby_layout::RubyLayout;
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::*;

    const RACTOR: u64 = 0x3000;
    const ONE: u64 = 0x4000;
    const TWO: u64 = 0x5000;
    const THREAD_SIZE: usize = 512;

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
            THREAD_SIZE,
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
            THREAD_SIZE,
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
        let variables = Variables {
            vm: Variable::of_symbol(Some(0x1000)),
            ..Variables::default()
        };
        let ruby = Ruby::new(layout, ContextPlace::OfLockHolder(0), variables);
        (memory, ruby)
    }

    #[test]
    fn thread_in_the_queue_waits_for_the_gvl() {
        let (memory, mut ruby) = process(true);
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
            THREAD_SIZE,
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
    fn vm_without_a_symbol_is_found_by_its_first_thread() {
        let (mut memory, _) = process(true);
        let put_vm = |memory: &mut SyntheticMemory, thread: u64, vm: u64| {
            memory.overwrite(vec![(thread + thread::VM, vm)]);
        };
        // Words that lead nowhere, and to something that begins as a VM does.
        memory.object(0xa000, 32, &[(0, 0x10), (8, 0xb000), (16, 0x2000)]);
        memory.object(0xb000, 64, &[(32, RACTOR)]);
        put_vm(&mut memory, ONE, 0x2000);
        let layout = RubyLayout::of("3.1.2").expect("known");
        let mut ruby = Ruby::new(
            layout,
            ContextPlace::OfLockHolder(0),
            Variables {
                all: vec![(0xa000, 32)],
                ..Variables::default()
            },
        );
        assert_eq!(ruby.thread_pointers(&memory).len(), 2);
        assert_eq!(ruby.vm_with_known_gvl().map(|(at, _)| at), Some(0xa010));
    }

    #[test]
    fn circular_lists_end() {
        let (mut memory, ruby) = process(false);
        memory.object(TWO, THREAD_SIZE, &[(0, ONE), (24, RACTOR), (88, 501)]);
        memory.object(RACTOR, 600, &[(304, ONE), (384, 0x8000)]);
        memory.object(0x8000, 16, &[(0, 0x8000)]);
        assert_eq!(ruby.waits_for_gvl(&memory, 500, Some(ONE + 128)), None);
        assert_eq!(ruby.mutex_holder(&memory, 500, Some(ONE + 128)), None);
    }
}
