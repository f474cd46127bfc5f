//! Where the streams of commands go, so that metrics, checks and messages get what they need. Pure.

use genba_model::Metric;
use genba_run::{CommandSpec, Output};

use crate::measurement::Measurement;
use crate::{ExperimentError, Plan, VariantPlan};

/// Output that is kept to find metrics in, bytes.
const METRIC_OUTPUT: usize = 4 << 20;
/// Error output that is kept for messages, bytes.
const ERROR_OUTPUT: usize = 64 << 10;
/// The specs with the streams that metrics, the check and messages need.
pub(crate) fn specs(plan: &Plan) -> Result<Vec<CommandSpec>, ExperimentError> {
    let reads_output = plan.metrics.iter().any(|metric| metric.reads_output());
    let reads_errors = plan.metrics.iter().any(|metric| metric.reads_errors());
    let spec_of = |variant: &VariantPlan| {
        let mut spec = variant.spec.clone();
        let needs_output = reads_output || plan.check_output;
        if needs_output && matches!(spec.stdout, Output::Inherit | Output::File(_)) {
            return Err(ExperimentError::Plan {
                what: format!(
                    "the output of {} goes elsewhere, so that no metric can be found in it and it \
                     cannot be checked; leave --output away",
                    variant.name
                ),
            });
        }
        if reads_output {
            spec.stdout = Output::Capture {
                limit: METRIC_OUTPUT,
            };
        } else if plan.check_output {
            spec.stdout = Output::Count;
        }
        if reads_errors {
            spec.stderr = Output::Capture {
                limit: METRIC_OUTPUT,
            };
        } else {
            capture_errors(&mut spec);
        }
        Ok(spec)
    };
    plan.variants.iter().map(spec_of).collect()
}

/// Runs shorter than this (seconds) are made without a pipe: reading one to its end takes longer
/// than a short run itself, and so fewer runs would fit into the time.
const SHORT_SECONDS: f64 = 0.01;

/// After the first block: sends the error output of all variants to `/dev/null` (unless the
/// plan says where it goes, or a metric is in it) if there are short runs. Says whether it did.
pub(crate) fn hush(plan: &Plan, measurement: &Measurement, specs: &mut [CommandSpec]) -> bool {
    let walls = (measurement.find(Metric::Wall.name())).map(|series| {
        measurement
            .variants
            .iter()
            .flat_map(move |data| data.finite(series))
    });
    let shortest = walls.map_or(f64::INFINITY, |walls| walls.fold(f64::INFINITY, f64::min));
    if shortest >= SHORT_SECONDS || plan.metrics.iter().any(|metric| metric.reads_errors()) {
        return false;
    }
    for (spec, variant) in specs.iter_mut().zip(&plan.variants) {
        spec.stderr.clone_from(&variant.spec.stderr);
    }
    true
}

/// Keeps the beginning of what it says, for messages.
pub(crate) fn capture_errors(spec: &mut CommandSpec) {
    if matches!(spec.stderr, Output::Null) {
        spec.stderr = Output::Capture {
            limit: ERROR_OUTPUT,
        };
    }
}

/// A command as people read it.
pub(crate) fn line(spec: &CommandSpec) -> String {
    match &spec.shell_line {
        Some(line) => line.clone(),
        None => {
            let words: Vec<_> = (spec.argv.iter())
                .map(|word| word.to_string_lossy())
                .collect();
            words.join(" ")
        }
    }
}
