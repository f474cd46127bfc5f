//! Broken-down times and their text kept for the second that they are of.

use super::{Rewrite, Subject};
use crate::edit::Edit;

/// What stands in front of `localtime_r`, `gmtime_r` and `strftime`.
const HELPERS: &str = "\
#include <string.h>
#include <time.h>

/* The broken-down time of the second that was asked for last. */
static inline __attribute__((unused)) struct tm *kept_time(struct tm *(*convert)(const time_t *, struct tm *), const time_t *time, struct tm *to)
{
    static __thread struct tm kept;
    static __thread time_t second;
    static __thread struct tm *(*by)(const time_t *, struct tm *);
    if (by == convert && second == *time) {
        *to = kept;
        return to;
    }
    const time_t asked = *time;
    struct tm *done = convert(time, to);
    if (done)
        kept = *to, second = asked, by = convert;
    return done;
}

/* The text of the time that was written last. */
static inline __attribute__((unused)) size_t kept_time_text(char *to, size_t room, const char *format, const struct tm *time)
{
    static __thread struct tm of;
    static __thread char text[128], how[32];
    static __thread size_t length;
    const int same = length && length < room && of.tm_sec == time->tm_sec && of.tm_min == time->tm_min &&
        of.tm_hour == time->tm_hour && of.tm_mday == time->tm_mday && of.tm_mon == time->tm_mon &&
        of.tm_year == time->tm_year && of.tm_wday == time->tm_wday && of.tm_yday == time->tm_yday &&
        of.tm_isdst == time->tm_isdst && of.tm_gmtoff == time->tm_gmtoff && of.tm_zone == time->tm_zone;
    if (same && !strcmp(how, format)) {
        memcpy(to, text, length + 1);
        return length;
    }
    const size_t written = strftime(to, room, format, time);
    if (written && written < sizeof text && strlen(format) < sizeof how) {
        memcpy(text, to, written + 1);
        strcpy(how, format);
        of = *time, length = written;
    }
    return written;
}

";

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if ["setlocale", "kept_time"]
        .iter()
        .any(|one| file.source().contains(one))
    {
        return Err("its file sets the locale, or keeps times already".to_owned());
    }
    let mut edits = Vec::new();
    for node in subject.nodes_by_place() {
        // Broken-down time and its text go together, whichever of them the finding names.
        if node.kind() != "call_expression" {
            continue;
        }
        let parts = node
            .child_by_field_name("function")
            .zip(node.child_by_field_name("arguments"));
        let Some((name, list)) = parts else { continue };
        let plain = file.text(name).trim_start_matches("std::");
        match plain {
            "localtime_r" | "gmtime_r" => {
                edits.push(Edit::replace(name.byte_range(), "kept_time"));
                edits.push(Edit::insert(list.start_byte() + 1, format!("{plain}, ")));
            }
            "strftime" => edits.push(Edit::replace(name.byte_range(), "kept_time_text")),
            _ => {}
        }
    }
    if edits.is_empty() {
        return Err("its function calls neither localtime_r, gmtime_r nor strftime".to_owned());
    }
    edits.push(Edit::insert(subject.before_code(), HELPERS));
    Ok(vec![Rewrite {
        assumes: vec!["time zone and locale stay the same while the program runs".to_owned()],
        ..subject.rewrite("keep the time of the last second, and its text", edits)
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn times_of_the_same_second_are_kept() {
        let text = "size_t f(char *to, time_t t) {\n    struct tm l;\n    localtime_r(&t, &l); return strftime(to, 32, \"%d\", &l);\n}\n";
        let after = rewritten("costly-conversion", "a.c", text, 3);
        assert!(
            after.contains(
                "kept_time(localtime_r, &t, &l); return kept_time_text(to, 32, \"%d\", &l);"
            ),
            "{after}"
        );
        refused(
            "costly-conversion",
            "a.c",
            &format!("void g(void) {{ setlocale(0, 0); }}\n{text}"),
            4,
        );
    }
}
