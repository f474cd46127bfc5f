//! Sampling and counting with perf_event, stacks, and reading perf.data.
