//! The GIL of CPython 3.11 and its threads by thread id.
//!
//! Offsets are those of Include/internal/pycore_runtime.h, pycore_gil.h and cpython/pystate.h of 3.11 on 64-bit
//! machines (printed by a program that was compiled with the headers).

use std::collections::HashMap;

use super::python311_frames::Python;
use super::thread_memory::{Memory, word_at};

mod runtime {
    /// `ceval.gil`: a `_gil_runtime_state`.
    pub const GIL: u64 = 360;
    pub const GIL_SIZE: u64 = 208;
    /// `gilstate.tstate_current`: the state of the thread that holds the GIL; null while nobody does.
    pub const CURRENT: u64 = 576;
}
/// `wr_object` of a weak reference, and `lock_lock` of the lock (Modules/_threadmodule.c): both are the first
/// field behind the object's head.
const FIRST_FIELD: u64 = 16;

mod thread {
    pub const THREAD_ID: u64 = 152;
    pub const NATIVE_ID: u64 = 160;
    /// `on_delete_data`: a weak reference to the lock that is released as the thread ends.
    pub const ON_DELETE_DATA: u64 = 192;
}

impl Python {
    /// Whether the word at this address is one of the GIL's conditions or mutexes.
    pub fn gil_has(&self, address: u64) -> bool {
        let gil = self.runtime().wrapping_add(runtime::GIL);
        (gil..gil.wrapping_add(runtime::GIL_SIZE)).contains(&address)
    }

    /// The id of the thread that holds the GIL.
    pub fn gil_holder(&self, memory: &impl Memory) -> Option<i32> {
        let state = memory.word(self.runtime().wrapping_add(runtime::CURRENT))?;
        if state == 0 {
            return None;
        }
        let id = memory.word(state.wrapping_add(thread::NATIVE_ID))?;
        i32::try_from(id).ok().filter(|id| *id > 0)
    }

    /// The id of the thread at whose end the lock with this semaphore is released: who waits for it joins
    /// that thread (`threading.Thread.join`).
    pub fn ends_with_lock(&self, memory: &impl Memory, semaphore: u64) -> Option<i32> {
        let field = |at: u64, offset: u64| {
            let word = memory.word(at.wrapping_add(offset))?;
            (word != 0).then_some(word)
        };
        let mut found = None;
        self.each_thread(memory, &mut |at| {
            let is_of = || {
                let reference = field(at, thread::ON_DELETE_DATA)?;
                let lock = field(reference, FIRST_FIELD)?;
                Some(field(lock, FIRST_FIELD)? == semaphore)
            };
            if found.is_none() && is_of() == Some(true) {
                found = field(at, thread::NATIVE_ID);
            }
        });
        found.and_then(|id| i32::try_from(id).ok())
    }

    /// Thread pointers by thread id.
    pub fn thread_pointers(&self, memory: &impl Memory) -> HashMap<i32, u64> {
        let mut found = HashMap::new();
        self.each_thread(memory, &mut |at| {
            let mut ids = [0; 16];
            let read = memory.fill(at.wrapping_add(thread::THREAD_ID), &mut ids);
            if read.is_some()
                && let Ok(id) = i32::try_from(word_at(
                    &ids,
                    (thread::NATIVE_ID - thread::THREAD_ID) as usize,
                ))
            {
                found.insert(id, word_at(&ids, 0));
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::*;

    fn process(current: u64) -> (SyntheticMemory, Python) {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 600, &[(40, 0x2000), (576, current)]);
        memory.object(0x2000, 24, &[(16, 0x3000)]);
        memory.object(0x3000, 312, &[(8, 0x4000), (152, 0x77), (160, 500)]);
        memory.object(0x4000, 312, &[(152, 0x88), (160, 501)]);
        (memory, Python::new(0x1000, 0xc0de))
    }

    #[test]
    fn holder_of_the_gil_is_the_current_thread() {
        let (memory, python) = process(0x4000);
        assert_eq!(python.gil_holder(&memory), Some(501));
        let pointers = python.thread_pointers(&memory);
        assert_eq!((pointers[&500], pointers[&501]), (0x77, 0x88));
        assert_eq!(process(0).1.gil_holder(&process(0).0), None);
        // A pointer to nothing.
        assert_eq!(python.gil_holder(&process(0x9999).0), None);
    }

    #[test]
    fn lock_of_a_threads_end_is_that_threads() {
        let (mut memory, python) = process(0);
        memory.object(0x4000, 312, &[(152, 0x88), (160, 501), (192, 0x5000)]);
        memory.object(0x5000, 24, &[(16, 0x5100)]);
        memory.object(0x5100, 32, &[(16, 0x5200)]);
        assert_eq!(python.ends_with_lock(&memory, 0x5200), Some(501));
        // A lock of the script's.
        assert_eq!(python.ends_with_lock(&memory, 0x5300), None);
        assert_eq!(python.ends_with_lock(&memory, 0), None);
    }

    #[test]
    fn words_beside_the_gil_are_not_the_gil() {
        let (_, python) = process(0);
        assert!(python.gil_has(0x1000 + 360 + 72));
        assert!(!python.gil_has(0x1000 + 356));
        assert!(!python.gil_has(0x1000 + 360 + 208));
    }
}
