//! Writing Protocol Buffers: varints, and fields by their number.
//!
//! The encoding is that of protobuf.dev, "Encoding": a field is its number and wire type as a
//! varint, then a varint (type 0) or a length and bytes (type 2).

/// A message being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const BYTES: u64 = 2;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Adds an `int64`, `uint64` or `bool`; 0 is the default and not written.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3 | VARINT);
            self.varint(value);
        }
    }

    /// Adds several numbers in one field.
    pub(super) fn packed(&mut self, field: u32, values: &[u64]) {
        let mut inner = Self::default();
        for &value in values {
            inner.varint(value);
        }
        self.bytes_field(field, &inner.bytes);
    }

    /// Adds a nested message.
    pub(super) fn message(&mut self, field: u32, inner: Self) {
        self.bytes_field(field, &inner.bytes);
    }

    /// Adds a string, also an empty one: it may be an element of a list.
    pub(super) fn string(&mut self, field: u32, text: &str) {
        self.bytes_field(field, text.as_bytes());
    }

    fn bytes_field(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification.
    #[test]
    fn examples_of_the_specification_are_encoded() {
        let mut message = Message::default();
        message.number(1, 150);
        message.number(7, 0);
        message.string(2, "testing");
        message.packed(6, &[3, 270, 86942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.into_bytes(), expected);
        let mut message = Message::default();
        message.number(1, u64::MAX);
        assert_eq!(message.into_bytes().len(), 11);
    }
}
