//! Least shares, counts and cycles for findings that rest on what bursts recorded, and what their
//! fixes leave.

use super::gains::SavedFractions;

/// Bursts from which on shares are used: intervals over fewer say nothing. Chosen.
pub(crate) const MIN_BURSTS: u32 = 5;

/// Executions in bursts for a share to be used. Chosen.
pub(crate) const MIN_SEEN: u64 = 100;

/// Share of a sum's terms that the sum before has as well, lower end of the interval. Chosen: each term that changes is
/// subtracted and added, so that with half of them nothing is gained.
pub(crate) const MIN_TERMS_AGAIN: f64 = 0.75;

/// Work for each term of a sum that changes, in terms: the old one is subtracted, the new one added.
pub(crate) const UPDATES_PER_CHANGED_TERM: f64 = 2.0;

/// Share of calls or searches that repeat an earlier one, lower end of the interval. Chosen: below
/// it a comparison that fails is paid about as often as one that succeeds.
pub(crate) const MIN_REPEATED: f64 = 0.5;

/// The same of calls among few different ones: a kept result must nearly always serve. Chosen.
pub(crate) const MIN_REPEATED_AMONG_FEW: f64 = 0.8;

/// The same of calls about one object each. Chosen: bursts are short, so that more repeat than is seen (of two that
/// a sort compares, one was in the comparison before); the result is kept beside what is looked at anyway.
pub(crate) const MIN_REPEATED_OF_OBJECT: f64 = 0.4;

/// Inputs of a call that came again in a later burst, from which on the number of different ones is estimated: to a
/// quarter. Chosen.
pub(crate) const MIN_RECAPTURED: u64 = 16;

/// Share of a recursive function's calls of itself that repeat one, lower end of the interval, from which on results are
/// worth keeping. Chosen: half of the calls go, and a burst ends before all have come again.
pub(crate) const MIN_REPEATED_IN_RECURSION: f64 = 0.6;

/// Calls for each different input from which on each object can keep its result, where that was estimated. Chosen.
pub(crate) const MIN_CALLS_PER_INPUT: f64 = 10.0;

/// Share of the calls of one place whose result is that of the call before: above it, equal results of two places
/// say little. Chosen.
pub(crate) const MAX_EQUAL_BY_CHANCE: f64 = 0.5;

/// Share of a loop's iterations that the run before made as well, lower end of the interval, where it makes again
/// what is there. Chosen: of the elements of a record in turn, each from the first one on, two thirds for three.
pub(crate) const MIN_STARTED_OVER: f64 = 0.6;

/// Share of a walk's stores that store what is there already, lower end of the interval, from which nothing comes of it,
/// if it was nearly all that were seen: all of them in ten bursts. Chosen.
pub(crate) const MIN_WITHOUT_EFFECT: f64 = 0.7;

/// Elements of a pass ÷ passes, where a table grows by an element for each: a half, and something else as it is there
/// before, or as several come at once. Chosen: a factor of four both ways.
pub(crate) const ELEMENTS_OF_IDLE_PASSES: std::ops::RangeInclusive<f64> = 0.125..=2.0;

/// Share of the stores of passes over a whole table that may change something, up to which little comes of the passes.
/// Chosen: where a table grows it is laid out anew now and then, and all of it changes.
pub(crate) const MAX_CHANGED_BY_IDLE_PASS: f64 = 0.05;

/// Share of stores that store what is there already, lower end of the interval. Chosen: nearly all.
pub(crate) const MIN_STORED_AGAIN: f64 = 0.9;

/// Share of a search's iterations that the one before made as well, lower end of the interval. Chosen:
/// in a binary search for keys at random one iteration is alike, in a linear one half of them; what is
/// left must be little.
pub(crate) const MIN_STARTED_ALIKE: f64 = 0.7;

/// Different inputs in a burst up to which their results can be kept beside them. Chosen: one
/// screen of names, routes, columns.
pub(crate) const MAX_DISTINCT_INPUTS: f64 = 64.0;

/// Instructions of a call from which on keeping its result pays. Chosen: a comparison of arguments
/// and a load take about ten.
pub(crate) const MIN_INSTRUCTIONS_TO_KEEP_RESULT: f64 = 40.0;

/// Loads of what a call did not write itself from which on it is not a constructor, which needs hardly any. Chosen.
pub(crate) const MIN_LOADS_OF_MAKER: f64 = 32.0;

/// Instructions, but those of allocators, for each word of 8 bytes that a call makes, from which on it does not just
/// copy. Chosen: a field that is copied with all around it takes two to five.
pub(crate) const MIN_INSTRUCTIONS_PER_MADE_WORD: f64 = 8.0;

/// Share of the calls that make what an earlier one made, lower end of the interval. Chosen: library code copies by other
/// loads where a block lies elsewhere, which looks like something else.
pub(crate) const MIN_MADE_AGAIN: f64 = 0.75;

/// Part of all time, or of all instructions, up to which calls that make the same again are not all that a program does,
/// as in a benchmark. Chosen.
pub(crate) const MAX_PART_OF_MAKER: f64 = 0.85;

/// Cycles to find what was kept, and to hand it out or to copy it: likely, least, most. Chosen: a look-up in a table
/// and a count of references.
pub(crate) const CYCLES_OF_KEPT_OBJECT: [f64; 3] = [40.0, 5.0, 200.0];

/// Share of the calls that may change memory of others. Chosen: what is allocated or counted once.
pub(crate) const MAX_CALLS_WITH_EFFECTS: f64 = 0.02;

/// Share of a search's calls that go on behind the one before, lower end of the interval. Chosen: a
/// scan of a few finds has one that does not.
pub(crate) const MIN_ADVANCING: f64 = 0.8;

/// Share of the executions of a sort's comparisons that go the way of the one before. Chosen: elements
/// without order come to about a half, a few runs of ordered ones to nearly all.
pub(crate) const MIN_ORDERED: f64 = 0.95;

/// Lower end of its interval. Chosen.
pub(crate) const MIN_ORDERED_LOW: f64 = 0.9;

/// Part of the executions of a sort's most frequent branch below which a branch does not matter.
/// Chosen.
pub(crate) const SELDOM_BRANCH: f64 = 0.05;

/// Calls of a sort by itself for each one from elsewhere from which its levels are many. Chosen.
pub(crate) const MIN_CALLS_OF_SORT: f64 = 8.0;

/// Levels of a sort that its calls do not show: likely, most. Usual sorts leave 8 to 32 elements to an
/// insertion sort, and take one half in a loop.
pub(crate) const LEVELS_WITHOUT_CALLS: [f64; 2] = [2.0, 5.0];

/// Share of all time in repeated work, copies, fills, checks. Chosen: above the smallest minimum
/// gain, since none of it goes altogether.
pub(crate) const MIN_SHARE_OF_REPEATED_WORK: f64 = 0.03;

/// Cycles to find out that a kept result serves, and to load it: likely, least, most. Chosen: a load
/// and a comparison, up to a lookup in a small table.
pub(crate) const CYCLES_OF_KEPT_RESULT: [f64; 3] = [6.0, 1.0, 40.0];

/// Share of a loop's iterations that are of runs which end near one of the last few, lower end of the interval. Chosen:
/// of 200,000 simulated runs with lengths drawn evenly from 4 to 400, 46 % of the iterations are of such runs.
pub(crate) const MIN_ENDS_NEAR: f64 = 0.7;

/// The same where a key decides where a run ends, which keys that follow no order do, too. Chosen: twice what such keys give.
pub(crate) const MIN_ENDS_NEAR_BY_KEYS: f64 = 0.9;

/// Cycles to test what the last search found: likely, least, most. Chosen likewise.
pub(crate) const CYCLES_OF_LAST_FOUND: [f64; 3] = [5.0, 1.0, 20.0];

/// Iterations of a search from which on what the last one found is cheaper to test. Chosen.
pub(crate) const MIN_ITERATIONS_OF_SEARCH: f64 = 3.0;

/// Cycles of a search likewise. Chosen.
pub(crate) const MIN_CYCLES_OF_SEARCH: f64 = 15.0;

/// Part of the searches by equality that must end at a match: where nothing is found, nothing can be
/// compared with the next key. Chosen.
pub(crate) const MIN_MATCHES_OF_SEARCH: f64 = 0.8;

/// Calls of a function that are followed for its time with all that it calls. Chosen.
pub(crate) const MAX_DEPTH_OF_CALLEES: u32 = 4;

/// Share of stores or bytes that are overwritten unread. Chosen: what is read now and then must be
/// written.
pub(crate) const MIN_OVERWRITTEN: f64 = 0.95;

/// Lower end of its interval, which has room for what came of bytes after the burst's end. Chosen: of
/// large buffers that is much.
pub(crate) const MIN_OVERWRITTEN_LOW: f64 = 0.5;

/// Fraction of the time of a fill or a store that goes: likely, least, most. Chosen: what overwrites it
/// then brings the lines into the cache.
pub(crate) const DEAD_STORES_SAVED: SavedFractions = (0.85, 0.4, 1.0);

/// Part of the bytes that are cleared which no load reads, at least, from which clearing is for nothing. Chosen.
pub(crate) const MIN_UNREAD: f64 = 0.5;

/// Share of a copy's bytes that had been copied before, lower end of the interval: one more than
/// needed, by definition.
pub(crate) const MIN_COPIED_BEFORE: f64 = 0.5;

/// Bytes of a copy from which on its bytes are what it costs. Chosen: below a hundred bytes `memcpy` takes the
/// same few cycles, and a view of the bytes is as long.
pub(crate) const MIN_BYTES_OF_REPEATED_COPY: f64 = 128.0;

/// Bytes of copies whose size was not seen. Chosen: a short text.
pub(crate) const BYTES_OF_UNSEEN_COPY: f64 = 32.0;

/// Fraction of the time of bytes that were copied before which goes. Chosen: the last copy may have to
/// bring them from further away.
pub(crate) const REPEATED_COPIES_SAVED: SavedFractions = (0.85, 0.3, 1.0);

/// Fraction of the time of copies to new blocks, of which the next change copies all again, that goes where the block
/// is changed in place. Chosen: what a change writes is small beside the block, but the first copy may be needed.
pub(crate) const COPIES_FOR_CHANGES_SAVED: SavedFractions = (0.95, 0.4, 1.0);

/// Fraction of the time of loops that go over as many elements as often as copies are made that goes with the copies.
/// Chosen: they may drop the old copy, or use the new one.
pub(crate) const LOOPS_BESIDE_COPIES_SAVED: SavedFractions = (0.5, 0.0, 1.0);

/// Copies that are written to while they are used, at most: what needs its own copy writes to each.
/// Chosen: stack slots that are used for something else as well.
pub(crate) const MAX_COPIES_WRITTEN: f64 = 0.05;

/// Loads of each copied byte, at most, for the copy not to pay by being packed: from one on reading
/// takes as long as copying.
pub(crate) const MAX_READS_OF_COPY: f64 = 1.0;

/// Fraction of the time of the copies' readers that goes with the copies. Chosen: loads of what was just
/// stored wait for the stores where their widths differ, or the stores are a string instruction's.
pub(crate) const READERS_OF_COPY_SAVED: SavedFractions = (0.3, 0.0, 0.8);

/// Share of the runs of a search that compare the same elements as an earlier one, lower end of the
/// interval. Chosen: the list hardly ever changes.
pub(crate) const MIN_SAME_ELEMENTS: f64 = 0.8;

/// Share of calls with short lengths, lower end of the interval, for the function to be the wrong one.
/// Chosen.
pub(crate) const MIN_SHORT_LENGTHS: f64 = 0.8;

/// Fraction of the time of a chain's first copies that goes as well: where what was copied first stays as
/// it is, the last user may read it there. Chosen.
pub(crate) const FIRST_COPY_SAVED: SavedFractions = (0.4, 0.0, 1.0);

/// Fraction of the allocator's time that goes with the buffers in between. Chosen.
pub(crate) const BUFFERS_BETWEEN_SAVED: SavedFractions = (0.5, 0.0, 1.0);

/// Share of executions in which an operand is its usual value, lower end of the interval. Chosen: a
/// test is mispredicted in up to twice the rest, some twenty cycles each.
pub(crate) const MIN_USUAL_VALUE: f64 = 0.8;

/// The same where the value spares a whole inner loop, or a long call. Chosen.
pub(crate) const MIN_USUAL_VALUE_OF_LOOP: f64 = 0.4;

/// Cycles of a mispredicted test for a value. Chosen: 15 to 20 on recent processors (A. Fog, "The microarchitecture of Intel,
/// AMD and VIA CPUs").
pub(crate) const CYCLES_OF_MISPREDICTED_TEST: f64 = 20.0;

/// Share of a state machine's steps that keep its state, lower end of the interval. Chosen: runs of ten bytes.
pub(crate) const MIN_STAYING: f64 = 0.9;

/// Bytes for which a state machine stays in a state from which on they are worth a test of many. Chosen: a word.
pub(crate) const MIN_BYTES_IN_STATE: f64 = 8.0;

/// Cycles of what a usual value spares from which on a test for it pays. Chosen: a misprediction in one of
/// ten and the test.
pub(crate) const MIN_CYCLES_SPARED: f64 = 8.0;

/// The same of a value that stays for many executions: without mispredictions. Chosen: twice the test.
pub(crate) const MIN_CYCLES_SPARED_BY_STEADY_VALUE: f64 = 2.0;

/// Cycles that a test for the usual value costs: likely, least, most. Chosen: two instructions, a
/// misprediction now and then.
pub(crate) const CYCLES_OF_VALUE_TEST: [f64; 3] = [1.0, 0.3, 5.0];

/// Rarer outcomes of a check up to which it goes one way. Chosen.
pub(crate) const MAX_RARE_OUTCOME_OF_CHECK: f64 = 0.01;

/// Share of a check's loads that are at the same address as before. Chosen.
pub(crate) const MIN_SAME_ADDRESS: f64 = 0.9;

/// Part of a loop's executed instructions that are such checks. Chosen: below it they run beside the
/// work for nothing.
pub(crate) const MIN_PART_OF_CHECKS: f64 = 0.2;

/// Time saved ÷ the part of the instructions that are checks: likely, least, most. Chosen: without checks
/// compilers keep more in registers, and vectorise.
pub(crate) const CHECKS_SAVED: SavedFractions = (1.0, 0.4, 2.2);

/// Measured cycles ÷ modelled chain of a loop up to which the chain is all that it waits for. Chosen.
pub(crate) const MAX_CYCLES_OF_CHAIN: f64 = 1.25;

/// Share of results that nobody reads, lower end of the interval. Chosen: most of them.
pub(crate) const MIN_DISCARDED: f64 = 0.6;

/// Share of runs of a loop whose results a test behind it drops, counted. Chosen: a part that makes a difference.
pub(crate) const MIN_DROPPED: f64 = 0.3;

/// Difference between executions of what runs once for each other. Chosen.
pub(crate) const SAME_TIMES_TOLERANCE: f64 = 0.1;

/// Fraction of the discarded work that goes when the test comes first. Chosen: some of it is what the test
/// needs.
pub(crate) const DISCARDED_WORK_SAVED: SavedFractions = (0.8, 0.3, 1.0);

/// Fraction of a call's time that goes when it makes only the fields that are read. Chosen: what is read may be had
/// without the call, or need most of it.
pub(crate) const UNREAD_FIELDS_SAVED: SavedFractions = (0.5, 0.15, 0.95);
/// The same of the loop around, which waits for what is read.
pub(crate) const WAITING_FOR_FIELDS_SAVED: SavedFractions = (0.25, 0.0, 0.7);
/// Part of a function's instructions in what feeds unread fields only, from which on they matter. Chosen.
pub(crate) const MIN_WORK_FOR_UNREAD_FIELDS: f64 = 0.1;

/// Lines of an object ÷ lines that its used fields need, from which on their order matters. Chosen.
pub(crate) const MIN_LINES_OF_FIELDS: f64 = 1.7;

/// Loads of a field that miss L1d: one in so many at least. Chosen, as for other scattered loads.
pub(crate) const MIN_FIELD_MISSES: f64 = 0.05;

/// Bytes from the first to the last field of one object. Chosen: beyond it they are arrays.
pub(crate) const MAX_BYTES_OF_OBJECT: i64 = 2048;

/// Fraction of the time of the lines that are spared which goes. Chosen: misses of one object overlap.
pub(crate) const FIELD_LINES_SAVED: SavedFractions = (0.6, 0.2, 1.0);

/// Largest share of results that nobody reads: some must be read, else the program may have no reader of
/// them at all (a benchmark). Chosen.
pub(crate) const MAX_DISCARDED: f64 = 0.995;

/// Part of an instruction's accesses that go to falsely shared lines. Chosen: below it the others decide its
/// time.
pub(crate) const MIN_PART_OF_SHARED_ACCESSES: f64 = 0.1;

/// Share of a load's executions from which it brings one value. Chosen.
pub(crate) const MIN_ONE_VALUE: f64 = 0.95;

/// Lower end of its interval: ten bursts that never saw another value give 0.7. Chosen.
pub(crate) const MIN_ONE_VALUE_LOW: f64 = 0.6;

/// Cycles of a loop's run from which on keeping its result pays. Chosen: some times a look at a kept one.
pub(crate) const MIN_CYCLES_OF_REPEATED_LOOP: f64 = 25.0;

/// Fraction of the code around a search that goes with it. Chosen: what waits for the answer of a search, and
/// need not wait for one that is only tested.
pub(crate) const WAITING_FOR_SEARCH_SAVED: SavedFractions = (0.3, 0.0, 0.95);

/// Checks of a loop or function: one alone is hardly measurable. Chosen.
pub(crate) const MIN_CHECKS: usize = 2;

/// Instructions that serve one check. Chosen.
pub(crate) const MOST_INSTRUCTIONS_OF_CHECK: usize = 8;

/// Least residual fraction of a loop without its checks. Chosen: vectors of eight elements.
pub(crate) const MIN_RESIDUAL_OF_CHECKS: f64 = 0.12;

/// Fraction of the instructions around a call that go with it: its arguments are made, its result is taken.
/// Chosen.
pub(crate) const AROUND_CALL_SAVED: SavedFractions = (0.5, 0.0, 1.0);

/// Fraction of the other work before a discarding test that goes. Chosen: what the discarded results are made
/// of is not all seen, and what the test needs stays.
pub(crate) const WORK_BEFORE_TEST_SAVED: SavedFractions = (0.5, 0.0, 0.95);

/// Fraction of the work of calls whose result nobody asks for that goes when the test comes first. Chosen: all but what
/// the test costs.
pub(crate) const UNASKED_WORK_SAVED: SavedFractions = (0.95, 0.7, 1.0);

/// Calls that name a file from which on it matters whether it is the same: fewer are a start. Chosen.
pub(crate) const MIN_FILE_CALLS: f64 = 100.0;

/// By how much the calls of a function may differ from those that open files, as a part of these, for it to be called
/// once for each. Chosen.
pub(crate) const SAME_NUMBER_OF_CALLS: f64 = 0.1;

/// Executions of a store in an iteration up to which it may be anything. Chosen.
pub(crate) const MAX_UNSEEN_STORES_OF_RESTART: f64 = 0.02;

/// Part of the time of the loop around up to which what is repeated is one of the things that it does. Chosen.
pub(crate) const MAX_PART_OF_LOOP_AROUND: f64 = 0.7;

/// Share of a load's executions that bring what the one before brought, lower end of the interval: the
/// rest is mispredicted at most. Chosen.
pub(crate) const MIN_SHARE_OF_STEADY_VALUE: f64 = 0.9;

/// Difference of shares up to which zeros that stay for long come and go together. Chosen.
pub(crate) const MAX_DIFFERENCE_OF_SAME_SHARE: f64 = 0.01;

/// Part of a page that reads of a page get on average, the last of each file among them. Chosen.
pub(crate) const MIN_PART_OF_FULL_BUFFER: f64 = 0.95;

/// Share of the calls that ask for the same number of bytes. Chosen.
pub(crate) const MIN_SHARE_OF_SAME_SIZE: f64 = 0.9;

/// Files opened for each call of `close` or `fstat` that belongs to them. Chosen.
pub(crate) const MIN_PART_OPENED: f64 = 0.5;

/// Share of the calls that surely have their name at one place. Chosen: of few calls that were seen nothing is sure.
pub(crate) const MIN_SHARE_OF_SAME_NAME: f64 = 0.5;

/// Part of all instructions up to which a repeated call is one of the things that a program does. Chosen.
pub(crate) const MAX_PART_OF_REPEATED_CALL: f64 = 0.7;
