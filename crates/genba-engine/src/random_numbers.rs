//! Random numbers of the engine, which has no libc to ask for some.

/// Returns the next number of a sequence whose state is not 0: xorshift64 (Marsaglia, 2003).
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
