//! Before an `execve`: asks genba to count the new program.

use crate::count_file_layout::REQUEST_EXEC;
use crate::raw_syscall::nr;
use crate::thread_state::{self, State};

use super::engine::Engine;
use super::syscall_interception::Call;
use super::{program_mask, request_channel, signal_delivery};

/// Asks genba to inject the engine into the new program if that is to be counted: always for the
/// target itself, for children on request.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn before(engine: &Engine, state: State, call: &Call) {
    // SAFETY: the caller's promise.
    unsafe { inherit(engine, state) };
    // SAFETY: the caller's promise.
    let vfork = unsafe { state.get(thread_state::PROCESS) } != 0;
    if vfork && !engine.children {
        return;
    }
    let mut path = [0u8; 4096];
    let length = if call.number == nr::EXECVE {
        read(call.arguments[0], &mut path, 0)
    } else {
        let fd = call.arguments[0] as i32;
        let start = write_descriptor_path(fd, &mut path);
        read(call.arguments[1], &mut path, start)
    };
    if let Some(length) = length {
        let _ =
            request_channel::send_request(engine.code_map.shared, REQUEST_EXEC, 0, &path[..length]);
    }
}

/// Lets the new program inherit the signal mask and ignored signals as natively.
unsafe fn inherit(engine: &Engine, state: State) {
    // SAFETY: the caller's own state; the actions are its process's.
    unsafe {
        program_mask::expose(state);
        engine.processes[state.get(thread_state::PROCESS) as usize].register_ignored();
    }
}

/// Reads a string of the program's into `path` from `start` on; its end.
fn read(at: usize, path: &mut [u8; 4096], start: usize) -> Option<usize> {
    // Memory is checked a word at a time.
    let mut checked = usize::MAX;
    for (index, byte) in path.iter_mut().enumerate().skip(start) {
        let from = at + index - start;
        if from & !7 != checked {
            checked = from & !7;
            if !signal_delivery::readable(checked) {
                return None;
            }
        }
        // SAFETY: just found to be readable.
        *byte = unsafe { *(from as *const u8) };
        if *byte == 0 {
            // An empty path: the directory's descriptor alone.
            return Some(if index == start {
                index.saturating_sub(1)
            } else {
                index
            });
        }
    }
    None
}

/// Writes `/proc/self/fd/N/` for a descriptor, nothing for `AT_FDCWD`; the length.
fn write_descriptor_path(fd: i32, path: &mut [u8; 4096]) -> usize {
    const HEAD: &[u8] = b"/proc/self/fd/";
    if fd < 0 {
        return 0;
    }
    path[..HEAD.len()].copy_from_slice(HEAD);
    let mut digits = [0u8; 10];
    let mut count = 0;
    let mut rest = fd as u32;
    while rest > 0 || count == 0 {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    for index in 0..count {
        path[HEAD.len() + index] = digits[count - 1 - index];
    }
    path[HEAD.len() + count] = b'/';
    HEAD.len() + count + 1
}
