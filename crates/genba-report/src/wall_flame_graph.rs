//! Flame graphs of wall time: stacks on CPUs and off in one graph on one scale, in two colours (after
//! Gregg's hot/cold flame graphs); as an interactive SVG file by inferno, and as collapsed stacks.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use genba_model::{StackRow, StackTree, WaitReason, Waits, WallStack};
use genba_units::format;
use inferno::flamegraph::color::{Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};

use crate::flame_graph::{FlameError, FlameOptions, Result, frame_name};
use crate::safe_text;
use crate::wording::waits as wording;

/// Which stacks are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// On CPUs and off.
    #[default]
    All,
    /// Off CPUs only.
    OffCpu,
}

/// Colours of time on a CPU and off, as RGB; names vary their brightness.
const ON_CPU: [u8; 3] = [240, 145, 82];
const OFF_CPU: [u8; 3] = [116, 168, 214];
/// How much the brightness of a colour varies with the name.
const VARIATION: u8 = 24;
/// Marks in the subtitle that become squares in the two colours.
const ON_MARK: char = '\u{e000}';
const OFF_MARK: char = '\u{e001}';
/// Red and green of the colour of a frame with both kinds of time, until its gradient replaces it;
/// blue is the percentage on a CPU.
const MIXED: (u8, u8) = (1, 2);

/// Share of a frame's time below which a reason is not named.
const MIN_SHARE_OF_FRAME: f64 = 0.005;

/// A stack as it is drawn: names with their separators replaced, outermost first.
struct Drawn {
    frames: Vec<String>,
    state: WaitReason,
    ns: f64,
}

/// Renders one line per stack, `thread;outer;inner;[reason: object] ns`, the format of
/// `stackcollapse`; stacks on a CPU have no last frame in brackets.
#[must_use]
pub fn collapsed(all: &Waits, shown: Shown) -> String {
    let mut out = String::new();
    for one in drawn(&all.stacks, shown) {
        if one.ns.round() >= 1.0 {
            let _ = writeln!(out, "{} {:.0}", one.frames.join(";"), one.ns);
        }
    }
    out
}

/// The stacks as rows of a profile; weights are nanoseconds, and what was waited for is the last frame.
pub(crate) fn rows(all: &Waits) -> Vec<StackRow> {
    rows_of(all, Shown::All)
}

/// Returns the stacks as a tree; weights are nanoseconds, and what was waited for is the innermost frame.
pub(crate) fn tree(all: &Waits, shown: Shown) -> StackTree {
    StackTree::of_rows(&rows_of(all, shown), usize::MAX)
}

fn rows_of(all: &Waits, shown: Shown) -> Vec<StackRow> {
    (drawn(&all.stacks, shown).into_iter())
        .map(|one| StackRow {
            frames: one.frames,
            weight: one.ns as u64,
        })
        .collect()
}

/// The frames that say what was waited for.
pub(crate) fn wait_frames(all: &Waits) -> HashSet<String> {
    let all = all.stacks.iter().filter_map(wait_frame);
    all.map(|name| frame_name(&name)).collect()
}

/// Renders an SVG file with zoom and search. The width is wall time of threads; a frame in which
/// threads were on a CPU and off is divided in proportion.
///
/// # Errors
/// There are no stacks.
pub fn svg(all: &Waits, shown: Shown, options: &FlameOptions) -> Result<String> {
    let mut stacks = drawn(&all.stacks, shown);
    if options.reversed {
        for one in &mut stacks {
            one.frames.reverse();
        }
    }
    let (lines, mut colours) = labelled(&stacks);
    if lines.is_empty() {
        return Err(FlameError::Empty);
    }
    let mut inferno = Options::default();
    inferno.title = safe_text::fit(&safe_text::command(&wording::target(all)), 100);
    inferno.subtitle = Some(legend(&stacks));
    inferno.count_name = "µs".to_owned();
    inferno.direction = match options.inverted {
        true => Direction::Inverted,
        false => Direction::Straight,
    };
    inferno.image_width = options.width.map(|width| width.clamp(200, 20_000));
    inferno.min_width = options.min_percent.clamp(0.0, 50.0);
    inferno.text_truncate_direction = TextTruncateDirection::Right;
    inferno.hash = true;
    inferno.palette_map = Some(&mut colours);
    let mut out = Vec::new();
    flamegraph::from_lines(&mut inferno, lines.lines(), &mut out)?;
    let text =
        String::from_utf8(out).map_err(|error| FlameError::Draw(std::io::Error::other(error)))?;
    Ok(with_gradients(&text))
}

fn drawn(stacks: &[WallStack], shown: Shown) -> Vec<Drawn> {
    stacks
        .iter()
        .filter(|one| shown == Shown::All || one.state != WaitReason::Running)
        .filter(|one| one.seconds.is_finite() && one.seconds > 0.0)
        .map(|one| Drawn {
            frames: frames(one),
            state: one.state,
            ns: one.seconds * 1e9,
        })
        .collect()
}

/// The name of the thread, the functions, and what it waited for.
fn frames(one: &WallStack) -> Vec<String> {
    let mut frames = vec![frame_name(&one.thread)];
    frames.extend(one.frames.iter().map(|name| frame_name(name)));
    if one.frames.is_empty() {
        frames.push("[no stack]".to_owned());
    }
    if let Some(wait) = wait_frame(one) {
        frames.push(frame_name(&wait));
    }
    frames
}

/// What a stack waited for, as a frame above it; `None` on a CPU.
pub(crate) fn wait_frame(one: &WallStack) -> Option<String> {
    let reason = wording::short_reason(one.state);
    match (one.state, &one.object) {
        (WaitReason::Running, _) => None,
        (_, Some(object)) => Some(format!("[{reason}: {object}]")),
        (_, None) => Some(format!("[{reason}]")),
    }
}

/// A frame of the graph: time on a CPU, and by reason off it.
#[derive(Default)]
struct Node {
    on: f64,
    off: HashMap<WaitReason, f64>,
}

/// One line per stack for inferno, µs, with the colour of each name. Frames say their division in
/// their names: one function may be on a CPU in one place of the graph and wait in another.
fn labelled(stacks: &[Drawn]) -> (String, PaletteMap) {
    let mut nodes: HashMap<&[String], Node> = HashMap::new();
    for one in stacks {
        for end in 1..=one.frames.len() {
            let node = nodes.entry(&one.frames[..end]).or_default();
            match one.state {
                WaitReason::Running => node.on += one.ns,
                reason => *node.off.entry(reason).or_default() += one.ns,
            }
        }
    }
    let mut lines = String::new();
    let mut colours = PaletteMap::default();
    for one in stacks {
        let weight = (one.ns / 1e3).round();
        if weight < 1.0 {
            continue;
        }
        for end in 1..=one.frames.len() {
            let name = &one.frames[end - 1];
            let Some(node) = nodes.get(&one.frames[..end]) else {
                continue;
            };
            let (label, colour) = label(name, node);
            lines.push_str(if end > 1 { ";" } else { "" });
            lines.push_str(&label);
            colours.insert(label, colour);
        }
        let _ = writeln!(lines, " {weight:.0}");
    }
    (lines, colours)
}

/// The name of a frame with its division, and its colour, which depends on the label only.
fn label(name: &str, node: &Node) -> (String, Color) {
    let off: f64 = node.off.values().sum();
    let percent = (node.on / (node.on + off).max(f64::MIN_POSITIVE) * 100.0).round() as u8;
    let mut reasons: Vec<(&WaitReason, &f64)> = node.off.iter().collect();
    reasons.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    reasons.retain(|(_, ns)| **ns >= (node.on + off) * MIN_SHARE_OF_FRAME);
    let words: Vec<String> = reasons
        .iter()
        .map(|(reason, ns)| {
            let share = *ns / (node.on + off) * 100.0;
            format!("{} {share:.0} %", wording::short_reason(**reason))
        })
        .take(3)
        .collect();
    if reasons.is_empty() || percent >= 100 {
        // Nearly all of it on a CPU, or of many reasons that are small each.
        let colour = if percent >= 50 { ON_CPU } else { OFF_CPU };
        return (unnumbered(name), shade(colour, name));
    }
    let words = match percent {
        0 if reasons.len() == 1 => wording::short_reason(*reasons[0].0).to_owned(),
        0 => words.join(", "),
        on => format!("on a CPU {on} %, {}", words.join(", ")),
    };
    let label = match name.starts_with('[') {
        // It is the reason itself.
        true if percent == 0 => name.to_owned(),
        _ => format!("{name} ({words})"),
    };
    let colour = match percent {
        0 => shade(OFF_CPU, name),
        on => Color {
            r: MIXED.0,
            g: MIXED.1,
            b: on,
        },
    };
    (label, colour)
}

/// inferno reads two numbers at the end of a line as a difference.
fn unnumbered(name: &str) -> String {
    match name.rsplit_once(' ') {
        Some((rest, end)) if end.parse::<f64>().is_ok() => format!("{rest}\u{a0}{end}"),
        _ => name.to_owned(),
    }
}

/// A colour with a brightness that depends on the name.
fn shade(colour: [u8; 3], name: &str) -> Color {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let lighter = (hash >> 8) as u8 % VARIATION;
    let [r, g, b] = colour.map(|part| part.saturating_add(lighter));
    Color { r, g, b }
}

fn legend(stacks: &[Drawn]) -> String {
    let all: f64 = stacks.iter().map(|one| one.ns).sum();
    let on = (stacks.iter())
        .filter(|one| one.state == WaitReason::Running)
        .map(|one| one.ns)
        .sum::<f64>();
    let mut words = format!(
        "Width: wall time of all threads, {}. ",
        format::seconds(all / 1e9)
    );
    if on > 0.0 {
        let _ = write!(words, "{ON_MARK} on a CPU {} ", format::share(on / all));
    }
    let _ = write!(
        words,
        "{OFF_MARK} off a CPU {}: why is in brackets.",
        format::share((all - on) / all)
    );
    words
}

/// Replaces the colours of divided frames by gradients with a sharp border, and the marks of the
/// legend by squares.
fn with_gradients(text: &str) -> String {
    let colour = |rgb: [u8; 3]| format!("rgb({},{},{})", rgb[0], rgb[1], rgb[2]);
    let mut gradients = String::from("<defs>");
    let mut out = text.to_owned();
    for percent in 1..100 {
        let fill = format!("fill=\"rgb({},{},{percent})\"", MIXED.0, MIXED.1);
        if !out.contains(&fill) {
            continue;
        }
        out = out.replace(&fill, &format!("fill=\"url(#on{percent})\""));
        let _ = write!(
            gradients,
            "<linearGradient id=\"on{percent}\"><stop offset=\"{percent}%\" stop-color=\"{}\"/>\
             <stop offset=\"{percent}%\" stop-color=\"{}\"/></linearGradient>",
            colour(ON_CPU),
            colour(OFF_CPU)
        );
    }
    let square = |rgb| format!("<tspan fill=\"{}\">■</tspan>", colour(rgb));
    out.replacen("<defs>", &gradients, 1)
        .replacen(ON_MARK, &square(ON_CPU), 1)
        .replacen(OFF_MARK, &square(OFF_CPU), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    fn stack(state: WaitReason, frames: &[&str], seconds: f64) -> WallStack {
        WallStack {
            thread: "worker 3".to_owned(),
            state,
            object: (state == WaitReason::Lock).then(|| "queue.lock".to_owned()),
            frames: frames.iter().map(|name| (*name).to_owned()).collect(),
            own: None,
            seconds,
            snapshots: 1,
        }
    }

    fn some() -> Waits {
        Waits {
            stacks: vec![
                stack(WaitReason::Lock, &["main", "push", "lock"], 3.0),
                stack(WaitReason::Running, &["main", "hash"], 1.0),
                stack(WaitReason::RunQueue, &[], 0.5),
            ],
            ..fixture::waits()
        }
    }

    #[test]
    fn collapsed_stacks_have_thread_and_reason() {
        assert_eq!(
            collapsed(&some(), Shown::All),
            "worker 3;main;push;lock;[lock: queue.lock] 3000000000\n\
             worker 3;main;hash 1000000000\n\
             worker 3;[no stack];[run queue] 500000000\n"
        );
        assert_eq!(collapsed(&some(), Shown::OffCpu).lines().count(), 2);
    }

    #[test]
    fn frames_of_both_kinds_are_divided_in_proportion() {
        let found = svg(&some(), Shown::All, &FlameOptions::default()).unwrap();
        assert!(found.contains("main (on a CPU 25 %, lock 75 %)"), "{found}");
        assert!(found.contains("push (lock)") && found.contains("[lock: queue.lock]"));
        assert!(found.contains("id=\"on25\"") && found.contains("fill=\"url(#on25)\""));
        assert!(!found.contains(ON_MARK) && found.contains("on a CPU 22"));
        assert!(!found.contains("fill=\"rgb(1,2,"));
    }

    #[test]
    fn off_cpu_graph_has_no_time_on_a_cpu() {
        let found = svg(&some(), Shown::OffCpu, &FlameOptions::default()).unwrap();
        assert!(!found.contains("hash") && !found.contains("url(#on"));
        assert!(found.contains("main (lock)"));
    }

    #[test]
    fn reversed_graph_merges_by_reason() {
        let mut all = some();
        all.stacks
            .push(stack(WaitReason::Lock, &["main", "pop", "lock"], 1.0));
        let options = FlameOptions {
            reversed: true,
            ..FlameOptions::default()
        };
        let found = svg(&all, Shown::All, &options).unwrap();
        assert!(
            found.contains("[lock: queue.lock] (4,000,000 µs"),
            "{found}"
        );
    }

    #[test]
    fn hostile_names_are_escaped() {
        let mut all = some();
        all.stacks[0].thread = "</title><script>alert(1)</script>".to_owned();
        all.stacks[0].object = Some("a;b \x1b[31m 12".to_owned());
        all.stacks[1].frames = vec!["f 7".to_owned(), "g 8 9".to_owned()];
        let found = svg(&all, Shown::All, &FlameOptions::default()).unwrap();
        assert!(!found.contains("<script>alert") && !found.contains('\x1b'));
        assert!(found.contains("g 8\u{a0}9"));
    }

    #[test]
    fn no_stacks_are_an_error() {
        let mut all = some();
        all.stacks.clear();
        let none = svg(&all, Shown::All, &FlameOptions::default());
        assert!(matches!(none, Err(FlameError::Empty)));
    }
}
