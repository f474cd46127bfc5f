//! Ends a burst where it has accessed more memory than analyses can look at.
//!
//! A burst has a budget of instructions, but one instruction may copy megabytes (`rep movsb`), and most
//! analyses look at each byte. What comes later in such a burst says hardly more: other bursts begin at
//! other moments.

use genba_model::{Burst, Observed};

/// Bytes that one burst may access. Chosen: several times what the instructions of the longest burst
/// access with eight bytes each; one burst takes a few hundredths of a second then.
const MAX_BYTES: u64 = 16 << 20;

/// Drops the events of a burst from where it has accessed too many bytes; its instructions are those of
/// the blocks that are left.
pub(crate) fn limit(burst: &mut Burst) {
    let mut bytes = 0;
    let over = burst.events.iter().position(|event| {
        if let Observed::Load { size, .. } | Observed::Store { size, .. } = event.what {
            bytes += u64::from(size);
        }
        bytes > MAX_BYTES
    });
    let Some(over) = over else {
        return;
    };
    burst.events.truncate(over);
    let blocks = burst.events.iter().map(|event| match event.what {
        Observed::Block { instructions } => u64::from(instructions),
        _ => 0,
    });
    burst.instructions = blocks.sum::<u64>().min(burst.instructions);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst};
    use genba_model::BurstEvent;

    fn accesses(number: u64, size: u16) -> Burst {
        let events = (0..number).flat_map(|index| {
            let block = Observed::Block { instructions: 1 };
            let load = Observed::Load {
                address: index << 16,
                size,
                value: index,
            };
            [block, load].map(|what| BurstEvent { at: at(0x10), what })
        });
        burst(events.collect())
    }

    #[test]
    fn bursts_of_large_accesses_end_at_the_limit() {
        let mut long = accesses(1000, u16::MAX);
        limit(&mut long);
        assert_eq!(long.instructions, 257);
        assert_eq!(long.events.len(), 513);
    }

    #[test]
    fn bursts_of_small_accesses_stay_whole() {
        let whole = accesses(1000, 64);
        let mut limited = whole.clone();
        limit(&mut limited);
        assert_eq!(limited, whole);
    }
}
