//! `genba report`: functions, lines, modules, threads or processes by time.

use std::collections::BTreeSet;

use genba_model::Profile;
use genba_units::format;

use super::call_graph;
use crate::terminal::screen::{DIM, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{execution_costs, profile};
use crate::{Screen, safe_text};

/// The rows of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Functions by self and total.
    #[default]
    Function,
    /// Source lines.
    Line,
    /// Executables and libraries.
    Module,
    /// Threads.
    Thread,
    /// Processes: the target, and those that it started.
    Process,
}

/// What a report shows.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// The rows.
    pub by: By,
    /// Maximum number of rows.
    pub limit: usize,
    /// Rows whose self and total are below this share are not shown.
    pub min_share: f64,
    /// Show callers and callees of the functions that this name means (or, where there are none, of those
    /// whose name contains it) instead of the table.
    pub calls_of: Option<String>,
    /// The recording that a proposed command reads, as it was given; none where it is the default.
    pub input: Option<String>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            by: By::Function,
            limit: 30,
            min_share: 0.001,
            calls_of: None,
            input: None,
        }
    }
}

/// Renders the report.
#[must_use]
pub fn report(profile: &Profile, options: &ReportOptions, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    if !profile.command.is_empty() {
        let command = safe_text::fit(&safe_text::command(&profile.command), width);
        out.push_str(&format!("{}\n", screen.paint(STRONG, &command)));
    }
    for line in super::wrap(&safe_text::sanitise(&profile::sampling(profile)), width) {
        out.push_str(&screen.paint(DIM, &line));
        out.push('\n');
    }
    super::counted(&mut out, profile.counted.as_ref(), screen);
    if let Some(c) = &profile.concentration {
        for line in super::wrap(&profile::concentration(c, profile.samples), width) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out.push('\n');
    if let Some(wanted) = &options.calls_of {
        out.push_str(&call_graph::of_samples(profile, wanted, options, screen));
    } else {
        let (table, shown, all) = match options.by {
            By::Function => functions(profile, options, screen.columns()),
            By::Line => lines(profile, options),
            By::Module => modules(profile, options),
            By::Thread => threads(profile, options),
            By::Process => processes(profile, options),
        };
        if all == 0 {
            // Collapsed stacks and counts have weights, but no number of samples.
            out.push_str(match (options.by, profile.functions.is_empty()) {
                (_, true) => "  no samples: the command used too little CPU time\n",
                (By::Line, _) if profile.imported_from.is_some() => {
                    "  this file has no line information\n"
                }
                (By::Line, _) => {
                    "  no line information: build with -g, or install the debug symbols\n"
                }
                _ => "  nothing to show\n",
            });
        } else {
            out.push_str(&table.render(screen));
        }
        if shown < all {
            let rest = format!("  … {} more below", format::grouped((all - shown) as f64));
            let limit = format!(
                " {} or beyond the limit of {}",
                format::share(options.min_share),
                options.limit
            );
            out.push_str(&screen.paint(DIM, &(rest + &limit)));
            out.push('\n');
        }
    }
    let warnings = [
        (options.by == By::Line)
            .then(|| profile::without_lines(profile))
            .flatten(),
        profile::unnamed_code(profile),
        profile::truncated_stacks(profile),
    ];
    if warnings.iter().any(Option::is_some) || !profile.notes.is_empty() {
        out.push('\n');
    }
    for warning in warnings.iter().flatten() {
        super::remark(&mut out, warning, screen);
    }
    for note in &profile.notes {
        super::remark(&mut out, note, screen);
    }
    if let Some(counted) = &profile.counted {
        super::limitations(&mut out, &counted.engine.name, &counted.engine.gaps, screen);
    }
    out
}

type Rows = (Table, usize, usize);

/// Minimum width of a screen for all columns beside counts, columns.
pub(super) const MIN_WIDTH_FOR_ALL_COLUMNS: usize = 110;

fn functions(profile: &Profile, options: &ReportOptions, width: usize) -> Rows {
    let counted = profile.functions.iter().any(|f| f.calls.is_some());
    let all = !counted || width >= MIN_WIDTH_FOR_ALL_COLUMNS;
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::right("total"),
        Column::right("±"),
        Column::left(""),
        Column::flexible("function", 16),
        Column::flexible("module", 8),
        Column::flexible("source", 8),
        Column::right("calls"),
        Column::right("each"),
        Column::right("±"),
        Column::right("cycles"),
    ]);
    let kernel = profile.functions.iter().any(|f| f.kernel);
    let mut shown = 0;
    for f in &profile.functions {
        let most = f.self_share.value.max(f.total.value);
        if shown >= options.limit || most < options.min_share {
            continue;
        }
        shown += 1;
        let total = profile.stacks;
        let source = profile::file_line(f.file.as_deref(), f.line);
        let module = safe_text::file_name(&f.module);
        let (module, source) = match (all, source.is_empty()) {
            (true, _) => (module, source),
            (false, true) => ("", module.to_owned()),
            (false, false) => ("", source),
        };
        table.row(vec![
            Cell::new(format::percent(&f.self_share), heat(f.self_share.value)),
            Cell::new(format::plus_minus_points(&f.self_share), DIM),
            if total {
                format::percent(&f.total).into()
            } else {
                "".into()
            },
            Cell::new(
                if total && all {
                    format::plus_minus_points(&f.total)
                } else {
                    String::new()
                },
                DIM,
            ),
            Cell::new(
                match (kernel, f.kernel) {
                    (false, _) => "",
                    (true, true) => "k",
                    (true, false) => "u",
                },
                DIM,
            ),
            f.function.as_str().into(),
            Cell::new(module, DIM),
            Cell::new(source, DIM),
            execution_costs::count(f.calls).into(),
            f.cost_seconds
                .map(|e| format::time(&e))
                .unwrap_or_default()
                .into(),
            Cell::new(
                (f.cost_seconds.or(f.cost_cycles).filter(|_| all))
                    .map(|e| format::plus_minus(&e))
                    .unwrap_or_default(),
                DIM,
            ),
            // Without seconds, cycles are shown on narrow screens as well.
            f.cost_cycles
                .filter(|_| all || f.cost_seconds.is_none())
                .map(|e| execution_costs::bare_cycles(&e))
                .unwrap_or_default()
                .into(),
        ]);
    }
    (table, shown, profile.functions.len())
}

fn lines(profile: &Profile, options: &ReportOptions) -> Rows {
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::flexible("line", 10),
        Column::flexible("function", 12),
        Column::flexible("source", 12),
        Column::right("count"),
        Column::right("each"),
    ]);
    let mut shown = 0;
    for l in &profile.lines {
        if shown >= options.limit || l.self_share.value < options.min_share {
            continue;
        }
        shown += 1;
        table.row(vec![
            Cell::new(format::percent(&l.self_share), heat(l.self_share.value)),
            Cell::new(format::plus_minus_points(&l.self_share), DIM),
            profile::file_line(Some(&l.file), Some(l.line)).into(),
            l.function.as_str().into(),
            Cell::new(l.text.as_deref().unwrap_or_default().trim(), DIM),
            execution_costs::count(l.count).into(),
            l.cost_seconds
                .map(|e| format::time(&e))
                .unwrap_or_default()
                .into(),
        ]);
    }
    (table, shown, profile.lines.len())
}

fn modules(profile: &Profile, options: &ReportOptions) -> Rows {
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::flexible("module", 16),
        Column::left("symbols"),
        Column::flexible("build id", 8),
    ]);
    let mut shown = 0;
    for m in &profile.modules {
        if shown >= options.limit || m.self_share.value < options.min_share {
            continue;
        }
        shown += 1;
        table.row(vec![
            Cell::new(format::percent(&m.self_share), heat(m.self_share.value)),
            Cell::new(format::plus_minus_points(&m.self_share), DIM),
            m.module.as_str().into(),
            m.symbols.as_str().into(),
            Cell::new(m.build_id.as_deref().unwrap_or_default(), DIM),
        ]);
    }
    (table, shown, profile.modules.len())
}

fn threads(profile: &Profile, options: &ReportOptions) -> Rows {
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::right("pid"),
        Column::right("tid"),
        Column::flexible("name", 12),
    ]);
    let mut shown = 0;
    for t in &profile.threads {
        if shown >= options.limit || t.self_share.value < options.min_share {
            continue;
        }
        shown += 1;
        table.row(vec![
            Cell::new(format::percent(&t.self_share), heat(t.self_share.value)),
            Cell::new(format::plus_minus_points(&t.self_share), DIM),
            t.pid.to_string().into(),
            t.tid.to_string().into(),
            t.name.as_str().into(),
        ]);
    }
    (table, shown, profile.threads.len())
}

/// Returns rows of processes, sums of their threads. Shares of threads are nearly independent, so
/// the half widths of their intervals add in quadrature.
fn processes(profile: &Profile, options: &ReportOptions) -> Rows {
    struct Process<'p> {
        pid: i32,
        name: &'p str,
        /// Ids of its threads: one that an exec renames has several rows.
        threads: BTreeSet<i32>,
        share: f64,
        squares: f64,
    }
    let mut all: Vec<Process<'_>> = Vec::new();
    for t in &profile.threads {
        let half = (t.self_share.high - t.self_share.low) / 2.0;
        let found = all.iter_mut().position(|p| p.pid == t.pid);
        let process = match found {
            Some(index) => &mut all[index],
            None => {
                all.push(Process {
                    pid: t.pid,
                    // Cases of earlier versions have no names of processes: the thread with the largest share names it.
                    name: if t.process.is_empty() {
                        &t.name
                    } else {
                        &t.process
                    },
                    threads: BTreeSet::new(),
                    share: 0.0,
                    squares: 0.0,
                });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        process.threads.insert(t.tid);
        process.share += t.self_share.value;
        process.squares += half * half;
    }
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.pid.cmp(&b.pid)));
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::right("pid"),
        Column::right("threads"),
        Column::flexible("name", 12),
    ]);
    let mut shown = 0;
    for p in &all {
        if shown >= options.limit || p.share < options.min_share {
            continue;
        }
        shown += 1;
        let half = p.squares.sqrt();
        let share = genba_model::Estimate {
            value: p.share,
            low: (p.share - half).max(0.0),
            high: (p.share + half).min(1.0),
        };
        table.row(vec![
            Cell::new(format::percent(&share), heat(p.share)),
            Cell::new(format::plus_minus_points(&share), DIM),
            p.pid.to_string().into(),
            p.threads.len().to_string().into(),
            p.name.into(),
        ]);
    }
    (table, shown, all.len())
}
