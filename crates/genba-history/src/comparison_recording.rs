//! From the report of a comparison to a recording.

use std::collections::BTreeMap;

use genba_model::{ComparisonReport, Variant, VariantMetric};

use crate::{Build, Measurement, Recording, Revision, Role};

/// What a report does not say.
#[derive(Clone, Debug, Default)]
pub struct RecordingContext {
    /// Name of the project.
    pub project: String,
    /// The commit that was measured.
    pub revision: Option<Revision>,
    /// What of the environment affects speed.
    pub environment: BTreeMap<String, String>,
    /// Command that built the program.
    pub recipe: Option<String>,
    /// Name of the variant that is the anchor, and its commit if known.
    pub anchor: Option<(String, Option<Revision>)>,
    /// Build ids of executables by the name of the variant.
    pub build_ids: BTreeMap<String, String>,
    /// What variants are, by name, where they differ in more than their command.
    pub origins: BTreeMap<String, VariantOrigin>,
    /// The recording's key, where the report alone does not identify it.
    pub key: Option<String>,
}

/// What a variant is.
#[derive(Clone, Debug, Default)]
pub struct VariantOrigin {
    /// Its benchmark, where the report's title or the variant's name is not that.
    pub benchmark: Option<String>,
    /// What makes it a series of its own: build and options.
    pub series: String,
    /// Its commit.
    pub revision: Option<Revision>,
    /// Command that built it.
    pub recipe: Option<String>,
}

/// The recording of one or several reports, each with the title that it has in a suite. Metrics
/// that no run yielded are left out.
#[must_use]
pub fn recording(
    reports: &[(Option<String>, ComparisonReport)],
    context: &RecordingContext,
) -> Option<Recording> {
    let (_, first) = reports.first()?;
    let mut measurements = Vec::new();
    for (title, report) in reports {
        let anchor = (context.anchor.as_ref())
            .and_then(|(name, _)| report.variants.iter().find(|one| one.name == *name));
        let measured = (report.variants.iter())
            .filter(|one| one.excluded.is_none() && Some(&one.name) != anchor.map(|one| &one.name));
        for variant in measured {
            let origin = context.origins.get(&variant.name);
            for (metric, values) in &variant.metrics {
                let one = |role, of: &Variant, values: &VariantMetric, revision| Measurement {
                    benchmark: (origin.and_then(|origin| origin.benchmark.clone()))
                        .or_else(|| title.clone())
                        .unwrap_or_else(|| variant.name.clone()),
                    variant: match (origin, title) {
                        (Some(origin), _) => origin.series.clone(),
                        (None, Some(_)) => variant.name.clone(),
                        (None, None) => String::new(),
                    },
                    metric: metric.clone(),
                    unit: values.unit.clone(),
                    direction: values.direction,
                    role,
                    revision,
                    build: Build {
                        build_id: context.build_ids.get(&of.name).cloned(),
                        recipe: match origin {
                            Some(origin) => origin.recipe.clone(),
                            None => context.recipe.clone(),
                        },
                        command: of.command.clone(),
                    },
                    values: values.values.clone(),
                };
                if values.values.iter().all(Option::is_none) {
                    continue;
                }
                let revision = match origin {
                    Some(origin) => origin.revision.clone(),
                    None => context.revision.clone(),
                };
                measurements.push(one(Role::Measured, variant, values, revision));
                if let Some(anchor) = anchor
                    && let Some(values) = anchor.metrics.get(metric)
                {
                    let revision = context.anchor.as_ref().and_then(|one| one.1.clone());
                    measurements.push(one(Role::Anchor, anchor, values, revision));
                }
            }
        }
    }
    Some(Recording {
        key: (context.key.clone())
            .unwrap_or_else(|| format!("{} {} {:016x}", first.host.id, first.started, first.seed)),
        project: context.project.clone(),
        started: first.started.clone(),
        tool: format!("genba {}", first.genba),
        host: first.host.clone(),
        environment: context.environment.clone(),
        measurements,
    })
}
