//! The kernel's own symbols.

use std::io::{BufRead, BufReader, Read};

use crate::error::CodeError;

/// A symbol of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// Address in memory.
    pub address: u64,
    /// Name.
    pub name: Box<str>,
    /// Module that it belongs to; `None` for the kernel proper.
    pub module: Option<Box<str>>,
}

/// Symbols of code in the running kernel, sorted.
#[derive(Clone, Debug, Default)]
pub struct Kallsyms {
    symbols: Vec<KernelSymbol>,
}

/// Longest list that is read, bytes: real ones are about 10 MB.
const MAX_BYTES: u64 = 256 << 20;
/// Longest line that is read; the kernel's own limit on names is 512.
const MAX_LINE: u64 = 4096;

impl Kallsyms {
    /// Reads `/proc/kallsyms`.
    ///
    /// # Errors
    /// [`CodeError::Read`] if it cannot be read; [`CodeError::Kallsyms`] if the kernel hides
    /// the addresses, with the command that lets it show them.
    pub fn load() -> Result<Self, CodeError> {
        let path = "/proc/kallsyms";
        let file = std::fs::File::open(path).map_err(|source| CodeError::Read {
            path: path.into(),
            source,
        })?;
        Self::parse(file)
    }

    /// Parses the format of `/proc/kallsyms`: address, type, name, and the module in brackets.
    /// Lines that are not of that form are passed over.
    ///
    /// # Errors
    /// [`CodeError::Kallsyms`] if reading fails, if no line is a symbol, or if all addresses
    /// are zero.
    pub fn parse(reader: impl Read) -> Result<Self, CodeError> {
        let mut reader = BufReader::new(reader.take(MAX_BYTES));
        let mut symbols = Vec::new();
        let mut hidden = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader)
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|e| CodeError::Kallsyms(format!("cannot read kernel symbols: {e}")))?;
            if read == 0 {
                break;
            }
            if let Some(symbol) = parse_line(&line) {
                if symbol.address == 0 {
                    hidden = true;
                } else {
                    symbols.push(symbol);
                }
            }
        }
        // Per-CPU symbols have small addresses even where the others are shown.
        let shown = symbols.iter().any(|s| s.address >= 1 << 32);
        if !shown && (hidden || !symbols.is_empty()) {
            return Err(CodeError::Kallsyms(
                "the kernel hides the addresses of its symbols (all are zero); \
                 run as root, or allow them with `sysctl kernel.kptr_restrict=0` \
                 (and `sysctl kernel.perf_event_paranoid=1`)"
                    .to_owned(),
            ));
        }
        if symbols.is_empty() {
            return Err(CodeError::Kallsyms(
                "there are no kernel symbols in the list; is CONFIG_KALLSYMS set?".to_owned(),
            ));
        }
        symbols.sort_by_key(|s: &KernelSymbol| s.address);
        Ok(Self { symbols })
    }

    /// The symbol that an address is in, as far as can be told: the list has no sizes.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&KernelSymbol> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        let last = self.symbols.get(after.checked_sub(1)?)?;
        // Of aliases, the first in the list: the kernel lists the strongest first.
        let first = self.symbols.partition_point(|s| s.address < last.address);
        self.symbols.get(first)
    }

    /// Where the symbol at an address ends: at the next one.
    #[must_use]
    pub fn end_of(&self, address: u64) -> Option<u64> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        self.symbols.get(after).map(|s| s.address)
    }

    /// All symbols by address.
    #[must_use]
    pub fn symbols(&self) -> &[KernelSymbol] {
        &self.symbols
    }
}

fn parse_line(line: &[u8]) -> Option<KernelSymbol> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let kind = fields.next()?;
    let name = fields.next()?;
    // Text and weak symbols only; `a` are absolute (per-CPU offsets), the rest is data.
    if !matches!(kind, "t" | "T" | "w" | "W") {
        return None;
    }
    let module = fields
        .next()
        .and_then(|m| m.strip_prefix('[')?.strip_suffix(']'))
        .map(Box::from);
    Some(KernelSymbol {
        address,
        name: name.into(),
        module,
    })
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
    fn looks_up() {
        let list = Kallsyms::parse(LIST.as_bytes()).unwrap();
        assert_eq!(&*list.at(0xffff_ffff_8100_0050).unwrap().name, "_stext");
        assert_eq!(&*list.at(0xffff_ffff_8100_0100).unwrap().name, "do_one");
        let helper = list.at(0xffff_ffff_c000_0010).unwrap();
        assert_eq!(helper.module.as_deref(), Some("kvm"));
        assert!(list.at(5).is_none());
        assert_eq!(
            list.end_of(0xffff_ffff_8100_0000),
            Some(0xffff_ffff_8100_0100)
        );
    }

    #[test]
    fn hidden_addresses_are_said() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t other\n";
        let error = Kallsyms::parse(hidden.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("kptr_restrict"), "{error}");
        let error = Kallsyms::parse(&b""[..]).unwrap_err().to_string();
        assert!(error.contains("no kernel symbols"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            if let Ok(list) = Kallsyms::parse(&bytes[..]) {
                prop_assert!(list.symbols().is_sorted_by_key(|s| s.address));
            }
        }
    }
}
