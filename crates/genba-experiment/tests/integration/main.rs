//! Experiments on runs that never were, with seeds that are fixed.

mod bisect;
mod driver;
mod exclusions;
mod reports;
mod support;
mod sweep;
