//! The code that goes by one name: only samples in it need to be resolved to annotate it.

use std::ops::Range;

use genba_symbols::{FunctionSymbol, ModuleCode, ModuleId, ModuleKind, Symbolizer, word_of};

use crate::annotate::{source_line, symbol_fit};
use crate::constants::MAX_NAME_BYTES;

/// A function name that the symbol table of a module alone can find.
pub(crate) struct Focus<'n> {
    name: &'n str,
    /// The part of the name that every symbol of it contains.
    word: &'n str,
}

impl<'n> Focus<'n> {
    /// `None` for names that a symbol table does not decide: addresses, source lines, operators, functions
    /// without a name.
    pub(crate) fn new(name: &'n str) -> Option<Self> {
        if name.starts_with("0x") || name.len() > MAX_NAME_BYTES || source_line(name).is_some() {
            return None;
        }
        let word = word_of(name)?;
        Some(Self { name, word })
    }

    /// The addresses in a module at which a function of this name may be.
    pub(crate) fn ranges(&self, code: &Symbolizer, id: ModuleId) -> Vec<Range<u64>> {
        let everything = || std::iter::once(0..u64::MAX).collect();
        match code.module(id).kind {
            ModuleKind::File | ModuleKind::Vdso => {}
            ModuleKind::Jit => return everything(),
            _ => return Vec::new(),
        }
        let ModuleCode::Binary(binary) = code.code(id) else {
            return Vec::new();
        };
        if !binary.may_name(self.word) {
            return Vec::new();
        }
        let symbols = binary
            .symbols_with(self.word)
            .map(|symbol| FunctionSymbol::from(&symbol));
        let meant = symbols.filter(
            |FunctionSymbol {
                 name, linkage_name, ..
             }| { symbol_fit(name, linkage_name.as_deref(), self.name).is_some() },
        );
        meant
            .map(|one| one.address..one.address.saturating_add(one.size))
            .collect()
    }
}
