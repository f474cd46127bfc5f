//! Samples in pprof's format: stacks with inlined functions and lines, threads as labels.
//!
//! Two sample types: the number of samples, and their weight, which is the default.

use std::collections::{BTreeMap, HashMap};

use genba_model::{CodeKind, SampleUnit, SampledDetail};

use super::wall_time::WALL_CLOCK;
use super::{MachineFrame, machine_frames, measured_by};
use crate::export::pprof_fields::{
    Strings, function, label, line, location, profile, runtime_address, sample,
};
use crate::export::protobuf::Message;
use crate::safe_text;

/// Renders a file for `go tool pprof`.
pub(super) fn pprof(detail: &SampledDetail) -> Vec<u8> {
    let mut writer = Writer {
        detail,
        out: Message::default(),
        strings: Strings::new(),
        functions: vec![0; detail.functions.len()],
        locations: HashMap::new(),
    };
    writer.head();
    let mut sums: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for one in &detail.samples {
        let sum = sums.entry((one.thread, one.stack)).or_default();
        sum.0 = sum.0.saturating_add(one.samples);
        sum.1 = sum.1.saturating_add(one.weight);
    }
    for ((thread, stack), (samples, weight)) in sums {
        writer.sample(thread, stack, [samples, weight]);
    }
    writer.strings.finish(writer.out)
}

struct Writer<'a> {
    detail: &'a SampledDetail,
    out: Message,
    strings: Strings,
    /// By function: its id from 1; 0 where it is not written yet.
    functions: Vec<u64>,
    /// By frames, the innermost inlined one first.
    locations: HashMap<Vec<u32>, u64>,
}

impl Writer<'_> {
    fn head(&mut self) {
        let detail = self.detail;
        let weight = match detail.unit {
            SampleUnit::Nanoseconds if detail.event.name == WALL_CLOCK => ("wall", "nanoseconds"),
            SampleUnit::Nanoseconds => ("cpu", "nanoseconds"),
            SampleUnit::Count => (detail.event.name.as_str(), "count"),
            SampleUnit::Bytes => ("space", "bytes"),
        };
        for (name, unit) in [("samples", "count"), weight] {
            let message = self.strings.value_type(name, unit);
            self.out.message(profile::SAMPLE_TYPE, message);
        }
        if detail.unit == SampleUnit::Nanoseconds && detail.event.frequency_hz > 0 {
            let period = self.strings.value_type(weight.0, weight.1);
            self.out.message(profile::PERIOD_TYPE, period);
            let nanoseconds = 1_000_000_000 / detail.event.frequency_hz;
            self.out.number(profile::PERIOD, nanoseconds);
        }
        let last = detail.samples.iter().filter_map(|one| one.time_ns).max();
        self.out.number(profile::DURATION_NANOS, last.unwrap_or(0));
        let default = self.strings.index(weight.0);
        self.out.number(profile::DEFAULT_SAMPLE_TYPE, default);
        let mut comments = vec![safe_text::command(&detail.command), measured_by(detail)];
        comments.extend(detail.notes.iter().take(20).cloned());
        let comments: Vec<u64> = comments.iter().map(|one| self.strings.index(one)).collect();
        self.out.packed(profile::COMMENT, &comments);
        self.mappings();
    }

    /// The mapping with most weight comes first: readers take the first for the program.
    fn mappings(&mut self) {
        let detail = self.detail;
        let mut weights = vec![0u64; detail.modules.len()];
        for one in &detail.samples {
            let leaf = detail.frames_of(one.stack).next();
            let function = leaf.map(|frame| detail.function(frame));
            if let Some(function) = function.filter(|one| one.kind != CodeKind::Kernel)
                && let Some(module) = function.module
            {
                let weight = &mut weights[module as usize];
                *weight = weight.saturating_add(one.weight);
            }
        }
        let mut order: Vec<usize> = (0..detail.modules.len()).collect();
        order.sort_by_key(|&module| std::cmp::Reverse(weights[module]));
        for module in order {
            let mapping = self.strings.mapping(module as u32, &detail.modules[module]);
            self.out.message(profile::MAPPING, mapping);
        }
    }

    fn sample(&mut self, thread: u32, stack: u32, values: [u64; 2]) {
        let frames = machine_frames(self.detail, stack);
        let locations: Vec<u64> = frames.iter().map(|one| self.location(one)).collect();
        let mut message = Message::default();
        message.packed(sample::LOCATION_ID, &locations);
        // Values are signed there.
        message.packed(
            sample::VALUE,
            &values.map(|value| value.min(i64::MAX as u64)),
        );
        if let Some(thread) = self.detail.threads.get(thread as usize) {
            let name = match thread.tid {
                0 => thread.name.clone(),
                tid => format!("{} ({tid})", thread.name),
            };
            let mut inner = Message::default();
            inner.number(label::KEY, self.strings.index("thread"));
            inner.number(label::STR, self.strings.index(&name));
            message.message(sample::LABEL, inner);
        }
        self.out.message(profile::SAMPLE, message);
    }

    fn location(&mut self, frame: &MachineFrame<'_>) -> u64 {
        if let Some(&id) = self.locations.get(&frame.all) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(frame.all.clone(), id);
        let detail = self.detail;
        let mut message = Message::default();
        message.number(location::ID, id);
        let module = detail.function(frame.outer).module;
        if let (Some(module), Some(address)) = (module, frame.outer.address) {
            message.number(location::MAPPING_ID, u64::from(module) + 1);
            message.number(location::ADDRESS, runtime_address(module, address));
        }
        for &one in &frame.all {
            let one = &detail.frames[one as usize];
            let mut inner = Message::default();
            inner.number(line::FUNCTION_ID, self.function(one.function));
            inner.number(line::LINE, u64::from(one.line.unwrap_or(0)));
            message.message(location::LINE, inner);
        }
        self.out.message(profile::LOCATION, message);
        id
    }

    fn function(&mut self, index: u32) -> u64 {
        let id = u64::from(index) + 1;
        if std::mem::replace(&mut self.functions[index as usize], id) == id {
            return id;
        }
        let detail = self.detail;
        let found = &detail.functions[index as usize];
        let name = self.strings.index(&found.name);
        let file = found.file.and_then(|file| detail.files.get(file as usize));
        let file = file.map_or(0, |file| self.strings.index(file));
        let mut message = Message::default();
        message.number(function::ID, id);
        message.number(function::NAME, name);
        message.number(function::SYSTEM_NAME, name);
        message.number(function::FILENAME, file);
        message.number(function::START_LINE, u64::from(found.line.unwrap_or(0)));
        self.out.message(profile::FUNCTION, message);
        id
    }
}
