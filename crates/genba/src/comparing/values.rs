//! Durations and shares as people write them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::exit::Failure;

/// `20s`, `1.5m`, `500ms`, `2h`, or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    let wrong = || format!("`{text}` is no duration above zero; write 20s, 2m or 500ms");
    let seconds = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    if seconds > 0.0 && seconds < 1e9 {
        Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
    } else {
        Err(wrong())
    }
}

/// `1%` or `0.01`, from 0 to under 100 %.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&(value * factor)) => Ok(value * factor),
        Ok(value) if factor == 1.0 && value >= 1.0 => Err(format!(
            "`{text}` is {} %; write {text}% if that is what is meant",
            value * 100.0
        )),
        _ => Err(format!("`{text}` is no share; write 1% or 0.01")),
    }
}

/// `0,2-3`.
pub fn cpu_list(text: &str) -> Result<Vec<usize>, Failure> {
    let wrong = || Failure::usage(format!("--pin {text}: write CPU numbers as in 0,2-3"));
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| wrong())?;
        let last: usize = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last >= 4096 {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("20s"), Ok(Duration::from_secs(20)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "s", "-1s", "0", "nan", "inf", "1e300h", "5 parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares() {
        assert!((share("1%").unwrap() - 0.01).abs() < 1e-15);
        assert_eq!(share("0.02"), Ok(0.02));
        assert_eq!(share("0"), Ok(0.0));
        assert!(share("1").unwrap_err().contains("write 1%"));
        for wrong in ["", "%", "-1%", "100%", "nan", "x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
