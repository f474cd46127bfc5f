//! The kernel's own symbols.

use std::io::Read;
use std::ops::Range;

use crate::error::SymbolsError;

/// A symbol of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Address in memory.
    pub address: u64,
    /// Name.
    pub name: &'a str,
    /// Module that it belongs to; `None` for the kernel proper.
    pub module: Option<&'a str>,
}

/// Symbols of code in the running kernel, sorted. The list is kept as it was read: a kernel has
/// some 100,000 symbols, and a report asks for a few hundred of them.
#[derive(Clone, Debug, Default)]
pub struct Kallsyms {
    text: Vec<u8>,
    entries: Vec<Entry>,
}

/// Address, and where the rest of the line begins and ends.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    begin: u32,
    end: u32,
}

/// Longest list that is read, bytes: real ones are about 10 MB.
const MAX_BYTES: u64 = 256 << 20;
/// Longest line that is a symbol; the kernel's own limit on names is 512.
const MAX_LINE: usize = 4096;
/// Bytes to make room for at the start.
const USUAL_BYTES: usize = 12 << 20;

impl Kallsyms {
    /// Reads `/proc/kallsyms`.
    ///
    /// # Errors
    /// [`SymbolsError::Read`] if it cannot be read; [`SymbolsError::Kallsyms`] if the kernel hides
    /// the addresses, with the command that lets it show them.
    pub fn load() -> Result<Self, SymbolsError> {
        let path = "/proc/kallsyms";
        let file = std::fs::File::open(path).map_err(|source| SymbolsError::Read {
            path: path.into(),
            source,
        })?;
        Self::parse(file)
    }

    /// Parses the format of `/proc/kallsyms`: address, type, name, and the module in brackets.
    /// Lines that are not of that form are passed over.
    ///
    /// # Errors
    /// [`SymbolsError::Kallsyms`] if reading fails, if no line is a symbol, or if all addresses
    /// are zero.
    pub fn parse(reader: impl Read) -> Result<Self, SymbolsError> {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        reader
            .take(MAX_BYTES)
            .read_to_end(&mut text)
            .map_err(|e| SymbolsError::Kallsyms(format!("cannot read kernel symbols: {e}")))?;
        let mut entries = Vec::new();
        let mut hidden = false;
        let mut begin = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            if let Some((address, rest)) = parse_line(line) {
                if address == 0 {
                    hidden = true;
                } else {
                    // The list is shorter than 2³² bytes.
                    entries.push(Entry {
                        address,
                        begin: (begin + rest.start) as u32,
                        end: (begin + rest.end) as u32,
                    });
                }
            }
            begin += line.len();
        }
        // Per-CPU symbols have small addresses even where the others are shown.
        let shown = entries.iter().any(|e| e.address >= 1 << 32);
        if !shown && (hidden || !entries.is_empty()) {
            return Err(SymbolsError::Kallsyms(
                "the kernel hides the addresses of its symbols (all are zero); \
                 run as root, or allow them with `sysctl kernel.kptr_restrict=0` \
                 (and `sysctl kernel.perf_event_paranoid=1`)"
                    .to_owned(),
            ));
        }
        if entries.is_empty() {
            return Err(SymbolsError::Kallsyms(
                "there are no kernel symbols in the list; is CONFIG_KALLSYMS set?".to_owned(),
            ));
        }
        entries.sort_by_key(|e| e.address);
        Ok(Self { text, entries })
    }

    /// The symbol that an address is in, as far as can be told: the list has no sizes.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let after = self.entries.partition_point(|e| e.address <= address);
        let last = self.entries.get(after.checked_sub(1)?)?;
        // Of aliases, the first in the list: the kernel lists the strongest first.
        let first = self.entries.partition_point(|e| e.address < last.address);
        self.entries.get(first).map(|entry| self.symbol(entry))
    }

    /// Where the symbol at an address ends: at the next one.
    #[must_use]
    pub fn end_of(&self, address: u64) -> Option<u64> {
        let after = self.entries.partition_point(|e| e.address <= address);
        self.entries.get(after).map(|e| e.address)
    }

    /// Address of the first symbol of this name.
    #[must_use]
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols().find(|s| s.name == name).map(|s| s.address)
    }

    /// All symbols by address.
    pub fn symbols(&self) -> impl Iterator<Item = KernelSymbol<'_>> {
        self.entries.iter().map(|entry| self.symbol(entry))
    }

    fn symbol(&self, entry: &Entry) -> KernelSymbol<'_> {
        let rest = self.text.get(entry.begin as usize..entry.end as usize);
        // Only lines of plain ASCII are taken as symbols.
        let rest = std::str::from_utf8(rest.unwrap_or(b"")).unwrap_or("");
        let mut fields = rest.split_ascii_whitespace();
        KernelSymbol {
            address: entry.address,
            name: fields.next().unwrap_or(""),
            module: fields
                .next()
                .and_then(|m| m.strip_prefix('[')?.strip_suffix(']')),
        }
    }
}

/// Address, and where name and module are in the line, of a line that names code.
fn parse_line(line: &[u8]) -> Option<(u64, Range<usize>)> {
    if line.len() > MAX_LINE {
        return None;
    }
    let mut address: u64 = 0;
    let mut digits = 0;
    for &byte in line {
        let Some(digit) = char::from(byte).to_digit(16) else {
            break;
        };
        digits += 1;
        if digits > 16 {
            return None;
        }
        address = address << 4 | u64::from(digit);
    }
    let &[b' ', kind, b' ', ref rest @ ..] = line.get(digits..)? else {
        return None;
    };
    // Text and weak symbols only; `a` are absolute (per-CPU offsets), the rest is data.
    if digits == 0 || !matches!(kind, b't' | b'T' | b'w' | b'W') {
        return None;
    }
    let rest = rest.trim_ascii_end();
    let begin = digits + 3;
    (!rest.is_empty() && rest.is_ascii()).then_some((address, begin..begin + rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "ffffffff81000000 T _stext\n\
        ffffffff81000000 T _text\n\
        0000000000001000 A per_cpu\n\
        garbage\n\
        ffffffff81000100 t do_one\n\
        ffffffff82000000 D data\n\
        ffffffffc0000000 t helper\t[kvm]\n";

    #[test]
    fn symbol_of_an_address_and_address_of_a_symbol_are_found() {
        let list = Kallsyms::parse(LIST.as_bytes()).unwrap();
        assert_eq!(list.at(0xffff_ffff_8100_0050).unwrap().name, "_stext");
        assert_eq!(list.at(0xffff_ffff_8100_0100).unwrap().name, "do_one");
        let helper = list.at(0xffff_ffff_c000_0010).unwrap();
        assert_eq!(helper.module, Some("kvm"));
        assert!(list.at(5).is_none());
        assert_eq!(list.address_of("_text"), Some(0xffff_ffff_8100_0000));
        assert_eq!(list.address_of("data"), None);
        assert_eq!(
            list.end_of(0xffff_ffff_8100_0000),
            Some(0xffff_ffff_8100_0100)
        );
    }

    #[test]
    fn hidden_addresses_and_empty_lists_are_errors() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t other\n";
        let error = Kallsyms::parse(hidden.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("kptr_restrict"), "{error}");
        let error = Kallsyms::parse(&b""[..]).unwrap_err().to_string();
        assert!(error.contains("no kernel symbols"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            if let Ok(list) = Kallsyms::parse(&bytes[..]) {
                prop_assert!(list.symbols().is_sorted_by_key(|s| s.address));
                prop_assert!(list.symbols().all(|s| !s.name.is_empty()));
            }
        }
    }
}
