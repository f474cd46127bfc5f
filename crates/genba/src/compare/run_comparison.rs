//! From arguments to reports: measure, store, export.

use std::path::Path;

use genba_case::Store;
use genba_experiment::{Plan, add_shell_start, check_same_host, compare_with_case, merge};
use genba_model::{ComparisonReport, EXACT_INSTRUCTIONS, Workload};
use genba_report::export::{self, Markup};
use genba_run::Cancel;

use super::compare_args::CompareArgs;
use super::comparison_case::{ComparisonWriter, Watcher};
use super::history_store;
use super::host_measurement::{ThisHost, count_instructions, measure};
use super::suite_plans as suite;
use crate::exit_code::{Exit, Failure};
use crate::interrupt;
use crate::output::Output;
use crate::output_file::write;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// The result of a comparison.
pub struct Compared {
    /// The reports with their titles; one without a title, unless a suite was given.
    pub reports: Vec<(Option<String>, ComparisonReport)>,
    /// All reports in one document.
    pub whole: ComparisonReport,
    /// Exit code, without a gate's refusal.
    pub exit: Exit,
    /// Path of the page, if a case was stored.
    pub page: Option<String>,
    /// Notes printed after the reports.
    pub notes: Vec<String>,
}

/// Measures the commands or the suite of the arguments, stores the case, writes the exports.
pub fn run(args: &CompareArgs, output: &Output) -> Result<Compared, Failure> {
    unread_input::note(output);
    let cancel = interrupt::token()?;
    let mut line = ProgressLine::new(output);
    let shims = args.runtime.shims()?;
    let mut suite = match suite::file(args) {
        Some(path) => Some(suite::prepare(path, args, &cancel, &mut line)?),
        None => None,
    };
    if let (Some(ready), Some(shims)) = (&mut suite, &shims) {
        if args.runtime.per_request.is_some() {
            return Err(Failure::usage(
                "--per-request needs commands that start Ruby, not a suite",
            ));
        }
        for plan in &mut ready.plans {
            args.runtime.prepare_plan(plan, shims)?;
        }
    }
    let single;
    let (plans, mut notes) = match &suite {
        Some(ready) => (&ready.plans, ready.notes.clone()),
        None => {
            single = vec![args.plan(shims.as_ref())?];
            (&single, Vec::new())
        }
    };
    let here = ThisHost::detect();
    let store = Store::open_root();
    let earlier = earlier(args, &store, &here)?;
    let workload = workload(plans, args);
    let case_store = (!args.no_case).then(|| store.clone());
    let mut writer = ComparisonWriter::new(case_store, workload, here.fingerprint.clone());
    let result = all(
        plans,
        &here,
        &cancel,
        &mut writer,
        &mut line,
        output,
        &mut notes,
    );
    drop(line);
    let (mut reports, mut exit) = match result {
        Ok(done) => done,
        Err(failure) => {
            if let Some(case) = writer.case() {
                let _ = case.interrupt();
            }
            return Err(failure);
        }
    };
    if let Some((case, report)) = &earlier {
        for (_, now) in &mut reports {
            *now = compare_with_case(now.clone(), report, case)?;
        }
    }
    if let Some(case) = writer.case() {
        for (_, report) in &mut reports {
            report.case = Some(case.id().to_owned());
        }
    }
    let titled = reports
        .iter()
        .map(|(title, report)| (title.clone().unwrap_or_default(), report.clone()))
        .collect();
    let mut whole =
        merge(titled).ok_or_else(|| Failure::usage("no report: nothing was measured"))?;
    whole.notes.extend(notes.iter().cloned());
    let page = store_report(&mut writer, &whole, &cancel)?;
    let left_out = suite.as_ref().is_some_and(|ready| ready.excludes);
    if left_out
        || whole
            .variants
            .iter()
            .any(|variant| variant.excluded.is_some())
    {
        exit = Exit::TargetFailed;
    }
    if cancel.is_triggered() {
        exit = Exit::Interrupted;
    }
    write_exports(args, &whole)?;
    if args.history.is_some()
        && let Some(why) = failed_anchor(args, &reports)
    {
        exit = match exit {
            Exit::Interrupted => exit,
            _ => Exit::TargetFailed,
        };
        notes.push(format!(
            "the anchor failed, so nothing is recorded in the history: {why}"
        ));
    } else if let Some(store) = &args.history
        && exit != Exit::Interrupted
    {
        let counted = match args.count_instructions {
            true => count(plans, args, &here, &cancel, output, &mut notes),
            false => Vec::new(),
        };
        // What was measured is kept all the same.
        if cancel.is_triggered() {
            exit = Exit::Interrupted;
        }
        match history_store::keep(store, &reports, &counted, args, output) {
            Ok(note) => notes.push(note),
            // What was measured is shown all the same.
            Err(failure) => {
                output.error(&failure, None);
                exit = failure.exit;
            }
        }
    } else if args.history.is_some() {
        notes.push("interrupted: nothing is recorded in the history".to_owned());
    }
    Ok(Compared {
        reports,
        whole,
        exit,
        page,
        notes,
    })
}

/// Why the anchor has no runs, if so: without it the recording would take the anchor from its whole series.
fn failed_anchor(args: &CompareArgs, reports: &Reports) -> Option<String> {
    let name = &args.anchor.as_ref()?.variant;
    let variants = reports.iter().flat_map(|(_, report)| &report.variants);
    let mut anchors = variants.filter(|one| one.name == *name);
    anchors.find_map(|one| one.excluded.clone())
}

type Reports = Vec<(Option<String>, ComparisonReport)>;

fn all(
    plans: &[Plan],
    here: &ThisHost,
    cancel: &Cancel,
    writer: &mut ComparisonWriter,
    line: &mut ProgressLine,
    output: &Output,
    notes: &mut Vec<String>,
) -> Result<(Reports, Exit), Failure> {
    let several = plans.len() > 1;
    let mut reports = Vec::new();
    let mut exit = Exit::Done;
    let mut last = None;
    for plan in plans {
        if cancel.is_triggered() {
            break;
        }
        let title = plan.name.as_deref().filter(|_| several);
        let mut watcher = Watcher {
            writer: &mut *writer,
            title,
            metric: &plan.primary,
            line: &mut *line,
            output,
        };
        match measure(plan, here, cancel, &mut watcher) {
            Ok(mut report) => {
                add_shell_start(plan, &mut report, cancel);
                reports.push((plan.name.clone(), report));
            }
            // Of a suite, the other comparisons go on.
            Err(failure) if several && failure.exit == Exit::TargetFailed => {
                exit = failure.exit;
                let title = title.unwrap_or_default();
                notes.push(format!("{title}: {}", failure.message));
                last = Some(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    match last {
        Some(failure) if reports.is_empty() => Err(failure),
        _ => Ok((reports, exit)),
    }
}

/// Counts the instructions of what was measured, without the anchor: a build that does not change.
fn count(
    plans: &[Plan],
    args: &CompareArgs,
    here: &ThisHost,
    cancel: &Cancel,
    output: &Output,
    notes: &mut Vec<String>,
) -> Reports {
    let mut line = ProgressLine::new(output);
    let mut plans = plans.to_vec();
    for plan in &mut plans {
        let anchor = args.anchor.as_ref().map(|one| &one.variant);
        plan.variants.retain(|one| Some(&one.name) != anchor);
    }
    let mut writer = ComparisonWriter::new(None, workload(&plans, args), here.fingerprint.clone());
    let mut reports = Vec::new();
    for plan in plans.iter().filter(|plan| !plan.variants.is_empty()) {
        let mut watcher = Watcher {
            writer: &mut writer,
            title: plan.name.as_deref(),
            metric: EXACT_INSTRUCTIONS,
            line: &mut line,
            output,
        };
        match count_instructions(plan, here, cancel, &mut watcher) {
            Ok(report) => {
                notes.extend(report.notes.iter().cloned());
                reports.push((plan.name.clone(), report));
            }
            Err(_) if cancel.is_triggered() => {
                notes.push("instructions not counted: interrupted".to_owned());
                break;
            }
            Err(failure) => notes.push(format!("instructions not counted: {}", failure.message)),
        }
    }
    reports
}

/// The report of the case of `--against`; a case of another host is refused before anything runs.
fn earlier(
    args: &CompareArgs,
    store: &Store,
    here: &ThisHost,
) -> Result<Option<(String, ComparisonReport)>, Failure> {
    let Some(wanted) = &args.against else {
        return Ok(None);
    };
    let case = store.find_baseline(wanted).map_err(|error| {
        match genba_build::rev_parse(Path::new("."), wanted) {
            Ok(_) => Failure::usage(format!(
                "{error}\n  {wanted} is a revision of git; to build and measure it: genba gate --against {wanted} \
                 --build COMMAND 'COMMAND'"
            )),
            Err(_) => error.into(),
        }
    })?;
    let Some(report) = case.comparison()? else {
        return Err(Failure::usage(format!(
            "case {} has no complete comparison; make one with: genba bench",
            case.id()
        )));
    };
    check_same_host(&here.fingerprint, &report, case.id())?;
    Ok(Some((case.id().to_owned(), report)))
}

fn workload(plans: &[Plan], args: &CompareArgs) -> Workload {
    let first = plans.first().and_then(|plan| plan.variants.first());
    let file = suite::file(args).map(|path| path.display().to_string());
    Workload {
        command: first
            .map(|variant| vec![variant.command.clone()])
            .unwrap_or_default(),
        shell: None,
        directory: std::env::current_dir()
            .unwrap_or_default()
            .display()
            .to_string(),
        name: file.or_else(|| first.map(|variant| variant.name.clone())),
    }
}

/// Stores the report and its page in the case; returns the path of the page.
fn store_report(
    writer: &mut ComparisonWriter,
    whole: &ComparisonReport,
    cancel: &Cancel,
) -> Result<Option<String>, Failure> {
    let Some(case) = writer.case() else {
        return Ok(None);
    };
    case.put_comparison(whole)?;
    let page = case.page_path();
    write(&page, &genba_report::page::comparison_html(whole))?;
    if cancel.is_triggered() {
        case.interrupt()?;
    } else {
        case.finish()?;
    }
    Ok(Some(page.display().to_string()))
}

fn write_exports(args: &CompareArgs, whole: &ComparisonReport) -> Result<(), Failure> {
    if let Some(path) = &args.export_json {
        write(path, &export::hyperfine_json(whole))?;
    }
    if let Some(path) = &args.export_csv {
        write(path, &export::csv(whole))?;
    }
    let tables = [
        (&args.export_markdown, Markup::Markdown),
        (&args.export_asciidoc, Markup::AsciiDoc),
        (&args.export_orgmode, Markup::Org),
    ];
    for (path, markup) in tables {
        if let Some(path) = path {
            let table = export::summary_table(whole, markup, args.table_options());
            write(path, &table)?;
        }
    }
    Ok(())
}
