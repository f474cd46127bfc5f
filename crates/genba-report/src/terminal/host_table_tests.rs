use super::*;
use crate::safe_text::display_width;
use crate::test_fixtures::host;

fn screen(width: usize) -> String {
    host_table(
        &host::table(),
        Screen {
            width,
            colour: false,
        },
    )
}

#[test]
fn table_shows_ranges_units_and_disturbed_entries() {
    insta::assert_snapshot!("host_table", screen(120));
}

#[test]
fn lines_fit_the_screen_and_are_sanitised() {
    for width in [60, 80, 120] {
        let text = screen(width);
        assert!(!text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(display_width(line) <= width, "{width}: {line}");
        }
    }
}
