//! The tables of the Firefox Profiler's processed profile format, version 55.
//!
//! The format is that of `src/types/profile.ts` of github.com/firefox-devtools/profiler at that
//! version: columns instead of rows, and tables of its own for each thread.

use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
pub(super) struct Profile {
    pub(super) meta: Meta,
    pub(super) libs: Vec<Library>,
    pub(super) threads: Vec<Thread>,
    pub(super) pages: [(); 0],
    #[serde(rename = "profilerOverhead")]
    pub(super) profiler_overhead: [(); 0],
    pub(super) counters: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) categories: Vec<Category>,
    pub(super) debug: bool,
    pub(super) extensions: Value,
    /// Time between samples, milliseconds.
    pub(super) interval: f64,
    pub(super) preprocessed_profile_version: u32,
    pub(super) process_type: u32,
    pub(super) product: String,
    pub(super) importer: String,
    pub(super) arguments: String,
    pub(super) sample_units: Value,
    pub(super) start_time: f64,
    pub(super) symbolicated: bool,
    pub(super) paused_ranges: [(); 0],
    /// Ignored by readers, but required.
    pub(super) version: u32,
    pub(super) uses_only_one_stack_type: bool,
    pub(super) source_code_is_not_on_searchfox: bool,
    pub(super) marker_schema: Value,
}

#[derive(Serialize)]
pub(super) struct Category {
    pub(super) name: &'static str,
    pub(super) color: &'static str,
    pub(super) subcategories: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Library {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) debug_name: String,
    pub(super) debug_path: String,
    pub(super) breakpad_id: String,
    pub(super) code_id: Option<String>,
    pub(super) arch: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    pub(super) frame_table: FrameTable,
    pub(super) func_table: FunctionTable,
    pub(super) markers: MarkerTable,
    pub(super) name: String,
    pub(super) is_main_thread: bool,
    pub(super) native_symbols: NativeSymbols,
    pub(super) paused_ranges: [(); 0],
    pub(super) pid: String,
    pub(super) process_name: String,
    pub(super) process_shutdown_time: Option<f64>,
    pub(super) process_startup_time: f64,
    pub(super) process_type: &'static str,
    pub(super) register_time: f64,
    pub(super) resource_table: ResourceTable,
    pub(super) samples: SampleTable,
    pub(super) stack_table: StackTable,
    pub(super) string_array: Vec<String>,
    pub(super) tid: String,
    pub(super) unregister_time: Option<f64>,
    pub(super) show_markers_in_timeline: bool,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub(super) length: usize,
    /// −1 where there is none.
    pub(super) address: Vec<i64>,
    pub(super) inline_depth: Vec<u32>,
    pub(super) category: Vec<usize>,
    pub(super) subcategory: Vec<usize>,
    pub(super) func: Vec<u32>,
    pub(super) native_symbol: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    pub(super) inner_window_id: Vec<u32>,
    pub(super) line: Vec<Option<u32>>,
    pub(super) column: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionTable {
    pub(super) length: usize,
    pub(super) name: Vec<u32>,
    #[serde(rename = "isJS")]
    pub(super) is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub(super) relevant_for_js: Vec<bool>,
    /// −1 where there is none.
    pub(super) resource: Vec<i64>,
    pub(super) file_name: Vec<Option<u32>>,
    pub(super) line_number: Vec<Option<u32>>,
    pub(super) column_number: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MarkerTable {
    pub(super) length: usize,
    pub(super) category: Vec<usize>,
    pub(super) data: Vec<Value>,
    pub(super) end_time: Vec<Option<f64>>,
    pub(super) name: Vec<u32>,
    /// 0 instant, 1 interval.
    pub(super) phase: Vec<u32>,
    pub(super) start_time: Vec<f64>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeSymbols {
    length: usize,
    address: [(); 0],
    function_size: [(); 0],
    lib_index: [(); 0],
    name: [(); 0],
}

#[derive(Default, Serialize)]
pub(super) struct ResourceTable {
    pub(super) length: usize,
    pub(super) lib: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) host: Vec<()>,
    /// 1 is a library.
    #[serde(rename = "type")]
    pub(super) kind: Vec<u32>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleTable {
    pub(super) length: usize,
    pub(super) weight_type: &'static str,
    pub(super) stack: Vec<Option<u32>>,
    /// Milliseconds since the previous sample.
    pub(super) time_deltas: Vec<f64>,
    pub(super) weight: Vec<Weight>,
    /// Microseconds; only of a clock.
    #[serde(rename = "threadCPUDelta", skip_serializing_if = "Option::is_none")]
    pub(super) thread_cpu_delta: Option<Vec<u64>>,
}

/// A whole number where it is one.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Weight {
    Milliseconds(f64),
    Count(u64),
}

#[derive(Default, Serialize)]
pub(super) struct StackTable {
    pub(super) length: usize,
    pub(super) prefix: Vec<Option<u32>>,
    pub(super) frame: Vec<u32>,
}
