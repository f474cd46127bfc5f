//! What the user may request of a recording.

use super::sampling_rate::Rate;
use crate::event::EventSpec;

/// How call stacks are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallGraph {
    /// No call stacks.
    #[default]
    None,
    /// Frame pointers (`-g`, `--call-graph fp`).
    FramePointer,
    /// A copy of this many bytes of the stack, unwound when the recording is read
    /// (`--call-graph dwarf[,BYTES]`).
    Dwarf(u32),
}

impl CallGraph {
    /// Default size of a stack copy, bytes.
    pub const DWARF_BYTES: u32 = 16 << 10;
    /// Largest stack copy, bytes: a record's size has 16 bits.
    pub const MAX_DWARF_BYTES: u32 = 65528;

    /// Parses `fp`, `none`, `dwarf` and `dwarf,BYTES`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "fp" => return Some(Self::FramePointer),
            "none" | "no" => return Some(Self::None),
            "dwarf" => return Some(Self::Dwarf(Self::DWARF_BYTES)),
            _ => {}
        }
        let bytes: u32 = text.strip_prefix("dwarf,")?.parse().ok()?;
        let whole = bytes.next_multiple_of(8);
        (8..=Self::MAX_DWARF_BYTES)
            .contains(&whole)
            .then_some(Self::Dwarf(whole))
    }
}

/// What to record and how.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// The requested event; [`super::choose_event`] decides if `None`.
    pub event: Option<EventSpec>,
    /// How often.
    pub rate: Rate,
    /// How call stacks are sampled.
    pub call_graph: CallGraph,
    /// Samples user code only, even where the kernel may be sampled.
    pub user_only: bool,
    /// Size of each ring buffer, pages (a power of two); by the kind of call stacks if `None`.
    pub ring_pages: Option<usize>,
    /// Records each switch to and from the target as well, for `perf script --show-switch-events`.
    pub switches: bool,
    /// Samples carry address, level and latency of the data that was accessed.
    pub data: bool,
    /// Fails where perf events are forbidden, instead of sampling by timer signals.
    pub no_timer_fallback: bool,
    /// Samples by timer signals even where perf events work.
    pub force_timer: bool,
    /// The recorder's own command line, stored in the file.
    pub command_line: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_graph_arguments_are_parsed() {
        assert_eq!(CallGraph::parse("dwarf,4097"), Some(CallGraph::Dwarf(4104)));
        assert_eq!(CallGraph::parse("dwarf"), Some(CallGraph::Dwarf(16384)));
        for bad in ["dwarf,", "dwarf,0", "dwarf,70000", "lbr", ""] {
            assert_eq!(CallGraph::parse(bad), None, "{bad}");
        }
    }
}
