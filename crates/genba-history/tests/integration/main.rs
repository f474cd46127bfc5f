//! The store of measurements under many writers, and in both databases.

mod killed_writers;
mod store;
mod support;
