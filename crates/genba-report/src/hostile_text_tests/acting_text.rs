//! What in a rendered text acts, for each medium: escape sequences, mark-up, formulas, extra cells.

use serde_json::Value;

use crate::safe_text::is_harmless;

/// What a rendered text must not let names do.
pub enum Medium {
    Terminal,
    Page,
    FlameGraph,
    Csv,
    MarkdownTable,
    Json,
    Collapsed,
    Callgrind,
}

/// What in a text acts; `None` where nothing does.
pub fn act(medium: &Medium, text: &str) -> Option<String> {
    match medium {
        Medium::Json => serde_json::from_str::<Value>(text)
            .err()
            .map(|error| error.to_string()),
        Medium::Csv => csv_acts(text),
        _ => {
            let control = text.chars().find(|&c| c != '\n' && !is_harmless(c));
            if let Some(control) = control {
                return Some(format!("the character {control:?}"));
            }
            match medium {
                Medium::Page | Medium::FlameGraph => markup_acts(&without_blocks(text)),
                Medium::MarkdownTable => table_acts(text),
                Medium::Collapsed => text.lines().find_map(stack_acts),
                Medium::Callgrind => text.lines().find_map(callgrind_acts),
                _ => None,
            }
        }
    }
}

/// A page or flame graph without its style, its script and inferno's comments, the first of each.
fn without_blocks(text: &str) -> String {
    let mut out = text.to_owned();
    let blocks = [
        ("<style", "</style>"),
        // inferno's script is in two.
        ("<![CDATA[", "]]>"),
        ("<![CDATA[", "]]>"),
        ("<script>", "</script>"),
        ("<!--Flame graph", "-->"),
        ("<!--NOTES", "-->"),
    ];
    for (from, to) in blocks {
        if let Some(begin) = out.find(from)
            && let Some(end) = out[begin..].find(to)
        {
            out.replace_range(begin..begin + end + to.len(), "");
        }
    }
    out
}

/// Tags that genba and inferno write.
const TAGS: &str = "html head meta title style body main header footer h1 h2 h3 div span section small \
    br ul ol li p b i em strong code pre table thead tbody tr td th details summary svg g rect line \
    circle path polyline polygon text tspan marker output input button a defs pattern linearGradient stop script ?xml \
    !DOCTYPE !doctype";

/// Attributes that they write; none of them runs a script, but those that inferno's own needs.
const ATTRIBUTES: &str = "lang charset http-equiv content name class style width height x y x1 x2 y1 y2 \
    cx cy r rx ry d points fill stroke opacity stroke-width stroke-dasharray viewBox role aria-label \
    text-anchor title open type placeholder hidden id href colspan rowspan scope transform version \
    xmlns xmlns:xlink xmlns:fg xlink:href standalone encoding offset stop-color onload font-size \
    font-family preserveAspectRatio patternUnits patternTransform markerUnits overflow marker-end transform fg:x fg:w fg:total_samples total_samples fg:frames html svg PUBLIC";

fn markup_acts(page: &str) -> Option<String> {
    for part in page.split('<').skip(1) {
        let Some((tag, after)) = part.split_once('>') else {
            return Some(format!("a tag without an end: <{part}"));
        };
        if after.contains('>') {
            return Some(format!("a stray > after <{tag}>"));
        }
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| !c.is_whitespace() && *c != '/')
            .collect();
        if !TAGS.split_whitespace().any(|known| known == name) {
            return Some(format!("the tag <{tag}>"));
        }
        // Values are in double quotes and hold none, so every odd piece is a value.
        let attributes = tag.split_once(char::is_whitespace).map_or("", |one| one.1);
        for piece in attributes.split('"').step_by(2) {
            for attribute in piece.split_whitespace() {
                let attribute = attribute.trim_end_matches(['=', '/', '?']);
                let known = ATTRIBUTES
                    .split_whitespace()
                    .any(|known| known == attribute);
                if !known && !attribute.is_empty() {
                    return Some(format!("the attribute {attribute} in <{tag}>"));
                }
            }
        }
    }
    None
}

/// Reads a table as RFC 4180 says: as many fields in each record, none a formula.
fn csv_acts(text: &str) -> Option<String> {
    let mut records: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let record = records.last_mut()?;
        let field = record.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\n' if !quoted => records.push(vec![String::new()]),
            c => field.push(c),
        }
    }
    let columns = records[0].len();
    if records.pop()? != [""] {
        return Some("the last line has no end".to_owned());
    }
    let formula = |field: &&String| {
        field.trim_start().starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
    };
    records.iter().find_map(|record| {
        if record.len() != columns {
            return Some(format!(
                "{} fields, not {columns}: {record:?}",
                record.len()
            ));
        }
        record
            .iter()
            .find(formula)
            .map(|field| format!("the formula {field:?}"))
    })
}

/// The rows of a table have as many cells as its head.
fn table_acts(text: &str) -> Option<String> {
    let mut expected = None;
    for line in text.lines() {
        if !line.starts_with('|') {
            expected = None;
            continue;
        }
        let bars = line.replace("\\|", "").matches('|').count();
        if *expected.get_or_insert(bars) != bars {
            return Some(format!("a row with {bars} bars: {line}"));
        }
    }
    None
}

/// A folded stack is frames, a blank and a weight.
fn stack_acts(line: &str) -> Option<String> {
    let fine = line.rsplit_once(' ').is_some_and(|(stack, weight)| {
        weight.parse::<u64>().is_ok() && stack.split(';').all(|frame| !frame.trim().is_empty())
    });
    (!fine).then(|| format!("the line {line:?}"))
}

fn callgrind_acts(line: &str) -> Option<String> {
    const HEADS: [&str; 19] = [
        "# callgrind format",
        "version:",
        "creator:",
        "pid:",
        "cmd:",
        "desc:",
        "positions:",
        "events:",
        "summary:",
        "totals:",
        "ob=",
        "fl=",
        "fi=",
        "fe=",
        "fn=",
        "cob=",
        "cfi=",
        "cfn=",
        "calls=",
    ];
    let costs = |line: &str| {
        line.split(' ').all(|word| {
            let digits = word
                .trim_start_matches("0x")
                .trim_start_matches(['+', '-', '*']);
            digits.chars().all(|c| c.is_ascii_hexdigit())
        })
    };
    let fine = line.is_empty() || HEADS.iter().any(|head| line.starts_with(head)) || costs(line);
    (!fine).then(|| format!("the line {line:?}"))
}
