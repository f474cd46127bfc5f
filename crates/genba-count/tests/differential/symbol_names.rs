//! Names of functions by address.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use genba_model::CountedModule;
use genba_symbols::Binary;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSymbol, SymbolKind};

/// Name of code without a symbol that asks what the processor has. Its page changes with every build.
const READS_CPUID: &str = "[cpuid]";

/// Names of a module's functions.
pub struct Names {
    /// Address, size and name, in order.
    symbols: Vec<(u64, u64, String)>,
    binary: Option<Binary>,
    /// By the beginning of code without a symbol: whether it reads CPUID.
    reads_cpuid: RefCell<BTreeMap<u64, bool>>,
}

impl Names {
    /// Reads the module and, if installed, Debian's debug symbols of it.
    pub fn of(module: &CountedModule) -> Self {
        let mut found: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        let debug = module.build_id.as_ref().and_then(|id| {
            let (directory, file) = id.split_at_checked(2)?;
            Some(format!("/usr/lib/debug/.build-id/{directory}/{file}.debug"))
        });
        for path in [Some(module.path.clone()), debug].into_iter().flatten() {
            let Ok(bytes) = std::fs::read(&path) else {
                continue;
            };
            let Ok(file) = object::File::parse(bytes.as_slice()) else {
                continue;
            };
            for symbol in file.dynamic_symbols().chain(file.symbols()) {
                if symbol.kind() == SymbolKind::Text
                    && symbol.address() != 0
                    && let Ok(name) = symbol.name()
                {
                    let entry = found.entry(symbol.address()).or_default();
                    let better = |name: &str| (!name.is_empty(), !name.starts_with('_'));
                    if better(name) > better(&entry.1) {
                        *entry = (symbol.size().max(entry.0), name.to_owned());
                    }
                }
            }
        }
        let rows = found.into_iter();
        Self {
            symbols: rows.map(|(at, (size, name))| (at, size, name)).collect(),
            binary: Binary::open(Path::new(&module.path)).ok(),
            reads_cpuid: RefCell::default(),
        }
    }

    /// Returns the function's name; without one that it reads CPUID, or the page in brackets.
    pub fn name(&self, address: u64) -> String {
        let after = self
            .symbols
            .partition_point(|(start, ..)| *start <= address);
        let inside = (self.symbols[..after].iter().rev().take(4))
            .find(|(start, size, _)| address - start < (*size).max(1));
        match inside {
            Some((_, _, name)) => name.clone(),
            None if self.reads_cpuid(address) => READS_CPUID.to_owned(),
            None => format!("[{:x}]", address & !0xfff),
        }
    }

    /// Whether the function around an address, as unwind tables delimit it, has the instruction.
    fn reads_cpuid(&self, address: u64) -> bool {
        let Some(binary) = &self.binary else {
            return false;
        };
        let Some(Range { start, end }) = binary.function_range_at(address) else {
            return false;
        };
        let read = || {
            let code = binary.bytes_at(start, end - start).unwrap_or_default();
            let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
            decoder.iter().any(|one| one.mnemonic() == Mnemonic::Cpuid)
        };
        let mut known = self.reads_cpuid.borrow_mut();
        *known.entry(start).or_insert_with(read)
    }
}
