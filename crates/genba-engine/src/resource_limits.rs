//! Limits of a process's resources (`setrlimit`) against which the engine's own memory counts. Pure.
//!
//! What must hold: a program under such a limit behaves as natively, or is refused, or has a note.

use crate::count_file_layout::FILE_SIZE;

/// `RLIMIT_DATA`.
pub const DATA: u64 = 2;
/// `RLIMIT_AS`.
pub const ADDRESS_SPACE: u64 = 9;

/// Private memory that the engine can take at most: its heap (3 GiB) and its code cache (1 GiB).
const PRIVATE_BYTES: u64 = 4 << 30;
/// Smallest limit of the address space under which a program is counted, bytes.
pub const MIN_ADDRESS_SPACE: u64 = FILE_SIZE + PRIVATE_BYTES + (16 << 30);
/// Smallest limit of private writable memory under which a program is counted, bytes.
pub const MIN_DATA: u64 = PRIVATE_BYTES + (4 << 30);

/// What a limit means for a program that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program behaves as natively.
    NoEffect,
    /// The program behaves otherwise only if it comes close to the limit: it needs a note.
    Near,
    /// The engine takes so much of it that the program may behave otherwise, for this reason.
    Refused(&'static str),
}

/// Judges a limit by its number and its soft value, bytes.
#[must_use]
pub fn judge(resource: u64, soft: u64) -> Verdict {
    match (resource, soft) {
        (ADDRESS_SPACE | DATA, u64::MAX) => Verdict::NoEffect,
        (ADDRESS_SPACE, ..MIN_ADDRESS_SPACE) => Verdict::Refused(
            "its address space is limited (RLIMIT_AS, ulimit -v), and the engine's memory would \
             count against the limit",
        ),
        (DATA, ..MIN_DATA) => Verdict::Refused(
            "its memory is limited (RLIMIT_DATA, ulimit -d), and the engine's memory would count \
             against the limit",
        ),
        (ADDRESS_SPACE | DATA, _) => Verdict::Near,
        _ => Verdict::NoEffect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_the_engine_would_exhaust_are_refused_and_large_ones_have_a_note() {
        let refused = |resource, soft| matches!(judge(resource, soft), Verdict::Refused(_));
        assert!(refused(ADDRESS_SPACE, 8_000_000_000));
        assert!(refused(ADDRESS_SPACE, FILE_SIZE));
        assert!(refused(DATA, 0));
        assert_eq!(judge(ADDRESS_SPACE, 1 << 40), Verdict::Near);
        assert_eq!(judge(DATA, 64 << 30), Verdict::Near);
        assert_eq!(judge(ADDRESS_SPACE, u64::MAX), Verdict::NoEffect);
        // RLIMIT_NOFILE
        assert_eq!(judge(7, 3), Verdict::NoEffect);
    }
}
