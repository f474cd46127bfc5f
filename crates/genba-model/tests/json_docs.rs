//! `docs/json.md` has the fields of every JSON document. It is generated from the types of this
//! crate; `UPDATE_JSON_DOCS=1 cargo test -p genba-model --test json_docs` writes it.

mod json_schema;

use std::fs;
use std::path::{Path, PathBuf};

use genba_model::{CpuTime, Estimate, Event, ExitKind, Precision, RunRecord};
use json_schema::Types;

/// Kind, root type, and the commands that print it.
const DOCUMENTS: &[(&str, &str, &str)] = &[
    (
        "investigation",
        "Investigation",
        "genba investigate --json, genba case show --json",
    ),
    (
        "comparison",
        "ComparisonReport",
        "genba bench --json, genba gate --json",
    ),
    ("stat", "Stat", "genba stat --json"),
    ("counts", "Counts", "genba count --json"),
    (
        "profile",
        "Profile",
        "genba report --json, genba top --once --json",
    ),
    (
        "script-profile",
        "ScriptProfile",
        "genba report --by script --json",
    ),
    (
        "data-profile",
        "DataProfile",
        "genba report --by data --json",
    ),
    ("annotation", "Annotation", "genba annotate --json FUNCTION"),
    ("observation", "ObservedPlace", "genba observe --json PLACE"),
    ("waits", "Waits", "genba wait --json -- COMMAND"),
    ("off-cpu", "OffCpu", "genba report --off-cpu --json"),
    ("explanation", "Explanation", "genba explain --json"),
    (
        "calibration",
        "Calibration",
        "genba explain --calibration --json",
    ),
    (
        "profile-diff",
        "ProfileDiff",
        "genba diff --json BEFORE AFTER",
    ),
    ("trial", "TrialReport", "genba try --json"),
    ("fix", "SourceFix", "genba fix --json"),
    ("ablation", "Ablation", "genba ablate --json"),
    ("sweep", "Sweep", "genba sweep --json"),
    ("growth", "Growth", "genba grow --json"),
    ("proof", "Proof", "genba prove --json"),
    ("history", "HistoryReport", "genba history show --json"),
    ("series-list", "SeriesList", "genba history list --json"),
    ("bisection", "Bisection", "genba bisect range --json"),
    ("campaign", "Campaign", "genba campaign --json"),
    (
        "campaign-plan",
        "CampaignDryRun",
        "genba campaign --dry-run --json",
    ),
    (
        "plan",
        "ExperimentDryRun",
        "genba ablate --dry-run --json, genba sweep --dry-run --json",
    ),
    (
        "host-table",
        "HostTable",
        "genba host table --json, genba host calibrate --json",
    ),
    ("doctor", "Doctor", "genba host doctor --json"),
    ("cases", "CaseList", "genba case list --json"),
];

const HEAD: &str = "# JSON documents

<!-- Generated from crates/genba-model by `UPDATE_JSON_DOCS=1 cargo test -p genba-model --test
json_docs`; do not edit. -->

Every verb prints one JSON document on standard output with `--json`. Each document has the fields
`schema` (`\"genba/1\"`) and `kind` beside those below. Within `genba/1`, fields are added but not
renamed or removed; readers must ignore fields that they do not know.

Times are seconds, sizes bytes, and shares 0…1, unless the name or the unit says otherwise. A
quantity with an uncertainty is an [Estimate](#estimate). `ratio` is variant ÷ baseline, so below 1
is faster for a time; a speedup is old ÷ new.

";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn generated() -> String {
    let types = Types::parse(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let mut text = HEAD.to_owned();
    text.push_str("| kind | printed by |\n|---|---|\n");
    for (kind, _, verbs) in DOCUMENTS {
        let verbs: Vec<String> = verbs.split(", ").map(|verb| format!("`{verb}`")).collect();
        text.push_str(&format!("| [{kind}](#{kind}) | {} |\n", verbs.join(", ")));
    }
    text.push_str("\n## Documents\n");
    let roots: Vec<&str> = DOCUMENTS.iter().map(|(_, name, _)| *name).collect();
    for (kind, name, _) in DOCUMENTS {
        text.push_str(&format!(
            "\n### {kind}\n\n{}",
            types.section(name, DOCUMENTS)
        ));
    }
    text.push_str("\n## Types\n");
    for name in types.reachable_from(&roots) {
        text.push_str(&format!(
            "\n### {name}\n\n{}",
            types.section(&name, DOCUMENTS)
        ));
    }
    text
}

#[test]
fn json_docs_are_those_of_the_types() {
    let path = root().join("docs/json.md");
    let text = generated();
    if std::env::var_os("UPDATE_JSON_DOCS").is_some() {
        fs::write(&path, &text).expect("docs/json.md is writable");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/json.md is stale; run: UPDATE_JSON_DOCS=1 cargo test -p genba-model --test json_docs"
    );
}

/// The generator reads serde's attributes itself; what serde writes must be what it documents.
#[test]
fn documented_fields_are_those_that_serde_writes() {
    let types = Types::parse(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let run = RunRecord {
        wall_seconds: 1.0,
        target: CpuTime::default(),
        children: CpuTime::default(),
        orphans: 0,
        max_rss_bytes: 0,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        exit: ExitKind::Signal {
            signal: 11,
            core: false,
        },
        stdout_bytes: None,
        read_bytes: None,
    };
    let event = Event {
        name: "cycles".to_owned(),
        hardware: true,
        frequency_hz: 4999,
        kernel: false,
        precision: Precision::Skid,
    };
    for (name, value) in [
        ("RunRecord", serde_json::to_value(&run)),
        ("Estimate", serde_json::to_value(Estimate::exact(1.0))),
        ("Event", serde_json::to_value(event)),
    ] {
        let value = value.expect("serialisable");
        let mut written: Vec<&String> = value.as_object().expect("an object").keys().collect();
        let mut documented = types.field_names(name);
        written.sort();
        documented.sort();
        assert_eq!(
            written.into_iter().cloned().collect::<Vec<_>>(),
            documented,
            "{name}"
        );
    }
    let old: RunRecord = serde_json::from_str(
        &serde_json::to_string(&run)
            .expect("serialisable")
            .replace("\"children\"", "\"beside\""),
    )
    .expect("documents of earlier versions are read");
    assert_eq!(old, run);
}
