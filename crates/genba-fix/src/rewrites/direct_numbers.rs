//! Numbers from text without the C library's general code: exact where the short way is, the library elsewhere.

use super::{Rewrite, Subject};
use crate::edit::Edit;

/// What reads a decimal number of at most 15 digits with at most 22 places: whole number and power of ten are exact as doubles,
/// so that their quotient is the nearest double (W. Clinger, "How to read floating point numbers accurately", PLDI 1990).
const READ_DOUBLE: &str = "\
#include <stdlib.h>

/* Up to 15 digits and 22 places exactly by one division (Clinger 1990), all else by the library. */
static inline __attribute__((unused)) double read_double(const char *text, char **end)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text, *point = NULL;
    const int negative = *at == '-';
    unsigned long long number = 0;
    int digits = 0, places = 0;
    at += negative;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = at;
            continue;
        }
        if (++digits > 15)
            return strtod(text, end);
        number = number * 10 + (unsigned long long)(*at - '0');
        places += point != NULL;
    }
    if (!digits || (*at | 32) == 'e' || (*at | 32) == 'x' || (*at | 32) == 'p')
        return strtod(text, end);
    if (end)
        *end = (char *)at;
    const double value = (double)number / powers[places];
    return negative ? -value : value;
}

";

/// Functions that are the general one with an argument less.
fn replacement(name: &str, arguments: &str) -> Option<String> {
    match name {
        "strtod" | "std::strtod" => Some(format!("read_double{arguments}")),
        "atof" | "std::atof" => Some(format!(
            "read_double({}, NULL)",
            arguments.strip_prefix('(')?.strip_suffix(')')?
        )),
        _ => None,
    }
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.source().contains("read_double") {
        return Err("its file has a function read_double already".to_owned());
    }
    subject.without_locale()?;
    let mut edits = Vec::new();
    for node in subject.nodes_by_place() {
        if node.kind() != "call_expression" || !subject.is_at_place(node) {
            continue;
        }
        let parts = node
            .child_by_field_name("function")
            .zip(node.child_by_field_name("arguments"));
        let text = parts.and_then(|(name, list)| replacement(file.text(name), file.text(list)));
        edits.extend(text.map(|text| Edit::replace(node.byte_range(), text)));
    }
    if edits.is_empty() {
        return Err("no call of strtod or atof stands at its lines".to_owned());
    }
    edits.push(Edit::insert(subject.before_code(), READ_DOUBLE));
    Ok(vec![Rewrite {
        assumes: vec![
            "floating-point numbers are rounded to the nearest, the rounding of a new process"
                .to_owned(),
        ],
        ..subject.rewrite("read short decimal numbers by one division", edits)
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "costly-conversion";

    #[test]
    fn calls_of_strtod_and_atof_take_the_short_way() {
        let text = "#include <stdlib.h>\n\ndouble f(const char *s, char **end) {\n    return strtod(s, end) + atof(s + 1);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(
            after.contains("return read_double(s, end) + read_double(s + 1, NULL);"),
            "{after}"
        );
        refused(CAUSE, "a.c", &text.replace("atof(", "setlocale("), 4);
    }
}
