//! From typed diagnoses to the findings of the document: evidence, fixes, confirmations.

use genba_model::{Diagnosis, Evidence, Example, Finding};

use super::{confirmations, evidence, fix_examples, fixes};

/// The findings of these diagnoses, in their order.
#[must_use]
pub fn findings(diagnoses: &[Diagnosis]) -> Vec<Finding> {
    diagnoses.iter().map(finding).collect()
}

fn finding(one: &Diagnosis) -> Finding {
    let evidence = one.facts.iter().map(|fact| Evidence {
        text: evidence::sentence(fact),
        source: fact.source(),
    });
    Finding {
        cause: one.cause.id().to_owned(),
        site: one.site.clone(),
        share: one.share,
        executions: one.executions,
        cost_seconds: one.cost_seconds,
        cost_cycles: one.cost_cycles,
        predicted_speedup: one.predicted_speedup,
        modelled_speedup: one.modelled_speedup,
        evidence: evidence.collect(),
        fix: fixes::sentence(&one.fix),
        change: Some(one.fix.clone()),
        example: fix_examples::example(&one.fix).map(|(before, after)| Example {
            before: before.to_owned(),
            after: after.to_owned(),
        }),
        confirm: confirmations::sentence(&one.confirmation),
        proven: None,
        source: Vec::new(),
    }
}
