//! `genba case serve` in a real browser.

use std::path::Path;

use crate::support::browser::Browser;
use crate::support::case_server::{HOSTILE, Server, case_of, make_comparison};
use crate::support::{program, run_genba, scratch, stdout_of};
use serde_json::{Value, json};

/// Two functions of a known order of weights, called by way of a third.
const SOURCE: &str = "#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) void light(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void heavy(unsigned n) {
    for (unsigned i = 0; i < 3 * n; i++)
        sink += i * sink;
}
__attribute__((noinline)) void both(unsigned n) { light(n); heavy(n); sink++; }
int main(int argc, char **argv) {
    unsigned n = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < 60; i++) both(n * 100000);
    return 0;
}
";

/// Investigates the program with each of these arguments; returns the cases. `None` and a recorded skip where there is no
/// compiler, or nothing can be sampled.
fn investigate(test: &str, directory: &Path, arguments: &[u32]) -> Option<Vec<String>> {
    let file = directory.join("both.c");
    std::fs::write(&file, SOURCE).expect("a source");
    let file = file.to_str().expect("a path");
    program(
        test,
        directory,
        file,
        &[
            "-O1",
            "-g",
            "-fno-omit-frame-pointer",
            "-mno-omit-leaf-frame-pointer",
        ],
    )?;
    let mut cases = Vec::new();
    for argument in arguments {
        let argument = argument.to_string();
        let args = [
            "investigate",
            "--budget",
            "0.3s",
            "--limit",
            "10min",
            "--no-count",
            "--no-proof",
            "-g",
            "--json",
            "--",
            "./both",
            &argument,
        ];
        let (code, text, said) = run_genba(directory, &args);
        if code == 4 {
            genba_testing::skip(test, genba_testing::PERF_EVENT, &said);
            return None;
        }
        assert_eq!(code, 0, "{said}");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        cases.push(document["case"].as_str().expect("an id").to_owned());
    }
    Some(cases)
}

/// Texts whose contrast with what is behind them is less than WCAG's level AA asks for.
const FAINT_TEXTS: &str = include_str!("support/faint_texts.js");

#[test]
fn browser_filters_sorts_zooms_and_runs_nothing_of_a_case() {
    let test = "browser_filters_sorts_zooms_and_runs_nothing_of_a_case";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let comparison = make_comparison(directory.path());
    let Some(cases) = investigate(test, directory.path(), &[1]) else {
        return;
    };
    let investigation = &cases[0];
    let server = Server::start(directory.path());

    browser.open(&server.link(""));
    let shown =
        "[...document.querySelectorAll('#cases tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.value(shown), 2);
    let choose = "const f = document.querySelector('form[data-filter]'); f.elements.kind.value = 'comparison'; \
                  f.dispatchEvent(new Event('input', {bubbles: true}))";
    browser.value(choose);
    assert_eq!(browser.value(shown), 1);

    browser.open(&server.link(&format!("case/{investigation}/explore")));
    browser.until("document.body.dataset.ready === 'yes'");
    assert_eq!(
        browser.value("document.querySelectorAll('#functions tbody tr').length > 0"),
        true
    );
    assert_eq!(
        browser.value("document.querySelector('#functions th').getAttribute('aria-sort')"),
        "descending"
    );
    // The function with most time, between its callers and its callees: no frame is wider than it.
    browser.value("document.querySelector('#functions td button').click()");
    assert_eq!(
        browser
            .value("document.querySelector('#flame-status').textContent.startsWith('callers of ')"),
        true
    );
    let chosen = "document.querySelector('.frame.middle').title.startsWith(document.querySelector('#functions td button').textContent + ': ')";
    assert_eq!(browser.value(chosen), true);
    let widest = "[...document.querySelectorAll('.frame')].every((frame) => \
                  frame.getBoundingClientRect().width <= document.querySelector('.frame.middle').getBoundingClientRect().width + 1)";
    assert_eq!(browser.value(widest), true);
    assert_eq!(
        browser.value("document.querySelector('#next').textContent.includes(' -- ')"),
        true
    );
    let code = browser.value("document.querySelector('#functions td a').getAttribute('href')");
    let code = code.as_str().expect("a link").to_owned();
    assert!(code.starts_with("function/"), "{code}");
    browser.value("document.querySelector('#reset').click()");
    assert_eq!(
        browser.value("document.querySelector('.frame').title.startsWith('all: 100')"),
        true
    );
    browser.value("document.querySelector('#functions th button').click()");
    assert_eq!(
        browser.value("document.querySelector('#functions th').getAttribute('aria-sort')"),
        "ascending"
    );
    browser.value("const i = document.querySelector('#function-filter'); i.value = 'no such function'; i.dispatchEvent(new Event('input'))");
    assert_eq!(
        browser.value("document.querySelectorAll('#functions tbody tr').length"),
        0
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.frame').length > 1"),
        true
    );
    // What is drawn is as wide as it says, also where that is less than a letter.
    let true_widths = "[...document.querySelectorAll('.frame')].every((frame) => \
                       Math.abs(frame.getBoundingClientRect().width - \
                       parseFloat(frame.title.split(': ').pop()) / 100 * document.querySelector('#flame').clientWidth) < 2)";
    assert_eq!(browser.value(true_widths), true);
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        true
    );
    browser.value("document.querySelectorAll('.frame')[document.querySelectorAll('.frame').length - 1].click()");
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        false
    );
    browser.value("document.querySelector('#invert').click()");
    assert_eq!(
        browser.value("document.querySelectorAll('.frame').length > 1"),
        true
    );
    assert_eq!(
        browser
            .value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
        true
    );

    for page in [
        format!("case/{investigation}"),
        format!("case/{comparison}"),
        format!("compare?a={investigation}&b={investigation}"),
    ] {
        browser.open(&server.link(&page));
        assert_eq!(
            browser.value("document.querySelector('nav a').textContent"),
            "all cases"
        );
    }
    browser.value("document.querySelector('nav a').click()");
    browser.until(&format!("location.href === {}", json!(server.link(""))));
    assert_eq!(
        browser.value("document.querySelectorAll('script').length"),
        1
    );
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}

#[test]
fn pages_are_legible_in_dark_and_light_and_fit_a_phone() {
    let test = "pages_are_legible_in_dark_and_light_and_fit_a_phone";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let comparison = make_comparison(directory.path());
    let Some(cases) = investigate(test, directory.path(), &[1, 2]) else {
        return;
    };
    let server = Server::start(directory.path());
    let (one, two) = (&cases[0], &cases[1]);
    browser.open(&server.link(&format!("case/{one}/explore")));
    browser.until("document.body.dataset.ready === 'yes'");
    let code = "[...document.querySelectorAll('#functions a')].find((a) => a.ariaLabel === 'code of heavy').href";
    let code = browser.value(code).as_str().expect("a link").to_owned();
    let pages = [
        ("list", server.link("")),
        ("case", server.link(&format!("case/{one}"))),
        ("explorer", server.link(&format!("case/{one}/explore"))),
        ("code", code),
        (
            "difference",
            server.link(&format!("compare?a={one}&b={two}")),
        ),
        ("comparison", server.link(&format!("case/{comparison}"))),
    ];
    for (name, link) in &pages {
        for (width, dark) in [(1300, false), (1300, true), (400, false)] {
            browser.look(width, dark);
            browser.open(link);
            if *name == "explorer" {
                browser.until("document.body.dataset.ready === 'yes'");
                // A zoomed frame has callers below it, which are paler.
                browser.value("document.querySelectorAll('.frame')[document.querySelectorAll('.frame').length - 1].click()");
            }
            let what = format!("{name}-{width}-{}", if dark { "dark" } else { "light" });
            browser.picture(&what);
            let overflow = browser.value(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth",
            );
            assert!(
                overflow.as_i64() <= Some(0),
                "{what} overflows by {overflow} pixels"
            );
            let faint = browser.value(FAINT_TEXTS);
            assert_eq!(faint, json!([]), "{what}");
        }
    }
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}

#[test]
fn explorer_is_used_with_the_keyboard_and_copies_the_next_command() {
    let test = "explorer_is_used_with_the_keyboard_and_copies_the_next_command";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let Some(cases) = investigate(test, directory.path(), &[1]) else {
        return;
    };
    let server = Server::start(directory.path());
    browser.open(&server.link(&format!("case/{}/explore", cases[0])));
    browser.until("document.body.dataset.ready === 'yes'");
    // The graph is one stop of the tab key, and arrow keys go through it.
    let stops = "document.querySelectorAll('#flame [tabindex=\"0\"]').length";
    assert_eq!(browser.value(stops), 1);
    browser.value("document.querySelector('#invert').focus()");
    browser.press("Tab");
    let focused = "document.activeElement.getAttribute('aria-label')";
    assert!(
        browser
            .value(focused)
            .as_str()
            .expect("a label")
            .starts_with("all: 100")
    );
    browser.press("ArrowDown");
    let label = browser.value(focused);
    assert!(
        !label.as_str().expect("a label").starts_with("all: "),
        "{label}"
    );
    assert_eq!(
        browser.value("document.querySelector('#flame-status').textContent"),
        label
    );
    assert_eq!(browser.value(stops), 1);
    // Enter zooms, and the frame keeps the focus; Escape shows all again.
    browser.press("Enter");
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        false
    );
    assert_eq!(browser.value(focused), label);
    let width = "document.activeElement.getBoundingClientRect().width / document.querySelector('#flame').clientWidth";
    assert!(browser.value(width).as_f64() > Some(0.99));
    browser.press("Escape");
    assert_eq!(
        browser.value("document.querySelector('#reset').disabled"),
        true
    );
    assert_eq!(browser.value(focused), label);
    // As wide as its share again, which may be nearly all.
    let share = format!("parseFloat({focused}.split(': ')[1]) / 100");
    let apart = browser.value(&format!("Math.abs({width} - {share})"));
    assert!(apart.as_f64() < Some(0.01), "{label}: {apart}");
    // Search marks frames and adds up their share, which is that of the function's total.
    browser.value("const s = document.querySelector('#flame-search'); s.value = 'heavy'; s.dispatchEvent(new Event('input'))");
    let marked =
        "[...document.querySelectorAll('.frame.hit')].every((one) => one.title.includes('heavy'))";
    assert_eq!(browser.value(marked), true);
    let share = browser.value("parseFloat(document.querySelector('#flame-status').textContent)");
    let row = "[...document.querySelectorAll('#functions tbody tr')].find((row) => row.cells[3].textContent === 'heavy')";
    let total = browser.value(&format!("parseFloat({row}.cells[2].textContent)"));
    let apart = share.as_f64().expect("a share") - total.as_f64().expect("a share");
    assert!(apart.abs() < 0.2, "{share} and {total}");
    // Between its callers and its callees; the command is about it.
    browser.value(&format!("{row}.querySelector('button').click()"));
    let shown =
        "[...document.querySelectorAll('.frame')].map((one) => one.ariaLabel.split(':')[0])";
    let shown = browser.value(shown);
    let shown: Vec<&str> = shown
        .as_array()
        .expect("labels")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        shown.contains(&"caller main") && shown.contains(&"heavy"),
        "{shown:?}"
    );
    assert!(!shown.iter().any(|one| one.ends_with("light")), "{shown:?}");
    let command = format!("genba annotate -i {} -- heavy", cases[0]);
    assert_eq!(
        browser.value("document.querySelector('#next').textContent"),
        json!(command)
    );
    let copied = "navigator.clipboard.readText = undefined; \
                  new Promise((done) => { \
                    navigator.clipboard.writeText = (text) => { done(text); return Promise.resolve(); }; \
                    document.querySelector('button[data-copy]').click(); \
                  })";
    assert_eq!(browser.awaited(copied), json!(command));
    browser.until("document.querySelector('#copied').textContent === 'copied'");
    // Without a clipboard the command is selected.
    browser.value("navigator.clipboard.writeText = () => Promise.reject(new Error()); document.querySelector('button[data-copy]').click()");
    browser.until("document.querySelector('#copied').textContent.startsWith('selected') && getSelection().toString() === document.querySelector('#next').textContent");
    // The column that is pressed sorts; the function's source leads to its code.
    let names = "[...document.querySelectorAll('#functions tbody tr')].map((row) => row.cells[3].textContent)";
    browser.value("[...document.querySelectorAll('#functions th button')].find((one) => one.textContent === 'function').click()");
    assert_eq!(
        browser.value(&format!(
            "JSON.stringify({names}) === JSON.stringify({names}.sort())"
        )),
        true
    );
    browser.value(&format!("{row}.querySelector('a').click()"));
    browser.until("document.readyState === 'complete' && location.pathname.includes('/function/')");
    let code = browser.value("document.querySelector('main').innerText");
    let code = code.as_str().expect("a text");
    assert!(
        code.contains("heavy") && code.contains("sink += i * sink"),
        "{code}"
    );
    assert!(
        browser
            .value("document.querySelectorAll('.asm .r').length")
            .as_u64()
            > Some(5)
    );
    browser.press("Tab");
    assert_eq!(
        browser.value("document.activeElement.textContent"),
        "all cases"
    );
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}

#[test]
fn difference_of_two_cases_has_a_flame_graph_that_zooms() {
    let test = "difference_of_two_cases_has_a_flame_graph_that_zooms";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let Some(cases) = investigate(test, directory.path(), &[1, 3]) else {
        return;
    };
    let server = Server::start(directory.path());
    browser.open(&server.link(""));
    // As a user does: choose two rows and press the button.
    browser.value(&format!(
        "document.querySelector('input[name=a][value={:?}]').click()",
        cases[0]
    ));
    browser.value(&format!(
        "document.querySelector('input[name=b][value={:?}]').click()",
        cases[1]
    ));
    browser.value("[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('compare')).click()");
    browser.until("document.readyState === 'complete' && location.pathname.endsWith('/compare')");
    assert_eq!(
        browser.value("document.querySelectorAll('.flame').length"),
        2
    );
    // Three times the work takes more time in both functions, and the frames say so.
    let titles = browser.value("[...document.querySelectorAll('.flame')[0].querySelectorAll('.f title')].map((one) => one.textContent)");
    let titles: Vec<&str> = titles
        .as_array()
        .expect("titles")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let heavy = titles
        .iter()
        .find(|one| one.starts_with("heavy: "))
        .expect("a frame");
    assert!(
        heavy.contains(" before, ") && heavy.contains(": +"),
        "{heavy}"
    );
    let colour = "[...document.querySelectorAll('.flame')[0].querySelectorAll('.f')]\
                  .find((one) => one.querySelector('title').textContent.startsWith('heavy: ')).classList.contains('m3')";
    assert_eq!(browser.value(colour), true);
    let zoom = "const frame = [...document.querySelectorAll('.flame')[0].querySelectorAll('.f')]\
                .find((one) => one.querySelector('title').textContent.startsWith('heavy: ')); \
                frame.dispatchEvent(new MouseEvent('click', {bubbles: true})); Math.round(parseFloat(frame.getAttribute('width')))";
    assert_eq!(browser.value(zoom), 100);
    assert_eq!(
        browser.value("document.querySelector('.flame button').disabled"),
        false
    );
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}

/// The case of an investigation with names that are HTML, a name of a megabyte and a stack of a million frames.
fn import_hostile(directory: &Path, case: &str) -> String {
    let text = stdout_of(directory, &["case", "export", case, "--format", "json"]);
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let long = "\u{202e}<b>".repeat(130_000);
    let profile = &mut document["profile"];
    for (index, row) in profile["functions"]
        .as_array_mut()
        .expect("rows")
        .iter_mut()
        .enumerate()
    {
        row["function"] = json!(if index == 0 {
            long.clone()
        } else {
            format!("{HOSTILE}{index}")
        });
        row["module"] = json!(HOSTILE);
        row["file"] = json!(HOSTILE);
    }
    let deep: Vec<String> = (0..1_000_000)
        .map(|level| format!("{}", level % 7))
        .collect();
    profile["collapsed"] = json!([
        {"frames": deep, "weight": 1000},
        {"frames": [HOSTILE, long], "weight": 500},
    ]);
    profile["stacks"] = json!(true);
    document["workload"]["command"] = json!([HOSTILE, long]);
    document["notes"] = json!([HOSTILE, long]);
    std::fs::write(directory.join("hostile.json"), document.to_string()).expect("written");
    let before = case_of(directory, "investigation");
    assert_eq!(before, case);
    let (code, _, said) = run_genba(directory, &["case", "import", "hostile.json"]);
    assert_eq!(code, 0, "{said}");
    let id = said.trim().rsplit(' ').next().expect("an id");
    id.to_owned()
}

#[test]
fn hostile_case_neither_runs_nor_fills_the_server() {
    let test = "hostile_case_neither_runs_nor_fills_the_server";
    let directory = scratch();
    let Some(mut browser) = Browser::start(test, directory.path()) else {
        return;
    };
    let Some(cases) = investigate(test, directory.path(), &[1]) else {
        return;
    };
    let hostile = import_hostile(directory.path(), &cases[0]);
    let server = Server::start(directory.path());
    browser.look(400, false);
    for path in [
        String::new(),
        format!("case/{hostile}"),
        format!("case/{hostile}/explore"),
        format!("compare?a={}&b={hostile}", cases[0]),
    ] {
        browser.open(&server.link(&path));
        if path.ends_with("explore") {
            browser.until("document.body.dataset.ready === 'yes'");
            let deepest = browser.value("document.querySelectorAll('.frame').length");
            assert!(
                deepest.as_u64() > Some(100) && deepest.as_u64() <= Some(4000),
                "{deepest}"
            );
            browser.value("document.querySelector('#functions td button').click()");
        }
        let scripts = "[...document.querySelectorAll('script')].every((one) => !one.textContent.includes('alert(')) \
                       && !document.querySelector('img')";
        assert_eq!(browser.value(scripts), true, "{path}");
        assert_eq!(
            browser.value(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            ),
            true,
            "{path}"
        );
        let size = browser.value("document.documentElement.outerHTML.length");
        assert!(size.as_u64() < Some(12 << 20), "{path}: {size}");
    }
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().split(' ').next()?.parse::<u64>().ok());
    assert!(kilobytes < Some(400 << 10), "{peak:?}");
    assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    server.end();
}
