//! Facts about calls.

use genba_model::{CallFact, CallKind};

use super::{count, cycle_range, cycles, percent};

pub(super) fn sentence(fact: &CallFact) -> String {
    match fact {
        CallFact::SmallCallee {
            function,
            others,
            calls,
            instructions,
            caller,
            plt,
        } => {
            let others = match (others, plt) {
                (0, _) => String::new(),
                (more, false) => format!(" (and {more} more of the same file)"),
                (more, true) => format!(" (and {more} more of its module)"),
            };
            let through = if *plt { " through the PLT" } else { "" };
            let caller = caller
                .as_ref()
                .map_or(String::new(), |caller| format!(", mostly by `{caller}`"));
            format!(
                "`{function}`{others} is called {} times{through}{caller}, and executes \
                 {instructions:.1} instructions per call",
                count(*calls)
            )
        }
        CallFact::SeparateUnits { callee, caller } => {
            let unit =
                |unit: &Option<String>| unit.clone().unwrap_or_else(|| "another unit".to_owned());
            format!(
                "it is compiled in {}, its caller in {}: the compiler cannot inline it",
                unit(callee),
                unit(caller)
            )
        }
        CallFact::Interposable { module } => format!(
            "caller and callee are both in {module}, which exports the callee: another module may \
             interpose it, so the compiler neither calls it directly nor inlines it"
        ),
        CallFact::OtherModule => {
            "the callee is in another shared object and cannot be inlined".to_owned()
        }
        CallFact::Time {
            function,
            share,
            cycles: each,
        } => match function {
            Some(function) => format!(
                "the calls of `{function}` take {} of the time, {} cycles per call",
                percent(*share),
                cycles(*each)
            ),
            None => format!(
                "calls and callees take {} of the time, {} cycles per call",
                percent(*share),
                cycles(*each)
            ),
        },
        CallFact::InlinedCost {
            kind,
            call_cycles,
            inlined_cycles,
        } => {
            let call = match kind {
                CallKind::Direct => "a call",
                CallKind::Plt => "a call through the PLT",
                CallKind::Indirect => "an indirect call",
            };
            format!(
                "{call} and its return take {} cycles on this host; inlined, the callee's \
                 instructions take {}",
                cycles(*call_cycles),
                cycle_range(inlined_cycles)
            )
        }
        CallFact::DominantTarget {
            function,
            share,
            calls,
            instructions,
        } => format!(
            "{} of {} indirect calls go to `{function}`, which executes {instructions:.1} \
             instructions per call",
            percent(*share),
            count(*calls)
        ),
        CallFact::Comparator {
            routine,
            function,
            calls,
            instructions,
        } => format!(
            "the C library's `{routine}` calls `{function}` {} times, {instructions:.1} \
             instructions per call",
            count(*calls)
        ),
        CallFact::InvariantCall {
            function,
            calls,
            per_entry,
        } => format!(
            "`{function}` is called {} times, {per_entry:.0} times per entry of the loop",
            count(*calls)
        ),
        CallFact::ShortLengths {
            function,
            calls,
            bytes,
            limit,
            short,
        } => format!(
            "`{function}` is called {} times from here; {} of the calls are of at most {limit} bytes, \
             {bytes:.1} on average",
            count(*calls),
            percent(short.value)
        ),
        CallFact::Pieces {
            function,
            calls,
            bytes,
            continued,
            appended,
        } => format!(
            "`{function}` is called {} times from here with {bytes:.1} bytes on average; {} of the \
             calls {} the one before stopped",
            count(*calls),
            percent(continued.value),
            match appended {
                true => "store where",
                false => "take up where",
            }
        ),
        CallFact::OfOneByte { function, calls } => format!(
            "`{function}` is called {} times; its argument follows from one byte, so there are 256 results",
            count(*calls)
        ),
        CallFact::InvariantArgument => {
            "the loop changes nothing that its argument is computed from".to_owned()
        }
        CallFact::ThreadLocalLookups { function, calls } => {
            format!("`{function}` is called {} times", count(*calls))
        }
        CallFact::ThreadLocalLoad => "a thread-local variable takes one load".to_owned(),
    }
}
