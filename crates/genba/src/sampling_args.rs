//! Arguments of sampling, shared by `record`, `investigate` and `top`.

use clap::{Args, ValueEnum};
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, DEFAULT_RATE_HZ, Rate, RecordOptions, max_sample_rate_hz};
use genba_units::parse_frequency;

/// The sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SamplerArg {
    /// perf_event_open where it is allowed, else timer signals.
    Auto,
    /// perf_event_open or nothing.
    Perf,
    /// Timer signals from inside the program.
    Timer,
}

/// How to sample.
#[derive(Debug, Args)]
pub struct SamplingArgs {
    /// Event, with perf's modifiers (`cycles:u`) [default: cycles; cpu-clock where there is no
    /// cycle counter or its overhead exceeds 3 %].
    #[arg(short, long, value_name = "EVENT", value_parser = EventSpec::parse)]
    event: Option<EventSpec>,

    /// Samples per second (`4999`, `5kHz`, or `max`: what the kernel allows now).
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = DEFAULT_RATE_HZ,
          value_parser = rate, conflicts_with = "count")]
    freq: u64,

    /// Sample every N events instead.
    #[arg(short, long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Call stacks by frame pointers: the same as --call-graph fp.
    #[arg(short = 'g', conflicts_with = "call_graph")]
    frame_pointers: bool,

    /// Call stacks: `fp`, `dwarf`, `dwarf,BYTES` of stack copied, or `none`.
    #[arg(long, value_name = "HOW", value_parser = call_graph)]
    call_graph: Option<CallGraph>,

    /// What takes the samples.
    #[arg(long, value_enum, default_value_t = SamplerArg::Auto)]
    sampler: SamplerArg,
}

impl SamplingArgs {
    /// The library's options; `default_stacks` is for verbs that want stacks unasked.
    pub fn options(&self, default_stacks: CallGraph) -> RecordOptions {
        RecordOptions {
            event: self.event.clone(),
            rate: self.count.map_or(Rate::Frequency(self.freq), Rate::Period),
            call_graph: match self.call_graph {
                Some(how) => how,
                None if self.frame_pointers => CallGraph::FramePointer,
                None => default_stacks,
            },
            no_timer_fallback: self.sampler == SamplerArg::Perf,
            force_timer: self.sampler == SamplerArg::Timer,
            command_line: std::env::args_os()
                .map(|word| genba_run::text_of(&word))
                .collect(),
            ..RecordOptions::default()
        }
    }
}

/// Highest sampling rate, hertz: beyond it a sample takes longer than its period. Chosen.
const MAX_RATE_HZ: u64 = 1_000_000;

fn rate(text: &str) -> Result<u64, String> {
    if text == "max" {
        return max_sample_rate_hz()
            .ok_or_else(|| "this system does not say how many samples it allows".to_owned());
    }
    let hertz = parse_frequency(text)?;
    if hertz > MAX_RATE_HZ {
        return Err(format!(
            "at most {MAX_RATE_HZ} samples per second are taken"
        ));
    }
    Ok(hertz)
}

fn call_graph(text: &str) -> Result<CallGraph, String> {
    CallGraph::parse(text).ok_or_else(|| {
        format!(
            "`{text}` is none of fp, dwarf, dwarf,BYTES (up to {}) and none",
            CallGraph::MAX_DWARF_BYTES
        )
    })
}
