//! Whatever a document's texts are, no report lets them act: not as an escape sequence on a terminal,
//! not as mark-up on a page, not as a formula or another cell in a table.
//!
//! Every text of a synthetic document is replaced, symbol names, paths, metrics and notes alike; then
//! everything that is made of such a document is rendered.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::safe_text::is_harmless;
use crate::terminal::{
    AnnotateOptions, By, CountsOptions, Next, ReportOptions, ScriptOptions, annotation,
};
use crate::test_fixtures as fixture;
use crate::{Screen, export, flame_graph, page, terminal};

/// What a rendered text must not let names do.
enum Medium {
    Terminal,
    Page,
    FlameGraph,
    Csv,
    MarkdownTable,
    Json,
    Collapsed,
    Callgrind,
}

type Rendered = Vec<(&'static str, Medium, String)>;

/// A document whose texts can be replaced.
struct Document {
    value: Value,
    /// Paths of the texts that may be any.
    texts: Vec<Vec<Step>>,
    render: Box<dyn Fn(Value) -> Rendered>,
}

#[derive(Clone)]
enum Step {
    Field(String),
    Index(usize),
}

impl Document {
    fn new<T: Serialize + DeserializeOwned + 'static>(
        document: &T,
        render: impl Fn(&T) -> Rendered + 'static,
    ) -> Self {
        let value = serde_json::to_value(document).expect("a document");
        let mut all = Vec::new();
        paths_of_texts(&value, &mut Vec::new(), &mut all);
        // Names of enumerations cannot be replaced.
        let any = |path: &Vec<Step>| {
            let mut changed = value.clone();
            *text_at(&mut changed, path) = Value::String("any text".to_owned());
            serde_json::from_value::<T>(changed).is_ok()
        };
        all.retain(any);
        Self {
            value,
            texts: all,
            render: Box::new(move |value| {
                render(&serde_json::from_value::<T>(value).expect("still a document"))
            }),
        }
    }

    /// Renders the document with its texts replaced, the same one always by the same.
    fn rendered(&self, names: &[Option<String>]) -> Rendered {
        let mut value = self.value.clone();
        let mut known: Vec<String> = Vec::new();
        for path in &self.texts {
            let text = text_at(&mut value, path);
            let Value::String(before) = text.take() else {
                panic!("a text");
            };
            let index = known.iter().position(|one| *one == before);
            let index = index.unwrap_or_else(|| {
                known.push(before.clone());
                known.len() - 1
            });
            let after = names[index % names.len()].clone();
            *text = Value::String(after.unwrap_or(before));
        }
        (self.render)(value)
    }
}

fn paths_of_texts(value: &Value, at: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match value {
        Value::String(_) => found.push(at.clone()),
        Value::Array(list) => {
            for (index, one) in list.iter().enumerate() {
                at.push(Step::Index(index));
                paths_of_texts(one, at, found);
                at.pop();
            }
        }
        Value::Object(fields) => {
            for (name, one) in fields {
                at.push(Step::Field(name.clone()));
                paths_of_texts(one, at, found);
                at.pop();
            }
        }
        _ => {}
    }
}

fn text_at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Field(name) => &mut value[name.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}

fn documents() -> Vec<Document> {
    let screen = Screen {
        width: 100,
        colour: false,
    };
    let investigation = move |all: &genba_model::Investigation| {
        let next = Next::default();
        let mut out: Rendered = vec![
            ("page", Medium::Page, page::html(all)),
            (
                "investigation",
                Medium::Terminal,
                terminal::investigation(all, next, screen),
            ),
        ];
        for one in &all.annotations {
            let text = annotation(one, AnnotateOptions::default(), screen);
            out.push(("annotation", Medium::Terminal, text));
        }
        if let Some(stat) = &all.stat {
            out.push(("stat", Medium::Terminal, terminal::stat(stat, screen)));
        }
        if let Some(script) = &all.script {
            let options = ScriptOptions {
                limit: 30,
                min_share: 0.0,
            };
            let text = terminal::script(script, options, screen);
            out.push(("script", Medium::Terminal, text));
        }
        let Some(profile) = &all.profile else {
            return out;
        };
        for by in [By::Function, By::Line, By::Module, By::Thread, By::Process] {
            let options = ReportOptions {
                by,
                ..ReportOptions::default()
            };
            let text = terminal::report(profile, &options, screen);
            out.push(("report", Medium::Terminal, text));
        }
        if let Some(first) = profile.functions.first() {
            let options = ReportOptions {
                calls_of: Some(first.function.clone()),
                ..ReportOptions::default()
            };
            let text = terminal::report(profile, &options, screen);
            out.push(("callers", Medium::Terminal, text));
        }
        let collapsed = flame_graph::collapsed(profile);
        out.push(("collapsed", Medium::Collapsed, collapsed));
        if let Ok(svg) = flame_graph::svg(profile, &flame_graph::FlameOptions::default()) {
            out.push(("flame graph", Medium::FlameGraph, svg));
        }
        out
    };
    vec![
        Document::new(&fixture::counts::investigation(), investigation),
        Document::new(&fixture::findings::investigation(), investigation),
        Document::new(
            &fixture::findings::explanation(fixture::findings::findings()),
            move |all: &genba_model::Explanation| {
                let text = terminal::explanation(all, screen);
                vec![("explanation", Medium::Terminal, text)]
            },
        ),
        Document::new(
            &fixture::counts::counts(),
            move |all: &genba_model::Counts| {
                let text = terminal::counts(all, &CountsOptions::default(), screen);
                vec![("counts", Medium::Terminal, text)]
            },
        ),
        Document::new(&fixture::counts::detail(), |all| {
            vec![("callgrind", Medium::Callgrind, export::callgrind(all))]
        }),
        Document::new(&fixture::comparison::many(), comparison),
        Document::new(&fixture::comparison::faster(), comparison),
        Document::new(&fixture::curves::step(), move |all: &genba_model::Sweep| {
            vec![
                ("sweep", Medium::Terminal, terminal::sweep(all, screen)),
                ("sweep's page", Medium::Page, page::sweep_html(all)),
            ]
        }),
        Document::new(
            &fixture::curves::ablation(),
            move |all: &genba_model::Ablation| {
                vec![
                    (
                        "ablation",
                        Medium::Terminal,
                        terminal::ablation(all, screen),
                    ),
                    ("ablation's page", Medium::Page, page::ablation_html(all)),
                ]
            },
        ),
        Document::new(&fixture::bisection::source(), bisection),
        Document::new(&fixture::bisection::range(), bisection),
        Document::new(
            &fixture::try_variants::report(),
            move |all: &genba_model::TrialReport| {
                vec![
                    ("trial", Medium::Terminal, terminal::trial(all, screen)),
                    ("trial's page", Medium::Page, page::trial_html(all)),
                ]
            },
        ),
        Document::new(
            &fixture::try_variants::difference(),
            move |all: &genba_model::ProfileDiff| {
                let text = terminal::profile_diff(all, 20, screen);
                let html = page::profile_diff_html(all);
                vec![
                    ("difference", Medium::Terminal, text),
                    ("difference's page", Medium::Page, html),
                ]
            },
        ),
    ]
}

fn comparison(all: &genba_model::ComparisonReport) -> Rendered {
    let screen = Screen::default();
    vec![
        (
            "comparison",
            Medium::Terminal,
            terminal::comparison(all, screen),
        ),
        (
            "comparison's page",
            Medium::Page,
            page::comparison_html(all),
        ),
        ("CSV", Medium::Csv, export::csv(all)),
        ("Markdown", Medium::MarkdownTable, export::markdown(all)),
        (
            "GitHub",
            Medium::MarkdownTable,
            export::github_markdown(all, 0.01),
        ),
        (
            "hyperfine's JSON",
            Medium::Json,
            export::hyperfine_json(all),
        ),
    ]
}

fn bisection(all: &genba_model::Bisection) -> Rendered {
    let screen = Screen::default();
    vec![
        (
            "bisection",
            Medium::Terminal,
            terminal::bisection(all, screen),
        ),
        ("bisection's page", Medium::Page, page::bisection_html(all)),
    ]
}

/// Texts made of what has a meaning to some reader of a report, and of anything.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "<script>alert(1)</script>", "</style>", "</script>", "-->", "]]>", "<img src=x onerror=",
            "\" onmouseover=\"alert(2)\" x=\"", "'", "&", "&lt;", "<", ">", "\x1b[31m", "\x1b]0;t\x07",
            "\u{9b}2J", "\r", "\n", "\t", "\0", "\u{7f}", "\u{85}", "\u{2028}", "\u{202e}", ";", ",",
            "\"", "=cmd()", "+1", "-2", "@x", "|", "\\|", "\\", "`", "``", "*", "#", " ", " 12\n",
            "fn=(1) x\n", "calls=1 2\n", "(3)", "{}", "%s", "::", "operator<", "javascript:alert(3)",
            "現場", "e\u{301}", "",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

#[test]
fn no_text_of_a_document_acts_in_any_report() {
    let documents = documents();
    assert!(documents.iter().all(|one| one.texts.len() > 5));
    let names = prop::collection::vec(prop::option::weighted(0.8, hostile_text()), 1..12);
    // Each case renders everything.
    let mut runner = TestRunner::new(Config {
        cases: 10,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&names, |names| {
        let rendered = documents.iter().flat_map(|one| one.rendered(&names));
        let found: Vec<String> = rendered
            .filter_map(|(name, medium, text)| Some(format!("{name}: {}", act(&medium, &text)?)))
            .collect();
        prop_assert!(found.is_empty(), "{}", found.join("\n"));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// What in a text acts; `None` where nothing does.
fn act(medium: &Medium, text: &str) -> Option<String> {
    match medium {
        Medium::Json => serde_json::from_str::<Value>(text)
            .err()
            .map(|error| error.to_string()),
        Medium::Csv => csv_acts(text),
        _ => {
            let control = text.chars().find(|&c| c != '\n' && !is_harmless(c));
            if let Some(control) = control {
                return Some(format!("the character {control:?}"));
            }
            match medium {
                Medium::Page | Medium::FlameGraph => markup_acts(&without_blocks(text)),
                Medium::MarkdownTable => table_acts(text),
                Medium::Collapsed => text.lines().find_map(stack_acts),
                Medium::Callgrind => text.lines().find_map(callgrind_acts),
                _ => None,
            }
        }
    }
}

/// A page or flame graph without its style, its script and inferno's comments, the first of each.
fn without_blocks(text: &str) -> String {
    let mut out = text.to_owned();
    let blocks = [
        ("<style", "</style>"),
        // inferno's script is in two.
        ("<![CDATA[", "]]>"),
        ("<![CDATA[", "]]>"),
        ("<script>", "</script>"),
        ("<!--Flame graph", "-->"),
        ("<!--NOTES", "-->"),
    ];
    for (from, to) in blocks {
        if let Some(begin) = out.find(from)
            && let Some(end) = out[begin..].find(to)
        {
            out.replace_range(begin..begin + end + to.len(), "");
        }
    }
    out
}

/// Tags that genba and inferno write.
const TAGS: &str = "html head meta title style body main header footer h1 h2 h3 div span section small \
    br ul ol li p b i em strong code pre table thead tbody tr td th details summary svg g rect line \
    circle path polyline polygon text output input button a defs linearGradient stop script ?xml \
    !DOCTYPE !doctype";

/// Attributes that they write; none of them runs a script, but those that inferno's own needs.
const ATTRIBUTES: &str = "lang charset http-equiv content name class style width height x y x1 x2 y1 y2 \
    cx cy r rx ry d points fill stroke opacity stroke-width stroke-dasharray viewBox role aria-label \
    text-anchor title open type placeholder hidden id href colspan rowspan scope transform version \
    xmlns xmlns:xlink xmlns:fg xlink:href standalone encoding offset stop-color onload font-size \
    font-family fg:x fg:w fg:total_samples total_samples fg:frames html svg PUBLIC";

fn markup_acts(page: &str) -> Option<String> {
    for part in page.split('<').skip(1) {
        let Some((tag, after)) = part.split_once('>') else {
            return Some(format!("a tag without an end: <{part}"));
        };
        if after.contains('>') {
            return Some(format!("a stray > after <{tag}>"));
        }
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| !c.is_whitespace() && *c != '/')
            .collect();
        if !TAGS.split_whitespace().any(|known| known == name) {
            return Some(format!("the tag <{tag}>"));
        }
        // Values are in double quotes and hold none, so every odd piece is a value.
        let attributes = tag.split_once(char::is_whitespace).map_or("", |one| one.1);
        for piece in attributes.split('"').step_by(2) {
            for attribute in piece.split_whitespace() {
                let attribute = attribute.trim_end_matches(['=', '/', '?']);
                let known = ATTRIBUTES
                    .split_whitespace()
                    .any(|known| known == attribute);
                if !known && !attribute.is_empty() {
                    return Some(format!("the attribute {attribute} in <{tag}>"));
                }
            }
        }
    }
    None
}

/// Reads a table as RFC 4180 says: as many fields in each record, none a formula.
fn csv_acts(text: &str) -> Option<String> {
    let mut records: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let record = records.last_mut()?;
        let field = record.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\n' if !quoted => records.push(vec![String::new()]),
            c => field.push(c),
        }
    }
    let columns = records[0].len();
    if records.pop()? != [""] {
        return Some("the last line has no end".to_owned());
    }
    let formula = |field: &&String| {
        field.trim_start().starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
    };
    records.iter().find_map(|record| {
        if record.len() != columns {
            return Some(format!(
                "{} fields, not {columns}: {record:?}",
                record.len()
            ));
        }
        record
            .iter()
            .find(formula)
            .map(|field| format!("the formula {field:?}"))
    })
}

/// The rows of a table have as many cells as its head.
fn table_acts(text: &str) -> Option<String> {
    let mut expected = None;
    for line in text.lines() {
        if !line.starts_with('|') {
            expected = None;
            continue;
        }
        let bars = line.replace("\\|", "").matches('|').count();
        if *expected.get_or_insert(bars) != bars {
            return Some(format!("a row with {bars} bars: {line}"));
        }
    }
    None
}

/// A folded stack is frames, a blank and a weight.
fn stack_acts(line: &str) -> Option<String> {
    let fine = line.rsplit_once(' ').is_some_and(|(stack, weight)| {
        weight.parse::<u64>().is_ok() && stack.split(';').all(|frame| !frame.trim().is_empty())
    });
    (!fine).then(|| format!("the line {line:?}"))
}

fn callgrind_acts(line: &str) -> Option<String> {
    const HEADS: [&str; 19] = [
        "# callgrind format",
        "version:",
        "creator:",
        "pid:",
        "cmd:",
        "desc:",
        "positions:",
        "events:",
        "summary:",
        "totals:",
        "ob=",
        "fl=",
        "fi=",
        "fe=",
        "fn=",
        "cob=",
        "cfi=",
        "cfn=",
        "calls=",
    ];
    let costs = |line: &str| {
        line.split(' ').all(|word| {
            let digits = word
                .trim_start_matches("0x")
                .trim_start_matches(['+', '-', '*']);
            digits.chars().all(|c| c.is_ascii_hexdigit())
        })
    };
    let fine = line.is_empty() || HEADS.iter().any(|head| line.starts_with(head)) || costs(line);
    (!fine).then(|| format!("the line {line:?}"))
}
