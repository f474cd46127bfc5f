//! Names of variables that threads wait on.

use std::collections::HashMap;
use std::path::Path;

use genba_symbols::Binary;

/// Opens each file once.
#[derive(Debug, Default)]
pub struct ObjectNames {
    files: HashMap<String, Option<Binary>>,
}

impl ObjectNames {
    /// The variable of a file at this distance from where the file begins in memory.
    pub fn variable(&mut self, path: &str, distance: u64) -> Option<String> {
        let binary = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| Binary::open(Path::new(path)).ok())
            .as_ref()?;
        const PAGE: u64 = 4096;
        let first = binary
            .segments()
            .iter()
            .map(|segment| segment.address)
            .min()?;
        let address = (first & !(PAGE - 1)).checked_add(distance)?;
        let symbol = binary.variable_at(address)?;
        Some(match address - symbol.address {
            0 => symbol.name.clone(),
            offset => format!("{}+{offset}", symbol.name),
        })
    }
}
