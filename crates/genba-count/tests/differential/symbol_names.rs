//! Names of functions by address.

use std::collections::BTreeMap;

use genba_model::CountedModule;
use object::{Object, ObjectSymbol, SymbolKind};

/// Functions of a module: address, size and name, in order.
pub struct Names(Vec<(u64, u64, String)>);

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
        Self(rows.map(|(at, (size, name))| (at, size, name)).collect())
    }

    /// Returns the function's name, or the page in brackets.
    pub fn name(&self, address: u64) -> String {
        let after = self.0.partition_point(|(start, ..)| *start <= address);
        let inside = (self.0[..after].iter().rev().take(4))
            .find(|(start, size, _)| address - start < (*size).max(1));
        match inside {
            Some((_, _, name)) => name.clone(),
            None => format!("[{:x}]", address & !0xfff),
        }
    }
}
