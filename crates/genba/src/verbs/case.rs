//! `genba case`: the cases under `.genba`.

mod serve;

use std::fs::File;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use genba_case::{Case, Store};
use genba_model::{CaseKind, CaseList};
use genba_report::Screen;
use genba_report::terminal::{self, Next};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::session;

/// Arguments of `genba case`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba case list
  genba case show latest
  genba case export 7f3a -o page.html          one self-contained page
  genba case export 7f3a --format json -o case.json
  genba case resume latest                     resume an interrupted experiment
  genba case serve                             all cases in the browser
  genba case import case.json                  on another machine")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all cases, newest first.
    List {
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Show the result of a case.
    Show {
        #[command(flatten)]
        json: JsonArgs,
        /// Case id, a prefix of it, or `latest`.
        #[arg(default_value = "latest")]
        case: String,
    },
    /// Write a case as a page or as JSON.
    Export {
        /// Format [default: by the file's extension, else html].
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// File to write; `-` is standard output.
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Case id, a prefix of it, or `latest`.
        #[arg(default_value = "latest")]
        case: String,
    },
    /// Resume an interrupted experiment; stored runs are not repeated.
    Resume {
        /// Case id, a prefix of it, or `latest`.
        #[arg(default_value = "latest")]
        case: String,
    },
    /// Repeat an experiment as a new case.
    Repeat {
        /// Case id, a prefix of it, or `latest`.
        #[arg(default_value = "latest")]
        case: String,
    },
    /// Show all cases in the browser: a server on this machine alone, until Ctrl-C.
    Serve {
        /// Port on 127.0.0.1; 0 takes a free one.
        #[arg(long, value_name = "PORT", default_value_t = 0)]
        port: u16,
    },
    /// Import a case that was exported as JSON.
    Import {
        /// The JSON file.
        file: PathBuf,
    },
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One self-contained page.
    Html,
    /// One JSON document.
    Json,
}

/// Runs `genba case`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let store = Store::open_root();
    match args.action {
        Action::List { json } => list(&store, &json, output),
        Action::Show { json, case } => show(&store, &case, &json, output),
        Action::Export {
            format,
            output: file,
            case,
        } => export(&store, &case, format, &file, output),
        Action::Resume { case } => session::resume(&store, &case, output),
        Action::Repeat { case } => session::repeat(&store, &case, output),
        Action::Serve { port } => serve::run(port, store, output),
        Action::Import { file } => import(&store, &file, output),
    }
}

fn list(store: &Store, json: &JsonArgs, output: &Output) -> VerbResult {
    let cases = store.list()?;
    if json.wanted() {
        output.json(json, "cases", CaseList { cases })?;
    } else if cases.is_empty() {
        output.note(&format!(
            "no cases in {}; make one with: genba investigate -- COMMAND",
            store.root().display()
        ));
    } else {
        output.result(&terminal::cases(&cases, output.screen()))?;
    }
    Ok(Exit::Done)
}

fn show(store: &Store, id: &str, json: &JsonArgs, output: &Output) -> VerbResult {
    let case = store.find(id)?;
    let page = case.page_path();
    let page = page.exists().then(|| page.display().to_string());
    let kind = case.kind()?;
    if kind.is_experiment() {
        let shown = session::stored_document(&case, kind, output.screen())?;
        if json.wanted() {
            output.json(json, kind.name(), shown.body)?;
        } else {
            output.result(&shown.text)?;
            if let Some(page) = page {
                output.note(&format!("PAGE  {page}"));
            }
        }
        return Ok(Exit::Done);
    }
    if kind == CaseKind::Waits
        && let Some(waits) = case.waits()?
    {
        if json.wanted() {
            output.json(json, kind.name(), waits)?;
        } else {
            output.result(&terminal::waits(&waits, output.screen()))?;
        }
        return Ok(Exit::Done);
    }
    if let Some(comparison) = case.comparison()? {
        if json.wanted() {
            output.json(json, "comparison", comparison)?;
        } else {
            output.result(&terminal::comparison(&comparison, output.screen()))?;
            if let Some(page) = page {
                output.note(&format!("PAGE  {page}"));
            }
        }
        return Ok(Exit::Done);
    }
    if case.kind()? == CaseKind::Comparison {
        let runs = case.variant_runs()?;
        return Err(Failure::usage(format!(
            "case {} is a comparison that was interrupted after {} runs and has no report; run it \
             again",
            case.id(),
            runs.len()
        )));
    }
    let investigation = case.investigation()?;
    if json.wanted() {
        output.json(json, "investigation", investigation)?;
        return Ok(Exit::Done);
    }
    let next = Next {
        page: page.as_deref(),
        command: None,
    };
    output.result(&terminal::investigation(
        &investigation,
        next,
        output.screen(),
    ))?;
    Ok(Exit::Done)
}

/// The page of a case, made from what is stored.
fn page_of(case: &Case, screen: Screen) -> Result<String, Failure> {
    let kind = case.kind()?;
    if kind.is_experiment() {
        return Ok(session::stored_document(case, kind, screen)?.page);
    }
    Ok(match (kind, case.waits()?, case.comparison()?) {
        (CaseKind::Waits, Some(waits), _) => genba_report::page::waits_html(&waits),
        (_, _, Some(comparison)) => genba_report::page::comparison_html(&comparison),
        _ => genba_report::page::html(&case.investigation_for_page(
            genba_report::page::MIN_FRAME_SHARE,
            genba_report::page::MAX_FLAME_LEVELS,
        )?),
    })
}

fn export(
    store: &Store,
    id: &str,
    format: Option<Format>,
    file: &PathBuf,
    output: &Output,
) -> VerbResult {
    let case = store.find(id)?;
    let ends_in_json = file.extension().is_some_and(|ending| ending == "json");
    let format = format.unwrap_or(if ends_in_json {
        Format::Json
    } else {
        Format::Html
    });
    let text = match format {
        Format::Html => page_of(&case, output.screen())?,
        Format::Json => case.export_json()?,
    };
    if file.as_os_str() == "-" {
        output.result(&text)?;
        return Ok(Exit::Done);
    }
    std::fs::write(file, text)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", file.display())))?;
    output.note(&format!("wrote {}", file.display()));
    Ok(Exit::Done)
}

fn import(store: &Store, file: &PathBuf, output: &Output) -> VerbResult {
    let reader = File::open(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let case = store
        .import(reader)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    output.note(&format!("imported as case {}", case.id()));
    Ok(Exit::Done)
}
