//! The GIL of CPython and its threads by thread id. Offsets are those of [`super::python_layout`].

use std::collections::HashMap;

use super::python_frames::Python;
use super::python_layout::{GIL_LAST_HOLDER, GIL_LOCKED, GIL_SIZE, Gil};
use super::thread_memory::Memory;

/// `wr_object` of a weak reference, and `lock_lock` of the lock (Modules/_threadmodule.c): both are the first
/// field behind the object's head.
const FIRST_FIELD: u64 = 16;
/// Where glibc has the id of the kernel in what the thread pointer points to (`struct pthread.tid`, x86-64): for versions whose
/// thread states do not have it. Elsewhere it is the id of no thread, which is then not found.
const PTHREAD_TID: u64 = 720;

impl Python {
    /// Whether the word at this address is one of a GIL's conditions or mutexes, and the id of the thread that holds that GIL.
    pub fn gil_of_word(&self, memory: &impl Memory, address: u64) -> Option<Option<i32>> {
        let is_in = |gil: &u64| (*gil..gil.wrapping_add(GIL_SIZE)).contains(&address);
        let holder = match self.layout.gil {
            Gil::Runtime { gil, holder } => {
                is_in(&self.runtime().wrapping_add(gil)).then_some(())?;
                memory.word(self.runtime().wrapping_add(holder))
            }
            Gil::Interpreter(field) => {
                let interpreters = self.interpreters(memory).into_iter();
                let mut gils = interpreters.filter_map(|one| memory.word(one.wrapping_add(field)));
                let gil = gils.find(is_in)?;
                let locked = memory.bytes(gil.wrapping_add(GIL_LOCKED));
                let is_held = locked.is_some_and(|locked| i32::from_le_bytes(locked) > 0);
                is_held
                    .then(|| memory.word(gil.wrapping_add(GIL_LAST_HOLDER)))
                    .flatten()
            }
        };
        let state = holder.filter(|state| *state != 0);
        Some(state.and_then(|state| self.id_of(memory, state)))
    }

    /// The id of the kernel of the thread with this state.
    fn id_of(&self, memory: &impl Memory, state: u64) -> Option<i32> {
        let id = match self.layout.thread.native_id {
            Some(offset) => memory.word(state.wrapping_add(offset))?,
            None => {
                let pointer = self.pointer_of(memory, state)?;
                let id: [u8; 4] = memory.bytes(pointer.wrapping_add(PTHREAD_TID))?;
                u64::from(u32::from_le_bytes(id))
            }
        };
        i32::try_from(id).ok().filter(|id| *id > 0)
    }

    /// The id of the thread at whose end the lock with this semaphore is released: who waits for it joins
    /// that thread (`threading.Thread.join`).
    pub fn ends_with_lock(&self, memory: &impl Memory, semaphore: u64) -> Option<i32> {
        let on_delete_data = self.layout.thread.on_delete_data?;
        let field = |at: u64, offset: u64| {
            let word = memory.word(at.wrapping_add(offset))?;
            (word != 0).then_some(word)
        };
        let mut found = None;
        self.each_thread(memory, &mut |at| {
            let is_of = || {
                let reference = field(at, on_delete_data)?;
                let lock = field(reference, FIRST_FIELD)?;
                Some(field(lock, FIRST_FIELD)? == semaphore)
            };
            if found.is_none() && is_of() == Some(true) {
                found = self.id_of(memory, at);
            }
        });
        found
    }

    /// Thread pointers by thread id.
    pub fn thread_pointers(&self, memory: &impl Memory) -> HashMap<i32, u64> {
        let mut found = HashMap::new();
        self.each_thread(memory, &mut |at| {
            if let (Some(id), Some(pointer)) = (self.id_of(memory, at), self.pointer_of(memory, at))
            {
                found.insert(id, pointer);
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::python_layout::Layout;
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::*;

    const GIL: u64 = 0x1000 + 360;

    fn process(current: u64) -> (SyntheticMemory, Python) {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 600, &[(40, 0x2000), (576, current)]);
        memory.object(0x2000, 24, &[(16, 0x3000)]);
        memory.object(0x3000, 312, &[(8, 0x4000), (152, 0x77), (160, 500)]);
        memory.object(0x4000, 312, &[(152, 0x88), (160, 501)]);
        (memory, Python::new(Layout::of(11).unwrap(), 0x1000, 0xc0de))
    }

    #[test]
    fn holder_of_the_gil_is_the_current_thread() {
        let (memory, python) = process(0x4000);
        assert_eq!(python.gil_of_word(&memory, GIL), Some(Some(501)));
        let pointers = python.thread_pointers(&memory);
        assert_eq!((pointers[&500], pointers[&501]), (0x77, 0x88));
        assert_eq!(process(0).1.gil_of_word(&process(0).0, GIL), Some(None));
        // A pointer to nothing.
        assert_eq!(python.gil_of_word(&process(0x9999).0, GIL), Some(None));
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
        let (memory, python) = process(0);
        let is_gil = |address| python.gil_of_word(&memory, address).is_some();
        assert!(is_gil(GIL + 72));
        assert!(!is_gil(GIL - 4));
        assert!(!is_gil(GIL + 208));
    }

    #[test]
    fn gil_of_an_interpreter_is_held_while_it_is_locked() {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 700, &[(632, 0x2000)]);
        memory.object(0x2000, 7400, &[(16, 0x8000), (7344, 0x6000)]);
        memory.object(0x6000, 304, &[(152, 0x77), (160, 500)]);
        memory.object(0x8000, 208, &[(8, 0x6000), (16, 1)]);
        let python = Python::new(Layout::of(13).unwrap(), 0x1000, 0xc0de);
        assert_eq!(python.gil_of_word(&memory, 0x8040), Some(Some(500)));
        assert_eq!(python.gil_of_word(&memory, 0x9000), None);
        memory.object(0x8000, 208, &[(8, 0x6000), (16, 0)]);
        assert_eq!(python.gil_of_word(&memory, 0x8040), Some(None));
    }

    #[test]
    fn threads_without_an_id_have_that_of_the_c_library() {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 600, &[(32, 0x2000)]);
        memory.object(0x2000, 24, &[(8, 0x3000)]);
        memory.object(0x3000, 280, &[(176, 0x5000)]);
        memory.object(0x5000, 800, &[(720, 500)]);
        let python = Python::new(Layout::of(9).unwrap(), 0x1000, 0xc0de);
        assert_eq!(
            python.thread_pointers(&memory),
            HashMap::from([(500, 0x5000)])
        );
    }
}
