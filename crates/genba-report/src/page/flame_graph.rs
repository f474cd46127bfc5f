//! The flame graph of the page: frames are nested SVG elements with positions in percent, so the
//! browser scales the graph and cuts the names, and the script only moves frames. Colours are in
//! `flame_graph.css`.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fmt::Write as _;

use genba_model::{Profile, ScriptProfile, StackRow};
use genba_units::format;

use crate::escape_html::escape_fit;

/// Maximum number of frames; the narrowest are not drawn.
const MAX_FRAMES: usize = 2500;
/// Maximum number of levels.
pub const MAX_LEVELS: usize = 96;
/// Minimum share of a frame that is drawn.
pub const MIN_FRAME_SHARE: f64 = 0.0008;
/// What the graph of a profile shows.
const LEAD: &str = "Width is time; callees are above their caller.";
/// Height of a level, pixels.
const LEVEL_HEIGHT: usize = 22;

/// A frame under its caller; node 0 is the root, a caller stands before its callees.
pub(super) struct Node<'a> {
    pub name: &'a str,
    pub level: usize,
    pub parent: usize,
    pub weight: u64,
}

/// A graph and how its frames look, by their index.
pub(super) struct Graph<'a> {
    pub nodes: &'a [Node<'a>],
    /// Sentence above the graph.
    pub lead: &'a str,
    /// CSS class.
    pub class: &'a dyn Fn(usize) -> &'static str,
    /// What the title says behind name and share.
    pub amount: &'a dyn Fn(usize) -> String,
}

/// Merges stacks into a tree; node 0 is the root.
fn tree(stacks: &[StackRow]) -> Vec<Node<'_>> {
    let mut nodes = vec![Node {
        name: "all",
        level: 0,
        parent: 0,
        weight: 0,
    }];
    let mut known: HashMap<(usize, &str), usize> = HashMap::new();
    for row in stacks {
        nodes[0].weight = nodes[0].weight.saturating_add(row.weight);
        let mut at = 0;
        for name in row.frames.iter().take(MAX_LEVELS) {
            at = *known.entry((at, name)).or_insert_with(|| {
                nodes.push(Node {
                    name,
                    level: nodes[at].level + 1,
                    parent: at,
                    weight: 0,
                });
                nodes.len() - 1
            });
            nodes[at].weight = nodes[at].weight.saturating_add(row.weight);
        }
    }
    nodes
}

/// Adds the flame graph of a profile; nothing where it has no stacks.
pub(super) fn graph(out: &mut String, profile: &Profile) {
    let kernel = profile.functions.iter().filter(|f| f.kernel);
    let kernel = kernel.map(|f| f.function.as_str()).collect();
    draw_stacks(
        out,
        &profile.collapsed,
        &kernel,
        profile.event.hardware,
        LEAD,
    );
}

/// Adds the flame graph of functions of Python or Ruby with the C functions that they called.
pub(super) fn of_script(out: &mut String, script: &ScriptProfile) {
    draw_stacks(out, &script.collapsed, &HashSet::new(), false, LEAD);
}

/// Adds the flame graph of the threads' wall time: what they did, and in the colour of the kernel what
/// they waited for, whose frames are `waits`.
pub(super) fn of_wall_time(out: &mut String, stacks: &[StackRow], waits: &HashSet<&str>) {
    const LEAD: &str = "Width is wall time of threads; blue frames are waits, with their reason.";
    draw_stacks(out, stacks, waits, false, LEAD);
}

/// `events`: weights are events, else nanoseconds.
fn draw_stacks(
    out: &mut String,
    stacks: &[StackRow],
    kernel: &HashSet<&str>,
    events: bool,
    lead: &str,
) {
    let nodes = tree(stacks);
    draw(
        out,
        &Graph {
            nodes: &nodes,
            lead,
            class: &|index| class(nodes[index].name, kernel),
            amount: &|index| match events {
                true => format!("{} events", format::count(nodes[index].weight as f64)),
                false => format::seconds(nodes[index].weight as f64 / 1e9),
            },
        },
    );
}

/// Adds a graph; nothing where it has no frames.
pub(super) fn draw(out: &mut String, graph: &Graph<'_>) {
    let nodes = graph.nodes;
    let whole = nodes[0].weight;
    if whole == 0 || nodes.len() < 2 {
        return;
    }
    let mut least = (whole as f64 * MIN_FRAME_SHARE) as u64;
    if nodes.len() > MAX_FRAMES {
        let mut weights: Vec<u64> = nodes.iter().map(|n| n.weight).collect();
        weights.sort_unstable_by(|a, b| b.cmp(a));
        // Strictly above the weight of the first that is too many, so that ties go together.
        least = least.max(weights[MAX_FRAMES].saturating_add(1));
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().skip(1) {
        if node.weight >= least.max(1) {
            children[node.parent].push(index);
        }
    }
    for list in &mut children {
        list.sort_by(|&a, &b| {
            let (a, b) = (&nodes[a], &nodes[b]);
            b.weight.cmp(&a.weight).then_with(|| a.name.cmp(b.name))
        });
    }
    // Positions from the root outwards; a child is only kept if its parent is, since it
    // weighs no more.
    let mut placed: Vec<(usize, f64)> = Vec::new();
    let mut queue = vec![(0, 0.0)];
    while let Some((index, left)) = queue.pop() {
        placed.push((index, left));
        let mut x = left;
        for &child in &children[index] {
            queue.push((child, x));
            x += nodes[child].weight as f64 / whole as f64 * 100.0;
        }
    }
    let levels = placed.iter().map(|p| nodes[p.0].level).max().unwrap_or(0) + 1;
    let height = levels * LEVEL_HEIGHT;
    let _ = write!(
        out,
        "<div class=\"flame\"><div class=\"tools\"><output>{}</output><input type=\"search\" placeholder=\"search\" \
         aria-label=\"search the flame graph\" hidden><button type=\"button\" hidden>reset zoom</button></div>\n\
         <svg class=\"graph\" height=\"{height}\" role=\"group\" aria-label=\"flame graph; its figures are in the table above\">\n",
        graph.lead
    );
    for (index, x) in placed {
        let node = &nodes[index];
        let width = node.weight as f64 / whole as f64 * 100.0;
        let y = height - (node.level + 1) * LEVEL_HEIGHT;
        let _ = writeln!(
            out,
            "<svg class=\"f {}\" x=\"{x:.4}%\" y=\"{y}\" width=\"{width:.4}%\" height=\"{LEVEL_HEIGHT}\">\
             <title>{}: {}, {}</title><rect width=\"100%\" height=\"100%\" rx=\"2\"/>\
             <text x=\"5\" y=\"15\">{}</text></svg>",
            (graph.class)(index),
            escape_fit(node.name, 300),
            format::share(node.weight as f64 / whole as f64),
            (graph.amount)(index),
            escape_fit(node.name, 110),
        );
    }
    out.push_str("</svg></div>\n");
}

/// Colours by CSS class, as in `flame_graph.css`, for graphs without it.
pub(crate) const COLOURS: [(&str, [u8; 3]); 8] = [
    ("h0", [0xe9, 0xc4, 0x6a]),
    ("h1", [0xf4, 0xa2, 0x61]),
    ("h2", [0xec, 0x8c, 0x63]),
    ("h3", [0xee, 0x89, 0x59]),
    ("h4", [0xef, 0xb2, 0x7a]),
    ("h5", [0xf3, 0xbd, 0x6a]),
    ("hk", [0x86, 0xb3, 0xc9]),
    ("hu", [0xc2, 0xbe, 0xb4]),
];

/// Returns the CSS class of a frame's colour, which depends on its name only.
pub(crate) fn class(name: &str, kernel: &HashSet<&str>) -> &'static str {
    if kernel.contains(name) {
        return "hk";
    }
    if name.is_empty() || name.starts_with('[') {
        return "hu";
    }
    // FNV-1a.
    let hash = name
        .bytes()
        .take(200)
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
    ["h0", "h1", "h2", "h3", "h4", "h5"][(hash % 6) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_style() {
        let style = include_str!("flame_graph.css");
        for (class, [r, g, b]) in COLOURS {
            let rule = format!(".{class} rect{{fill:#{r:02x}{g:02x}{b:02x}}}");
            assert!(style.contains(&rule), "{rule}");
        }
    }
}
