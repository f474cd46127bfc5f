//! Redirection of the output streams for metrics, output checks and messages. Pure.

use genba_model::Metric;
use genba_run::{CommandSpec, Output};

use crate::measurement::Measurement;
use crate::{ExperimentError, Plan, VariantPlan};

/// Output captured for metrics at most, bytes.
const METRIC_OUTPUT_BYTES: usize = 4 << 20;
/// Error output captured for messages at most, bytes.
const ERROR_OUTPUT_BYTES: usize = 64 << 10;

/// The commands of all variants with the streams that metrics, output check and messages need.
pub(crate) fn specs(plan: &Plan) -> Result<Vec<CommandSpec>, ExperimentError> {
    let reads_output = plan.metrics.iter().any(|metric| metric.reads_output());
    let reads_errors = plan.metrics.iter().any(|metric| metric.reads_errors());
    let spec_of = |variant: &VariantPlan| {
        let mut spec = variant.spec.clone();
        let needs_output = reads_output || plan.check_output;
        if needs_output && matches!(spec.stdout, Output::Inherit | Output::File(_)) {
            return Err(ExperimentError::Plan {
                what: format!(
                    "the output of {} is redirected, so it can neither be checked nor contain metrics; \
                     omit --output",
                    variant.name
                ),
            });
        }
        if reads_output {
            spec.stdout = Output::Capture {
                limit: METRIC_OUTPUT_BYTES,
            };
        } else if plan.check_output {
            spec.stdout = Output::Count;
        }
        if reads_errors {
            spec.stderr = Output::Capture {
                limit: METRIC_OUTPUT_BYTES,
            };
        } else {
            capture_errors(&mut spec);
        }
        Ok(spec)
    };
    plan.variants.iter().map(spec_of).collect()
}

/// Wall time below which runs are made without a pipe, seconds: reading a pipe to its end takes
/// longer than a short run, so that fewer runs would fit into the time.
const SHORT_RUN_SECONDS: f64 = 0.01;

/// After the first block, if there are short runs: sends the error output of all variants to
/// `/dev/null`, unless the plan redirects it or a metric is read from it. Returns whether it did.
pub(crate) fn discard_stderr_of_short_runs(
    plan: &Plan,
    measurement: &Measurement,
    specs: &mut [CommandSpec],
) -> bool {
    let walls = (measurement.find(Metric::Wall.name())).map(|series| {
        measurement
            .variants
            .iter()
            .flat_map(move |data| data.finite(series))
    });
    let shortest = walls.map_or(f64::INFINITY, |walls| walls.fold(f64::INFINITY, f64::min));
    if shortest >= SHORT_RUN_SECONDS || plan.metrics.iter().any(|metric| metric.reads_errors()) {
        return false;
    }
    for (spec, variant) in specs.iter_mut().zip(&plan.variants) {
        spec.stderr.clone_from(&variant.spec.stderr);
    }
    true
}

/// Captures the beginning of the error output for messages.
pub(crate) fn capture_errors(spec: &mut CommandSpec) {
    if matches!(spec.stderr, Output::Null) {
        spec.stderr = Output::Capture {
            limit: ERROR_OUTPUT_BYTES,
        };
    }
}

/// A command line for display.
pub(crate) fn command_line(spec: &CommandSpec) -> String {
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
