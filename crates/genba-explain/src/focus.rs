//! The code that goes by one name: which modules have it, and where.

use std::collections::HashMap;
use std::ops::Range;

use genba_profile::reader::{Module, ModuleKind};

use crate::annotate::is_named;
use crate::code_base::{Code, Named, named, open_file, open_vdso};

/// What tells one file from another.
pub(crate) type FileKey = (String, Option<Vec<u8>>);

/// A module's code, opened, and where the name is in it.
struct Opened {
    code: Code,
    offsets: Vec<Range<u64>>,
}

/// Finds the code of a name in modules, each opened once.
pub(crate) struct Focus {
    name: String,
    word: String,
    opened: HashMap<FileKey, Opened>,
}

/// Longer names are cut where functions are named.
const MAX_NAME: usize = 500;

impl Focus {
    /// `None` if it cannot be told from the tables of a module alone whether the name is in it:
    /// addresses, operators, functions without a name.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let is_address = name.starts_with("0x");
        if is_address || name.len() > MAX_NAME {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            word: genba_code::word_of(name)?.to_owned(),
            opened: HashMap::new(),
        })
    }

    /// The offsets in a module at which a sample may be in a function of this name.
    pub(crate) fn offsets(&mut self, module: &Module) -> Vec<Range<u64>> {
        match module.kind {
            ModuleKind::File | ModuleKind::Vdso => {}
            // A map that is still written to would have to be read again and again.
            ModuleKind::Jit => return std::iter::once(0..u64::MAX).collect(),
            _ => return Vec::new(),
        }
        let key = (module.path.clone(), module.build_id.clone());
        let (name, word) = (&self.name, &self.word);
        let opened = self.opened.entry(key).or_insert_with(|| {
            let code = if module.kind == ModuleKind::Vdso {
                open_vdso()
            } else {
                open_file(module)
            };
            let offsets = offsets(&code, name, word);
            Opened { code, offsets }
        });
        opened.offsets.clone()
    }

    /// Whether samples in this module may matter.
    pub(crate) fn concerns(&self, module: &Module) -> bool {
        let key = (module.path.clone(), module.build_id.clone());
        module.kind == ModuleKind::Jit
            || self
                .opened
                .get(&key)
                .is_some_and(|opened| !opened.offsets.is_empty())
    }

    /// What was opened, for further use.
    pub(crate) fn into_code(self) -> HashMap<FileKey, Code> {
        let pairs = self.opened.into_iter();
        pairs.map(|(key, opened)| (key, opened.code)).collect()
    }
}

fn offsets(code: &Code, name: &str, word: &str) -> Vec<Range<u64>> {
    let Code::Binary(binary) = code else {
        return Vec::new();
    };
    if !binary.may_name(word) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for symbol in binary.symbols_with(word) {
        let Named {
            address,
            size,
            name: shown,
            linkage_name,
        } = named(&symbol);
        if is_named(&shown, linkage_name.as_deref(), name) {
            let code = address..address.saturating_add(size);
            found.extend(binary.svma_to_file_offsets(code.clone()));
            // Offsets that no segment holds are taken for addresses.
            found.push(code);
        }
    }
    found
}
