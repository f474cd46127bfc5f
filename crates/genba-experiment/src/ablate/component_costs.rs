//! Cost of each component: differences within blocks. Pure.

use genba_model::{Ablation, AblationComponent, AblationCost, AblationSum, Estimate, Metric};
use genba_stats::hodges_lehmann;

use super::components::{AblatePlan, BASELINE};
use crate::measurement::Measurement;
use crate::{ReportContext, report};

const LEVEL: f64 = 0.95;

/// The ablation document of a measurement.
#[must_use]
pub fn ablation(
    ablate: &AblatePlan,
    measurement: &Measurement,
    setting: ReportContext,
) -> Ablation {
    let plan = &ablate.plan;
    let mut whole_report = report(plan, measurement, setting);
    whole_report.notes.extend(ablate.notes.iter().cloned());
    let names = [Metric::Wall, Metric::User, Metric::System].map(Metric::name);
    let mut metrics: Vec<&str> = names.to_vec();
    if !metrics.contains(&plan.primary.as_str()) {
        metrics.insert(0, &plan.primary);
    }
    let costs = Costs {
        ablate,
        measurement,
    };
    let name = |index: Option<usize>| index.map(|index| plan.variants[index].name.clone());
    let each = |blocks: &dyn Fn(usize) -> Option<Vec<f64>>| -> Vec<AblationCost> {
        (metrics.iter())
            .filter_map(|metric| {
                let series = measurement.find(metric)?;
                costs.cost(series, &blocks(series)?)
            })
            .collect()
    };
    let alone = ablate.loop_only;
    let baseline = each(&|series| costs.sum(series, &[(0, 1.0)], alone.map(|at| (at, -1.0))));
    let components: Vec<AblationComponent> = (ablate.parts.iter().enumerate())
        .map(|(index, part)| AblationComponent {
            name: part.name.clone(),
            variant: plan.variants[index + 1].name.clone(),
            disabled_by: part.how.clone(),
            costs: each(&|series| costs.sum(series, &[(0, 1.0), (index + 1, -1.0)], None)),
        })
        .collect();
    let usable: Vec<usize> = (1..=ablate.parts.len())
        .filter(|index| measurement.variants[*index].excluded.is_none())
        .collect();
    let sums = (metrics.iter())
        .filter_map(|metric| costs.adding_up(metric, &usable))
        .collect();
    let residual = match ablate.all_off {
        Some(all_off) => {
            each(&|series| costs.sum(series, &[(all_off, 1.0)], alone.map(|at| (at, -1.0))))
        }
        // Of components of which none was measured nothing is left over.
        None if usable.is_empty() => Vec::new(),
        // whole − Σ (whole − without i)
        None => each(&|series| {
            let mut terms = vec![(0, 1.0 - usable.len() as f64)];
            terms.extend(usable.iter().map(|index| (*index, 1.0)));
            costs.sum(series, &terms, alone.map(|at| (at, -1.0)))
        }),
    };
    if measurement.variants[0].excluded.is_some() {
        whole_report.notes.push(format!(
            "the {BASELINE} could not be measured, so the cost of no component is known"
        ));
    }
    Ablation {
        per_iteration: ablate.per_iteration,
        baseline_loop: name(ablate.loop_only),
        baseline,
        components,
        all_off: name(ablate.all_off),
        sums,
        residual,
        report: whole_report,
    }
}

struct Costs<'a> {
    ablate: &'a AblatePlan,
    measurement: &'a Measurement,
}

impl Costs<'_> {
    /// A weighted sum of variants in each block; `None` if one of them was excluded. Blocks in
    /// which one of them has no value are skipped.
    fn sum(
        &self,
        series: usize,
        terms: &[(usize, f64)],
        more: Option<(usize, f64)>,
    ) -> Option<Vec<f64>> {
        let terms: Vec<(&[f64], f64)> = (terms.iter().copied().chain(more))
            .filter(|term| term.1 != 0.0)
            .map(|(variant, weight)| {
                let data = &self.measurement.variants[variant];
                (data.excluded.is_none()).then(|| (data.column(series), weight))
            })
            .collect::<Option<_>>()?;
        let blocks = terms.iter().map(|term| term.0.len()).min()?;
        let sums: Vec<f64> = (0..blocks)
            .map(|block| {
                terms
                    .iter()
                    .map(|(column, weight)| column[block] * weight)
                    .sum()
            })
            .filter(|sum: &f64| sum.is_finite())
            .collect();
        (!sums.is_empty()).then_some(sums)
    }

    fn per_iteration(&self) -> f64 {
        self.ablate.per_iteration.unwrap_or(1) as f64
    }

    fn estimate(&self, blocks: &[f64]) -> Option<Estimate> {
        let found = hodges_lehmann(blocks, LEVEL).ok()?.estimate;
        Some(found.scaled(1.0 / self.per_iteration()))
    }

    fn cost(&self, series: usize, blocks: &[f64]) -> Option<AblationCost> {
        let cost = self.estimate(blocks)?;
        let alone = self.ablate.loop_only.map(|at| (at, -1.0));
        let share = (self.sum(series, &[(0, 1.0)], alone))
            .and_then(|whole| self.estimate(&whole))
            .filter(|whole| whole.low > 0.0)
            .map(|whole| Estimate {
                value: cost.value / whole.value,
                low: cost.low / whole.value,
                high: cost.high / whole.value,
            });
        let series = &self.measurement.series[series];
        Some(AblationCost {
            metric: series.name.clone(),
            unit: series.unit.clone(),
            cost,
            share,
        })
    }

    /// Compares the sum of the components with all of them off.
    fn adding_up(&self, metric: &str, usable: &[usize]) -> Option<AblationSum> {
        let all_off = self.ablate.all_off?;
        // A sum without one of the components cannot be compared with all of them off.
        if usable.len() != self.ablate.parts.len() || usable.len() < 2 {
            return None;
        }
        let series = self.measurement.find(metric)?;
        let count = usable.len() as f64;
        let mut parts = vec![(0, count)];
        parts.extend(usable.iter().map(|index| (*index, -1.0)));
        let mut interaction = vec![(0, 1.0 - count), (all_off, -1.0)];
        interaction.extend(usable.iter().map(|index| (*index, 1.0)));
        let of = |terms: &[(usize, f64)]| self.estimate(&self.sum(series, terms, None)?);
        let interaction = of(&interaction)?;
        Some(AblationSum {
            metric: metric.to_owned(),
            unit: self.measurement.series[series].unit.clone(),
            components: of(&parts)?,
            together: of(&[(0, 1.0), (all_off, -1.0)])?,
            interaction,
            adds_up: interaction.low <= 0.0 && interaction.high >= 0.0,
        })
    }
}
