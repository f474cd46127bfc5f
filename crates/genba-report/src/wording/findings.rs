//! What terminal and page say of a finding alike.

use genba_model::{Estimate, EvidenceSource, Finding, FindingSite, NoiseFloor};

use crate::wording::profile;
use crate::{number, safe_text};

/// Gains below this are none: findings that only say something.
const NO_GAIN: f64 = 1.0005;

/// Kind of a piece of evidence.
pub(crate) fn kind(source: EvidenceSource) -> &'static str {
    match source {
        EvidenceSource::Measured => "measured",
        EvidenceSource::Counted => "counted",
        EvidenceSource::Simulated => "simulated",
        EvidenceSource::Model => "model",
    }
}

/// Whether a finding promises a gain, rather than being a note.
pub(crate) fn gains(finding: &Finding) -> bool {
    finding.predicted_speedup.high > NO_GAIN
}

/// Gains from here on are not known to a digit: what stays is too little.
const LARGE: f64 = 20.0;

/// `1.34× faster (1.28–1.41)`; `more than 30× faster`.
pub(crate) fn speedup(gain: &Estimate) -> String {
    if let Some(least) = more_than(gain) {
        return format!("more than {}× faster", ratio(least));
    }
    format!(
        "{}× faster ({}–{})",
        ratio(gain.value),
        ratio(gain.low),
        ratio(gain.high)
    )
}

/// For gains so large that only their least is worth saying: that, to one digit.
pub(crate) fn more_than(gain: &Estimate) -> Option<f64> {
    let least = gain.low.max(1.0);
    let digit = 10f64.powf(least.log10().floor());
    (gain.value >= LARGE && least.is_finite()).then(|| (least / digit).floor() * digit)
}

/// `1.34×`.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        v if !v.is_finite() => "?".to_owned(),
        v if v >= 9.95 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}

/// `up to 29 % of the time, likely 25 %`.
pub(crate) fn saved(gain: &Estimate) -> String {
    let share = |speedup: f64| {
        let share = (1.0 - 1.0 / speedup.max(1.0)).clamp(0.0, 1.0);
        // No more digits than a prediction has.
        match share {
            // Something always stays.
            share if share >= 0.0995 => format!("{:.0} %", (share * 100.0).min(99.0)),
            share => number::share(share),
        }
    };
    format!(
        "up to {} of the time, likely {}",
        share(gain.high),
        share(gain.value)
    )
}

/// `bignum.c:4569 in big2str`; the module where no source is known.
pub(crate) fn place(site: &FindingSite) -> String {
    let place = profile::file_line(site.file.as_deref(), site.line);
    match place.is_empty() {
        true if site.module.is_empty() => site.function.clone(),
        true => format!(
            "{} of {}",
            site.function,
            safe_text::file_name(&site.module)
        ),
        false => format!("{place} in {}", site.function),
    }
}

/// Where the user's own code calls the site, in words.
pub(crate) fn caller(site: &FindingSite) -> Option<String> {
    Some(format!(
        "called from {}",
        place(site.called_from.as_deref()?)
    ))
}

/// The sentence after the findings.
pub(crate) fn rest(findings: &[Finding], min_gain: f64) -> String {
    let least = number::share(min_gain);
    if findings.iter().any(gains) {
        format!("Nothing else found that a change would gain more than {least} by.")
    } else {
        format!("Nothing found that a change would gain more than {least} by.")
    }
}

/// Gains below this are not told, whatever the runs could show.
const WORTHWHILE: f64 = 0.02;

/// The gain below which an investigation with these noise floors tells nothing.
pub(crate) fn min_gain(floors: &[NoiseFloor]) -> f64 {
    let shares = floors
        .iter()
        .map(|floor| floor.share)
        .filter(|share| share.is_finite());
    shares.reduce(f64::min).unwrap_or(0.0).max(WORTHWHILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(low: f64, value: f64, high: f64) -> String {
        speedup(&Estimate { value, low, high })
    }

    #[test]
    fn large_gains_are_said_by_their_least() {
        assert_eq!(gain(1.28, 1.34, 1.41), "1.34× faster (1.28–1.41)");
        assert_eq!(gain(11.0, 19.0, 40.0), "19× faster (11–40)");
        assert_eq!(gain(37.2, 100.0, 623.0), "more than 30× faster");
        assert_eq!(gain(2.7, 25.0, 60.0), "more than 2.00× faster");
    }
}
