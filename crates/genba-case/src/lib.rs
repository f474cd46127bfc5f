//! The case store.
