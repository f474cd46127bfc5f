//! Reading the memory of another process.

/// Fills as much of `buffer` as can be read from `address` on, and returns how many bytes that is:
/// 0 where this user may not read the process.
pub fn read_memory(pid: i32, address: u64, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        let local = libc::iovec {
            iov_base: rest.as_mut_ptr().cast(),
            iov_len: rest.len(),
        };
        let remote = libc::iovec {
            iov_base: address.wrapping_add(done as u64) as *mut libc::c_void,
            iov_len: rest.len(),
        };
        // SAFETY: the kernel writes at most `iov_len` bytes to `local`, which is ours and that
        // long; the remote address is only looked up in the other process.
        let n =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => done += n,
            _ => break,
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_and_unmapped_memory_is_not() {
        let data = [7u8; 100];
        let pid = std::process::id() as i32;
        let mut read = [0; 100];
        assert_eq!(read_memory(pid, data.as_ptr() as u64, &mut read), 100);
        assert_eq!(read, data);
        assert_eq!(read_memory(pid, 8, &mut read), 0);
    }
}
