//! A copy of the bytes of one instruction, without an allocation.

use core::ops::Deref;

/// Room for an instruction, bytes; the longest has 15.
const CAPACITY: usize = 16;

/// The bytes of an instruction.
#[derive(Clone, Copy)]
pub(super) struct InstructionBytes {
    bytes: [u8; CAPACITY],
    length: u8,
}

impl InstructionBytes {
    /// Copies the first `length` bytes of the code at an instruction, at most 16; none if there are
    /// fewer.
    pub(super) fn new(code: &[u8], length: usize) -> Self {
        let mut bytes = [0; CAPACITY];
        if let Some(whole) = code.first_chunk().filter(|_| length <= CAPACITY) {
            // A copy of fixed size is a few instructions.
            bytes = *whole;
        } else if let (Some(from), Some(to)) = (code.get(..length), bytes.get_mut(..length)) {
            to.copy_from_slice(from);
        } else {
            return Self { bytes, length: 0 };
        }
        Self {
            bytes,
            length: length as u8,
        }
    }
}

impl Deref for InstructionBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_also_at_the_end_of_the_code() {
        let code: Vec<u8> = (0..20).collect();
        assert_eq!(&*InstructionBytes::new(&code, 3), &code[..3]);
        assert_eq!(&*InstructionBytes::new(&code[17..], 3), &code[17..]);
        assert_eq!(&*InstructionBytes::new(&code[18..], 3), &[] as &[u8]);
        assert_eq!(&*InstructionBytes::new(&code, 17), &[] as &[u8]);
    }
}
