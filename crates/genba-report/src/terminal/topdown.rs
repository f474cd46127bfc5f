//! Top-down analysis: the shares of issue slots, each with what it is divided into.

use genba_model::Topdown;
use genba_units::format;

use crate::Screen;
use crate::terminal::screen::{DIM, HEAD, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};

/// Renders the categories; the largest of those that are lost slots is emphasised.
pub(super) fn section(found: &Topdown, screen: Screen) -> String {
    let head = format!(
        "measured: {} issue slots ({})",
        format::count(found.slots),
        crate::safe_text::sanitise(&found.method)
    );
    let mut table = Table::new(vec![
        Column::right(""),
        Column::left(""),
        Column::right(""),
        Column::left(""),
    ]);
    let lost = (found.categories.iter()).filter(|one| one.name != "retiring");
    let largest = lost.map(|one| one.share).fold(0.0, f64::max);
    for one in &found.categories {
        let style = match one.share >= largest && one.name != "retiring" {
            true => STRONG,
            false => PLAIN,
        };
        let rows = one.parts.len().max(1);
        for index in 0..rows {
            let part = one.parts.get(index);
            let (share, name) = match index {
                0 => (format::share(one.share), one.name.as_str()),
                _ => (String::new(), ""),
            };
            table.row(vec![
                Cell::new(share, style),
                Cell::new(name, style),
                part.map_or(String::new(), |part| format::share(part.share))
                    .into(),
                Cell::new(part.map_or("", |part| part.name.as_str()), DIM),
            ]);
        }
    }
    format!(
        "  {}\n{}\n",
        screen.paint(HEAD, &head),
        table.render(screen)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{TopdownCategory, TopdownPart};

    #[test]
    fn categories_have_their_parts_beside_them() {
        let leaf = |name: &str, share: f64| TopdownCategory {
            name: name.to_owned(),
            share,
            parts: Vec::new(),
        };
        let part = |name: &str, share: f64| TopdownPart {
            name: name.to_owned(),
            share,
        };
        let found = Topdown {
            method: "AMD pipeline utilisation".to_owned(),
            slots: 6e9,
            categories: vec![
                leaf("retiring", 0.5),
                TopdownCategory {
                    parts: vec![part("memory", 0.3), part("core", 0.125)],
                    ..leaf("backend bound", 0.425)
                },
                leaf("SMT contention", 0.075),
            ],
        };
        let text = section(&found, Screen::default());
        let lines: Vec<Vec<&str>> = (text.lines())
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0].join(" "),
            "measured: 6.0 G issue slots (AMD pipeline utilisation)"
        );
        assert_eq!(lines[1].join(" "), "50 % retiring");
        assert_eq!(lines[2].join(" "), "42.5 % backend bound 30 % memory");
        assert_eq!(lines[3].join(" "), "12.5 % core");
        assert_eq!(lines[4].join(" "), "7.5 % SMT contention");
    }
}
