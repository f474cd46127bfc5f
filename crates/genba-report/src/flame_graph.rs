//! Flame graphs (Gregg, "The Flame Graph", CACM 59(6), 2016): as an interactive SVG file by
//! inferno, and as the collapsed-stack text that other tools read.

use std::collections::HashSet;

use genba_model::{Profile, StackRow};
use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options};

use crate::page::flame_graph::{COLOURS, class};
use crate::safe_text;

/// Why there is no flame graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlameError {
    /// The profile has no stacks with samples.
    #[error(
        "no flame graph: the profile has no samples with stacks\n  record with -g or --call-graph dwarf"
    )]
    Empty,
    /// inferno could not draw it.
    #[error("no flame graph: {0}")]
    Draw(#[from] std::io::Error),
}

/// Result of this module.
pub type Result<T> = std::result::Result<T, FlameError>;

/// Layout of a flame graph.
#[derive(Clone, Debug)]
pub struct FlameOptions {
    /// Title; the command, if empty.
    pub title: String,
    /// Grow downwards from the top (an icicle graph).
    pub inverted: bool,
    /// Merge stacks from their leaves, to show callers of hot functions.
    pub reversed: bool,
    /// Width in pixels, or as wide as the window.
    pub width: Option<usize>,
    /// Frames narrower than this share of the time are not drawn, percent.
    pub min_percent: f64,
}

impl Default for FlameOptions {
    fn default() -> Self {
        Self {
            title: String::new(),
            inverted: false,
            reversed: false,
            width: None,
            min_percent: 0.02,
        }
    }
}

/// Renders an SVG file with zoom and search.
///
/// Names are sanitised here and escaped by inferno. The only script is inferno's own; nothing is
/// loaded from elsewhere.
///
/// # Errors
/// The profile has no stacks.
pub fn svg(profile: &Profile, options: &FlameOptions) -> Result<String> {
    let lines = collapsed(profile);
    if lines.is_empty() {
        return Err(FlameError::Empty);
    }
    let mut inferno = Options::default();
    inferno.title = if options.title.is_empty() {
        safe_text::fit(&safe_text::command(&profile.command), 100)
    } else {
        safe_text::fit(&options.title, 100)
    };
    inferno.subtitle =
        Some(crate::wording::profile::sampling(profile)).map(|s| safe_text::sanitise(&s));
    inferno.count_name = if profile.event.hardware {
        "events".to_owned()
    } else {
        "ns".to_owned()
    };
    inferno.direction = if options.inverted {
        Direction::Inverted
    } else {
        Direction::Straight
    };
    inferno.reverse_stack_order = options.reversed;
    inferno.image_width = options.width.map(|w| w.clamp(200, 20_000));
    inferno.min_width = options.min_percent.clamp(0.0, 50.0);
    // As on the page: the colours and the font, on its ground.
    let mut colours = colours(profile);
    inferno.palette_map = Some(&mut colours);
    inferno.bgcolors = Some(BackgroundColor::Flat(Color::new(0xfb, 0xfa, 0xf7)));
    inferno.font_type = "\"JetBrains Mono\",\"DejaVu Sans Mono\",monospace".to_owned();
    let mut out = Vec::new();
    flamegraph::from_lines(&mut inferno, lines.lines(), &mut out)?;
    String::from_utf8(out).map_err(|e| FlameError::Draw(std::io::Error::other(e)))
}

/// The colour of each frame.
fn colours(profile: &Profile) -> PaletteMap {
    let kernel = profile.functions.iter().filter(|one| one.kernel);
    let kernel: HashSet<&str> = kernel.map(|one| one.function.as_str()).collect();
    let mut map = PaletteMap::default();
    for frame in profile.collapsed.iter().flat_map(|row| &row.frames) {
        let name = frame_name(frame);
        if map.get(&name).is_some() {
            continue;
        }
        let class = class(frame, &kernel);
        let found = COLOURS.iter().find(|(known, _)| *known == class);
        if let Some((_, [r, g, b])) = found {
            map.insert(name, Color::new(*r, *g, *b));
        }
    }
    map
}

/// Renders one line per stack, `outer;inner weight`, the format of `stackcollapse`. Separators in
/// names are replaced.
#[must_use]
pub fn collapsed(profile: &Profile) -> String {
    collapsed_rows(&profile.collapsed)
}

/// Renders the same of stacks alone.
pub(crate) fn collapsed_rows(rows: &[StackRow]) -> String {
    let mut out = String::new();
    for row in rows {
        if row.weight == 0 || row.frames.is_empty() {
            continue;
        }
        for (index, frame) in row.frames.iter().enumerate() {
            if index > 0 {
                out.push(';');
            }
            out.push_str(&frame_name(frame));
        }
        out.push_str(&format!(" {}\n", row.weight));
    }
    out
}

/// Returns a frame sanitised, without separators and of limited length.
pub(crate) fn frame_name(frame: &str) -> String {
    let clean = safe_text::fit(frame, 400).replace(';', ":");
    let clean = clean.trim_start_matches('#').trim();
    if clean.is_empty() {
        "[unknown]".to_owned()
    } else {
        clean.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures;

    #[test]
    fn frames_have_the_colours_of_the_page() {
        let mut profile = test_fixtures::investigation().profile.unwrap();
        profile.collapsed = vec![StackRow {
            frames: vec!["main".to_owned(), "[unknown]".to_owned()],
            weight: 5,
        }];
        let svg = svg(&profile, &FlameOptions::default()).unwrap();
        let colour = |class: &str| {
            let (_, [r, g, b]) = COLOURS.iter().find(|one| one.0 == class).unwrap();
            format!("rgb({r},{g},{b})")
        };
        assert!(svg.contains(&colour("hu")), "{svg}");
        assert!(
            svg.contains(&colour(class("main", &HashSet::new()))),
            "{svg}"
        );
    }

    #[test]
    fn names_are_escaped() {
        let profile = test_fixtures::hostile().profile.unwrap();
        let svg = svg(&profile, &FlameOptions::default()).unwrap();
        assert!(svg.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(!svg.contains("<script>alert"));
        assert!(!svg.contains('\x1b'));
        assert!(svg.len() < 2 << 20, "{} bytes", svg.len());
    }

    #[test]
    fn weights_of_collapsed_stacks_are_those_of_the_profile() {
        let profile = test_fixtures::investigation().profile.unwrap();
        let text = collapsed(&profile);
        let sum: u64 = text
            .lines()
            .map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, profile.collapsed.iter().map(|r| r.weight).sum::<u64>());
        let hostile = collapsed(&test_fixtures::hostile().profile.unwrap());
        assert!(
            hostile
                .lines()
                .all(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok())
        );
    }

    #[test]
    fn profile_without_stacks_is_an_error() {
        let mut profile = test_fixtures::investigation().profile.unwrap();
        profile.collapsed.clear();
        assert!(matches!(
            svg(&profile, &FlameOptions::default()),
            Err(FlameError::Empty)
        ));
    }
}
