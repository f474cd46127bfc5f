//! Metrics that the target reports: definitions, and values in its output. Pure.

use genba_model::Direction;
use regex::Regex;

use crate::ExperimentError;

/// A metric that the target reports.
#[derive(Clone, Debug)]
pub struct MetricPlan {
    /// Name of the metric.
    pub name: String,
    /// Unit ("seconds", "op/s"); may be empty.
    pub unit: String,
    /// Whether less or more is better; `None`: more for a unit that ends in "/s", else less.
    pub direction: Option<Direction>,
    /// Source of the value.
    pub source: MetricSource,
}

/// Source of a value.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// The first match in standard output, else in standard error: the group named `value`, else
    /// the first group, else the whole match.
    Regex(Regex),
    /// A JSON pointer (RFC 6901) into standard output if that is one JSON document, else into its
    /// last line.
    Json(String),
    /// A line `name value [unit]` that the target writes to `$GENBA_METRICS_FD`.
    Channel,
}

/// Size limit of a compiled regular expression, bytes.
const MAX_REGEX_BYTES: usize = 1 << 20;

impl MetricPlan {
    /// A metric that the target writes to `$GENBA_METRICS_FD`.
    #[must_use]
    pub fn channel(name: &str, unit: &str, direction: Option<Direction>) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            source: MetricSource::Channel,
        }
    }

    /// A metric found by a regular expression.
    ///
    /// # Errors
    /// The expression cannot be compiled, or is too large.
    pub fn regex(
        name: &str,
        unit: &str,
        direction: Option<Direction>,
        pattern: &str,
    ) -> Result<Self, ExperimentError> {
        let regex = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_REGEX_BYTES)
            .multi_line(true)
            .build()
            .map_err(|error| wrong(name, error.to_string()))?;
        Ok(Self {
            source: MetricSource::Regex(regex),
            ..Self::channel(name, unit, direction)
        })
    }

    /// A metric found by a JSON pointer.
    ///
    /// # Errors
    /// A pointer that is neither empty nor starts with a slash.
    pub fn json(
        name: &str,
        unit: &str,
        direction: Option<Direction>,
        pointer: &str,
    ) -> Result<Self, ExperimentError> {
        if !(pointer.is_empty() || pointer.starts_with('/')) {
            let what = format!("invalid JSON pointer {pointer:?}; write /path/to/0/value");
            return Err(wrong(name, what));
        }
        Ok(Self {
            source: MetricSource::Json(pointer.to_owned()),
            ..Self::channel(name, unit, direction)
        })
    }

    /// Parses `NAME[:UNIT][:more|less]=REGEX`.
    ///
    /// # Errors
    /// As [`MetricPlan::regex`], or a missing `=`.
    pub fn parse_regex(text: &str) -> Result<Self, ExperimentError> {
        let (name, unit, direction, rest) = parse_head(text)?;
        Self::regex(name, unit, direction, rest)
    }

    /// Parses `NAME[:UNIT][:more|less]=/POINTER`.
    ///
    /// # Errors
    /// As [`MetricPlan::json`], or a missing `=`.
    pub fn parse_json(text: &str) -> Result<Self, ExperimentError> {
        let (name, unit, direction, rest) = parse_head(text)?;
        Self::json(name, unit, direction, rest)
    }

    /// Parses `NAME[:UNIT][:more|less]` of a metric that is written to `$GENBA_METRICS_FD`.
    ///
    /// # Errors
    /// A missing name.
    pub fn parse_channel(text: &str) -> Result<Self, ExperimentError> {
        let whole = format!("{text}=");
        let (name, unit, direction, rest) = parse_head(&whole)?;
        if !rest.is_empty() {
            let what = "write NAME, NAME:UNIT or NAME:UNIT:more".to_owned();
            return Err(wrong(text, what));
        }
        Ok(Self::channel(name, unit, direction))
    }

    /// Whether less or more is better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction.unwrap_or_else(|| direction_of(&self.unit))
    }

    /// Whether it is found in the output of the target.
    #[must_use]
    pub fn reads_output(&self) -> bool {
        !matches!(self.source, MetricSource::Channel)
    }

    /// Whether it may be found in standard error.
    #[must_use]
    pub fn reads_errors(&self) -> bool {
        matches!(self.source, MetricSource::Regex(_))
    }

    /// Its value in the output of a run; `None` for a metric of the channel.
    ///
    /// # Errors
    /// Why there is none; continues "metric NAME of VARIANT, run N: ".
    pub fn extract(&self, stdout: &[u8], stderr: &[u8]) -> Result<Option<f64>, String> {
        match &self.source {
            MetricSource::Regex(regex) => {
                let text = |bytes| String::from_utf8_lossy(bytes);
                first_match(regex, &text(stdout))
                    .or_else(|| first_match(regex, &text(stderr)))
                    .ok_or("the regular expression does not match the output".to_owned())
                    .and_then(|found| genba_units::parse_number(&found))
                    .map(Some)
            }
            MetricSource::Json(pointer) => from_json(stdout, pointer).map(Some),
            MetricSource::Channel => Ok(None),
        }
    }
}

/// The usual direction of a unit: more is better for a rate, less for anything else.
#[must_use]
pub fn direction_of(unit: &str) -> Direction {
    let unit = unit.trim();
    if unit.ends_with("/s") || unit.ends_with("/sec") || unit.ends_with("ps") && unit.len() == 3 {
        Direction::MoreIsBetter
    } else {
        Direction::LessIsBetter
    }
}

fn wrong(name: &str, what: String) -> ExperimentError {
    ExperimentError::Metric {
        name: name.to_owned(),
        what,
    }
}

type Head<'a> = (&'a str, &'a str, Option<Direction>, &'a str);

fn parse_head(text: &str) -> Result<Head<'_>, ExperimentError> {
    let form = || {
        wrong(
            text,
            "write NAME=…, NAME:UNIT=… or NAME:UNIT:more=…".to_owned(),
        )
    };
    let (head, rest) = text.split_once('=').ok_or_else(form)?;
    let mut parts = head.split(':');
    let name = (parts.next().map(str::trim))
        .filter(|name| !name.is_empty())
        .ok_or_else(form)?;
    let (mut unit, mut direction) = ("", None);
    for part in parts {
        match part {
            "more" => direction = Some(Direction::MoreIsBetter),
            "less" => direction = Some(Direction::LessIsBetter),
            other if unit.is_empty() && direction.is_none() => unit = other,
            _ => return Err(form()),
        }
    }
    Ok((name, unit, direction, rest))
}

fn first_match(regex: &Regex, text: &str) -> Option<String> {
    let found = regex.captures(text)?;
    let value = (found.name("value"))
        .or_else(|| found.get(1))
        .or_else(|| found.get(0))?;
    Some(value.as_str().to_owned())
}

fn from_json(stdout: &[u8], pointer: &str) -> Result<f64, String> {
    let document = serde_json::from_slice::<serde_json::Value>(stdout)
        .ok()
        .or_else(|| last_json_line(stdout))
        .ok_or("standard output is not a JSON document".to_owned())?;
    match document.pointer(pointer) {
        Some(serde_json::Value::Number(value)) => value
            .as_f64()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("{value} is too large")),
        Some(serde_json::Value::String(text)) => genba_units::parse_number(text),
        Some(_) => Err(format!("the value at {pointer} is not a number")),
        None => Err(format!("the output has no value at {pointer}")),
    }
}

fn last_json_line(stdout: &[u8]) -> Option<serde_json::Value> {
    let mut lines = stdout.rsplit(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.iter().all(u8::is_ascii_whitespace))?;
    serde_json::from_slice(line).ok()
}

pub(crate) fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn definitions_have_a_name_unit_and_direction() {
        let metric = MetricPlan::parse_regex("rate:op/s=rate=(\\d+)").unwrap();
        assert_eq!(
            (metric.name.as_str(), metric.unit.as_str()),
            ("rate", "op/s")
        );
        assert_eq!(metric.direction(), Direction::MoreIsBetter);
        let metric = MetricPlan::parse_regex("score::more=x").unwrap_or_else(|_| unreachable!());
        assert_eq!(metric.direction(), Direction::MoreIsBetter);
        let metric = MetricPlan::parse_json("p99:ms=/latency/p99").unwrap();
        assert_eq!(metric.direction(), Direction::LessIsBetter);
        assert!(MetricPlan::parse_json("p99=latency").is_err());
        assert!(MetricPlan::parse_regex("=x").is_err());
        assert!(MetricPlan::parse_regex("no definition").is_err());
        assert!(MetricPlan::parse_regex("x=(").is_err());
        assert!(MetricPlan::parse_regex("x=(?:a{1000}){1000}").is_err());
    }

    #[test]
    fn regular_expression_prefers_the_named_group() {
        let value = |pattern: &str, out: &str, err: &str| {
            MetricPlan::regex("m", "", None, pattern)
                .unwrap()
                .extract(out.as_bytes(), err.as_bytes())
        };
        assert_eq!(
            value(r"(\w+): (?<value>\S+)", "x: 1.5e3\n", ""),
            Ok(Some(1500.0))
        );
        assert_eq!(value(r"took (\d+) ms", "", "took 12 ms"), Ok(Some(12.0)));
        assert_eq!(value(r"^\d+$", "a\n17\n", ""), Ok(Some(17.0)));
        assert_eq!(value(r"n=(\S+)", "n=1,234,567", ""), Ok(Some(1_234_567.0)));
        assert!(value(r"n=(\S+)", "n=nan", "").is_err());
        assert!(value(r"n=(\S+)", "n=many", "").is_err());
        assert!(value(r"n=(\S+)", "", "").is_err());
    }

    #[test]
    fn json_pointer_reads_the_document_or_its_last_line() {
        let value = |out: &str| {
            MetricPlan::json("m", "", None, "/a/0/b")
                .unwrap()
                .extract(out.as_bytes(), b"")
        };
        assert_eq!(value(r#"{"a":[{"b":2.5}]}"#), Ok(Some(2.5)));
        assert_eq!(value("log line\n{\"a\":[{\"b\":\"7\"}]}\n"), Ok(Some(7.0)));
        assert!(value("{}").is_err());
        assert!(value("").is_err());
        assert!(value(r#"{"a":[{"b":null}]}"#).is_err());
    }

    proptest! {
        #[test]
        fn any_output_gives_a_finite_number_or_a_reason(out in prop::collection::vec(any::<u8>(), 0..200)) {
            let regex = MetricPlan::regex("m", "", None, r"(\S+)").unwrap();
            let json = MetricPlan::json("m", "", None, "").unwrap();
            for metric in [regex, json] {
                if let Ok(Some(value)) = metric.extract(&out, &out) {
                    prop_assert!(value.is_finite());
                }
            }
        }
    }
}
