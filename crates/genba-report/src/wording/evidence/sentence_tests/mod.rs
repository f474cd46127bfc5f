//! One sentence for every fact.

use genba_model::{Estimate, Fact};

use super::sentence;

mod code;
mod data_and_system;

fn s(text: &str) -> String {
    text.to_owned()
}

fn range(low: f64, value: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

fn lines(facts: impl IntoIterator<Item = Fact>) -> String {
    let lines = facts.into_iter().map(|fact| {
        let source = format!("{:?}", fact.source()).to_lowercase();
        format!("{source:9} {}\n", sentence(&fact))
    });
    lines.collect()
}
