//! pprof's format, which `go tool pprof` and what is built on it read.
//!
//! A message `Profile` of `proto/profile.proto` of github.com/google/pprof, uncompressed, which
//! its readers take as well. The field numbers below are those of that file.
//!
//! Two sample types: `instructions` has one sample for each executed instruction, `calls` one
//! for each instruction that calls and each of its callees, with both on the stack. No stacks
//! were recorded, so there are no instructions of callees under their callers: what a function
//! costs with all it calls is in [`super::callgrind()`].

use std::collections::HashMap;

use genba_model::{CountedDetail, DetailFunction};

use super::protobuf::Message;
use crate::safe_text;
use crate::wording::counts;

/// `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const COMMENT: u32 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// `ValueType`.
mod value_type {
    pub(super) const TYPE: u32 = 1;
    pub(super) const UNIT: u32 = 2;
}

/// `Sample`.
mod sample {
    pub(super) const LOCATION_ID: u32 = 1;
    pub(super) const VALUE: u32 = 2;
}

/// `Mapping`.
mod mapping {
    pub(super) const ID: u32 = 1;
    pub(super) const MEMORY_START: u32 = 2;
    pub(super) const MEMORY_LIMIT: u32 = 3;
    pub(super) const FILENAME: u32 = 5;
    pub(super) const BUILD_ID: u32 = 6;
    pub(super) const HAS_FUNCTIONS: u32 = 7;
    pub(super) const HAS_FILENAMES: u32 = 8;
    pub(super) const HAS_LINE_NUMBERS: u32 = 9;
}

/// `Location`.
mod location {
    pub(super) const ID: u32 = 1;
    pub(super) const MAPPING_ID: u32 = 2;
    pub(super) const ADDRESS: u32 = 3;
    pub(super) const LINE: u32 = 4;
}

/// `Line`.
mod line {
    pub(super) const FUNCTION_ID: u32 = 1;
    pub(super) const LINE: u32 = 2;
}

/// `Function`.
mod function {
    pub(super) const ID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const SYSTEM_NAME: u32 = 3;
    pub(super) const FILENAME: u32 = 4;
    pub(super) const START_LINE: u32 = 5;
}

/// Addresses of a module take so many bits. Modules were mapped anywhere, and anywhere else in
/// each process: here each has a place of its own, the number of the module above these bits.
const MODULE_BITS: u32 = 48;
/// Modules that get a place of their own.
const MAX_PLACES: u32 = 1 << (63 - MODULE_BITS);

/// Renders a file for `go tool pprof`.
#[must_use]
pub fn pprof(detail: &CountedDetail) -> Vec<u8> {
    let mut writer = Writer {
        detail,
        out: Message::default(),
        strings: HashMap::new(),
        string_table: Message::default(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    // The first string must be the empty one.
    writer.string("");
    writer.head();
    for function in &detail.functions {
        writer.samples(function);
    }
    let mut bytes = writer.out.into_bytes();
    bytes.extend(writer.string_table.into_bytes());
    bytes
}

struct Writer<'a> {
    detail: &'a CountedDetail,
    out: Message,
    strings: HashMap<String, u64>,
    string_table: Message,
    /// By name, file and first line.
    functions: HashMap<(u64, u64, u64), u64>,
    /// By module and address.
    locations: HashMap<(u32, u64), u64>,
}

impl Writer<'_> {
    fn string(&mut self, text: &str) -> u64 {
        let clean = safe_text::sanitise(text);
        if let Some(&index) = self.strings.get(&clean) {
            return index;
        }
        let index = self.strings.len() as u64;
        self.string_table.string(profile::STRING_TABLE, &clean);
        self.strings.insert(clean, index);
        index
    }

    fn value_type(&mut self, name: &str) -> Message {
        let mut message = Message::default();
        message.number(value_type::TYPE, self.string(name));
        message.number(value_type::UNIT, self.string("count"));
        message
    }

    fn head(&mut self) {
        for name in ["instructions", "calls"] {
            let message = self.value_type(name);
            self.out.message(profile::SAMPLE_TYPE, message);
        }
        let period = self.value_type("instructions");
        self.out.message(profile::PERIOD_TYPE, period);
        self.out.number(profile::PERIOD, 1);
        let default = self.string("instructions");
        self.out.number(profile::DEFAULT_SAMPLE_TYPE, default);
        let detail = self.detail;
        let engine = counts::engine(&detail.engine.name, &detail.engine.version);
        let mut comments = vec![
            safe_text::command(&detail.command),
            format!("exact counts by {engine}; no call stacks"),
        ];
        comments.extend(detail.engine.gaps.iter().take(20).cloned());
        comments.extend(detail.cut_short.as_deref().map(counts::cut_short));
        let comments: Vec<u64> = comments.iter().map(|one| self.string(one)).collect();
        self.out.packed(profile::COMMENT, &comments);
        for (index, module) in (0u32..).zip(&detail.modules) {
            let mut message = Message::default();
            let start = runtime_address(index, 0);
            message.number(mapping::ID, u64::from(index) + 1);
            message.number(mapping::MEMORY_START, start);
            message.number(mapping::MEMORY_LIMIT, start + (1 << MODULE_BITS) - 1);
            message.number(mapping::FILENAME, self.string(&module.path));
            let build_id = module.build_id.as_deref().unwrap_or_default();
            message.number(mapping::BUILD_ID, self.string(build_id));
            // Symbols are complete: readers need not look for more.
            message.number(mapping::HAS_FUNCTIONS, 1);
            message.number(mapping::HAS_FILENAMES, 1);
            message.number(mapping::HAS_LINE_NUMBERS, 1);
            self.out.message(profile::MAPPING, message);
        }
    }

    fn samples(&mut self, f: &DetailFunction) {
        for site in &f.sites {
            let at = self.location(f, site.address, site.file, site.line);
            self.sample(&[at], [site.count, 0]);
        }
        for call in &f.call_sites {
            let Some(callee) = self.detail.functions.get(call.callee as usize) else {
                continue;
            };
            let to = self.location(callee, callee.address, callee.file, callee.line);
            let from = self.location(f, call.address, call.file, call.line);
            self.sample(&[to, from], [0, call.count]);
        }
    }

    /// The innermost location comes first.
    fn sample(&mut self, locations: &[u64], values: [u64; 2]) {
        // Values are signed there.
        let values = values.map(|value| value.min(i64::MAX as u64));
        let mut message = Message::default();
        message.packed(sample::LOCATION_ID, locations);
        message.packed(sample::VALUE, &values);
        self.out.message(profile::SAMPLE, message);
    }

    fn location(
        &mut self,
        f: &DetailFunction,
        address: u64,
        file: Option<u32>,
        line: Option<u32>,
    ) -> u64 {
        if let Some(&id) = self.locations.get(&(f.module, address)) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert((f.module, address), id);
        // A line is of the file that its function names, so code inlined from another file gets
        // a function of the same name there.
        let function = self.function(f, file.or(f.file));
        let mut inner = Message::default();
        inner.number(line::FUNCTION_ID, function);
        inner.number(line::LINE, u64::from(line.unwrap_or(0)));
        let mut message = Message::default();
        message.number(location::ID, id);
        if (f.module as usize) < self.detail.modules.len() {
            message.number(location::MAPPING_ID, u64::from(f.module) + 1);
        }
        message.number(location::ADDRESS, runtime_address(f.module, address));
        message.message(location::LINE, inner);
        self.out.message(profile::LOCATION, message);
        id
    }

    fn function(&mut self, f: &DetailFunction, file: Option<u32>) -> u64 {
        let detail = self.detail;
        let path = file.and_then(|file| detail.files.get(file as usize));
        let name = self.string(&f.name);
        let path = path.map_or(0, |path| self.string(path));
        let start = if file == f.file { f.line } else { None };
        let key = (name, path, u64::from(start.unwrap_or(0)));
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let mut message = Message::default();
        message.number(function::ID, id);
        message.number(function::NAME, name);
        message.number(function::SYSTEM_NAME, name);
        message.number(function::FILENAME, path);
        message.number(function::START_LINE, key.2);
        self.out.message(profile::FUNCTION, message);
        id
    }
}

/// An address in the place that a module has here.
fn runtime_address(module: u32, address: u64) -> u64 {
    let place = u64::from(module.min(MAX_PLACES - 1));
    place << MODULE_BITS | address & ((1 << MODULE_BITS) - 1)
}
