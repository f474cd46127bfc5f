//! Measured values: a column for each metric of each variant. Pure.

use std::collections::BTreeMap;

use genba_model::{Direction, ExitKind, Metric, RunRecord};

use crate::metrics_channel;
use crate::runner::Measured;
use crate::{Plan, direction_of};

/// Source of a series of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The launcher's account of the run.
    BuiltIn(Metric),
    /// The metric with this index in the plan, found in the output.
    Output(usize),
    /// The event with this index in the plan.
    Counter(usize),
    /// `$GENBA_METRICS_FD`.
    Channel,
}

/// A measured metric.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub name: String,
    pub unit: String,
    pub direction: Direction,
    pub origin: Origin,
}

/// All runs of one variant. Run `i` belongs to block `i`: a variant runs in every block until
/// it is excluded or the measurement ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct VariantData {
    /// By series, then run; NaN if the run did not report it. NaN never leaves this crate.
    pub columns: Vec<Vec<f64>>,
    pub exits: Vec<ExitKind>,
    /// Total time of the prepare commands, seconds.
    pub prepare_seconds: f64,
    /// Number of runs with steal time above [`MAX_STEAL_SHARE`].
    pub disturbed: u32,
    pub excluded: Option<String>,
}

impl VariantData {
    /// Values of a series; a series that appeared late starts with NaN.
    pub fn column(&self, series: usize) -> &[f64] {
        self.columns.get(series).map_or(&[], Vec::as_slice)
    }

    /// The finite values of a series.
    pub fn finite(&self, series: usize) -> Vec<f64> {
        let values = self.column(series).iter().copied();
        values.filter(|value| value.is_finite()).collect()
    }
}

/// Share of steal time above which a run counts as disturbed.
pub(crate) const MAX_STEAL_SHARE: f64 = 0.05;

/// The measured runs of a plan.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub(crate) series: Vec<Series>,
    pub(crate) variants: Vec<VariantData>,
    /// Missing values by variant and metric: first run (from 0), reason, count.
    pub(crate) troubles: BTreeMap<(usize, String), (usize, String, usize)>,
    pub(crate) notes: Vec<String>,
    /// Whether outputs were to be checked, and that of the baseline changes from run to run.
    pub(crate) baseline_output_varies: bool,
    pub(crate) blocks: u32,
    pub(crate) elapsed_seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) end: End,
}

/// Why a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every variant has a verdict, or the median of the single variant is known to ± δ.
    Decided,
    /// The requested number of blocks was measured.
    Counted,
    /// The budget is spent.
    BudgetSpent,
    /// The primary metric has no usable values.
    Unusable,
    /// The user interrupted it.
    Interrupted,
}

impl Measurement {
    pub(crate) fn new(plan: &Plan) -> Self {
        let built_in = Metric::ALL.iter().map(|metric| Series {
            name: metric.name().to_owned(),
            unit: unit_name(*metric).to_owned(),
            direction: Direction::LessIsBetter,
            origin: Origin::BuiltIn(*metric),
        });
        let own = plan
            .metrics
            .iter()
            .enumerate()
            .map(|(index, metric)| Series {
                name: metric.name.clone(),
                unit: metric.unit.clone(),
                direction: metric.direction(),
                origin: if metric.reads_output() {
                    Origin::Output(index)
                } else {
                    Origin::Channel
                },
            });
        let counters = plan
            .counters
            .iter()
            .enumerate()
            .map(|(index, name)| Series {
                name: name.clone(),
                unit: "count".to_owned(),
                direction: Direction::LessIsBetter,
                origin: Origin::Counter(index),
            });
        let series: Vec<Series> = built_in.chain(own).chain(counters).collect();
        let data = VariantData {
            columns: vec![Vec::new(); series.len()],
            ..VariantData::default()
        };
        Self {
            variants: vec![data; plan.variants.len()],
            series,
            troubles: BTreeMap::new(),
            notes: Vec::new(),
            baseline_output_varies: false,
            blocks: 0,
            elapsed_seconds: 0.0,
            cpu_seconds: 0.0,
            end: End::Interrupted,
        }
    }

    /// Why the measurement ended.
    #[must_use]
    pub fn end(&self) -> End {
        self.end
    }

    /// The variants that were excluded, with the reasons.
    #[must_use]
    pub fn excluded(&self, plan: &Plan) -> Vec<(String, String)> {
        (plan.variants.iter().zip(&self.variants))
            .filter_map(|(plan, data)| Some((plan.name.clone(), data.excluded.clone()?)))
            .collect()
    }

    /// CPU seconds of all measured runs.
    #[must_use]
    pub fn cpu_seconds(&self) -> f64 {
        self.cpu_seconds
    }

    /// Index of the series of this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.series.iter().position(|series| series.name == name)
    }

    /// Variants that are compared, the baseline first.
    pub(crate) fn compared(&self, plan: &Plan) -> Vec<usize> {
        (0..self.variants.len())
            .filter(|index| {
                self.variants[*index].excluded.is_none() && !plan.variants[*index].overhead_only
            })
            .collect()
    }

    /// Adds a successful run.
    pub(crate) fn add(&mut self, plan: &Plan, variant: usize, run: &Measured) {
        let record: &RunRecord = &run.finished.record;
        let (channel, complaints) = metrics_channel::parse(&run.channel);
        let index = self.variants[variant].exits.len();
        for complaint in complaints {
            self.trouble(variant, metrics_channel::VARIABLE, index, complaint);
        }
        for value in &channel {
            if self.find(&value.name).is_none() {
                self.series.push(Series {
                    name: value.name.clone(),
                    unit: value.unit.clone(),
                    direction: direction_of(&value.unit),
                    origin: Origin::Channel,
                });
            }
        }
        for number in 0..self.series.len() {
            let series = &self.series[number];
            let value = match series.origin {
                Origin::BuiltIn(metric) => Ok(record.metric(metric)),
                Origin::Counter(event) => match run.counters.get(event) {
                    Some(Some(value)) => Ok(*value),
                    _ => Err("this machine did not count it".to_owned()),
                },
                Origin::Output(metric) => {
                    let (out, err) = (&run.finished.stdout, &run.finished.stderr);
                    match plan.metrics[metric].extract(&out.captured, &err.captured) {
                        Ok(value) => Ok(value.unwrap_or(f64::NAN)),
                        Err(_) if out.truncated() => Err(format!(
                            "not found in the first {} bytes of the output",
                            out.captured.len()
                        )),
                        Err(what) => Err(what),
                    }
                }
                Origin::Channel => (channel.iter())
                    .find(|value| value.name == series.name)
                    .map(|value| value.value)
                    .ok_or_else(|| format!("not written to ${}", metrics_channel::VARIABLE)),
            };
            let value = value.unwrap_or_else(|what| {
                let name = self.series[number].name.clone();
                self.trouble(variant, &name, index, what);
                f64::NAN
            });
            if let Some(unit) = (channel.iter())
                .find(|found| found.name == self.series[number].name)
                .map(|found| &found.unit)
                && self.series[number].unit.is_empty()
            {
                self.series[number].unit.clone_from(unit);
            }
            let columns = &mut self.variants[variant].columns;
            if columns.len() <= number {
                columns.resize_with(number + 1, || vec![f64::NAN; index]);
            }
            columns[number].push(value);
        }
        self.cpu_seconds += record.cpu().total();
        let data = &mut self.variants[variant];
        data.exits.push(record.exit);
        if run.steal_share.is_some_and(|share| share > MAX_STEAL_SHARE) {
            data.disturbed += 1;
        }
    }

    /// The metrics of the latest run of a variant that are not built in.
    pub(crate) fn last_own(&self, variant: usize) -> BTreeMap<String, f64> {
        (self.series.iter().enumerate())
            .filter(|(_, series)| !matches!(series.origin, Origin::BuiltIn(_)))
            .filter_map(|(number, series)| {
                let value = *self.variants[variant].column(number).last()?;
                value.is_finite().then(|| (series.name.clone(), value))
            })
            .collect()
    }

    fn trouble(&mut self, variant: usize, metric: &str, run: usize, what: String) {
        let known = self.troubles.entry((variant, metric.to_owned()));
        known.or_insert((run, what, 0)).2 += 1;
    }

    /// A sentence for each metric with missing values.
    pub(crate) fn trouble_notes(&self, plan: &Plan) -> Vec<String> {
        self.troubles
            .iter()
            .map(|((variant, metric), (run, what, count))| {
                let name = &plan.variants[*variant].name;
                let more = match count - 1 {
                    0 => String::new(),
                    more => format!(", and in {more} more"),
                };
                format!("metric {metric} of {name}: {what} (run {}{more})", run + 1)
            })
            .collect()
    }
}

pub(crate) fn unit_name(metric: Metric) -> &'static str {
    match metric.unit() {
        genba_model::Unit::Seconds => "seconds",
        genba_model::Unit::Bytes => "bytes",
        genba_model::Unit::Count => "count",
    }
}
