//! The Firefox Profiler's processed profile: threads, categories, inlined frames, source lines, what
//! threads waited for as markers.
//!
//! The crate `fxprof-processed-profile`, which samply uses, writes the same format, but has neither
//! lines nor inlined frames.

use std::collections::HashMap;
use std::io::{self, Write};

use genba_model::{CodeKind, SampleUnit, Sampled, SampledDetail, SampledFrame, WaitReason};
use serde_json::json;

use super::firefox_tables::{
    Category, Library, MarkerTable, Meta, Profile, SampleTable, Thread, Weight,
};
use super::{firefox_thread::Tables, measured_by};
use crate::safe_text;
use crate::wording::waits as wording;

/// Version of the format that is written.
const FORMAT_VERSION: u32 = 55;

/// Reasons off a CPU in the order of the subcategories, which begin with "Other".
const REASONS: [WaitReason; 13] = [
    WaitReason::RunQueue,
    WaitReason::Lock,
    WaitReason::Condition,
    WaitReason::Join,
    WaitReason::Child,
    WaitReason::Pipe,
    WaitReason::Socket,
    WaitReason::File,
    WaitReason::Fsync,
    WaitReason::PageFault,
    WaitReason::Sleep,
    WaitReason::Poll,
    WaitReason::Terminal,
];

/// Category and subcategory of code.
pub(super) fn category(kind: CodeKind) -> (usize, usize) {
    match kind {
        CodeKind::User => (1, 0),
        CodeKind::Kernel => (2, 0),
        CodeKind::Generated => (3, 0),
        CodeKind::Wait(WaitReason::Running) => (1, 0),
        CodeKind::Wait(reason) => {
            let position = REASONS.iter().position(|one| *one == reason);
            (4, position.map_or(0, |index| index + 1))
        }
    }
}

fn categories() -> Vec<Category> {
    let plain = |name, color| Category {
        name,
        color,
        subcategories: vec!["Other"],
    };
    let mut reasons = vec!["Other"];
    reasons.extend(REASONS.map(wording::short_reason));
    vec![
        plain("Other", "grey"),
        plain("User", "yellow"),
        plain("Kernel", "orange"),
        plain("Generated code", "purple"),
        Category {
            name: "Off CPU",
            color: "blue",
            subcategories: reasons,
        },
    ]
}

pub(super) fn write(detail: &SampledDetail, out: &mut dyn Write) -> io::Result<()> {
    let mut samples: Vec<Vec<&Sampled>> = vec![Vec::new(); detail.threads.len()];
    for sample in &detail.samples {
        samples[sample.thread as usize].push(sample);
    }
    let mut tids = HashMap::new();
    let mut threads = Vec::new();
    for (index, samples) in (0u32..).zip(&samples) {
        let has_spans = detail.spans.iter().any(|span| span.thread == index);
        if !samples.is_empty() || has_spans {
            threads.push(thread(detail, index, samples, &mut tids));
        }
    }
    let profile = Profile {
        meta: meta(detail),
        libs: libraries(detail),
        threads,
        pages: [],
        profiler_overhead: [],
        counters: [],
    };
    serde_json::to_writer(out, &profile)?;
    Ok(())
}

fn meta(detail: &SampledDetail) -> Meta {
    let program = detail.command.first().map_or("program", String::as_str);
    Meta {
        categories: categories(),
        debug: false,
        extensions: json!({"length": 0, "baseURL": [], "id": [], "name": []}),
        interval: match detail.event.frequency_hz {
            0 => 1.0,
            hertz => 1e3 / hertz as f64,
        },
        preprocessed_profile_version: FORMAT_VERSION,
        process_type: 0,
        product: safe_text::sanitise(safe_text::file_name(program)),
        importer: measured_by(detail),
        arguments: safe_text::command(&detail.command),
        sample_units: json!({"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"}),
        // Recordings have no time of day.
        start_time: 0.0,
        symbolicated: true,
        paused_ranges: [],
        version: 24,
        uses_only_one_stack_type: true,
        source_code_is_not_on_searchfox: true,
        marker_schema: json!([{
            "name": "ThreadState",
            "display": ["marker-chart", "marker-table", "timeline-overview"],
            "chartLabel": "{marker.name}",
            "tableLabel": "{marker.name}",
            "fields": [{"key": "thread", "label": "Thread", "format": "string"}],
        }]),
    }
}

/// All modules, by their index.
fn libraries(detail: &SampledDetail) -> Vec<Library> {
    let library = |module: &genba_model::DetailModule| {
        let path = safe_text::sanitise(&module.path);
        let name = safe_text::file_name(&path).to_owned();
        Library {
            debug_name: name.clone(),
            name,
            debug_path: path.clone(),
            path,
            breakpad_id: breakpad_id(module.build_id.as_deref().unwrap_or("")),
            code_id: module.build_id.clone(),
            arch: None,
        }
    };
    detail.modules.iter().map(library).collect()
}

/// Breakpad's identifier of a build id: its first 16 bytes as a UUID with the first three fields in
/// the other byte order, and an age of 0.
fn breakpad_id(build_id: &str) -> String {
    let digits: Vec<char> = build_id.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |index: usize| -> String {
        let pair = [0, 1].map(|half| digits.get(index * 2 + half).copied().unwrap_or('0'));
        pair.iter().collect::<String>().to_uppercase()
    };
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut id: String = ORDER.into_iter().map(byte).collect();
    id.push('0');
    id
}

fn thread(
    detail: &SampledDetail,
    index: u32,
    samples: &[&Sampled],
    tids: &mut HashMap<i32, u32>,
) -> Thread {
    let info = &detail.threads[index as usize];
    let timed = samples.iter().all(|sample| sample.time_ns.is_some());
    let mut name = safe_text::sanitise(&info.name);
    if !timed {
        name.push_str(" (stacks are not in the order of time)");
    }
    // Thread ids must differ; a thread that changed its name has several entries.
    let seen = tids.entry(info.tid).or_default();
    let tid = match std::mem::replace(seen, *seen + 1) {
        0 => info.tid.to_string(),
        several => format!("{}.{several}", info.tid),
    };
    let main = (detail.threads.iter()).find(|one| one.pid == info.pid && one.tid == one.pid);
    let mut tables = Tables::new(detail);
    let table = sample_table(detail, samples, timed, &mut tables);
    let markers = markers(detail, index, &mut tables);
    Thread {
        markers,
        name,
        is_main_thread: info.tid == info.pid && info.pid != 0,
        native_symbols: Default::default(),
        paused_ranges: [],
        pid: info.pid.to_string(),
        process_name: safe_text::sanitise(main.map_or(&info.name, |main| &main.name)),
        process_shutdown_time: None,
        process_startup_time: 0.0,
        process_type: "default",
        register_time: 0.0,
        samples: table,
        tid,
        unregister_time: None,
        show_markers_in_timeline: true,
        frame_table: tables.frames,
        func_table: tables.functions,
        resource_table: tables.resources,
        stack_table: tables.stacks,
        string_array: tables.strings,
    }
}

/// The samples of a thread. Those without a time are laid one behind the other, as long as their
/// weight.
fn sample_table(
    detail: &SampledDetail,
    samples: &[&Sampled],
    timed: bool,
    tables: &mut Tables<'_>,
) -> SampleTable {
    let clock = detail.unit == SampleUnit::Nanoseconds;
    let mut table = SampleTable {
        length: samples.len(),
        weight_type: match detail.unit {
            SampleUnit::Nanoseconds => "tracing-ms",
            SampleUnit::Count => "samples",
            SampleUnit::Bytes => "bytes",
        },
        thread_cpu_delta: (clock && timed).then(Vec::new),
        ..SampleTable::default()
    };
    let (mut last, mut laid) = (0u64, 0u64);
    for sample in samples {
        let step = if clock {
            sample.weight
        } else {
            sample.samples.saturating_mul(1_000_000)
        };
        laid = laid.saturating_add(step);
        let time = sample.time_ns.filter(|_| timed).unwrap_or(laid).max(last);
        table.stack.push(Some(tables.stack(sample.stack)));
        table.time_deltas.push((time - last) as f64 / 1e6);
        last = time;
        table.weight.push(match clock {
            true => Weight::Milliseconds(sample.weight as f64 / 1e6),
            false => Weight::Count(sample.weight),
        });
        if let Some(deltas) = &mut table.thread_cpu_delta {
            deltas.push(sample.weight / 1000);
        }
    }
    table
}

fn markers(detail: &SampledDetail, index: u32, tables: &mut Tables<'_>) -> MarkerTable {
    let mut table = MarkerTable::default();
    for span in detail.spans.iter().filter(|span| span.thread == index) {
        let name = tables.string(wording::reason(span.state));
        table.category.push(category(CodeKind::Wait(span.state)).0);
        table.data.push(json!({"type": "ThreadState"}));
        table.start_time.push(span.from_ns as f64 / 1e6);
        table.end_time.push(Some(span.to_ns as f64 / 1e6));
        table.name.push(name);
        table.phase.push(1);
    }
    for wake_up in detail.wake_ups.iter().filter(|one| one.woken == index) {
        let waker = &detail.threads[wake_up.waker as usize];
        let waker = format!("{} ({})", safe_text::sanitise(&waker.name), waker.tid);
        let name = tables.string(&format!("woken by {waker}"));
        table.category.push(0);
        table
            .data
            .push(json!({"type": "ThreadState", "thread": waker}));
        table.start_time.push(wake_up.at_ns as f64 / 1e6);
        table.end_time.push(None);
        table.name.push(name);
        table.phase.push(0);
    }
    table.length = table.name.len();
    table
}

/// Returns the depth of inlining of a frame below its parent's.
pub(super) fn inline_depth(frame: &SampledFrame, parent: Option<u32>) -> u32 {
    match frame.inlined {
        true => parent.map_or(1, |depth| depth.saturating_add(1)),
        false => 0,
    }
}
