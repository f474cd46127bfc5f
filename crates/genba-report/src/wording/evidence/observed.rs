//! Facts about values, addresses and outcomes that bursts recorded.

use genba_model::{Estimate, ObservedFact};
use genba_units::format;

use super::{count, cycles, percent};

pub(super) fn sentence(fact: &ObservedFact) -> String {
    match fact {
        ObservedFact::RepeatedCalls {
            function,
            calls,
            share,
            distinct,
            bursts,
        } => format!(
            "`{function}` is called {} times here; {} take the arguments, read the memory and give \
             the result of an earlier call ({distinct:.0} different in a burst; {bursts} bursts)",
            count(*calls),
            range(share)
        ),
        ObservedFact::MadeAgain {
            function,
            calls,
            share,
            distinct,
            bytes,
            bursts,
        } => format!(
            "`{function}` is called {} times here; {} read the same values as an earlier call and make the same again, {} \
             in memory that they allocate ({distinct:.0} different in a burst; {bursts} bursts)",
            count(*calls),
            range(share),
            genba_units::format::bytes(*bytes),
        ),
        ObservedFact::RepeatedElsewhere {
            function,
            calls,
            share,
            caller,
            line,
            bursts,
        } => {
            let place = match (caller, line) {
                (Some(caller), Some(line)) => format!("`{caller}` (line {line})"),
                (Some(caller), None) => format!("`{caller}`"),
                (None, _) => "another place".to_owned(),
            };
            format!(
                "`{function}` is called {} times here; {} of the calls read the same memory and return \
                 the same as a call shortly before in {place} ({bursts} bursts)",
                count(*calls),
                range(share)
            )
        }
        ObservedFact::RepeatedLoops {
            runs,
            share,
            distinct,
            bursts,
        } => format!(
            "the loop runs {} times; {} load the same as an earlier run, and the result follows from \
             that ({distinct:.0} different in a burst; {bursts} bursts)",
            count(*runs),
            range(share)
        ),
        ObservedFact::LoopsAgain {
            copies,
            runs,
            share,
            bursts,
        } => format!(
            "the loop is inlined at {copies} places here and runs {} times; {} of the runs go over the data \
             that another of the copies has just gone over ({bursts} bursts)",
            count(*runs),
            range(share)
        ),
        ObservedFact::LongProduct {
            factor,
            word_bits,
            share,
            digits,
            bursts,
        } => format!(
            "{} of the stored {word_bits}-bit words are the old word times {factor} plus the carry of \
             the previous word ({bursts} bursts); a word has room for {factor}^{digits}",
            range(share)
        ),
        ObservedFact::AdvancingCalls {
            function,
            calls,
            share,
            bytes,
            bursts,
        } => format!(
            "`{function}` is called {} times here; {} of the calls begin a little behind where the \
             previous call began, {bytes:.1} bytes on average ({bursts} bursts)",
            count(*calls),
            range(share)
        ),
        ObservedFact::OrderedSort {
            function,
            sorts,
            comparisons,
            share,
            bursts,
        } => format!(
            "`{function}` sorts {} times with {} comparisons; {} of them have the outcome of the previous \
             one ({bursts} bursts): the elements are in order, in reverse order, or equal",
            count(*sorts),
            count(*comparisons),
            range(share)
        ),
        ObservedFact::RepeatedSearches {
            searches,
            iterations,
            share,
            bursts,
        } => format!(
            "of {} searches with {iterations:.1} iterations each {} end where the one before ended \
             ({bursts} bursts)",
            count(*searches),
            range(share)
        ),
        ObservedFact::KeptLoad {
            instruction,
            share,
            executions,
            bursts,
        } => format!(
            "{} of {} executions of `{instruction}` load what the one before loaded, from the same place: \
             the state is kept ({bursts} bursts)",
            range(share),
            count(*executions)
        ),
        ObservedFact::StartsOver {
            runs,
            iterations,
            share,
            stored_again,
            bursts,
        } => format!(
            "it runs {} times with {iterations:.1} iterations each; {} of the iterations repeat those of \
             the previous run from its beginning, and {} of what they store is there already \
             ({bursts} bursts)",
            count(*runs),
            range(share),
            percent(*stored_again)
        ),
        ObservedFact::StoredAgain {
            calls,
            share,
            bursts,
        } => format!(
            "of what its {} calls store {} is there already ({bursts} bursts)",
            count(*calls),
            range(share)
        ),
        ObservedFact::SearchedAgain {
            places,
            searches,
            share,
            bursts,
            of_time,
            cycles,
        } => format!(
            "at {} of this function {} searches take {} of the time, {} cycles each; {} of them go over what a search at \
             another place had just gone over, and end at the same element ({bursts} bursts)",
            match places {
                1 => "one place".to_owned(),
                more => format!("{more} places"),
            },
            count(*searches),
            percent(*of_time),
            crate::wording::evidence::cycles(*cycles),
            range(share)
        ),
        ObservedFact::SumsAgain {
            runs,
            share,
            bursts,
        } => format!(
            "{} sums are made from nothing; {} of what one loads the sum before loaded as well, from the same place and \
             with the same value ({bursts} bursts)",
            count(*runs),
            range(share)
        ),
        ObservedFact::WalksAgain {
            function,
            runs,
            iterations,
            share,
            bursts,
        } => format!(
            "{} runs {} times with {iterations:.1} iterations each; {} of the iterations are of runs that do the same as one of \
             the previous four from its beginning on, and end a few iterations before or behind it ({bursts} bursts)",
            function
                .as_ref()
                .map_or("it".to_owned(), |name| format!("the loop in `{name}`")),
            count(*runs),
            range(share)
        ),
        ObservedFact::SearchesStartAlike {
            searches,
            iterations,
            share,
            bursts,
        } => format!(
            "{} searches take {iterations:.1} iterations each; {} of the iterations repeat those of the \
             previous search, which ended nearby ({bursts} bursts)",
            count(*searches),
            range(share)
        ),
        ObservedFact::FewSearches { share, distinct } => format!(
            "{} repeat an earlier one; {distinct:.0} different ones come in a burst",
            range(share)
        ),
        ObservedFact::DeadStores {
            executions,
            share,
            overwritten_line,
            bursts,
        } => format!(
            "of {} stores {} are overwritten{} before anything reads them ({bursts} bursts)",
            count(*executions),
            range(share),
            line(*overwritten_line)
        ),
        ObservedFact::OverwrittenBuffer {
            function,
            bytes,
            share,
            overwritten_line,
            bursts,
        } => format!(
            "`{function}` fills {bytes:.0} bytes each time; {} of them are overwritten{} before \
             anything reads them ({bursts} bursts)",
            range(share),
            line(*overwritten_line)
        ),
        ObservedFact::UnreadClears {
            function,
            calls,
            bytes,
            loaded_bytes,
            bursts,
        } => {
            let cleared = *calls as f64 * bytes;
            format!(
                "`{function}` clears the same {} in each call, {} in all; loads from there read {} ({} to {}): at least {} of the \
                 cleared bytes are never read ({bursts} bursts)",
                format::bytes(*bytes),
                format::bytes(cleared),
                format::bytes(loaded_bytes.value),
                format::bytes(loaded_bytes.low),
                format::bytes(loaded_bytes.high),
                percent(1.0 - loaded_bytes.high / cleared.max(1.0))
            )
        }
        ObservedFact::FillTime { share } => format!("it takes {} of the time", percent(*share)),
        ObservedFact::RepeatedCopies {
            share,
            bytes,
            previous_function,
            previous_line,
            bursts,
        } => {
            let before = match (previous_function, previous_line) {
                (Some(function), Some(line)) => format!(" by `{function}`, line {line}"),
                (Some(function), None) => format!(" by `{function}`"),
                _ => String::new(),
            };
            format!(
                "of the bytes copied here ({bytes:.0} at a time) {} had been copied before{before} \
                 ({bursts} bursts)",
                range(share)
            )
        }
        ObservedFact::CopiedAgain {
            share,
            bytes,
            reads,
            bursts,
        } => format!(
            "{bytes:.0} bytes are copied here at a time; {} of the bytes are unchanged since the previous \
             copy from the same place; a copied byte is read {reads:.1} times on average, and never \
             written, before it is overwritten ({bursts} bursts)",
            range(share)
        ),
        ObservedFact::CopyChainTime {
            share,
            places,
            again,
            readers,
        } => {
            let readers = match *readers > 0.0 {
                true => format!(", what reads them first {}", percent(*readers)),
                false => String::new(),
            };
            let places = match *places {
                1 => "this copy takes".to_owned(),
                more => format!("{more} copies of the same bytes take"),
            };
            format!(
                "{places} {} of the time{readers}; {} of these bytes had been copied before",
                percent(*share),
                percent(*again)
            )
        }
        ObservedFact::KnownValue {
            instruction,
            value,
            share,
            executions,
            bursts,
        } => format!(
            "`{instruction}` loads {value} in {} of its {} executions ({bursts} bursts)",
            range(share),
            count(*executions)
        ),
        ObservedFact::KnownArgument {
            function,
            value,
            share,
            calls,
            bursts,
        } => format!(
            "in {} of its {} calls `{function}` gets {value} ({bursts} bursts)",
            range(share),
            count(*calls)
        ),
        ObservedFact::NeedlessTime {
            share,
            cycles: each,
        } => format!(
            "what this value makes needless takes {} of the time, {} cycles each time",
            percent(*share),
            cycles(*each)
        ),
        ObservedFact::InvariantChecks {
            checks,
            executions,
            rare,
            bursts,
        } => {
            let what = match *checks {
                1 => "a branch tests".to_owned(),
                more => format!("{more} branches test"),
            };
            let seen = match *bursts {
                0 => String::new(),
                bursts => format!(" (addresses seen in {bursts} bursts)"),
            };
            format!(
                "{what} each time what does not change, or the counter against it: {} times in all, of \
                 which {} go the rarer way{seen}",
                count(*executions),
                percent(*rare)
            )
        }
        ObservedFact::CheckInstructions { checks, all } => {
            format!("of {all:.1} instructions executed each time {checks:.1} serve these tests")
        }
        ObservedFact::UnreadFields {
            function,
            stores,
            of,
            share,
            bursts,
        } => format!(
            "of the {of} stores by which `{function}` hands over its result {stores} are of no use here: {} of them \
             are overwritten by the next call before anything reads them ({bursts} bursts)",
            range(share)
        ),
        ObservedFact::DiscardedResults {
            executions,
            share,
            bursts,
        } => format!(
            "of {} results that are stored here {} are overwritten before anything reads them \
             ({bursts} bursts)",
            count(*executions),
            range(share)
        ),
        ObservedFact::UnreadResults {
            function,
            calls,
            share,
            handed_on,
            bursts,
        } => {
            let handed = match handed_on {
                true => ", though they are handed to another function",
                false => "",
            };
            format!(
                "{} calls of `{function}` from here make something in memory that they allocate, and change nothing \
                 else; {} of the results are given back before anything has read them{handed} ({bursts} bursts)",
                count(*calls),
                range(share)
            )
        }
        ObservedFact::UnaskedResults {
            function,
            calls,
            share,
            work,
            bursts,
        } => {
            let of = (function.as_ref()).map_or(String::new(), |name| format!(" of `{name}`"));
            format!(
                "{} calls{of} from here change no memory; the result of {} of them is not used, and these \
                 execute {} of all instructions ({bursts} bursts)",
                count(*calls),
                range(share),
                range(work)
            )
        }
        ObservedFact::ExpensiveTest {
            function,
            tests,
            passed,
            share,
            cycles,
        } => format!(
            "`{function}` answers a test {} times and is needed for nothing else: {} of the time, {cycles:.0} cycles each; \
             {} pass it (what cheap tests would say of the others is not known)",
            count(*tests),
            percent(*share),
            count(*passed)
        ),
        ObservedFact::DiscardingTest {
            executions,
            share,
            line,
        } => {
            let at = line.map_or(String::new(), |line| format!(" in line {line}"));
            format!(
                "the test{at} that comes afterwards discards {} of {} results",
                percent(*share),
                count(*executions)
            )
        }
        ObservedFact::FieldsApart {
            fields,
            bytes,
            lines,
            packed,
            span,
        } => format!(
            "{fields} fields of one object are used together ({bytes} bytes of a span of {span}); \
             they lie in {lines:.1} cache lines, side by side they would lie in {packed:.1}"
        ),
        ObservedFact::UsedOfLines { share, lines } => format!(
            "of the cache lines that are brought for them {} is used ({} lines in bursts)",
            range(share),
            count(*lines)
        ),
    }
}

/// A share with its interval.
fn range(share: &Estimate) -> String {
    format!(
        "{} ({} to {})",
        percent(share.value),
        percent(share.low),
        percent(share.high)
    )
}

fn line(line: Option<u32>) -> String {
    line.map_or(String::new(), |line| format!(" in line {line}"))
}
