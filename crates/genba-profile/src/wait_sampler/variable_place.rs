//! In which file's data an address lies.

use genba_symbols::Mapping;

/// The file whose static data an address of a process belongs to, with its distance from where the
/// file's first mapping begins; `None` for stacks and heaps.
pub fn place(mappings: &[Mapping], address: u64) -> Option<(String, u64)> {
    let mut at = mappings
        .iter()
        .position(|mapping| (mapping.start..mapping.end).contains(&address))?;
    // Data without contents in the file (.bss) is anonymous memory behind the file's.
    if mappings[at].path.is_empty() {
        at = at.checked_sub(1)?;
        if mappings[at].end != mappings[at + 1].start {
            return None;
        }
    }
    let path = &mappings[at].path;
    let first = mappings.iter().find(|mapping| mapping.path == *path)?;
    path.starts_with('/')
        .then(|| (path.clone(), address - first.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_data_is_distinguished_from_heap() {
        let mappings: Vec<Mapping> = [
            "1000-2000 r--p 00000000 fe:01 7 /bin/x",
            "2000-3000 r-xp 00001000 fe:01 7 /bin/x",
            "3000-4000 rw-p 00002000 fe:01 7 /bin/x",
            "4000-5000 rw-p 00000000 00:00 0",
            "9000-a000 rw-p 00000000 00:00 0 [heap]",
            "b000-c000 rw-p 00000000 00:00 0",
        ]
        .iter()
        .map(|line| Mapping::parse(line).unwrap())
        .collect();
        let file = |distance| Some(("/bin/x".to_owned(), distance));
        assert_eq!(place(&mappings, 0x3010), file(0x2010));
        assert_eq!(place(&mappings, 0x4010), file(0x3010));
        assert_eq!(place(&mappings, 0x9010), None);
        assert_eq!(place(&mappings, 0xb010), None);
        assert_eq!(place(&mappings, 0x10), None);
    }
}
