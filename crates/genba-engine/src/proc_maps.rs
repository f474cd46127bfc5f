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

/// Returns the mapping that contains an address as the program made it: without the divisions that
/// come from pages which the engine has write-protected. `protected` are these pages, as ranges in
/// order; to the program they are writable.
#[must_use]
pub fn find_unprotected<'a>(
    maps: &'a [u8],
    pc: u64,
    protected: &[(u64, u64)],
) -> Option<Mapping<'a>> {
    if protected.is_empty() {
        return find(maps, pc);
    }
    let mut found: Option<Mapping<'a>> = None;
    for line in maps.split(|&byte| byte == b'\n').filter_map(parse_line) {
        for part in parts(line, protected) {
            match &mut found {
                Some(before) if continues(before, &part) => before.end = part.end,
                Some(before) if before.start <= pc && pc < before.end => return found,
                _ => found = Some(part),
            }
        }
    }
    found.filter(|mapping| mapping.start <= pc && pc < mapping.end)
}

/// Whether a mapping is the continuation of the one before.
fn continues(before: &Mapping, next: &Mapping) -> bool {
    let offset = before.offset + (before.end - before.start);
    before.end == next.start
        && before.executable
        && next.executable
        && before.writable == next.writable
        && before.shared == next.shared
        && before.inode == next.inode
        && before.path == next.path
        && (before.inode == 0 || offset == next.offset)
}

/// Divides a mapping into what is writable to the program and what is not.
fn parts<'a, 'b>(
    line: Mapping<'a>,
    protected: &'b [(u64, u64)],
) -> impl Iterator<Item = Mapping<'a>> + use<'a, 'b> {
    let first = protected.partition_point(|range| range.1 <= line.start);
    let mut rest = &protected[first..];
    let mut at = line.start;
    core::iter::from_fn(move || {
        if at >= line.end {
            return None;
        }
        let start = at;
        let writable = line.writable || rest.first().is_some_and(|range| range.0 <= at);
        at = match rest.first() {
            _ if line.writable => line.end,
            Some(range) if writable => {
                rest = &rest[1..];
                range.1.min(line.end)
            }
            Some(range) => range.0.min(line.end),
            None => line.end,
        };
        Some(Mapping {
            start,
            end: at,
            writable,
            offset: line.offset + (start - line.start),
            ..line
        })
    })
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

    #[test]
    fn mappings_are_found_as_the_program_made_them() {
        let maps = b"1000-2000 r--p 00000000 00:00 0 
2000-3000 rwxp 00000000 00:00 0 
3000-6000 r-xp 00000000 00:00 0 
6000-7000 rwxp 00000000 00:00 0 
7000-8000 r-xp 00000000 00:00 0 
9000-a000 rwxp 00000000 00:00 0 
";
        let at = |pc, protected: &[(u64, u64)]| {
            find_unprotected(maps, pc, protected).map(|one| (one.start, one.end, one.writable))
        };
        // The whole of what lies between is the engine's doing.
        for pc in [0x2000, 0x3000, 0x6fff] {
            assert_eq!(at(pc, &[(0x3000, 0x6000)]), Some((0x2000, 0x7000, true)));
        }
        // The program has itself made a page in the middle read-only.
        let two = [(0x3000, 0x4000), (0x5000, 0x6000)];
        assert_eq!(at(0x2000, &two), Some((0x2000, 0x4000, true)));
        assert_eq!(at(0x4800, &two), Some((0x4000, 0x5000, false)));
        assert_eq!(at(0x5000, &two), Some((0x5000, 0x7000, true)));
        assert_eq!(at(0x7000, &two), Some((0x7000, 0x8000, false)));
        assert_eq!(at(0x9000, &two), Some((0x9000, 0xa000, true)));
        assert_eq!(at(0x8000, &two), None);
        assert_eq!(at(0x1000, &two), Some((0x1000, 0x2000, false)));
        assert_eq!(at(0x2000, &[]), Some((0x2000, 0x3000, true)));
    }
}
