//! All constants of detection and rating, by what they are about.
//!
//! Each says where its value comes from. "Chosen" means: neither a publication nor a measurement is
//! behind it; `make corpus` shows what the values together are worth.

pub(crate) mod calibration;
pub(crate) mod counts;
pub(crate) mod gains;
pub(crate) mod model_fit;
pub(crate) mod observations;
pub(crate) mod processor;
pub(crate) mod registers;
pub(crate) mod search_limits;
pub(crate) mod time_shares;
