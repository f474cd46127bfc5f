//! Pure statistics: effects, intervals, sequential verdicts.
