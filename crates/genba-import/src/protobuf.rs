//! Reading Protocol Buffers: the fields of a message (protobuf.dev, "Encoding").

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; ends at the first that is damaged, which `is_damaged` then says.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    pub(crate) is_damaged: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            is_damaged: false,
        }
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let bytes = self.take(4)?.try_into().ok()?;
                Value::Number(u64::from(u32::from_le_bytes(bytes)))
            }
            _ => return None,
        };
        (key >> 3 != 0).then_some((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.is_damaged {
            return None;
        }
        let field = self.field();
        self.is_damaged = field.is_none();
        field
    }
}

/// Takes a number from the start of the bytes.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The numbers of a repeated field: one, or several packed ones.
pub(crate) fn numbers(value: Value<'_>, into: &mut Vec<u64>) -> Option<()> {
    match value {
        Value::Number(number) => into.push(number),
        Value::Bytes(mut bytes) => {
            while !bytes.is_empty() {
                into.push(varint(&mut bytes)?);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_specification_are_read() {
        let bytes = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        let fields: Vec<_> = Fields::new(bytes).collect();
        assert_eq!(fields[0], (1, Value::Number(150)));
        assert_eq!(fields[1], (2, Value::Bytes(b"testing")));
        let mut packed = Vec::new();
        numbers(fields[2].1, &mut packed).expect("numbers");
        assert_eq!(packed, [3, 270, 86942]);
    }

    #[test]
    fn lengths_beyond_the_end_are_damage() {
        for bytes in [
            &b"\x12\x09testing"[..],
            b"\x08\xff",
            b"\x00\x00",
            b"\x0b\x00",
            b"\x80",
        ] {
            let mut fields = Fields::new(bytes);
            assert_eq!(fields.by_ref().count(), 0, "{bytes:?}");
            assert!(fields.is_damaged, "{bytes:?}");
        }
    }
}
