//! The page of a comparison: closed tags, nothing from elsewhere, hostile names escaped.

use super::comparison_html;
use crate::test_fixtures::comparison as fixture;

/// Names of the tags in their order. Panics on what is not a tag.
fn tags(page: &str) -> Vec<String> {
    let page = page.replace(super::STYLE, "");
    page.split('<')
        .skip(1)
        .map(|part| {
            let (tag, after) = part.split_once('>').expect("a tag without an end");
            assert!(!after.contains('>'), "a stray > after <{tag}>");
            assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
            assert!(!tag.contains(" on"), "<{tag}>");
            let name: String = tag.chars().take_while(|c| !c.is_whitespace()).collect();
            if tag.ends_with('/') {
                format!("{}/", name.trim_end_matches('/'))
            } else {
                name
            }
        })
        .collect()
}

fn all() -> [genba_model::ComparisonReport; 6] {
    [
        fixture::faster(),
        fixture::same(),
        fixture::undecided(),
        fixture::many(),
        fixture::hostile(),
        fixture::alone(),
    ]
}

#[test]
fn only_known_tags_are_used_and_all_are_closed() {
    const KNOWN: &str = "!doctype html head meta title style body main header h1 h2 div span \
        section small br ul li p b i code table tr td th details summary svg rect line circle text";
    for report in all() {
        let mut open: Vec<String> = Vec::new();
        for tag in tags(&comparison_html(&report)) {
            let bare = tag.trim_matches('/');
            assert!(KNOWN.split_whitespace().any(|k| k == bare), "<{tag}>");
            if tag.ends_with('/') || ["!doctype", "meta", "br"].contains(&bare) {
                continue;
            }
            match tag.strip_prefix('/') {
                Some(end) => assert_eq!(open.pop().as_deref(), Some(end)),
                None => open.push(tag),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}

#[test]
fn page_loads_nothing_and_allows_no_script() {
    for report in all() {
        let page = comparison_html(&report);
        for external in [
            "http://", "https://", "src=", "href", "url(", "@import", "<script",
        ] {
            assert!(!page.contains(external), "{external}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }
}

#[test]
fn verdict_and_excluded_variants_are_shown() {
    let page = comparison_html(&fixture::faster());
    assert!(page.contains("after is 1.37× faster than before in wall time (1.35–1.39, 95 %)"));
    let page = comparison_html(&fixture::many());
    assert!(page.contains("brotli is not compared: it failed in the warm-up: exit code 127"));
    assert!(page.contains("cross-check does not confirm"));
}

#[test]
fn page_size_is_bounded_for_large_comparisons() {
    let mut report = fixture::many();
    for v in &mut report.variants {
        v.runs = 20_000;
        for m in v.metrics.values_mut() {
            let some = m.values.clone();
            m.values = some.into_iter().cycle().take(20_000).collect();
        }
    }
    for i in 0..300 {
        let mut v = report.variants[1].clone();
        v.metrics.retain(|name, _| name == "wall");
        v.name = format!("v{i}");
        report.variants.push(v);
        let mut c = report.comparisons[0].clone();
        c.variant = format!("v{i}");
        report.comparisons.push(c);
    }
    let page = comparison_html(&report);
    assert!(page.len() < 12 << 20, "{} bytes", page.len());
}
