//! What to change, and how to check a cause: as plain data. Their wording is `genba-report`'s.

use serde::{Deserialize, Serialize};

use crate::ConversionKind;

/// The language of the source at a site, by its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// C.
    C,
    /// C++, also where the file's name does not tell.
    Cpp,
    /// Rust.
    Rust,
}

impl Language {
    /// The language of a source file.
    #[must_use]
    pub fn of_file(file: Option<&str>) -> Self {
        match file {
            Some(file) if file.ends_with(".rs") => Self::Rust,
            Some(file) if file.ends_with(".c") => Self::C,
            _ => Self::Cpp,
        }
    }
}

/// The change that removes a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fix {
    /// Take quotient and remainder from one division.
    OneDivision,
    /// Multiply, and test for overflow.
    TestOverflow,
    /// Replace divisions by an invariant divisor.
    Reciprocal,
    /// Use several accumulators.
    Accumulators(Reduction),
    /// Keep elements in contiguous memory.
    ContiguousElements,
    /// Traverse memory in the order of its addresses.
    TraverseInOrder,
    /// Make what is looked up smaller, or prefetch it.
    SmallerData,
    /// Let the compiler vectorise.
    Vectorise {
        /// Whether gcc was asked for less than `-O3`.
        raise_level: bool,
        /// Whether the loop loads the same places in each iteration.
        hoist_loads: bool,
    },
    /// Store as many bytes as are loaded.
    WiderStore,
    /// Copy less.
    CopyLess,
    /// Do less work: no cheaper code is known for the same work.
    LessWork {
        /// Whether the work is divisions.
        divisions: bool,
    },
    /// Build with optimisation.
    Optimise,
    /// Let the compiler inline a function of another unit.
    Inline {
        /// The function.
        function: String,
    },
    /// Hide a symbol that only its own module uses.
    HideSymbol {
        /// The function.
        function: String,
    },
    /// Define a function of another module where it can be inlined.
    DefineInHeader {
        /// The function.
        function: String,
    },
    /// Take characters from a stream that is locked once, or from a buffer.
    UnlockStream {
        /// The function of the C library that handles one character.
        function: String,
    },
    /// Round by an instruction in place of a call.
    RoundInline {
        /// The function of the mathematical library.
        function: String,
    },
    /// Test for the dominant target of an indirect call.
    TestTarget {
        /// The target.
        function: String,
    },
    /// Use a sort that is compiled for the element's type.
    SpecialisedSort,
    /// Test whether elements are in order before they are sorted, or remember that they are.
    TestOrder,
    /// Use a thread-local variable.
    ThreadLocalVariable,
    /// Find the end of a run, then copy it at once.
    CopyRuns,
    /// Turn the order of several bytes round at once.
    TurnRoundWords,
    /// Take several digits of a long number with one pass.
    SeveralDigits {
        /// What it is divided by now.
        divisor: u64,
        /// Digits whose power of it fits into a word.
        digits: u32,
    },
    /// Take two digits of a number with each division.
    PairsOfDigits {
        /// What it is divided by now.
        base: u64,
    },
    /// Take several bits with one load, or look the next bits up in a table.
    SeveralBitsAtOnce,
    /// Count the bits of a number with an instruction.
    CountBits {
        /// Whether the place of the highest is counted; else those that are set.
        highest: bool,
    },
    /// Multiply a long number for several digits at once.
    SeveralDigitsAtOnce {
        /// What it is multiplied by now.
        factor: u64,
        /// Digits whose power of it fits into a word.
        digits: u32,
    },
    /// Divide by instructions, not bit by bit.
    DivideAtOnce,
    /// Look a key up in a table by its bits, instead of a search by halves.
    TableByKey,
    /// Count trailing zeros with an instruction and shift once.
    CountTrailingZeros,
    /// Count leading zeros with an instruction and shift once.
    CountLeadingZeros,
    /// Hand on a run by one call, not piece by piece.
    HandOnRuns,
    /// Make room for a run once, and write it through a local pointer.
    ReserveOnce,
    /// Pass bytes that nothing is to be done about by a loop of their own.
    ScanAhead,
    /// Compare several bytes at a time.
    WideCompare,
    /// Search with the library.
    LibrarySearch,
    /// Call functions once before the loop.
    HoistCalls {
        /// The functions.
        functions: Vec<String>,
    },
    /// Keep what a script searches in a set or dict.
    SetOfScript,
    /// Look elements up by hash.
    HashLookup {
        /// Whether elements are compared by a call.
        strings: bool,
    },
    /// Index the elements that a search can match.
    FindDirectly {
        /// Whether the search is for the minimum or maximum.
        best: bool,
    },
    /// Spread the keys of a hash table over its slots.
    SpreadKeys,
    /// Remember what a scan found, so that the next one does not begin anew.
    ScanOnce,
    /// Check a text as a whole, or not at all where it is known to be one.
    CheckTextOnce,
    /// Test many bytes at a time for the class that a table names.
    WideClasses,
    /// Search for a word with vectors.
    SearchWord,
    /// Search once, and keep the place that was found.
    SearchOnce,
    /// Keep how far a loop came with what it made, and go on from there.
    GoOnFromThere,
    /// Add to a sum what enters a window, and subtract what leaves it.
    SlideSum,
    /// Keep a sum, and change it by the terms that change.
    UpdateSum,
    /// Remember the end of a string.
    RememberEnd,
    /// Keep where a walk along a list ended.
    RememberPlace,
    /// Leave out walks along a list from which nothing comes but where they end.
    SkipWalk,
    /// Do again only what has changed since the last pass.
    OnlyWhatChanged,
    /// Go over the few that decide what changes, instead of looking at every element.
    GoOverFewer,
    /// Walk a tree once for all that is looked for in it.
    WalkOnceForAll,
    /// Avoid moving the elements of an array.
    AvoidShifts,
    /// Use plain operations instead of atomic ones.
    PlainOperations,
    /// Wrap a counter around by a comparison.
    WrapByComparison,
    /// Take a lock once for many elements.
    LockOnce,
    /// Decide without a branch.
    Branchless,
    /// Sort or select with a partition that does not branch by what it compares.
    PartitionWithoutBranches,
    /// Make fewer system calls.
    FewerSystemCalls {
        /// Name of the system call.
        name: String,
        /// Language of the site.
        language: Language,
    },
    /// Give each thread a cache line of its own.
    SeparateCacheLines,
    /// Keep memory instead of returning it.
    KeepMemory,
    /// Keep a mapping of a file or of memory instead of making another.
    KeepMapping,
    /// Give each thread data of its own.
    PerThreadData,
    /// Reuse allocations.
    ReuseAllocations(Language),
    /// Grow buffers by a factor.
    GrowByFactor(Language),
    /// Convert directly, or keep the result.
    ConvertDirectly(ConversionKind),
    /// Move a rare path into a function of its own.
    SplitColdPath {
        /// The function that has it.
        function: String,
    },
    /// Test for the common case first.
    CommonCaseFirst {
        /// Whether the tests compare strings by calls.
        strings: bool,
    },
    /// Rule out by one test what a search hardly ever finds.
    RuleOutFirst,
    /// Compare a part of two texts in front of the call that compares all of them.
    CompareFirstLetter,
    /// Skip the bytes that keep a state machine in its state.
    SkipKeptState,
    /// Keep the compiler from vectorising a short loop.
    PlainShortLoop,
    /// Copy or fill a fixed number of bytes instead of calling a function for a few.
    FixedSizeInline {
        /// Whether they are filled with one value.
        fill: bool,
    },
    /// Keep the result of a computation instead of computing it again.
    KeepResult {
        /// The function.
        function: String,
    },
    /// Keep what a function makes instead of making the same again.
    KeepMade {
        /// The function.
        function: String,
    },
    /// Memoise the calls of a recursive function.
    MemoiseRecursion {
        /// The function that calls itself.
        function: String,
    },
    /// Look a function of one byte up in a table of its 256 results.
    TableOfBytes {
        /// The function.
        function: String,
    },
    /// Read a file once and keep what follows from it, instead of reading it again.
    ReadFileOnce {
        /// The function that is called for each reading.
        function: String,
    },
    /// Ask about a file once and keep the answer.
    AskFileOnce,
    /// Try what the last search found first, or keep what was found.
    RememberFound {
        /// Whether few different searches come in turn.
        few: bool,
    },
    /// Do not write what is overwritten.
    DropDeadStores {
        /// Whether a whole buffer is filled by a call.
        buffer: bool,
    },
    /// Clear what was used, not all of a buffer that is cleared again.
    ClearUsedPart,
    /// Copy once, from the first place to the last.
    CopyOnce,
    /// Use the original instead of copying it each time.
    PassByReference,
    /// Change a structure where it is instead of copying all of it for each change.
    ChangeInPlace,
    /// Test for a value before the work that it makes needless.
    TestForValue {
        /// The kind of value.
        value: KnownValueKind,
    },
    /// Test once for many iterations.
    CheckOnce,
    /// Test before the work whose result the test discards.
    TestBeforeWork,
    /// Make only the fields of a result that are read.
    MakeOnlyWhatIsRead,
    /// Make the cheap tests that mostly say no first.
    CheapTestFirst,
    /// Place fields that are used together side by side.
    GroupFields,
    /// Install debug symbols.
    InstallSymbols,
}

/// What a loop accumulates along its latency chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reduction {
    /// Sums of floating-point numbers.
    FloatSum,
    /// Products of floating-point numbers.
    FloatProduct,
    /// Minima or maxima of floating-point numbers.
    FloatExtreme,
    /// Multiply and add of integers: a polynomial.
    Polynomial,
    /// `crc32` instructions.
    Crc32,
    /// A checksum by table.
    Table,
    /// A hash that multiplies, or shifts and adds, and combines by exclusive or.
    Mixing,
    /// Sums of which the remainder by a constant is taken at each step.
    Remainder,
}

/// The value that an operand nearly always has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KnownValueKind {
    /// Zero: the product is zero, and adds nothing.
    ZeroFactor,
    /// One or another divisor that needs no division.
    Divisor,
    /// A small whole number, to which something is raised.
    Exponent,
    /// Any value, of an argument of a function whose result follows from it.
    Argument,
}

/// How to check a cause, or the fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confirmation {
    /// Make the change, and compare both programs.
    Compare,
    /// Look at the annotated loop.
    Annotate,
    /// Read the compiler's remarks.
    VectorisationRemarks,
    /// Compare with a build without interposition of symbols.
    NoInterposition,
    /// Compare with a build with link-time optimisation.
    LinkTimeOptimisation,
    /// Compare with an optimised build.
    OptimisedBuild,
    /// Count branch mispredictions, or run on sorted input.
    Mispredictions {
        /// Whether they are counted already.
        counted: bool,
    },
    /// Trace a system call.
    TraceSystemCalls {
        /// Name of the system call.
        name: String,
    },
    /// Keep the allocator from returning memory.
    KeepMemory,
    /// Run with more and fewer threads.
    ThreadSweep,
    /// Run with another allocator.
    OtherAllocator,
    /// Log the sizes of copies, or skip one.
    CopySizes,
    /// Log the sizes that a growing buffer asks for.
    GrowthSizes,
    /// Sweep over the size of the input.
    InputSweep,
    /// See whether a file is stripped.
    Stripped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_follows_the_ending_of_the_file() {
        assert_eq!(Language::of_file(Some("src/main.rs")), Language::Rust);
        assert_eq!(Language::of_file(Some("bignum.c")), Language::C);
        assert_eq!(Language::of_file(Some("a.cc")), Language::Cpp);
        assert_eq!(Language::of_file(None), Language::Cpp);
    }
}
