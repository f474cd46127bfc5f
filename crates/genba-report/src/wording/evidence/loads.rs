//! Facts about loads that wait.

use genba_model::{AddressPattern, LoadFact};
use genba_units::format;

use super::{count, cycles, percent};

pub(super) fn sentence(fact: &LoadFact) -> String {
    match fact {
        LoadFact::Wait {
            instruction,
            share,
            cycles: each,
            executions,
            l1d_cycles,
            levels,
        } => {
            let levels: Vec<String> = levels
                .iter()
                .map(|level| format!("{} {}", level.name, cycles(level.cycles)))
                .collect();
            let levels = match levels.is_empty() {
                true => String::new(),
                false => format!(" ({})", levels.join(", ")),
            };
            format!(
                "`{instruction}` and the instructions that wait for it: {} of the time, {} cycles \
                 for each of {} executions; {} if the load hits L1d{levels}",
                percent(*share),
                cycles(*each),
                count(*executions),
                cycles(*l1d_cycles)
            )
        }
        LoadFact::L1dMisses { share, .. } => {
            format!("{} of these loads miss L1d", percent(*share))
        }
        LoadFact::Address { pattern, bytes } => match pattern {
            AddressPattern::Computed => {
                "its address is computed: neither a linked list nor a constant stride".to_owned()
            }
            AddressPattern::PreviousLoad => {
                "its address was loaded in the previous iteration, so the load cannot start earlier"
                    .to_owned()
            }
            AddressPattern::Stride { bytes: stride } => format!(
                "its address advances by {} bytes per iteration, of which {bytes} are read",
                format::grouped(*stride as f64)
            ),
            AddressPattern::InvariantStride => format!(
                "its address advances by a stride that is fixed before the loop; {bytes} bytes are \
                 read per iteration"
            ),
            AddressPattern::ColumnOfRows { bytes: step } => format!(
                "each iteration reads {bytes} bytes of another row, whose address it loads; the loop around advances by \
                 {step} bytes within the rows, so that each line is fetched again for the next element"
            ),
        },
        LoadFact::PartialOverlap { load, store } => {
            format!("`{load}` reads bytes of which `{store}` wrote only a part just before")
        }
    }
}
