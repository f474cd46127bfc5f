//! The pages of `genba case serve`: the list of cases, the explorer of a profile and of waits, a case in progress.
//!
//! Their script is one file of the server, and reads figures as JSON; names reach a page as text of nodes, never
//! as HTML. Pages of cases are those of [`crate::page`], with a line of links.

mod case_list;
mod explorer;
mod profile_tree;
mod progress;

use std::fmt::Write as _;

use crate::escape_html::escape_fit;

pub use case_list::case_list;
pub use explorer::explorer;
pub use profile_tree::{Explored, ExploredProfile, profile_json};
pub use progress::{Progress, VariantProgress, event, in_progress};

/// The script of all pages.
pub const SCRIPT: &str = include_str!("served.js");
const STYLE: &str = concat!(
    include_str!("../page/style.css"),
    include_str!("served.css")
);

/// Begins a page; `base` leads from its address to that of the list.
fn begin(out: &mut String, title: &str, base: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>genba · {}</title>\n<style>\n{STYLE}</style>\n\
         <script src=\"{base}app.js\" defer></script></head>\n<body><main>\n",
        escape_fit(title, 120)
    );
}

/// JSON in which no name begins a tag, whatever takes it for HTML.
fn json_text(value: &serde_json::Value) -> String {
    // The sign stands in strings only.
    value.to_string().replace('<', "\\u003c")
}

fn end(out: &mut String) {
    out.push_str("</main></body></html>\n");
}

/// A page that says one thing. It has no script and no style: it may be for somebody without the token.
#[must_use]
pub fn message(sentence: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>genba</title></head>\n\
         <body><p>{}</p></body></html>\n",
        escape_fit(sentence, 2000)
    )
}

/// A page of a case or a comparison with links to the list (`base`) and to the explorer of a case's profile.
#[must_use]
pub fn with_navigation(page: &str, base: &str, explored: Option<&str>) -> String {
    let mut links =
        format!("<nav class=\"small\" aria-label=\"cases\"><a href=\"{base}\">all cases</a>");
    if let Some(id) = explored {
        let id = escape_fit(id, 40);
        let _ = write!(
            links,
            " · <a href=\"{base}case/{id}/explore\">functions and flame graph</a>"
        );
    }
    links.push_str("</nav>\n");
    page.replacen("<body><main>\n", &format!("<body><main>\n{links}"), 1)
}

#[cfg(test)]
mod tests;
