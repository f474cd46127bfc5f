//! Synthetic documents to render: realistic ones, and ones in which every name is an attack.

mod annotation;
pub mod bisection;
pub mod campaign;
mod case_store;
pub mod comparison;
pub mod counts;
pub mod curves;
pub mod findings;
mod growth;
pub mod history;
pub mod host;
mod hostile;
mod investigation;
mod observed_place;
mod profile;
mod source_fix;
mod stat;
pub mod try_variants;
mod waits;

use genba_model::{Estimate, Event, Precision};

pub use annotation::{annotation, counted_annotation};
pub use case_store::{calibration, cases};
pub use growth::growth;
pub use hostile::{ATTACKS, hostile};
pub use investigation::investigation;
pub use observed_place::observed_place;
pub use profile::profile;
pub use source_fix::source_fix;
pub use stat::stat;
pub use waits::{hostile_waits, off_cpu, waits};

fn share(value: f64) -> Estimate {
    let half = 1.96 * (value * (1.0 - value) / 9000.0).max(0.0).sqrt();
    Estimate {
        value,
        low: (value - half).max(0.0),
        high: (value + half).min(1.0),
    }
}

fn around(value: f64, relative: f64) -> Estimate {
    Estimate {
        value,
        low: value * (1.0 - relative),
        high: value * (1.0 + relative),
    }
}

fn event() -> Event {
    Event {
        name: "cpu-clock".into(),
        hardware: false,
        frequency_hz: 4999,
        kernel: true,
        precision: Precision::Skid,
    }
}
