//! The fields of pprof's messages by number, and what all profiles need: the table of strings,
//! value types, mappings.
//!
//! The numbers are those of `proto/profile.proto` of github.com/google/pprof.

use std::collections::HashMap;

use genba_model::DetailModule;

use super::protobuf::Message;
use crate::safe_text;

/// `Profile`.
pub(in crate::export) mod profile {
    pub(in crate::export) const SAMPLE_TYPE: u32 = 1;
    pub(in crate::export) const SAMPLE: u32 = 2;
    pub(in crate::export) const MAPPING: u32 = 3;
    pub(in crate::export) const LOCATION: u32 = 4;
    pub(in crate::export) const FUNCTION: u32 = 5;
    pub(in crate::export) const STRING_TABLE: u32 = 6;
    pub(in crate::export) const DURATION_NANOS: u32 = 10;
    pub(in crate::export) const PERIOD_TYPE: u32 = 11;
    pub(in crate::export) const PERIOD: u32 = 12;
    pub(in crate::export) const COMMENT: u32 = 13;
    pub(in crate::export) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// `ValueType`.
pub(in crate::export) mod value_type {
    pub(in crate::export) const TYPE: u32 = 1;
    pub(in crate::export) const UNIT: u32 = 2;
}

/// `Sample`.
pub(in crate::export) mod sample {
    pub(in crate::export) const LOCATION_ID: u32 = 1;
    pub(in crate::export) const VALUE: u32 = 2;
    pub(in crate::export) const LABEL: u32 = 3;
}

/// `Mapping`.
pub(in crate::export) mod mapping {
    pub(in crate::export) const ID: u32 = 1;
    pub(in crate::export) const MEMORY_START: u32 = 2;
    pub(in crate::export) const MEMORY_LIMIT: u32 = 3;
    pub(in crate::export) const FILENAME: u32 = 5;
    pub(in crate::export) const BUILD_ID: u32 = 6;
    pub(in crate::export) const HAS_FUNCTIONS: u32 = 7;
    pub(in crate::export) const HAS_FILENAMES: u32 = 8;
    pub(in crate::export) const HAS_LINE_NUMBERS: u32 = 9;
}

/// `Location`.
pub(in crate::export) mod location {
    pub(in crate::export) const ID: u32 = 1;
    pub(in crate::export) const MAPPING_ID: u32 = 2;
    pub(in crate::export) const ADDRESS: u32 = 3;
    pub(in crate::export) const LINE: u32 = 4;
}

/// `Line`.
pub(in crate::export) mod line {
    pub(in crate::export) const FUNCTION_ID: u32 = 1;
    pub(in crate::export) const LINE: u32 = 2;
}

/// `Function`.
pub(in crate::export) mod function {
    pub(in crate::export) const ID: u32 = 1;
    pub(in crate::export) const NAME: u32 = 2;
    pub(in crate::export) const SYSTEM_NAME: u32 = 3;
    pub(in crate::export) const FILENAME: u32 = 4;
    pub(in crate::export) const START_LINE: u32 = 5;
}

/// `Label`.
pub(in crate::export) mod label {
    pub(in crate::export) const KEY: u32 = 1;
    pub(in crate::export) const STR: u32 = 2;
}

/// Addresses of a module take so many bits. Modules were mapped anywhere, and anywhere else in
/// each process: here each has a place of its own, the number of the module above these bits.
const MODULE_BITS: u32 = 48;
/// Modules that get a place of their own.
const MAX_PLACES: u32 = 1 << (63 - MODULE_BITS);

/// Returns an address in the place that a module has here.
pub(in crate::export) fn runtime_address(module: u32, address: u64) -> u64 {
    let place = u64::from(module.min(MAX_PLACES - 1));
    place << MODULE_BITS | address & ((1 << MODULE_BITS) - 1)
}

/// The table of strings, written behind the other fields.
#[derive(Debug, Default)]
pub(in crate::export) struct Strings {
    ids: HashMap<String, u64>,
    table: Message,
}

impl Strings {
    /// The first string must be the empty one.
    pub(in crate::export) fn new() -> Self {
        let mut strings = Self::default();
        strings.index("");
        strings
    }

    /// Returns the index of a string, sanitised.
    pub(in crate::export) fn index(&mut self, text: &str) -> u64 {
        let clean = safe_text::sanitise(text);
        if let Some(&index) = self.ids.get(&clean) {
            return index;
        }
        let index = self.ids.len() as u64;
        self.table.string(profile::STRING_TABLE, &clean);
        self.ids.insert(clean, index);
        index
    }

    /// Returns a message `ValueType`.
    pub(in crate::export) fn value_type(&mut self, name: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message.number(value_type::TYPE, self.index(name));
        message.number(value_type::UNIT, self.index(unit));
        message
    }

    /// Returns a module as a message `Mapping`, numbered from 1.
    pub(in crate::export) fn mapping(&mut self, index: u32, module: &DetailModule) -> Message {
        let mut message = Message::default();
        let start = runtime_address(index, 0);
        message.number(mapping::ID, u64::from(index) + 1);
        message.number(mapping::MEMORY_START, start);
        message.number(mapping::MEMORY_LIMIT, start + (1 << MODULE_BITS) - 1);
        message.number(mapping::FILENAME, self.index(&module.path));
        let build_id = module.build_id.as_deref().unwrap_or_default();
        message.number(mapping::BUILD_ID, self.index(build_id));
        // Symbols are complete: readers need not look for more.
        message.number(mapping::HAS_FUNCTIONS, 1);
        message.number(mapping::HAS_FILENAMES, 1);
        message.number(mapping::HAS_LINE_NUMBERS, 1);
        message
    }

    /// Returns the messages that must be in the file, those of the strings last.
    pub(in crate::export) fn finish(self, out: Message) -> Vec<u8> {
        let mut bytes = out.into_bytes();
        bytes.extend(self.table.into_bytes());
        bytes
    }
}
