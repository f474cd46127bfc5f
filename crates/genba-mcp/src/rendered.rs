//! Documents of genba as answers: the text of the terminal, and the verdicts as JSON. Pure.

use genba_model::{
    Annotation, Bisection, ChangeKind, Comparison, ComparisonReport, Document, Estimate,
    Explanation, Investigation, ObservedPlace, Proof, SourceFix, TrialReport, VerdictName, Waits,
};
use genba_report::Screen;
use genba_report::terminal::{self, AnnotateOptions, Next};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer;

/// Columns that answers are laid out for.
const COLUMNS: usize = 100;

/// An answer.
#[derive(Debug, Default)]
pub struct Rendered {
    pub text: String,
    /// The verdicts, of a comparison.
    pub verdicts: Option<Verdicts>,
    /// The case that was made.
    pub case: Option<String>,
}

/// The verdicts of a comparison.
#[derive(Debug, Default, Serialize)]
pub struct Verdicts {
    pub case: Option<String>,
    pub metric: String,
    pub verdicts: Vec<Verdict>,
}

/// The verdict about a variant.
#[derive(Debug, Serialize)]
pub struct Verdict {
    pub variant: String,
    /// `faster`, `slower`, `same`, `undecided` or `refused`.
    pub verdict: String,
    /// Old ÷ new: above 1 is faster for a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Interval>,
    pub pairs: u64,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A value with its interval.
#[derive(Debug, Serialize)]
pub struct Interval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Verdicts {
    /// The variants that no verdict was given for.
    pub fn refused(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|one| one.reason.is_some())
    }
}

/// Shares of a function's samples below which code is folded, until the annotation is short enough.
const FOLD_BELOW: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.1];

/// Renders the document that a tool printed. An annotation of more than `limit` tokens is folded to its hottest code.
///
/// # Errors
/// It is not a document of genba.
pub fn rendered(document: &[u8], limit: usize) -> Result<Rendered, serde_json::Error> {
    let kind: Document<Value> = serde_json::from_slice(document)?;
    let screen = Screen {
        width: COLUMNS,
        colour: false,
    };
    let plain = |text| Rendered {
        text,
        ..Rendered::default()
    };
    Ok(match kind.kind.as_str() {
        "investigation" => {
            let all: Investigation = body(document)?;
            let next = Next {
                page: None,
                command: None,
            };
            Rendered {
                text: terminal::investigation(&all, next, screen),
                case: Some(all.case),
                verdicts: None,
            }
        }
        "explanation" => plain(terminal::explanation(
            &body::<Explanation>(document)?,
            screen,
        )),
        "proof" => plain(terminal::proof(&body::<Proof>(document)?, screen)),
        "fix" => {
            let fix: SourceFix = body(document)?;
            let mut text = terminal::source_fix(&fix, screen);
            if let Some(patch) = &fix.patch {
                text.push_str(patch);
            }
            plain(text)
        }
        "annotation" => {
            let all: Annotation = body(document)?;
            plain(annotation(&all, limit, screen))
        }
        "observation" => plain(terminal::observed_place(
            &body::<ObservedPlace>(document)?,
            screen,
        )),
        "waits" => plain(terminal::waits(&body::<Waits>(document)?, screen)),
        "comparison" => of_comparison(&body(document)?, screen),
        "trial" => of_trial(&body(document)?, screen),
        "bisection" => {
            let all: Bisection = body(document)?;
            Rendered {
                text: terminal::bisection(&all, screen),
                case: all.case,
                verdicts: None,
            }
        }
        _ => plain(String::from_utf8_lossy(document).into_owned()),
    })
}

fn annotation(all: &Annotation, limit: usize, screen: Screen) -> String {
    let mut text = terminal::annotation(all, AnnotateOptions::folding(all), screen);
    for share in FOLD_BELOW {
        if answer::tokens(&text) <= limit {
            break;
        }
        let options = AnnotateOptions {
            hide_below: Some(share),
            ..AnnotateOptions::default()
        };
        text = terminal::annotation(all, options, screen);
    }
    text
}

fn body<T: DeserializeOwned>(document: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice::<Document<T>>(document).map(|document| document.body)
}

fn of_comparison(report: &ComparisonReport, screen: Screen) -> Rendered {
    let of_variant = |(name, excluded): (&str, Option<&str>)| {
        verdict(name, excluded, &report.comparisons, &report.metric)
    };
    let variants = (report.variants.iter().skip(1))
        .map(|variant| (variant.name.as_str(), variant.excluded.as_deref()));
    Rendered {
        text: terminal::comparison(report, screen),
        verdicts: Some(Verdicts {
            case: report.case.clone(),
            metric: report.metric.clone(),
            verdicts: variants.map(of_variant).collect(),
        }),
        case: report.case.clone(),
    }
}

fn of_trial(report: &TrialReport, screen: Screen) -> Rendered {
    let of_variant = |tried: &genba_model::Tried| {
        let excluded = (report.variants.iter())
            .find(|variant| variant.name == tried.name)
            .and_then(|variant| variant.excluded.as_deref());
        let reason = excluded.or(tried.reason.as_deref());
        verdict(&tried.name, reason, &report.comparisons, &report.metric)
    };
    Rendered {
        text: terminal::trial(report, screen),
        verdicts: Some(Verdicts {
            case: report.case.clone(),
            metric: report.metric.clone(),
            verdicts: (report.tried.iter())
                .filter(|tried| tried.kind != ChangeKind::Layout)
                .map(of_variant)
                .collect(),
        }),
        case: report.case.clone(),
    }
}

/// The verdict about a variant: none where it was excluded, or was never compared.
fn verdict(name: &str, excluded: Option<&str>, all: &[Comparison], metric: &str) -> Verdict {
    let found = (all.iter()).find(|one| one.variant == name && one.metric == metric);
    match (excluded, found) {
        (None, Some(found)) => Verdict {
            variant: name.to_owned(),
            verdict: word(found.verdict),
            speedup: Some(speedup(&found.ratio)),
            pairs: found.pairs.into(),
            reason: None,
        },
        (reason, _) => Verdict {
            variant: name.to_owned(),
            verdict: "refused".to_owned(),
            speedup: None,
            pairs: 0,
            reason: Some(reason.unwrap_or("it was not compared").to_owned()),
        },
    }
}

fn word(verdict: VerdictName) -> String {
    match serde_json::to_value(verdict) {
        Ok(Value::String(word)) => word,
        _ => "undecided".to_owned(),
    }
}

fn speedup(ratio: &Estimate) -> Interval {
    Interval {
        value: rounded(1.0 / ratio.value),
        low: rounded(1.0 / ratio.high),
        high: rounded(1.0 / ratio.low),
    }
}

/// Four significant digits, which no interval of a time supports more of.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
