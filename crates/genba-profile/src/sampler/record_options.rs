//! What a person may ask of a recording.

use crate::event::EventSpec;

/// Call stacks with the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallGraph {
    /// None.
    #[default]
    None,
    /// Frame pointers (`-g`, `--call-graph fp`).
    FramePointer,
    /// A copy of so many bytes of the stack, unwound when read (`--call-graph dwarf[,BYTES]`).
    Dwarf(u32),
}

impl CallGraph {
    /// Bytes of stack copied unless another size is asked for.
    pub const DWARF_BYTES: u32 = 16 << 10;
    /// Most that the kernel copies: a record's size has 16 bits.
    pub const MAX_DWARF_BYTES: u32 = 65528;

    /// Understands `fp`, `none`, `dwarf` and `dwarf,BYTES`.
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

/// How often to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many samples a second of CPU time (`-F`).
    Frequency(u64),
    /// One sample every so many events (`-c`).
    Period(u64),
}

impl Default for Rate {
    /// 4,999 Hz: fine enough for instructions, and not in step with anything periodic.
    fn default() -> Self {
        Self::Frequency(4999)
    }
}

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// Event asked for; the best that works here if `None`.
    pub event: Option<EventSpec>,
    /// How often.
    pub rate: Rate,
    /// Stacks.
    pub call_graph: CallGraph,
    /// Data addresses with the samples.
    pub addresses: bool,
    /// User code only, even where the kernel could be seen.
    pub user_only: bool,
    /// Size of each ring in pages, a power of two; chosen if `None`.
    pub ring_pages: Option<usize>,
    /// Never fall back on timer signals: fail where perf events are forbidden.
    pub no_timer_fallback: bool,
    /// Sample by timer signals even where perf events work.
    pub force_timer: bool,
    /// The recorder's own command line, for the file.
    pub command_line: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_graphs() {
        assert_eq!(CallGraph::parse("dwarf,4097"), Some(CallGraph::Dwarf(4104)));
        assert_eq!(CallGraph::parse("dwarf"), Some(CallGraph::Dwarf(16384)));
        for bad in ["dwarf,", "dwarf,0", "dwarf,70000", "lbr", ""] {
            assert_eq!(CallGraph::parse(bad), None, "{bad}");
        }
    }
}
