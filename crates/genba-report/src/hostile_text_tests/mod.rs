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

use crate::terminal::{
    AnnotateOptions, By, CountsOptions, Next, ReportOptions, ScriptOptions, annotation,
};
use crate::test_fixtures as fixture;
use crate::wall_flame_graph::{self, Shown};
use crate::{Screen, export, flame_graph, page, terminal};

mod acting_text;

use acting_text::{Medium, act};

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
            &fixture::campaign::campaign(),
            move |all: &genba_model::Campaign| {
                vec![
                    (
                        "campaign",
                        Medium::Terminal,
                        terminal::campaign(all, screen),
                    ),
                    ("campaign's page", Medium::Page, page::campaign_html(all)),
                ]
            },
        ),
        Document::new(
            &fixture::campaign::dry_run(),
            move |all: &genba_model::CampaignDryRun| {
                let text = terminal::campaign_dry_run(all, screen);
                vec![("campaign's plan", Medium::Terminal, text)]
            },
        ),
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
                let html = page::profile_diff_html(all, None);
                vec![
                    ("difference", Medium::Terminal, text),
                    ("difference's page", Medium::Page, html),
                ]
            },
        ),
        Document::new(&fixture::host::table(), move |all| {
            vec![(
                "host table",
                Medium::Terminal,
                terminal::host_table(all, screen),
            )]
        }),
        Document::new(&fixture::host::doctor(), move |all| {
            vec![("doctor", Medium::Terminal, terminal::doctor(all, screen))]
        }),
        Document::new(
            &fixture::observed_place(),
            move |all: &genba_model::ObservedPlace| {
                let text = terminal::observed_place(all, screen);
                vec![("observed place", Medium::Terminal, text)]
            },
        ),
        Document::new(
            &fixture::source_fix(),
            move |all: &genba_model::SourceFix| {
                let text = terminal::source_fix(all, screen);
                vec![("source fix", Medium::Terminal, text)]
            },
        ),
        Document::new(&fixture::growth(), move |all: &genba_model::Growth| {
            vec![(
                "growth",
                Medium::Terminal,
                terminal::growth(all, 30, screen),
            )]
        }),
        Document::new(&fixture::waits(), move |all: &genba_model::Waits| {
            vec![
                ("waits", Medium::Terminal, terminal::waits(all, screen)),
                ("waits' page", Medium::Page, page::waits_html(all)),
                (
                    "wall time's collapsed stacks",
                    Medium::Terminal,
                    wall_flame_graph::collapsed(all, Shown::All),
                ),
                (
                    "wall time's flame graph",
                    Medium::FlameGraph,
                    wall_flame_graph::svg(all, Shown::All, &flame_graph::FlameOptions::default())
                        .unwrap_or_default(),
                ),
            ]
        }),
        Document::new(&fixture::off_cpu(), move |all: &genba_model::OffCpu| {
            let text = terminal::off_cpu(all, &terminal::ReportOptions::default(), screen);
            vec![("time off a CPU", Medium::Terminal, text)]
        }),
        Document::new(
            &fixture::calibration(),
            move |all: &genba_model::Calibration| {
                let text = terminal::calibration(all, screen);
                vec![("calibration", Medium::Terminal, text)]
            },
        ),
        Document::new(
            &fixture::cases(),
            move |all: &Vec<genba_model::CaseSummary>| {
                vec![("cases", Medium::Terminal, terminal::cases(all, screen))]
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
        (
            "Markdown",
            Medium::MarkdownTable,
            export::summary_table(
                all,
                export::Markup::Markdown,
                export::TableOptions::default(),
            ),
        ),
        (
            "GitHub",
            Medium::MarkdownTable,
            export::github_markdown(&export::GateResult::new(all, 0.01)),
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
