//! The page is one file, allows only its own script, and escapes hostile names.

use super::*;
use crate::test_fixtures as fixture;
use crate::test_fixtures::{counts, findings};

fn everything() -> [genba_model::Investigation; 6] {
    [
        fixture::investigation(),
        fixture::hostile(),
        counts::investigation(),
        counts::hostile_investigation(),
        findings::investigation(),
        findings::hostile_investigation(),
    ]
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0_u32, |n, &b| n << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(DIGITS[(n >> (18 - 6 * i)) as usize & 63] as char);
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[test]
fn policy_has_the_hash_of_the_script() {
    use sha2::Digest as _;
    let hash = base64(&sha2::Sha256::digest(SCRIPT.as_bytes()));
    assert_eq!(
        SCRIPT_HASH, hash,
        "set SCRIPT_HASH to this after a change of the script"
    );
    // A page that holds `</script>` in its script would end it there.
    assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
}

/// Every tag of the page: name and attributes. Panics on what is not a well-formed tag.
fn tags(page: &str) -> Vec<(String, Vec<String>)> {
    let page = page.replace(SCRIPT, "").replace(STYLE, "");
    let mut found = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, after) = part.split_once('>').expect("a tag without an end");
        assert!(!after.contains('>'), "a stray > after <{tag}>");
        let name: String = tag.chars().take_while(|c| !c.is_whitespace()).collect();
        let mut attributes = Vec::new();
        // Values are in double quotes and hold none, so every odd piece is a value.
        for (i, piece) in tag[name.len()..].split('"').enumerate() {
            if i % 2 == 0 {
                attributes.extend(
                    piece
                        .split_whitespace()
                        .map(|a| a.trim_end_matches(['=', '/']).to_owned())
                        .filter(|a| !a.is_empty()),
                );
            }
        }
        found.push((name, attributes));
    }
    found
}

#[test]
fn only_known_tags_and_attributes_are_used() {
    const TAGS: &str = "html head meta title style body main header h1 h2 div span section small \
        br ul li p b i code table tr td th details summary svg rect line circle text output \
        input button script a";
    const ATTRIBUTES: &str = "lang charset http-equiv content name class style width height x y \
        x1 x2 y1 y2 cx cy r rx fill opacity stroke viewBox role aria-label text-anchor title \
        open type placeholder hidden id href";
    for all in everything() {
        let page = html(&all);
        let mut scripts = 0;
        for (name, attributes) in tags(&page) {
            let bare = name.trim_start_matches('/');
            scripts += usize::from(name == "script");
            assert!(
                bare == "!doctype" || TAGS.split_whitespace().any(|t| t == bare),
                "<{name}>"
            );
            for a in attributes {
                let known = ATTRIBUTES.split_whitespace().any(|k| k == a) || a == "html";
                assert!(known, "{a} in <{name}>");
            }
        }
        assert_eq!(scripts, 1);
    }
}

#[test]
fn page_loads_nothing_from_elsewhere() {
    let page = html(&findings::investigation());
    for external in ["http://", "https://", "src=", "url(", "@import", "//cdn"] {
        assert!(!page.contains(external), "{external}");
    }
    // Links lead within the page only.
    assert_eq!(
        page.matches("href").count(),
        page.matches("href=\"#").count()
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_names_are_escaped() {
    let page = html(&fixture::hostile());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    let others = [
        html(&counts::hostile_investigation()),
        html(&findings::hostile_investigation()),
    ];
    for page in std::iter::once(page).chain(others) {
        for bad in ["<script>alert", "<img", "\x1b", "\x07", "\u{202e}", "<b>A"] {
            assert!(!page.contains(bad), "{bad:?}");
        }
        assert!(page.chars().all(|c| c == '\n' || safe_text::is_harmless(c)));
        assert!(page.len() < 2 << 20, "{} bytes", page.len());
    }
}

#[test]
fn tags_are_nested_and_closed() {
    const VOID: [&str; 5] = ["meta", "br", "input", "!doctype", "rect"];
    for all in everything() {
        let mut open: Vec<String> = Vec::new();
        let page = html(&all).replace("/>", "></void>");
        for (name, _) in tags(&page) {
            if name == "/void" {
                open.pop();
            } else if let Some(end) = name.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(end));
            } else if !VOID[..4].contains(&name.as_str()) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}

#[test]
fn page_size_is_bounded_for_large_inputs() {
    let mut all = fixture::investigation();
    let profile = all.profile.as_mut().unwrap();
    profile.collapsed = (0..6_000_u32)
        .map(|i| genba_model::StackRow {
            frames: (0..60)
                .map(|d| format!("frame_{d}_{}", i % (d * 37 + 1)))
                .collect(),
            weight: u64::from(i % 100),
        })
        .collect();
    profile.functions = (0..20_000).map(|_| profile.functions[0].clone()).collect();
    all.runs.runs = vec![all.runs.runs[0].clone(); 20_000];
    let mut one = all.annotations[0].clone();
    one.instructions = one
        .instructions
        .iter()
        .cycle()
        .take(20_000)
        .cloned()
        .collect();
    all.annotations = vec![one; 14];
    let page = html(&all);
    assert!(page.len() < 12 << 20, "{} bytes", page.len());
}

#[test]
fn sections_without_data_are_omitted() {
    let mut all = fixture::investigation();
    all.stat = None;
    all.profile = None;
    all.annotations.clear();
    all.runs.runs.clear();
    all.runs.metrics.clear();
    all.notes.clear();
    all.hazards.clear();
    let page = html(&all);
    for head in [
        "Counters",
        "Where the time goes",
        "Instruction by",
        "class=\"flame\"",
    ] {
        assert!(!page.contains(head), "{head}");
    }
    assert!(page.contains("0 runs finished"));
}

#[test]
fn findings_come_first_and_link_to_annotations() {
    let page = html(&findings::investigation());
    let why = page.find("Why it is slow").expect("the findings");
    let table = page.find("Where the time goes").expect("the functions");
    assert!(why < table);
    assert!(page.contains("href=\"#fn0\"") && page.contains("id=\"fn0\""));
    assert!(page.contains("1.34×") && page.contains("ruby_digitmap[num % b2s-&gt;base]"));
}
