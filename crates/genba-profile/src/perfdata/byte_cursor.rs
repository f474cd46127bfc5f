//! Reading little-endian fields from bytes without trusting any length.

/// A position in a slice that never passes its end: all getters return `None` there.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `data`.
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// The bytes that have not been read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(n)?;
        self.rest = tail;
        Some(head)
    }

    /// Skips `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Option<()> {
        self.take(n).map(|_| ())
    }

    /// The next 2 bytes as a number.
    pub fn u16(&mut self) -> Option<u16> {
        let (head, tail) = self.rest.split_first_chunk::<2>()?;
        self.rest = tail;
        Some(u16::from_le_bytes(*head))
    }

    /// The next 4 bytes as a number.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let (head, tail) = self.rest.split_first_chunk::<4>()?;
        self.rest = tail;
        Some(u32::from_le_bytes(*head))
    }

    /// The next 4 bytes as a signed number.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// The next 8 bytes as a number.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let (head, tail) = self.rest.split_first_chunk::<8>()?;
        self.rest = tail;
        Some(u64::from_le_bytes(*head))
    }
}

/// The text before the first NUL, or all of it; invalid UTF-8 is replaced.
#[must_use]
pub fn c_string(data: &[u8]) -> String {
    let end = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).into_owned()
}

/// A string of perf's feature sections: padded length, bytes, NUL padding.
pub fn header_string(cursor: &mut Cursor<'_>) -> Option<String> {
    let length = cursor.u32()? as usize;
    Some(c_string(cursor.take(length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_never_reads_past_the_end() {
        let mut cursor = Cursor::new(&[1, 0, 0, 0, 2]);
        assert_eq!(cursor.u32(), Some(1));
        assert_eq!(cursor.u64(), None);
        assert_eq!(cursor.take(2), None);
        assert_eq!(cursor.take(1), Some(&[2u8][..]));
        assert_eq!(cursor.u16(), None);
    }

    #[test]
    fn strings_end_at_nul_and_bad_lengths_are_refused() {
        let mut cursor = Cursor::new(b"\x08\0\0\0abc\0\0\0\0\0");
        assert_eq!(header_string(&mut cursor).as_deref(), Some("abc"));
        assert_eq!(
            header_string(&mut Cursor::new(b"\xff\xff\xff\xffabc")),
            None
        );
    }
}
