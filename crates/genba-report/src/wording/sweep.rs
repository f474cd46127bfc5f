//! Sentences of a sweep: change points, plateaus, the scaling law, the effort.

use genba_model::{KneeKind, ParameterScale, Sweep, SweepKnee};
use genba_units::format;

use crate::safe_text;
use crate::wording::{metrics, verdicts};

/// A value of a parameter: whole numbers in full; with K, M or G if the parameter was given so.
pub(crate) fn value(sweep: &Sweep, x: f64) -> String {
    let given = sweep
        .parameters
        .first()
        .map_or("", |one| one.values.as_str());
    let sizes = given.contains(['k', 'K', 'M', 'G']);
    if sizes && x.abs() >= 1024.0 {
        let (unit, name) = match x.abs() {
            size if size >= 1e9 => (1u64 << 30, "G"),
            size if size >= 1e6 => (1 << 20, "M"),
            _ => (1 << 10, "K"),
        };
        let size = x / unit as f64;
        let digits = match size {
            whole if whole.fract() == 0.0 => 0,
            size if size.abs() >= 100.0 => 0,
            _ => 1,
        };
        return format!("{}{name}", format::grouped_decimals(size, digits));
    }
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return format::grouped(x);
    }
    let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format::grouped_decimals(x, digits)
}

/// Returns the heading of the values: the metric with its unit.
pub(crate) fn unit(sweep: &Sweep) -> String {
    match sweep.unit.as_str() {
        "seconds" => metrics::phrase(&sweep.metric),
        "" | "count" | "bytes" => metrics::label(&sweep.metric),
        unit => unit.to_owned(),
    }
}

/// Returns the findings, a sentence each.
pub(crate) fn findings(sweep: &Sweep) -> Vec<String> {
    let mut list = Vec::new();
    let [parameter] = sweep.parameters.as_slice() else {
        return list;
    };
    if parameter.scale == ParameterScale::Words || sweep.scatter.is_none() {
        return list;
    }
    let first_plateau = sweep.segments.first().filter(|one| one.flat);
    if let (Some(flat), false) = (first_plateau, sweep.knees.is_empty()) {
        list.push(plateau(sweep, "plateau", flat));
    }
    for (index, knee) in sweep.knees.iter().enumerate() {
        let unresolved = match knee.settled {
            true => "",
            false => "; the settings in between could not be assigned to either side",
        };
        list.push(format!(
            "{} {} (confidence {}): {}{unresolved}",
            kind(knee),
            place(sweep, knee),
            confidence(knee.confidence),
            effect(sweep, knee)
        ));
        if let Some(flat) = sweep.segments.get(index + 1).filter(|one| one.flat) {
            list.push(plateau(sweep, "then plateau", flat));
        }
    }
    if sweep.knees.is_empty() {
        let seen = sweep.visible_step.map_or_else(String::new, |step| {
            format!(
                "; a step of {} would have been detected",
                verdicts::points(step)
            )
        });
        let what = match sweep.segments.first() {
            Some(flat) if flat.flat => {
                format!(
                    "plateau over the whole range, within {}",
                    verdicts::points(flat.within)
                )
            }
            _ if sweep.suspected_knees.is_empty() => "no change point".to_owned(),
            _ => "no significant change point".to_owned(),
        };
        list.push(format!("{what}{seen}"));
    }
    for knee in &sweep.suspected_knees {
        let why = if knee.p_value < sweep.alpha {
            "too close to an end of the range, or too small, to confirm".to_owned()
        } else {
            format!("not significant (p = {:.2})", knee.p_value)
        };
        list.push(format!(
            "possible {} {}: {why}",
            kind(knee),
            place(sweep, knee)
        ));
    }
    list.extend(scaling_law(sweep));
    list
}

/// Returns `plateau: 1 … 10, within 0.4 %`.
fn plateau(sweep: &Sweep, word: &str, flat: &genba_model::SweepSegment) -> String {
    if flat.from == flat.to {
        return format!("{word}: {}", value(sweep, flat.from));
    }
    format!(
        "{word}: {} … {}, within {}",
        value(sweep, flat.from),
        value(sweep, flat.to),
        verdicts::points(flat.within.max(0.001))
    )
}

fn kind(knee: &SweepKnee) -> &'static str {
    match knee.kind {
        KneeKind::Step => "change point (step)",
        KneeKind::Hinge => "change point (change of slope)",
    }
}

fn place(sweep: &Sweep, knee: &SweepKnee) -> String {
    format!(
        "between {} and {}",
        value(sweep, knee.low),
        value(sweep, knee.high)
    )
}

fn confidence(share: f64) -> String {
    // Never 100 %.
    format!("{:.0} %", (share * 100.0).clamp(0.0, 99.0))
}

/// Returns the effect of a change point: `0.73× (0.72–0.74)`, or how the slope changes.
fn effect(sweep: &Sweep, knee: &SweepKnee) -> String {
    let factor = verdicts::factor(&knee.effect);
    let range = verdicts::factor_range(&knee.effect);
    match knee.kind {
        KneeKind::Step => format!("{factor} ({range})"),
        KneeKind::Hinge => {
            let per = match sweep.parameters.first().map(|one| one.scale) {
                Some(ParameterScale::Log2) => "per doubling",
                _ => "per unit",
            };
            format!("the growth {per} above it is {factor} that below ({range})")
        }
    }
}

/// Returns the scaling law; `None` where the metric is constant.
fn scaling_law(sweep: &Sweep) -> Option<String> {
    let fit = sweep.scaling_law.as_ref()?;
    if fit.law == "constant" {
        return None;
    }
    let range = match sweep.knees.is_empty() {
        true => String::new(),
        false => format!(" from {} on", value(sweep, fit.from)),
    };
    let exponent = fit.exponent.map(|e| {
        format!(
            "exponent {} ({}–{})",
            format::plain(&e, 3),
            format::grouped_decimals(e.low, 2),
            format::grouped_decimals(e.high, 2)
        )
    });
    let exponent = exponent.map_or_else(String::new, |text| format!(", {text}"));
    let candidates: Vec<&str> = fit.candidates.iter().map(String::as_str).collect();
    Some(match fit.law.as_str() {
        "unknown" if fit.residual > 0.1 => format!(
            "no simple scaling law fits{range}: the best one, {}, deviates by {} on average",
            candidates.first().copied().unwrap_or("none"),
            format::share(fit.residual)
        ),
        "unknown" => format!(
            "scaling law{range}: {}, not distinguishable by these measurements{exponent}",
            candidates.join(" or ")
        ),
        "power" => format!("scaling law{range}: power{exponent}"),
        law => format!("scaling law{range}: {law}{exponent}"),
    })
}

/// Returns the effort: `13 settings, 61 runs, 1 setting skipped, 3 min 12 s (full grid: 36 settings)`.
pub(crate) fn effort(sweep: &Sweep) -> String {
    let settings = sweep.points.len() as u64;
    let grid = match sweep.parameters.as_slice() {
        [only] => only.full_grid.filter(|grid| *grid > settings),
        _ => None,
    };
    let grid = grid.map_or_else(String::new, |grid| {
        format!(" (full grid: {} settings)", format::grouped(grid as f64))
    });
    let skipped = (sweep.variants.iter()).filter(|variant| variant.excluded.is_some());
    let skipped = match skipped.count() {
        0 => String::new(),
        count => format!(", {} skipped", format::plural(count as u64, "setting")),
    };
    let end = match sweep.end.as_str() {
        "budget" => "; budget exhausted",
        "interrupted" => "; interrupted",
        _ => "",
    };
    format!(
        "{}, {}{skipped}, {}{grid}{end}",
        format::plural(settings, "setting"),
        format::plural(u64::from(sweep.runs), "run"),
        format::duration(sweep.elapsed_seconds)
    )
}

/// Returns the title: the command with its parameters.
pub(crate) fn title(sweep: &Sweep) -> String {
    let parameters: Vec<String> = (sweep.parameters.iter())
        .map(|one| format!("{}={}", one.name, one.values))
        .collect();
    safe_text::sanitise(&format!("{}   {}", sweep.command, parameters.join("  ")))
}
