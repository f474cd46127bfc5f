//! Facts about work that grows faster than the input.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about work for each item that grows with the number of items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QuadraticFact {
    /// Linear searches from the first element.
    LinearSearches {
        /// Searches.
        searches: u64,
        /// Mean number of elements that one compares.
        elements: f64,
        /// The function that compares, where one is called.
        compared_by: Option<String>,
    },
    /// Linear searches from the first element for one that meets a predicate.
    PredicateSearches {
        /// Searches.
        searches: u64,
        /// Mean number of elements that one tests.
        elements: f64,
        /// Whether each searches for the minimum or maximum.
        best: bool,
    },
    /// Lists followed link by link.
    ListWalks {
        /// Walks.
        walks: u64,
        /// Mean number of links that one follows.
        elements: f64,
        /// Whether nothing comes of them but where they end, whatever they test on the way.
        #[serde(default)]
        idle: bool,
    },
    /// Passes over all elements of a table that store what is there already.
    IdlePasses {
        /// Passes.
        passes: u64,
        /// Mean number of elements that one goes over.
        elements: f64,
    },
    /// Passes that look each element up elsewhere, and do something about hardly any.
    RareChanges {
        /// Elements for which the loop stores or calls, at most.
        changed: u64,
    },
    /// Time in these passes.
    PassTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each pass.
        cycles: f64,
    },
    /// What walks and their callees store outside of their frames is there already.
    WalksStoreAgain,
    /// Walks of a whole tree by a function that calls itself.
    RecursiveWalks {
        /// Walks: calls from outside.
        walks: u64,
        /// Mean number of elements that one visits: calls by itself.
        elements: f64,
    },
    /// Look-ups in a hash table that go from slot to slot.
    Probes {
        /// Look-ups.
        look_ups: u64,
        /// Mean number of slots that one reads.
        slots: f64,
    },
    /// Time in these searches.
    SearchTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each search.
        cycles: f64,
    },
    /// What a look-up in a hash table takes instead.
    HashLookup,
    /// Scans of memory for where to stop.
    Scans {
        /// Scans.
        scans: u64,
        /// Mean bytes of one.
        bytes: f64,
    },
    /// These scans together read more than there is.
    ScannedAgain {
        /// Bytes read by all of them.
        bytes: f64,
        /// Size of the files that the command line names; of small or unnamed ones, what the program read.
        input_bytes: u64,
        /// Peak memory of the program.
        memory_bytes: f64,
    },
    /// Sums over a window, added up anew for each of its places.
    WindowSums {
        /// Places.
        places: u64,
        /// Elements of the window on average.
        elements: f64,
    },
    /// A function of a container moves all elements behind a position.
    ElementMoves {
        /// The function.
        function: String,
        /// How many times.
        times: u64,
    },
    /// An array is moved onto itself, shifted.
    ArrayShift {
        /// The function that moves.
        function: String,
        /// How many times.
        times: u64,
        /// Bytes of the shift; `None` where it varies.
        bytes: Option<u64>,
        /// Whether an element is removed; else one is inserted.
        removed: bool,
    },
    /// Time in these moves.
    MoveTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each move.
        cycles: f64,
    },
    /// Strings appended to by a function that looks for their end first.
    Appends {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
    },
    /// Time in these appends.
    AppendTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each call.
        cycles: f64,
    },
}

impl QuadraticFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::SearchTime { .. }
            | Self::PassTime { .. }
            | Self::MoveTime { .. }
            | Self::AppendTime { .. } => EvidenceSource::Measured,
            Self::HashLookup => EvidenceSource::Model,
            Self::WalksStoreAgain => EvidenceSource::Observed,
            _ => EvidenceSource::Counted,
        }
    }
}
