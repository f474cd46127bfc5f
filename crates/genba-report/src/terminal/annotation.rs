//! `genba annotate`: source and instructions of one function.

use genba_model::{AnnotatedInstruction, Annotation};
use genba_units::format;

use crate::listing_rows::{Choice, Content, Row, aligned, rows};
use crate::terminal::screen::{DIM, PLAIN, STRONG, heat};
use crate::wording::{execution_costs, loops, profile};
use crate::{Screen, safe_text};

/// What an annotation shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnotateOptions {
    /// Fold instructions below this share of the function's samples (0…1); `None` shows all.
    pub hide_below: Option<f64>,
    /// Columns for loops and arrows.
    pub arrow_columns: usize,
}

impl Default for AnnotateOptions {
    fn default() -> Self {
        Self {
            hide_below: None,
            arrow_columns: 5,
        }
    }
}

/// Cold code is folded in functions of more instructions than this.
const FOLD_ABOVE_INSTRUCTIONS: usize = 60;

/// Code below this share of the function's samples is cold.
const COLD_BELOW_SHARE: f64 = 0.005;

impl AnnotateOptions {
    /// The default for this annotation: the cold code of a long function is folded.
    #[must_use]
    pub fn folding(annotation: &Annotation) -> Self {
        let folds = annotation.instructions.len() > FOLD_ABOVE_INSTRUCTIONS;
        Self {
            hide_below: folds.then_some(COLD_BELOW_SHARE),
            ..Self::default()
        }
    }
}

/// Columns that are shown if some instruction has a value for them.
struct Columns {
    count: bool,
    each: usize,
    /// Half width of the interval of the cost.
    spread: bool,
    latency: bool,
    gutter: usize,
    address: usize,
}

const SHARE: usize = 8;
const COUNT: usize = 8;
const EACH: usize = 22;
/// Width on a narrow screen: cycles only, or time where there are no cycles.
const EACH_NARROW: usize = 10;
const SPREAD: usize = 8;
/// Minimum width of a screen for the interval of a cost, columns.
const MIN_WIDTH_FOR_SPREAD: usize = 110;
const LATENCY: usize = 8;

/// Renders the listing.
#[must_use]
pub fn annotation(a: &Annotation, options: AnnotateOptions, screen: Screen) -> String {
    let width = screen.columns();
    let place = profile::file_line(
        a.instructions.first().and_then(|i| i.file.as_deref()),
        a.instructions.first().and_then(|i| i.line),
    );
    let name = safe_text::fit(&a.function, width.saturating_sub(30).max(20));
    let mut out = format!(
        "{}  {}\n",
        screen.paint(STRONG, &name),
        screen.paint(
            DIM,
            &safe_text::fit(
                &format!("{place} {}", safe_text::file_name(&a.module)),
                width.saturating_sub(safe_text::display_width(&name) + 2)
            )
        )
    );
    for line in super::wrap(&safe_text::sanitise(&profile::annotation_head(a)), width) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    super::counted(&mut out, a.counted.as_ref(), screen);
    out.push('\n');
    let rows = rows(
        a,
        Choice {
            cold_below: options.hide_below,
            arrow_columns: options.arrow_columns.min(20),
            most: usize::MAX,
        },
    );
    let last = a.instructions.iter().map(|i| i.address).max().unwrap_or(0);
    let costs = a
        .instructions
        .iter()
        .any(|i| i.cost_seconds.is_some() || i.cost_cycles.is_some());
    let columns = Columns {
        count: a.instructions.iter().any(|i| i.count.is_some()),
        each: match (costs, width < 100) {
            (false, _) => 0,
            (true, true) => EACH_NARROW,
            (true, false) => EACH,
        },
        spread: costs && width >= MIN_WIDTH_FOR_SPREAD,
        latency: a
            .instructions
            .iter()
            .any(|i| i.host_latency_cycles.is_some()),
        gutter: rows.first().map_or(0, |r| r.gutter.chars().count()),
        address: format!("{last:x}").len().max(5),
    };
    out.push_str(&screen.paint(DIM, head(&columns).trim_end()));
    out.push('\n');
    for row in &rows {
        out.push_str(line(a, row, &columns, screen).trim_end());
        out.push('\n');
    }
    let loops = loops::loops(a);
    if !loops.is_empty() {
        out.push('\n');
    }
    for one in loops {
        out.push_str(&format!("  {}\n", safe_text::fit(&one.head, width - 2)));
        for sentence in &one.more {
            for line in super::wrap(&safe_text::sanitise(sentence), width - 6) {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    if !a.instructions.is_empty() && a.source.is_empty() {
        let lines = a.instructions.iter().any(|i| i.line.is_some());
        super::remark(
            &mut out,
            if lines {
                "the source files named in the debug information were not found"
            } else {
                "no line information for this function: build with -g to see its source"
            },
            screen,
        );
    }
    for note in &a.notes {
        super::remark(&mut out, note, screen);
    }
    if let Some(counted) = &a.counted {
        super::limitations(&mut out, &counted.engine.name, &counted.engine.gaps, screen);
    }
    out
}

fn head(c: &Columns) -> String {
    let mut out = format!("{:>SHARE$}", "share");
    if c.count {
        out.push_str(&format!("{:>COUNT$}", "count"));
    }
    if c.each > 0 {
        out.push_str(&format!("{:>w$}", "each", w = c.each));
    }
    if c.spread {
        out.push_str(&format!("{:>SPREAD$}", "±"));
    }
    if c.latency {
        out.push_str(&format!("{:>LATENCY$}", "latency"));
    }
    out
}

fn line(a: &Annotation, row: &Row, c: &Columns, screen: Screen) -> String {
    let blank = head_width(c);
    // The rest of the line after margin and address is for text.
    let room = screen
        .columns()
        .saturating_sub(blank + 2 + c.gutter + c.address + 3)
        .max(10);
    let gutter = screen.paint(DIM, &row.gutter);
    match &row.content {
        Content::Instruction(index) => {
            let i = &a.instructions[*index];
            let style = heat(i.share.value);
            let body = if style == DIM { PLAIN } else { style };
            let code = safe_text::fit(&aligned(&i.text), room);
            // The longest remark on a jump that fits.
            let free = room - safe_text::display_width(&code);
            let remarks = [
                execution_costs::taken(a, *index),
                execution_costs::taken_briefly(a, *index),
            ];
            let taken = remarks
                .into_iter()
                .flatten()
                .map(|words| format!("   {words}"))
                .find(|words| safe_text::display_width(words) <= free)
                .unwrap_or_default();
            format!(
                "{}  {gutter}{}  {}{}",
                figures(i, c, screen),
                screen.paint(DIM, &format!("{:>w$x}", i.address, w = c.address)),
                screen.paint(body, &code),
                screen.paint(DIM, &taken),
            )
        }
        Content::Source {
            file,
            line,
            text: source,
            inlined,
            new_file,
        } => {
            let mut body = source.as_deref().map_or_else(
                || format!("{}:{line}", safe_text::file_name(file)),
                |source| safe_text::sanitise(source).trim_end().to_owned(),
            );
            let mut tail = String::new();
            if *new_file && source.is_some() {
                tail = format!("  {}", safe_text::fit(safe_text::file_name(file), 24));
            }
            if let Some(name) = inlined {
                tail = format!("{tail}  inlined {}", safe_text::fit(name, 30));
            }
            // Names are cut to half of the room, the text to the rest.
            let tail = safe_text::fit(&tail, room / 2);
            body = safe_text::fit(&body, room - safe_text::display_width(&tail));
            format!(
                "{:blank$}  {gutter}{} {}{}",
                "",
                screen.paint(DIM, &format!("{line:>w$} │", w = c.address)),
                screen.paint(STRONG, &body),
                screen.paint(DIM, &tail),
            )
        }
        Content::Folded { from, to, share } => {
            let words = format!("… {}", format::plural((to - from) as u64, "instruction"));
            let share = if *share > 0.0 {
                format::share(*share)
            } else {
                String::new()
            };
            let pad = blank - SHARE;
            format!(
                "{}{:pad$}  {gutter}{:w$}  {}",
                screen.paint(DIM, &format!("{share:>SHARE$}")),
                "",
                "",
                screen.paint(DIM, &safe_text::fit(&words, room)),
                w = c.address,
            )
        }
    }
}

fn head_width(c: &Columns) -> usize {
    let on = |there: bool, width: usize| if there { width } else { 0 };
    SHARE + on(c.count, COUNT) + c.each + on(c.spread, SPREAD) + on(c.latency, LATENCY)
}

fn figures(i: &AnnotatedInstruction, c: &Columns, screen: Screen) -> String {
    let share = if i.share.value > 0.0 {
        format::percent(&i.share)
    } else {
        String::new()
    };
    let mut out = screen.paint(heat(i.share.value), &format!("{share:>SHARE$}"));
    if c.count {
        let count = i.count.map(|n| format::count(n as f64)).unwrap_or_default();
        out.push_str(&format!("{count:>COUNT$}"));
    }
    if c.each > 0 {
        let each = if c.each == EACH {
            execution_costs::each(i)
        } else {
            execution_costs::shortest(i)
        };
        out.push_str(&format!("{each:>w$}", w = c.each));
    }
    if c.spread {
        out.push_str(&format!("{:>SPREAD$}", execution_costs::spread(i)));
    }
    if c.latency {
        out.push_str(&format!("{:>LATENCY$}", execution_costs::host_latency(i)));
    }
    out
}
