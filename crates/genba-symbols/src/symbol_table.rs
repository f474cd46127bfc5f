//! The functions that a binary's symbol tables name.

use std::borrow::Cow;

use genba_model::without_parameters;

use crate::demangle::{MAX_MANGLED, demangle};
use crate::elf::{Layout, Section};
use crate::elf_symbol_entries::{self, Binding, RawSymbol};
use crate::file_bytes::FileBytes;

/// Where a symbol was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolSource {
    /// The full symbol table of the file itself.
    Symtab,
    /// The table for the dynamic linker: exported functions only.
    Dynsym,
    /// The symbol table of a separate file with debug information.
    Debug,
    /// The symbol table compressed in `.gnu_debugdata`.
    MiniDebugInfo,
    /// Made from the procedure linkage table.
    Plt,
}

/// A named piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Address in the module, as `nm` prints it.
    pub address: u64,
    /// Bytes; where the table does not say, up to the next symbol or the section's end.
    pub size: u64,
    /// Name in the table, cut to [`MAX_MANGLED`] bytes.
    pub name: String,
    /// Where it was found.
    pub source: SymbolSource,
    /// How it is bound.
    pub binding: Binding,
}

impl Symbol {
    /// Name as it was written, where it is mangled. Takes as long as all else of a look-up.
    #[must_use]
    pub fn demangled(&self) -> Option<String> {
        demangle(&self.name)
    }

    /// The name for people: demangled if it was mangled.
    #[must_use]
    pub fn display_name(&self) -> Cow<'_, str> {
        self.demangled()
            .map_or(Cow::Borrowed(&self.name), Cow::Owned)
    }

    /// Whether it is an entry of the procedure linkage table.
    #[must_use]
    pub fn is_plt(&self) -> bool {
        self.source == SymbolSource::Plt
    }

    /// Address of the byte after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    size: u64,
    /// Where its name starts: in the synthetic names for the PLT, else in its string table.
    name: u64,
    source: SymbolSource,
    binding: Binding,
    label: bool,
    sized: bool,
}

/// A string table within a file.
#[derive(Debug)]
struct Strings {
    source: SymbolSource,
    data: FileBytes,
    end: u64,
}

/// The symbols of a binary, sorted.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    strings: Vec<Strings>,
    synthetic: Vec<u8>,
    /// Sorted by address and [`rank`].
    all: Vec<Entry>,
    /// The addresses, in order.
    addresses: Vec<Address>,
}

/// An address that has symbols.
#[derive(Clone, Copy, Debug)]
struct Address {
    address: u64,
    /// The furthest end of its symbols and of all before it.
    furthest: u64,
    /// Index of the first of them in [`Symbols::all`].
    first: u32,
}

/// How many symbols before an address are looked at for one that reaches over it.
const MAX_WALK: usize = 64;
/// How many aliases of an address that are equal but for their names are looked at. Identical code
/// that a linker has folded has hundreds.
const MAX_TIED: usize = 4096;

impl Symbols {
    /// Adds the table of type `kind` (`SHT_…`); false if there is none with code in it.
    pub(crate) fn add_table(
        &mut self,
        layout: &Layout,
        data: &FileBytes,
        kind: u32,
        source: SymbolSource,
        code: &Layout,
    ) -> bool {
        let Some(section) = layout.sections.iter().find(|s| s.kind == kind) else {
            return false;
        };
        let Some((start, size)) = string_range(layout, section) else {
            return false;
        };
        let before = self.all.len();
        for raw in elf_symbol_entries::symbols(layout, data, section) {
            // A debug file's sections have the numbers and flags of the program's.
            if raw.is_code(if layout.sections.len() == code.sections.len() {
                code
            } else {
                layout
            }) {
                self.all.push(entry(&raw, start, source));
            }
        }
        self.strings.push(Strings {
            source,
            data: data.clone(),
            end: start.saturating_add(size),
        });
        self.all.len() > before
    }

    /// Adds an entry of the procedure linkage table.
    pub(crate) fn add_plt(&mut self, address: u64, size: u64, name: &[u8]) {
        let at = self.synthetic.len() as u64;
        self.synthetic
            .extend_from_slice(&name[..name.len().min(MAX_MANGLED)]);
        self.synthetic.extend_from_slice(b"@plt\0");
        self.all.push(Entry {
            address,
            size,
            name: at,
            source: SymbolSource::Plt,
            binding: Binding::Global,
            label: false,
            sized: true,
        });
    }

    /// Sorts, chooses among aliases and infers sizes, once all is added.
    pub(crate) fn finish(&mut self, layout: &Layout) {
        let mut all = std::mem::take(&mut self.all);
        all.sort_by_key(|e| (e.address, rank(e)));
        let limits = Limits::new(layout);
        let mut next = None;
        for i in (0..all.len()).rev() {
            if all.get(i + 1).is_some_and(|n| n.address != all[i].address) {
                next = all.get(i + 1).map(|n| n.address);
            }
            if all[i].size == 0 {
                let limit = limits.end_of(all[i].address);
                let end = [next, limit].into_iter().flatten().min();
                all[i].size = end.map_or(0, |end| end.saturating_sub(all[i].address));
            }
        }
        let mut furthest = 0;
        let mut first = 0;
        self.addresses = Vec::new();
        for group in all.chunk_by(|a, b| a.address == b.address) {
            let address = group[0].address;
            let ends = group.iter().map(|e| address.saturating_add(e.size));
            furthest = ends.fold(furthest, u64::max);
            self.addresses.push(Address {
                address,
                furthest,
                first,
            });
            first = first.saturating_add(group.len() as u32);
        }
        self.all = all;
    }

    /// The best alias of an address. Names are looked at only here, among aliases that are equal in
    /// all else: a large file has hundreds of thousands, and few addresses are asked for.
    fn best(&self, at: &Address) -> Option<&Entry> {
        let group = self.all.get(at.first as usize..)?;
        let first = group.first()?;
        let tied = |e: &&Entry| e.address == first.address && rank(e) == rank(first);
        let mut tied = group.iter().take(MAX_TIED).take_while(tied);
        match (tied.next(), tied.next()) {
            (Some(one), None) => Some(one),
            (Some(one), Some(other)) => {
                let all = [one, other].into_iter().chain(tied);
                all.min_by_key(|e| self.name_rank(e))
            }
            _ => None,
        }
    }

    /// The symbol that holds `address`: of those that do, the one that starts last.
    pub(crate) fn at(&self, address: u64) -> Option<Symbol> {
        let after = self.addresses.partition_point(|at| at.address <= address);
        for at in self.addresses[..after].iter().rev().take(MAX_WALK) {
            if at.furthest <= address {
                return None;
            }
            let entry = self.best(at)?;
            if address - entry.address < entry.size {
                return Some(self.symbol(entry));
            }
        }
        None
    }

    /// The first address after this one that has a symbol.
    pub(crate) fn next_address(&self, address: u64) -> Option<u64> {
        let after = self.addresses.partition_point(|at| at.address <= address);
        self.addresses.get(after).map(|at| at.address)
    }

    /// All symbols, one for each address, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Symbol> + '_ {
        let best = self.addresses.iter().filter_map(|at| self.best(at));
        best.map(|e| self.symbol(e))
    }

    /// Those whose name in the table has this word in it.
    pub(crate) fn with_word(&self, word: &str) -> impl Iterator<Item = Symbol> + '_ {
        let finder = memchr::memmem::Finder::new(word.as_bytes()).into_owned();
        self.addresses
            .iter()
            .filter_map(|at| self.best(at))
            .filter(move |entry| finder.find(self.raw_name(entry)).is_some())
            .map(|entry| self.symbol(entry))
    }

    pub(crate) fn has(&self, source: SymbolSource) -> bool {
        self.all.iter().any(|e| e.source == source)
    }

    /// All aliases at exactly this address, the best first.
    pub(crate) fn aliases(&self, address: u64) -> Vec<Symbol> {
        let start = self.all.partition_point(|e| e.address < address);
        let group = self.all[start..].iter();
        let mut group: Vec<&Entry> = group.take_while(|e| e.address == address).collect();
        group.sort_by_cached_key(|e| (rank(e), self.name_rank(e)));
        group.into_iter().map(|e| self.symbol(e)).collect()
    }

    /// Symbols of this name: raw, demangled, or demangled without parameters; where there are
    /// none, the clones that the compiler made of it (`name.constprop.0`). In order of address,
    /// one for each address.
    pub(crate) fn find(&self, name: &str) -> Vec<Symbol> {
        let hint = mangled_hint(name);
        let exact = self.select(|raw| {
            raw == name.as_bytes()
                || (raw.starts_with(b"_")
                    && hint.is_none_or(|hint| contains(raw, hint.as_bytes()))
                    && demangle(&String::from_utf8_lossy(raw)).is_some_and(|demangled| {
                        demangled == name || without_parameters(&demangled) == name
                    }))
        });
        if !exact.is_empty() {
            return exact;
        }
        self.select(|raw| {
            raw.strip_prefix(name.as_bytes())
                .is_some_and(is_clone_suffix)
        })
    }

    fn select(&self, same: impl Fn(&[u8]) -> bool) -> Vec<Symbol> {
        let groups = self.all.chunk_by(|a, b| a.address == b.address);
        let best = groups.filter_map(|group| {
            let found = group.iter().filter(|e| same(self.raw_name(e)));
            found.min_by_key(|e| (rank(e), self.name_rank(e)))
        });
        best.map(|e| self.symbol(e)).collect()
    }

    /// What decides among aliases of the same [`rank`]; the least wins.
    fn name_rank(&self, entry: &Entry) -> (usize, usize) {
        let name = self.raw_name(entry);
        let underscores = name.iter().take_while(|&&b| b == b'_').count();
        (underscores, usize::MAX - name.len())
    }

    fn symbol(&self, entry: &Entry) -> Symbol {
        let name = String::from_utf8_lossy(self.raw_name(entry)).into_owned();
        Symbol {
            address: entry.address,
            size: entry.size,
            name,
            source: entry.source,
            binding: entry.binding,
        }
    }

    fn raw_name(&self, entry: &Entry) -> &[u8] {
        let (data, end): (&[u8], u64) = if entry.source == SymbolSource::Plt {
            (&self.synthetic, u64::MAX)
        } else {
            match self.strings.iter().find(|s| s.source == entry.source) {
                Some(strings) => (&strings.data, strings.end),
                None => return b"",
            }
        };
        name_at(data, entry.name, end)
    }

    /// Name of entry `index` of the dynamic symbol table, for the PLT.
    pub(crate) fn name_in_table<'a>(
        layout: &Layout,
        data: &'a [u8],
        table: &Section,
        raw: &RawSymbol,
    ) -> Cow<'a, [u8]> {
        match string_range(layout, table) {
            Some((start, size)) => Cow::Borrowed(name_at(
                data,
                start.saturating_add(raw.name.into()),
                start.saturating_add(size),
            )),
            None => Cow::Borrowed(b""),
        }
    }
}

fn entry(raw: &RawSymbol, strings: u64, source: SymbolSource) -> Entry {
    Entry {
        address: raw.address,
        size: raw.size,
        name: strings.saturating_add(raw.name.into()),
        source,
        binding: raw.binding,
        label: raw.is_label(),
        sized: raw.size != 0,
    }
}

/// What decides among aliases before their names do; the least wins. The order is that of
/// perf: a size, a type, a strong binding, a global one; then fewer leading underscores and
/// the longer name.
fn rank(entry: &Entry) -> (bool, bool, Binding) {
    (!entry.sized, entry.label, entry.binding)
}

pub(crate) fn string_range(layout: &Layout, table: &Section) -> Option<(u64, u64)> {
    layout.sections.get(table.link as usize)?.file
}

/// The name at an offset: up to a NUL, cut at [`MAX_MANGLED`] so that a file of names without
/// end costs no more than others.
fn name_at(data: &[u8], start: u64, end: u64) -> &[u8] {
    let end = usize::try_from(end).unwrap_or(usize::MAX).min(data.len());
    let Ok(start) = usize::try_from(start) else {
        return b"";
    };
    let bytes = data.get(start..end).unwrap_or(b"");
    let bytes = &bytes[..bytes.len().min(MAX_MANGLED)];
    match memchr::memchr(0, bytes) {
        Some(length) => &bytes[..length],
        None => bytes,
    }
}

/// Ends of executable sections (of segments, where there are none).
struct Limits(Vec<(u64, u64)>);

impl Limits {
    fn new(layout: &Layout) -> Self {
        let mut ranges: Vec<(u64, u64)> = layout
            .sections
            .iter()
            .filter(|s| s.executable)
            .map(|s| (s.address, s.address.saturating_add(s.size)))
            .collect();
        if ranges.is_empty() {
            ranges = layout
                .segments
                .iter()
                .filter(|s| s.executable)
                .map(|s| (s.address, s.address.saturating_add(s.memory_size)))
                .collect();
        }
        ranges.sort_unstable();
        Self(ranges)
    }

    fn end_of(&self, address: u64) -> Option<u64> {
        let after = self.0.partition_point(|&(start, _)| start <= address);
        let &(_, end) = self.0.get(after.checked_sub(1)?)?;
        (address < end).then_some(end)
    }
}

/// A word that a symbol table holds if some symbol in it goes by this name, mangled or not;
/// `None` where that cannot be said.
#[must_use]
pub fn word_of(name: &str) -> Option<&str> {
    // Copies that the compiler made (`f.cold`) and entries of the linkage table (`f@plt`).
    mangled_hint(name.split(['.', '@']).next().unwrap_or(name))
}

/// An identifier that every mangled form of this name holds literally, to spare demangling
/// all others; `None` where there may be none (operators, closures, abbreviations of `std`).
fn mangled_hint(name: &str) -> Option<&str> {
    let path = without_parameters(name);
    let path = path.split('<').next().unwrap_or(path);
    let last = path.rsplit("::").next().unwrap_or(path).trim();
    let plain = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let abbreviated = [
        "string",
        "basic_string",
        "allocator",
        "istream",
        "ostream",
        "iostream",
    ];
    (plain && !path.contains("operator") && !abbreviated.contains(&last)).then_some(last)
}

/// What GCC and LLVM put behind the names of functions that they copied or cut.
fn is_clone_suffix(rest: &[u8]) -> bool {
    ["constprop", "isra", "part", "cold", "lto_priv", "llvm"]
        .iter()
        .any(|kind| {
            rest.strip_prefix(b".")
                .and_then(|rest| rest.strip_prefix(kind.as_bytes()))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
        })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_compiler_clones_are_recognised() {
        for (rest, expected) in [
            (".constprop.0", true),
            (".isra.0.cold", true),
            (".cold", true),
            ("", false),
            (".colder", false),
            ("x.cold", false),
        ] {
            assert_eq!(is_clone_suffix(rest.as_bytes()), expected, "{rest}");
        }
    }

    #[test]
    fn hint_is_in_every_mangled_form_or_absent() {
        assert_eq!(mangled_hint("ns::Box<int>::get(int)"), Some("Box"));
        assert_eq!(mangled_hint("S::operator()"), None);
        assert_eq!(mangled_hint("S::~S()"), None);
        assert_eq!(mangled_hint("std::string::string"), None);
        assert_eq!(mangled_hint("core::fmt::write"), Some("write"));
        assert_eq!(word_of("f.constprop.0"), Some("f"));
        assert_eq!(word_of("memcpy@plt"), Some("memcpy"));
        assert_eq!(word_of("_ZN1a1bEv.cold"), Some("_ZN1a1bEv"));
        assert_eq!(word_of("[unknown]"), None);
        assert_eq!(word_of("[0x1234]"), None);
    }
}
