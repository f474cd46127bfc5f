use genba_model::{CaseKind, CaseState, CaseSummary};

use super::*;

const HOSTILE: &str = "<script>alert(1)</script>\" onload='x' & \u{1b}[31m \u{202e}";

fn hostile_case(state: CaseState) -> CaseSummary {
    CaseSummary {
        id: HOSTILE.to_owned(),
        kind: CaseKind::Investigation,
        state,
        started: HOSTILE.to_owned(),
        ended: None,
        command: vec![HOSTILE.to_owned()],
        name: Some(HOSTILE.repeat(1000)),
        runs: 3,
        wall_seconds: Some(0.5),
        path: HOSTILE.to_owned(),
        error: None,
    }
}

#[test]
fn hostile_names_do_not_become_html() {
    let case = hostile_case(CaseState::Running);
    let mut variant = VariantProgress::new(HOSTILE);
    variant.add(0.25, 10);
    let progress = Progress {
        state: CaseState::Running,
        runs: 1,
        variants: vec![variant],
    };
    let navigated = with_navigation("<body><main>\n", "../", Some(HOSTILE));
    for page in [
        case_list(std::slice::from_ref(&case), HOSTILE),
        explorer(&case),
        in_progress(&case, &progress),
        message(HOSTILE),
        navigated,
    ] {
        assert!(
            !page.contains("<script>") && !page.contains("onload='"),
            "{page}"
        );
        assert!(
            !page.contains("\" onload") && !page.contains('\u{1b}') && !page.contains('\u{202e}'),
            "{page}"
        );
        assert!(page.len() < 60_000);
    }
    let event = event(&progress);
    assert_eq!(event.lines().count(), 4, "{event}");
    assert!(!event.contains('<'), "{event}");
}

#[test]
fn pages_load_nothing_from_elsewhere() {
    let case = hostile_case(CaseState::Complete);
    for page in [
        case_list(std::slice::from_ref(&case), "/x"),
        explorer(&case),
    ] {
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("//cdn"));
    }
    assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("eval(") && !SCRIPT.contains("http"));
}
