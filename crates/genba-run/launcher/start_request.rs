//! A start request in memory, and the child that it describes.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::exec_child::Child;
use crate::protocol::{Header, MAX_FDS, START, Start};
use crate::{Launcher, syscalls};

/// A request's bytes and the pointers into them, unmapped when dropped.
pub struct Request {
    memory: *mut u8,
    length: usize,
    body: usize,
}

impl Drop for Request {
    fn drop(&mut self) {
        // SAFETY: whatever pointed into it has gone: the child left this memory before.
        unsafe { syscalls::unmap(self.memory, self.length) };
    }
}

impl Request {
    /// Reads a body of `length` bytes, with room for pointers to its strings.
    pub fn receive(launcher: &Launcher, header: Header) -> Option<Self> {
        let body = header.body as usize;
        // At most one string a byte, and two null pointers.
        let strings = body.next_multiple_of(8);
        let length = strings + 8 * (body + 2);
        let Ok(memory) = syscalls::map(length) else {
            return None;
        };
        let mut request = Self {
            memory,
            length,
            body,
        };
        syscalls::receive_all(launcher.socket, request.bytes()).then_some(request)
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is at least that long, and `self` is borrowed meanwhile.
        unsafe { core::slice::from_raw_parts_mut(self.memory, self.body) }
    }

    pub fn child(&mut self, launcher: &Launcher, fds: [i32; MAX_FDS]) -> Option<Child<'_>> {
        let pointers = self
            .memory
            .wrapping_add(self.body.next_multiple_of(8))
            .cast::<usize>();
        let body = &*self.bytes();
        let start = Start::decode(body)?;
        let (mask, strings) = body.get(START..)?.split_at_checked(start.mask as usize)?;
        if strings.last() != Some(&0) {
            return None;
        }
        let mut strings = strings.split(|&byte| byte == 0);
        let program = strings.next()?.as_ptr();
        let directory = strings.next()?;
        let mut at = pointers;
        let mut fill = |count: u32| {
            let array = at;
            for _ in 0..count {
                // SAFETY: there are at most as many strings as bytes in the body, and the
                // mapping has room for so many pointers and two more.
                unsafe { at.write(strings.next()?.as_ptr() as usize) };
                at = at.wrapping_add(1);
            }
            // SAFETY: as above; this is one of the two more.
            unsafe { at.write(0) };
            at = at.wrapping_add(1);
            Some(array)
        };
        let argv = fill(start.argc)?;
        let envp = fill(start.envc)?;
        // What `split` yields after the last zero byte is not a string.
        strings.next()?;
        Some(Child {
            start,
            launcher: launcher.pid,
            null: launcher.null,
            fds,
            mask,
            program,
            directory: if directory.is_empty() {
                core::ptr::null()
            } else {
                directory.as_ptr()
            },
            argv,
            envp,
            gate: AtomicU32::new(0),
            here: AtomicU32::new(1),
            stamp: AtomicU64::new(0),
            stage: AtomicU32::new(0),
            errno: AtomicU32::new(0),
        })
    }
}
