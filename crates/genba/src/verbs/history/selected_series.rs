//! The series that a user selects, read and analysed.

use clap::Args as ClapArgs;
use genba_history::{History, NamedRevision, SeriesFilter, history_report};
use genba_investigate::Progress as _;
use genba_model::{HistoryReport, SeriesList};

use crate::compare::{self, StoreArg};
use crate::exit_code::Failure;
use crate::output::Output;

/// Which series of which store.
#[derive(Clone, Debug, ClapArgs)]
pub struct SelectArgs {
    #[command(flatten)]
    pub store: StoreArg,

    /// Benchmark: its name, or a part of it.
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub benchmark: String,

    /// Variant.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub variant: String,

    /// Metric [default: wall, or all where there is none].
    #[arg(short, long, value_name = "NAME")]
    pub metric: Option<String>,

    /// Branch [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub branch: String,

    /// Beginning of the host's id [default: all, each as a series of its own].
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub host: String,

    /// Project [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub project: String,
}

impl SelectArgs {
    fn filter(&self, default_metric: &str) -> SeriesFilter {
        SeriesFilter {
            project: self.project.clone(),
            benchmark: self.benchmark.clone(),
            variant: self.variant.clone(),
            metric: (self.metric.clone()).unwrap_or_else(|| default_metric.to_owned()),
            host: self.host.clone(),
            branch: self.branch.clone(),
        }
    }
}

/// Lists the series that are selected; of all metrics unless one is named.
pub fn list(args: &SelectArgs, output: &Output) -> Result<SeriesList, Failure> {
    let location = &args.store.location()?;
    let _line = compare::waiting_line(location, output);
    let mut history = History::open_existing(location)?;
    let series = history.series(&args.filter(""))?;
    if series.is_empty() {
        return Err(nothing_selected(&mut history, &location.display()));
    }
    Ok(SeriesList {
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        store: location.display(),
        series,
    })
}

/// Why no series is selected: there is none, or none like that.
fn nothing_selected(history: &mut History, store: &str) -> Failure {
    let any = history.series(&SeriesFilter::default());
    Failure::usage(match any.is_ok_and(|all| all.is_empty()) {
        true => format!(
            "{store} has no measurements yet; make some with: genba history record -- COMMAND"
        ),
        false => {
            format!("no series in {store} is selected; list all of them with: genba history list")
        }
    })
}

/// Reads and analyses the series that are selected.
pub fn report(
    args: &SelectArgs,
    revisions: Option<&[NamedRevision; 2]>,
    output: &Output,
) -> Result<HistoryReport, Failure> {
    let location = &args.store.location()?;
    let mut line = compare::waiting_line(location, output);
    let mut history = History::open_existing(location)?;
    let mut filter = args.filter("wall");
    let mut selected = history.series(&filter)?;
    if selected.is_empty() && args.metric.is_none() {
        filter.metric = String::new();
        selected = history.series(&filter)?;
    }
    if selected.is_empty() {
        return Err(nothing_selected(&mut history, &location.display()));
    }
    let report = history_report(
        &mut history,
        &selected,
        &args.branch,
        revisions,
        &mut |number| {
            let stage = format!("analysing series {} of {}", number + 1, selected.len());
            line.update(&stage, None);
        },
    )?;
    if report.series.is_empty()
        && let Some([before, after]) = revisions
    {
        return Err(Failure::usage(format!(
            "no series has measurements of both {:?} and {:?}; genba history list shows what there is",
            before.name, after.name
        )));
    }
    Ok(report)
}
