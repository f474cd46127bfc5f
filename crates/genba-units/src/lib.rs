//! Numbers with units as text: what users write is parsed here, and what they read is formatted here. Pure.
//!
//! **Scope.** Durations, shares, sizes, frequencies, counts, lists of CPUs. Parsers return seconds, shares of 1,
//! bytes and hertz; an error is one sentence that shows how to write the value.
//!
//! **Not here.** Sentences, tables, and which digits an interval supports for whom: callers say which interval.

mod axis;
mod bytes;
mod count;
mod cpu_list;
mod cycles;
mod digits;
mod duration;
mod frequency;
mod percent;

pub use bytes::parse_bytes;
pub use count::{parse_number, parse_positive_number};
pub use cpu_list::parse_cpu_list;
pub use duration::{parse_duration, parse_interval};
pub use frequency::parse_frequency;
pub use percent::parse_share;

/// Formatting of numbers: no digit is printed that the interval does not support.
pub mod format {
    pub use crate::axis::axis_numbers;
    pub use crate::bytes::{bytes, bytes_unit};
    pub use crate::count::{
        count, count_unit, counted, grouped, grouped_decimals, plain, plural, plural_short, times,
    };
    pub use crate::cycles::{cycle_range, cycles, cycles_with_unit};
    pub use crate::digits::decimals;
    pub use crate::duration::{duration, rough_duration, seconds, time, time_unit};
    pub use crate::frequency::frequency;
    pub use crate::percent::{
        percent, percent_at_most, plus_minus, plus_minus_points, share, short_percent,
    };
}
