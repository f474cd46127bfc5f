//! Facts about values, addresses and outcomes: what bursts recorded.

use serde::{Deserialize, Serialize};

use crate::{Estimate, EvidenceSource};

/// A fact about what the program did. Shares are of executions seen in bursts, with intervals over
/// bursts; executions are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObservedFact {
    /// Calls that take the arguments, read the memory and give the result of an earlier one from
    /// the same place.
    RepeatedCalls {
        /// The function.
        function: String,
        /// Calls from here.
        calls: u64,
        /// Share of them that repeat an earlier one.
        share: Estimate,
        /// Different inputs in one burst, on average.
        distinct: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that take the arguments and read the values of an earlier one from the same place, wherever these are, and
    /// make what they return in memory that they allocate.
    MadeAgain {
        /// The function.
        function: String,
        /// Calls from here.
        calls: u64,
        /// Share of them that repeat an earlier one.
        share: Estimate,
        /// Different inputs in one burst, on average.
        distinct: f64,
        /// Bytes that a call leaves in memory that it allocated, on average.
        bytes: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that do what a call of the same function did just before at another place.
    RepeatedElsewhere {
        /// The function.
        function: String,
        /// Calls from here.
        calls: u64,
        /// Share of them that read and get what the other place read and got.
        share: Estimate,
        /// Function of the other place.
        caller: Option<String>,
        /// Its line.
        line: Option<u32>,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Runs of a loop that load the same from the same addresses and branch alike.
    RepeatedLoops {
        /// Runs.
        runs: u64,
        /// Share of them that repeat an earlier one.
        share: Estimate,
        /// Different ones in one burst, on average.
        distinct: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Copies of one loop of the source, inlined at several places, that go over the same data.
    LoopsAgain {
        /// Number of copies of the loop.
        copies: u32,
        /// Runs of all copies.
        runs: u64,
        /// Share of them that load what another copy had just loaded.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Runs of a search loop that read the same elements and end at the same one as the run before.
    RepeatedSearches {
        /// Runs.
        searches: u64,
        /// Iterations of each.
        iterations: f64,
        /// Share of them that repeat the run before.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Searches of a function that go over what a search at another place of it had just gone over.
    SearchedAgain {
        /// Places of searches that are made again.
        places: u32,
        /// Runs of these.
        searches: u64,
        /// Share of them that repeat another's run, of the place with most time.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
        /// Share of the time.
        of_time: f64,
        /// Cycles of each.
        cycles: f64,
    },
    /// A load that mostly loads what it loaded the time before, from the same place.
    KeptLoad {
        /// The instruction.
        instruction: String,
        /// Share of its executions.
        share: Estimate,
        /// How often the load was executed.
        executions: u64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Runs of a loop that begin as the run before, and store again what it stored.
    StartsOver {
        /// Runs.
        runs: u64,
        /// Iterations of each.
        iterations: f64,
        /// Share of the iterations that the run before made as well.
        share: Estimate,
        /// Share of the stores that store what is there already.
        stored_again: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that store what is there already.
    StoredAgain {
        /// Calls.
        calls: u64,
        /// Share of what they store outside of their frames that is there already.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Sums of mostly the terms of the sum before.
    SumsAgain {
        /// Sums.
        runs: u64,
        /// Share of what is loaded that the run before loaded as well.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Runs of a loop that do what an earlier one did from its beginning to its end, and end near it.
    WalksAgain {
        /// The library's function that walks, where the site is the user's line that asks for it.
        function: Option<String>,
        /// Runs.
        runs: u64,
        /// Iterations of each.
        iterations: f64,
        /// Share of the iterations that are of such runs.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Runs of a search loop that begin as the run before: they end near where that one ended.
    SearchesStartAlike {
        /// Runs.
        searches: u64,
        /// Iterations of each.
        iterations: f64,
        /// Share of the iterations that the run before made as well.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Searches that repeat an earlier one, among few different ones.
    FewSearches {
        /// Share of the runs that repeat an earlier one.
        share: Estimate,
        /// Different ones in one burst, on average.
        distinct: f64,
    },
    /// Words that are those stored before, times a small factor plus the carry.
    LongProduct {
        /// The factor.
        factor: u64,
        /// Bits of a word.
        word_bits: u32,
        /// Share of the stores.
        share: Estimate,
        /// Digits whose power of the factor fits into a word.
        digits: u32,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that go on in memory behind the one before.
    AdvancingCalls {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
        /// Share of them.
        share: Estimate,
        /// Bytes by which they go on, on average.
        bytes: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Comparisons of a sort that go the way of the one before.
    OrderedSort {
        /// The sort.
        function: String,
        /// Its calls from elsewhere.
        sorts: u64,
        /// Executions of the branch on a comparison.
        comparisons: u64,
        /// Share of them.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Stores that are overwritten before they are read.
    DeadStores {
        /// How often the stores were executed.
        executions: u64,
        /// Share of them.
        share: Estimate,
        /// Line of the store that overwrites them.
        overwritten_line: Option<u32>,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// A buffer that a call fills and that is overwritten before it is read.
    OverwrittenBuffer {
        /// The function that fills it.
        function: String,
        /// Bytes of one call, on average.
        bytes: f64,
        /// Share of the bytes.
        share: Estimate,
        /// Line of what overwrites most of it.
        overwritten_line: Option<u32>,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Clears of the same memory each time, of which the program loads a part.
    UnreadClears {
        /// The function that clears.
        function: String,
        /// Calls of it here.
        calls: u64,
        /// Bytes of one call, on average.
        bytes: f64,
        /// Bytes that all loads of the program bring from there.
        loaded_bytes: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Time that filling the buffer takes.
    FillTime {
        /// Share of all time.
        share: f64,
    },
    /// Bytes that had been copied to where they are copied from.
    RepeatedCopies {
        /// Share of the bytes copied here.
        share: Estimate,
        /// Bytes of one copy, on average.
        bytes: f64,
        /// Function that copied them before.
        previous_function: Option<String>,
        /// Line that copied them before.
        previous_line: Option<u32>,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Copies of what was copied before from the same place and has not changed, to memory that holds one
    /// after the other.
    CopiedAgain {
        /// Share of the bytes copied here of which that is so.
        share: Estimate,
        /// Bytes of one copy, on average.
        bytes: f64,
        /// Loads of each copied byte before the next copy, on average.
        reads: f64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Time in all copies of one chain.
    CopyChainTime {
        /// Share of all time.
        share: f64,
        /// Places that copy.
        places: usize,
        /// Part of the bytes that had been copied before.
        again: f64,
        /// Share of all time at what reads the copy first, and waits for its stores.
        readers: f64,
    },
    /// A value that an instruction loads nearly always.
    KnownValue {
        /// The instruction.
        instruction: String,
        /// The value, in words.
        value: String,
        /// Share of the executions.
        share: Estimate,
        /// How often the instruction was executed.
        executions: u64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// An argument that a call has nearly always.
    KnownArgument {
        /// The function.
        function: String,
        /// The value, in words.
        value: String,
        /// Share of the calls.
        share: Estimate,
        /// Calls.
        calls: u64,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Time of what the value makes needless.
    NeedlessTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each execution.
        cycles: f64,
    },
    /// Branches that go one way and test what does not change, or a counter against it.
    InvariantChecks {
        /// How many there are.
        checks: usize,
        /// Executions of all.
        executions: u64,
        /// Share of them that go the rarer way.
        rare: f64,
        /// Bursts that saw the addresses of what they load; 0 where all is in registers.
        bursts: u32,
    },
    /// Instructions that the checks consist of.
    CheckInstructions {
        /// Of an iteration or a call.
        checks: f64,
        /// All of it.
        all: f64,
    },
    /// Parts of a function's result that its caller does not read.
    UnreadFields {
        /// The function that makes the result.
        function: String,
        /// Stores of each call to parts that are not read.
        stores: u32,
        /// All stores of each call to the result.
        of: u32,
        /// Share of the former that are overwritten unread.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Results that are stored and overwritten unread, unless a later test keeps them.
    DiscardedResults {
        /// How often the results were stored.
        executions: u64,
        /// Share of them that nothing reads.
        share: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that make something in memory that they allocate, which is given back unread.
    UnreadResults {
        /// The function.
        function: String,
        /// Calls from here.
        calls: u64,
        /// Share of the results that nobody reads.
        share: Estimate,
        /// Whether those are handed on to another function, which does not read them either.
        handed_on: bool,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// Calls that change nothing, and whose result only one way of a test behind them reads.
    UnaskedResults {
        /// The function, if it is always the same.
        function: Option<String>,
        /// Calls from here.
        calls: u64,
        /// Share of them whose result nobody reads.
        share: Estimate,
        /// Share of all instructions that are executed in those, with what they call.
        work: Estimate,
        /// Number of bursts that it rests on.
        bursts: u32,
    },
    /// A test that only a call that changes nothing answers, with cheap tests behind it.
    ExpensiveTest {
        /// What is called.
        function: String,
        /// Tests.
        tests: u64,
        /// Those after which the cheap ones are made.
        passed: u64,
        /// Share of all time.
        share: f64,
        /// Cycles of one.
        cycles: f64,
    },
    /// The test that discards them.
    DiscardingTest {
        /// How often the test was executed.
        executions: u64,
        /// Share of them that discard.
        share: f64,
        /// Line of the test.
        line: Option<u32>,
    },
    /// Fields of one object that are used together.
    FieldsApart {
        /// Fields.
        fields: usize,
        /// Their bytes.
        bytes: u64,
        /// Cache lines that they lie in, on average.
        lines: f64,
        /// Cache lines that they would need side by side.
        packed: f64,
        /// Bytes from the first to the end of the last.
        span: u64,
    },
    /// Bytes used of the lines that these instructions touch first.
    UsedOfLines {
        /// Share of the bytes.
        share: Estimate,
        /// Lines in bursts.
        lines: u64,
    },
}

impl ObservedFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::FillTime { .. } | Self::CopyChainTime { .. } | Self::NeedlessTime { .. } => {
                EvidenceSource::Measured
            }
            Self::CheckInstructions { .. }
            | Self::ExpensiveTest { .. }
            | Self::DiscardingTest { .. }
            | Self::FieldsApart { .. } => EvidenceSource::Counted,
            _ => EvidenceSource::Observed,
        }
    }
}
