//! Parses `/proc/self/maps`: which memory is executable, and which file it is mapped from. Not the
//! parser of genba-symbols, because this one runs inside the target without libc and std.

/// A mapping: one line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Whether it is writable.
    pub writable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether it is shared, so that others may change its contents.
    pub shared: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Inode; 0 for none.
    pub inode: u64,
    /// Path or `[name]`; empty for none.
    pub path: &'a [u8],
}

fn number(bytes: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(bytes).ok()?, radix).ok()
}

/// Parses a line: `start-end perms offset dev inode path`; `None` if it is malformed.
#[must_use]
pub fn parse_line(line: &[u8]) -> Option<Mapping<'_>> {
    let mut rest = line;
    let mut word = || {
        let start = rest.iter().position(|&byte| byte != b' ')?;
        let tail = &rest[start..];
        let end = tail
            .iter()
            .position(|&byte| byte == b' ')
            .unwrap_or(tail.len());
        rest = &tail[end..];
        Some(&tail[..end])
    };
    let range = word()?;
    let permissions = word()?;
    let offset = number(word()?, 16)?;
    let _device = word()?;
    let inode = number(word()?, 10)?;
    let start = rest.iter().position(|&byte| byte != b' ');
    let path = start.map_or(&[][..], |start| &rest[start..]);
    let dash = range.iter().position(|&byte| byte == b'-')?;
    Some(Mapping {
        start: number(&range[..dash], 16)?,
        end: number(&range[dash + 1..], 16)?,
        writable: permissions.get(1) == Some(&b'w'),
        executable: permissions.get(2) == Some(&b'x'),
        shared: permissions.get(3) == Some(&b's'),
        offset,
        inode,
        path,
    })
}

/// Returns the mapping that contains an address.
#[must_use]
pub fn find(maps: &[u8], pc: u64) -> Option<Mapping<'_>> {
    maps.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .find(|mapping| mapping.start <= pc && pc < mapping.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_found_by_address_and_garbage_is_skipped() {
        let maps = b"55d0-55e0 r-xp 00002000 fe:00 1234                       /usr/bin/a b\n\
            7f00-7f10 rwxs 00000000 00:00 0 \n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let found = find(maps, 0x55df).expect("there");
        assert_eq!(found.path, b"/usr/bin/a b");
        assert_eq!((found.offset, found.inode), (0x2000, 1234));
        assert!(found.executable && !found.writable && !found.shared);
        let found = find(maps, 0x7f00).expect("there");
        assert!(found.executable && found.writable && found.shared && found.path.is_empty());
        assert!(find(maps, 0x55e0).is_none());
        assert!(find(b"", 1).is_none());
        assert!(find(b"garbage\n-", 1).is_none());
    }
}
