//! Facts about allocations and copies of memory.

use genba_model::MemoryFact;
use genba_units::format;

use super::{count, percent};
use crate::wording::profile;

pub(super) fn sentence(fact: &MemoryFact) -> String {
    match fact {
        MemoryFact::AllocatorTime { share } => {
            format!("{} of the time is in the allocator", percent(*share))
        }
        MemoryFact::ContainerTime { share } => format!(
            "{} more is in library functions that allocate, and in their copies",
            percent(*share)
        ),
        MemoryFact::Allocations {
            allocations,
            frees,
            here,
        } => format!(
            "{} allocations and {} frees; {} of the allocations are made for this line",
            count(*allocations),
            count(*frees),
            percent(*here)
        ),
        MemoryFact::AllocationSizes {
            share,
            allocations,
            low,
            high,
            bytes,
        } => format!(
            "{} of {} allocations are of {}, {} in all",
            percent(*share),
            count(*allocations),
            size_range(*low, *high),
            format::bytes(*bytes as f64)
        ),
        MemoryFact::PeakMemory { bytes } => format!(
            "the peak resident set is {}: the allocations are short-lived",
            format::bytes(*bytes)
        ),
        MemoryFact::OtherLine {
            share,
            file,
            line,
            function,
        } => {
            let place = profile::file_line(file.as_deref(), *line);
            let place = match place.is_empty() {
                true => function.clone(),
                false => format!("{place} in {function}"),
            };
            format!("{} of the allocations are made at {place}", percent(*share))
        }
        MemoryFact::CopyTime { share, function } => {
            format!("{} of the time is in `{function}`", percent(*share))
        }
        MemoryFact::Copies {
            copies,
            here,
            of_time,
        } => {
            let of = if *of_time {
                "their time is"
            } else {
                "them are"
            };
            format!(
                "{} copies; {} of {of} at this line",
                count(*copies),
                percent(*here)
            )
        }
        MemoryFact::LargeCopies {
            large,
            copies,
            from_bytes,
            bytes,
        } => format!(
            "{} of {} copies are of {} or more, {} in all",
            count(*large),
            count(*copies),
            format::bytes(*from_bytes as f64),
            format::bytes(*bytes as f64)
        ),
        MemoryFact::CopyCost {
            seconds,
            host_bytes_per_second,
        } => {
            let each = format::seconds(*seconds);
            match host_bytes_per_second {
                Some(rate) => format!(
                    "{each} per copy: about {} at the {}/s of copies in memory on this host",
                    format::bytes(seconds * rate),
                    format::bytes(*rate)
                ),
                None => format!("{each} per copy"),
            }
        }
        MemoryFact::ReallocCalls { calls, buffers } => format!(
            "{} calls of realloc for {} buffers, {} each; doubling takes 20 for a million elements",
            count(*calls),
            count(*buffers),
            count(calls / buffers.max(&1))
        ),
        MemoryFact::ReallocSteps {
            calls,
            grown_bytes,
            bytes,
        } => format!(
            "{} calls of realloc make a block larger by {} each, to {} on average",
            count(*calls),
            format::bytes(*grown_bytes),
            format::bytes(*bytes)
        ),
        MemoryFact::ReserveMoves { allocations, moves } => format!(
            "reserve allocates {} times here and moves the old contents {} times: each call makes \
             room for the next few elements only",
            count(*allocations),
            count(*moves)
        ),
        MemoryFact::CopyAndFree {
            copy_seconds,
            times,
        } => format!(
            "an allocation, a copy of {} and a free of the old buffer, {} times each",
            format::seconds(*copy_seconds),
            count(*times)
        ),
        MemoryFact::TableResizes {
            times,
            moves,
            items,
            share,
        } => format!(
            "{} resizes of a table move {} elements each ({} of the time): {:.0} moves for each of {} items, where \
             doubling makes one or two",
            count(*times),
            count(moves.round() as u64),
            percent(*share),
            *times as f64 * moves / *items as f64,
            count(*items)
        ),
        MemoryFact::ReallocMoves {
            moves,
            bytes,
            grown_bytes,
        } => format!(
            "realloc moved blocks {} times and copied {}, {:.0} bytes per byte of growth (doubling: \
             one)",
            count(*moves),
            format::bytes(*bytes as f64),
            *bytes as f64 / (*grown_bytes).max(1) as f64
        ),
        MemoryFact::CopyAndAllocatorTime { copies, allocator } => format!(
            "{} of the time is in the copies, {} in the allocator",
            percent(*copies),
            percent(*allocator)
        ),
        MemoryFact::GrowthCost { seconds } => {
            format!("{} per growth of a buffer", format::seconds(*seconds))
        }
    }
}

/// Sizes of blocks: `16 to 31 bytes`, `1 byte`.
fn size_range(low: u64, high: u64) -> String {
    match (low, high) {
        (1, 1) => "1 byte".to_owned(),
        (low, high) if low == high => format!("{low} bytes"),
        (low, high) if high < 1000 => format!("{low} to {high} bytes"),
        (low, high) => format!(
            "{} to {}",
            format::bytes(low as f64),
            format::bytes(high as f64)
        ),
    }
}
