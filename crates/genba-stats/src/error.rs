//! Errors of statistics: values that a method cannot use.

/// Why a statistic cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// There are fewer values than the method needs.
    #[error("{got} value(s) given where at least {needed} are needed: measure more")]
    TooFew {
        /// Values needed.
        needed: usize,
        /// Values given.
        got: usize,
    },
    /// A value is NaN or infinite.
    #[error("value {index} is {value}, which is not a measurement")]
    NotFinite {
        /// Index from 0.
        index: usize,
        /// The value that is not finite.
        value: f64,
    },
    /// A ratio needs positive values.
    #[error(
        "the value of run {} is {value}, and a ratio needs positive values: is its clock too coarse for a run this \
         short? (--metric cpu, or longer runs)", index + 1
    )]
    NotPositive {
        /// Index from 0.
        index: usize,
        /// The value that is not above zero.
        value: f64,
    },
    /// A level, share or threshold is out of its range.
    #[error("{name} is {value}, but must lie {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// Range in words.
        range: &'static str,
    },
    /// Two series that belong together differ in length.
    #[error("{left} values against {right}: pairs need equally many of both")]
    Unpaired {
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// After the baseline was subtracted nothing certain is left to divide by.
    #[error(
        "the cost after subtracting the baseline is between {low} and {high}, not distinguishable \
         from zero; measure more iterations or runs"
    )]
    NothingLeft {
        /// Lower end of what remains.
        low: f64,
        /// Upper end.
        high: f64,
    },
}
