//! A sweep in sentences, the same for the terminal and the page.

use genba_model::{KneeKind, ParameterScale, Sweep, SweepKnee};

use crate::wording::{metrics, verdicts};
use crate::{number, safe_text};

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
        return format!("{}{name}", number::grouped_decimals(size, digits));
    }
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return number::grouped(x);
    }
    let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    number::grouped_decimals(x, digits)
}

/// The heading: metric and its unit.
pub(crate) fn unit(sweep: &Sweep) -> String {
    match sweep.unit.as_str() {
        "seconds" => metrics::phrase(&sweep.metric),
        "" | "count" | "bytes" => metrics::label(&sweep.metric),
        unit => unit.to_owned(),
    }
}

/// What was found, a sentence each.
pub(crate) fn findings(sweep: &Sweep) -> Vec<String> {
    let mut list = Vec::new();
    let [parameter] = sweep.parameters.as_slice() else {
        return list;
    };
    if parameter.scale == ParameterScale::Words || sweep.scatter.is_none() {
        return list;
    }
    let name = |word: &str| match sweep.knees.len() {
        1 => format!("one {word}"),
        _ => word.to_owned(),
    };
    let first_flat = sweep.segments.first().filter(|one| one.flat);
    if let (Some(flat), false) = (first_flat, sweep.knees.is_empty()) {
        list.push(flat_words(sweep, "flat", flat));
    }
    for (index, knee) in sweep.knees.iter().enumerate() {
        let blurred = match knee.settled {
            true => "",
            false => "; not settled: at which side settings between them lie is not known",
        };
        list.push(format!(
            "{}, {} ({}): {}{blurred}",
            name(kind(knee)),
            place(sweep, knee),
            confidence(knee.confidence),
            effect_words(sweep, knee)
        ));
        if let Some(flat) = sweep.segments.get(index + 1).filter(|one| one.flat) {
            list.push(flat_words(sweep, "then flat", flat));
        }
    }
    if sweep.knees.is_empty() {
        let seen = sweep.visible_step.map_or_else(String::new, |step| {
            format!(
                "; a step of {} would have been seen",
                verdicts::points(step)
            )
        });
        let what = match sweep.segments.first() {
            Some(flat) if flat.flat => {
                format!("flat, within {}", verdicts::points(flat.within))
            }
            _ if sweep.suspected_knees.is_empty() => "no knee".to_owned(),
            _ => "no knee that is certain".to_owned(),
        };
        list.push(format!("{what}{seen}"));
    }
    for knee in &sweep.suspected_knees {
        let why = if knee.p_value < sweep.alpha {
            "too near an end, or too small, to be told".to_owned()
        } else {
            format!(
                "a curve without it looks so bent with {} probability",
                number::share(knee.p_value)
            )
        };
        list.push(format!(
            "perhaps a {}, {}: {why}",
            kind(knee),
            place(sweep, knee)
        ));
    }
    list.extend(growth(sweep));
    list
}

fn flat_words(sweep: &Sweep, word: &str, flat: &genba_model::SweepSegment) -> String {
    if flat.from == flat.to {
        return format!("{word}: {}", value(sweep, flat.from));
    }
    format!(
        "{word}: {} … {} within {}",
        value(sweep, flat.from),
        value(sweep, flat.to),
        verdicts::points(flat.within.max(0.001))
    )
}

fn kind(knee: &SweepKnee) -> &'static str {
    match knee.kind {
        KneeKind::Step => "step",
        KneeKind::Hinge => "hinge",
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
    // Never a certainty.
    format!("{:.0} %", (share * 100.0).clamp(0.0, 99.0))
}

/// `from 854 to 620 req/s, 0.73×`; of a hinge how the growth changes.
fn effect_words(sweep: &Sweep, knee: &SweepKnee) -> String {
    let factor = verdicts::factor(&knee.effect);
    let range = verdicts::factor_range(&knee.effect);
    match knee.kind {
        KneeKind::Step => format!("{factor} ({range})"),
        KneeKind::Hinge => {
            let per = match sweep.parameters.first().map(|one| one.scale) {
                Some(ParameterScale::Log2) => "per doubling",
                _ => "per unit",
            };
            format!("from there on {factor} more {per} ({range})")
        }
    }
}

/// How it grows.
fn growth(sweep: &Sweep) -> Option<String> {
    let growth = sweep.scaling_law.as_ref()?;
    if growth.law == "constant" {
        return None;
    }
    let where_ = match sweep.knees.is_empty() {
        true => String::new(),
        false => format!(" from {} on", value(sweep, growth.from)),
    };
    let exponent = growth.exponent.map(|e| {
        format!(
            "exponent {} ({}–{})",
            number::plain(&e, 3),
            number::grouped_decimals(e.low, 2),
            number::grouped_decimals(e.high, 2)
        )
    });
    let beside = exponent.map_or_else(String::new, |text| format!(", {text}"));
    let candidates: Vec<&str> = growth.candidates.iter().map(String::as_str).collect();
    Some(match growth.law.as_str() {
        "unknown" if growth.residual > 0.1 => format!(
            "follows no simple law{where_}: the best, {}, is off by {} on average",
            candidates.first().copied().unwrap_or("none"),
            number::share(growth.residual)
        ),
        "unknown" => format!(
            "grows{where_} as {}: these measurements cannot tell{beside}",
            candidates.join(" or ")
        ),
        "power" => format!("grows{where_} as a power{beside}"),
        law => format!("grows{where_} as {law}{beside}"),
    })
}

/// `13 settings, 61 runs, 3 min 12 s (a full grid: 36 settings)`.
pub(crate) fn effort(sweep: &Sweep) -> String {
    let settings = sweep.points.len() as u64;
    let grid = match sweep.parameters.as_slice() {
        [only] => only.full_grid.filter(|grid| *grid > settings),
        _ => None,
    };
    let grid = grid.map_or_else(String::new, |grid| {
        format!(" (a full grid: {} settings)", number::grouped(grid as f64))
    });
    let end = match sweep.end.as_str() {
        "budget" => "; the time was spent",
        "interrupted" => "; interrupted",
        _ => "",
    };
    format!(
        "{}, {}, {}{grid}{end}",
        number::plural(settings, "setting"),
        number::plural(u64::from(sweep.runs), "run"),
        number::duration(sweep.elapsed_seconds)
    )
}

/// The heading of a sweep.
pub(crate) fn title(sweep: &Sweep) -> String {
    let parameters: Vec<String> = (sweep.parameters.iter())
        .map(|one| format!("{}={}", one.name, one.values))
        .collect();
    safe_text::sanitise(&format!("{}   {}", sweep.command, parameters.join("  ")))
}
