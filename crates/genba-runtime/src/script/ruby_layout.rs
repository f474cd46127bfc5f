//! What differs between versions of CRuby in the objects that stacks are read from.
//!
//! Offsets are those of vm_core.h, iseq.h and include/ruby/internal/core/rstring.h on 64-bit machines, taken from a program that
//! was compiled with each version's own definitions (as the crate rbspy-ruby-structs has them). Bug-fix
//! releases do not change them.

/// The layout of a version.
#[derive(Debug, PartialEq, Eq)]
pub struct RubyLayout {
    /// `sizeof(rb_control_frame_t)`.
    pub frame_size: usize,
    /// `rb_iseq_constant_body.insns_info`: the entries, their number, and the table of ranks.
    pub entries: usize,
    /// `sizeof(struct iseq_insn_info_entry)`.
    pub entry_size: usize,
    /// Whether the first line of a method is an object; else it is an `int`.
    pub line_is_object: bool,
    /// Whether a string has its length outside its flags.
    pub string_has_length: bool,
    /// Whether each thread has its own `ruby_current_ec`; else the one with the lock has a global variable.
    pub context_per_thread: bool,
    /// Whether the places of threads, the GVL and mutexes are known (`ruby31_gvl`).
    pub has_known_gvl: bool,
}

const V2_7: RubyLayout = RubyLayout {
    frame_size: 56,
    entries: 120,
    entry_size: 8,
    line_is_object: true,
    string_has_length: false,
    context_per_thread: false,
    has_known_gvl: false,
};
const V3_0: RubyLayout = RubyLayout {
    context_per_thread: true,
    ..V2_7
};
const V3_1: RubyLayout = RubyLayout {
    frame_size: 64,
    entry_size: 12,
    has_known_gvl: true,
    ..V3_0
};
const V3_2: RubyLayout = RubyLayout {
    entries: 112,
    line_is_object: false,
    string_has_length: true,
    has_known_gvl: false,
    ..V3_1
};
const V3_3: RubyLayout = RubyLayout {
    frame_size: 56,
    ..V3_2
};

impl RubyLayout {
    /// The layout of a version such as `3.1.2`.
    #[must_use]
    pub fn of(version: &str) -> Option<&'static Self> {
        let mut parts = version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            return None;
        };
        match (major, minor) {
            (2, 7) => Some(&V2_7),
            (3, 0) => Some(&V3_0),
            (3, 1) => Some(&V3_1),
            (3, 2) => Some(&V3_2),
            (3, 3 | 4) | (4, 0) => Some(&V3_3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_minor_version() {
        assert_eq!(RubyLayout::of("3.1.2"), Some(&V3_1));
        assert_eq!(RubyLayout::of("3.4.10"), Some(&V3_3));
        for unknown in ["2.6.10", "3.10.0", "4.1.0", "", "3", "x.y"] {
            assert_eq!(RubyLayout::of(unknown), None, "{unknown}");
        }
    }
}
