//! The store of cases, from outside.

mod comparison;
mod experiment;
mod fixture;
mod store;
