//! pprof's format, which `go tool pprof` and what is built on it read.
//!
//! A message `Profile` of `proto/profile.proto` of github.com/google/pprof, uncompressed, which
//! its readers take as well.
//!
//! Two sample types: `instructions` has one sample for each executed instruction, `calls` one
//! for each instruction that calls and each of its callees, with both on the stack. No stacks
//! were recorded, so there are no instructions of callees under their callers: what a function
//! costs with all it calls is in [`super::callgrind()`].

use std::collections::HashMap;

use genba_model::{CountedDetail, DetailFunction};

use super::pprof_fields::{Strings, function, line, location, profile, runtime_address, sample};
use super::protobuf::Message;
use crate::safe_text;
use crate::wording::counts;

/// Renders a file for `go tool pprof`.
#[must_use]
pub fn pprof(detail: &CountedDetail) -> Vec<u8> {
    let mut writer = Writer {
        detail,
        out: Message::default(),
        strings: Strings::new(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    writer.head();
    for function in &detail.functions {
        writer.samples(function);
    }
    writer.strings.finish(writer.out)
}

struct Writer<'a> {
    detail: &'a CountedDetail,
    out: Message,
    strings: Strings,
    /// By name, file and first line.
    functions: HashMap<(u64, u64, u64), u64>,
    /// By module and address.
    locations: HashMap<(u32, u64), u64>,
}

impl Writer<'_> {
    fn head(&mut self) {
        for name in ["instructions", "calls"] {
            let message = self.strings.value_type(name, "count");
            self.out.message(profile::SAMPLE_TYPE, message);
        }
        let period = self.strings.value_type("instructions", "count");
        self.out.message(profile::PERIOD_TYPE, period);
        self.out.number(profile::PERIOD, 1);
        let default = self.strings.index("instructions");
        self.out.number(profile::DEFAULT_SAMPLE_TYPE, default);
        let detail = self.detail;
        let engine = counts::engine(&detail.engine.name, &detail.engine.version);
        let mut comments = vec![
            safe_text::command(&detail.command),
            format!("exact counts by {engine}; no call stacks"),
        ];
        comments.extend(detail.engine.gaps.iter().take(20).cloned());
        comments.extend(detail.cut_short.as_deref().map(counts::cut_short));
        let comments: Vec<u64> = comments.iter().map(|one| self.strings.index(one)).collect();
        self.out.packed(profile::COMMENT, &comments);
        for (index, module) in (0u32..).zip(&detail.modules) {
            let mapping = self.strings.mapping(index, module);
            self.out.message(profile::MAPPING, mapping);
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
        let name = self.strings.index(&f.name);
        let path = path.map_or(0, |path| self.strings.index(path));
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
