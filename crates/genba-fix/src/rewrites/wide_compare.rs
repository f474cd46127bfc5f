//! Eight bytes at a time in a loop that looks for the first difference.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    for outer in subject.loops() {
        if let Some(edits) = wide_loop(subject.file, outer) {
            return Ok(vec![Rewrite {
                assumes: vec!["what is compared up to the bound may be read".to_owned()],
                ..subject.rewrite("compare eight bytes at a time before single ones", edits)
            }]);
        }
    }
    Err("no loop at its lines goes on while `*a == *b` or `a[i] == b[i]` up to a bound, one element after the other, and does \
         nothing else: put such a comparison into a loop of its own, or call memcmp"
        .to_owned())
}

/// What a loop compares: to where, and the equal pair.
struct Comparison<'a> {
    at: Node<'a>,
    end: Node<'a>,
    one: Node<'a>,
    two: Node<'a>,
}

/// `at < end && one == two` as the condition, or `at < end` with `if (one != two) break;` or `return …;` as the body.
fn comparison<'a>(file: &SourceFile, outer: Node<'a>) -> Option<(Comparison<'a>, bool)> {
    let condition = bare(outer.child_by_field_name("condition")?);
    let bound_of = |bound: Node<'a>| {
        let fits = matches!(file.operator(bound), "<" | "!=");
        let at = bound.child_by_field_name("left").map(bare)?;
        let end = bound.child_by_field_name("right").map(bare)?;
        fits.then_some((at, end))
    };
    let pair = |test: Node<'a>, operator: &str| {
        let one = bare(test.child_by_field_name("left")?);
        let two = bare(test.child_by_field_name("right")?);
        (file.operator(test) == operator).then_some((one, two))
    };
    if file.operator(condition) == "&&" {
        let (at, end) = bound_of(bare(condition.child_by_field_name("left")?))?;
        let (one, two) = pair(bare(condition.child_by_field_name("right")?), "==")?;
        return Some((Comparison { at, end, one, two }, false));
    }
    let (at, end) = bound_of(condition)?;
    let test = leaving_test(outer.child_by_field_name("body")?)?;
    let (one, two) = pair(test.child_by_field_name("condition").map(bare)?, "!=")?;
    Some((Comparison { at, end, one, two }, true))
}

/// The first statement of a body, if it is a test that only leaves the loop.
fn leaving_test(body: Node<'_>) -> Option<Node<'_>> {
    let first = match body.kind() {
        "compound_statement" => body.named_child(0)?,
        _ => body,
    };
    let mut arm = first
        .child_by_field_name("consequence")
        .filter(|_| first.kind() == "if_statement")?;
    if arm.kind() == "compound_statement" && arm.named_child_count() == 1 {
        arm = arm.named_child(0)?;
    }
    let leaves = matches!(arm.kind(), "break_statement" | "return_statement");
    (leaves && first.child_by_field_name("alternative").is_none()).then_some(first)
}

/// Edits that put a loop over eight bytes before the loop over single ones.
fn wide_loop(file: &SourceFile, outer: Node<'_>) -> Option<Vec<Edit>> {
    if outer.kind() == "do_statement" {
        return None;
    }
    let (Comparison { at, end, one, two }, tested_in_body) = comparison(file, outer)?;
    if !file.is_pure(at)
        || descendants(end)
            .iter()
            .any(|one| one.kind() == "update_expression")
    {
        return None;
    }
    let stepped: Vec<String> = steps(file, outer, tested_in_body)?;
    let (at, end) = (file.text(at), file.text(end));
    let indent = file.indent(outer);
    let (first, second) = (file.text(one), file.text(two));
    let same = |stepped: &[&str], wanted: &[String]| {
        stepped.len() == wanted.len()
            && stepped
                .iter()
                .all(|one| wanted.iter().any(|other| one == other))
    };
    // Elements that eight bytes have: known to the compiler.
    let count = format!("8 / sizeof({first})");
    let advance = match (one.kind(), two.kind()) {
        ("pointer_expression", "pointer_expression") => {
            let (a, b) = (pointer(file, one)?, pointer(file, two)?);
            if !same(&[a, b], &stepped) || (at != a && at != b) {
                return None;
            }
            format!("{a} += 8;\n{indent}    {b} += 8;")
        }
        ("subscript_expression", "subscript_expression") => {
            let index = format!("[{at}]");
            if !same(&[at], &stepped)
                || !file.squashed(one).ends_with(&index)
                || !file.squashed(two).ends_with(&index)
            {
                return None;
            }
            format!("{at} += 8;")
        }
        _ => return None,
    };
    let wide = format!(
        "while ({count} == 8 && {at} < {end} && {end} - {at} >= 8 && __builtin_memcmp(&{first}, &{second}, 8) == 0) \
         {{\n{indent}    {advance}\n{indent}}}"
    );
    let Some(initializer) = outer.child_by_field_name("initializer") else {
        return Some(vec![Edit::insert(
            outer.start_byte(),
            format!("{wide}\n{indent}"),
        )]);
    };
    // What the loop does first comes before both; what it declares is of both.
    let declares = initializer.kind() == "declaration";
    let text = file.text(initializer).trim_end().trim_end_matches(';');
    let (open, close) = match declares || outer.parent()?.kind() != "compound_statement" {
        true => (format!("{{\n{indent}"), format!("\n{indent}}}")),
        false => (String::new(), String::new()),
    };
    Some(vec![
        Edit::insert(
            outer.start_byte(),
            format!("{open}{text};\n{indent}{wide}\n{indent}"),
        ),
        Edit::replace(initializer.byte_range(), if declares { ";" } else { "" }),
        Edit::insert(outer.end_byte(), close),
    ])
}

fn pointer<'a>(file: &'a SourceFile, node: Node<'_>) -> Option<&'a str> {
    let inner = node.child_by_field_name("argument")?;
    (file.operator(node) == "*" && inner.kind() == "identifier").then(|| file.text(inner))
}

/// What the loop increments, if it does nothing else but the test of its body.
fn steps(file: &SourceFile, outer: Node<'_>, tested_in_body: bool) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    let body = outer.child_by_field_name("body")?;
    let test = tested_in_body.then(|| leaving_test(body)).flatten();
    let parts = [Some(body), outer.child_by_field_name("update")];
    for part in parts.into_iter().flatten() {
        for node in descendants(part) {
            if test.is_some_and(|test| test.byte_range().contains(&node.start_byte()))
                && node != part
            {
                continue;
            }
            match node.kind() {
                "update_expression" => {
                    if !file.text(node).contains("++") {
                        return None;
                    }
                    steps.push(file.squashed(node.child_by_field_name("argument")?));
                }
                "compound_statement"
                | "expression_statement"
                | "comma_expression"
                | "identifier"
                | "comment" => {}
                _ if !node.is_named() || test == Some(node) => {}
                _ => return None,
            }
        }
    }
    (!steps.is_empty()).then_some(steps)
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "bytewise-compare";

    #[test]
    fn pointers_and_indices_advance_by_eight() {
        let text = "size_t f(const char *a, const char *b, const char *end) {\n    while (b < end && *a == *b) {\n        a++;\n        b++;\n    }\n    return 0;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(after.contains("    while (8 / sizeof(*a) == 8 && b < end && end - b >= 8 && __builtin_memcmp(&*a, &*b, 8) == 0) {\n        a += 8;\n        b += 8;\n    }\n    while (b < end && *a == *b) {"), "{after}");
        let text = "int f(const char *a, const char *b, int i, int n) {\n    while (i < n && a[i] == b[i])\n        i++;\n    return i;\n}\n";
        assert!(
            rewritten(CAUSE, "a.c", text, 2)
                .contains("__builtin_memcmp(&a[i], &b[i], 8) == 0) {\n        i += 8;")
        );
    }

    #[test]
    fn loop_that_leaves_at_the_first_difference_is_one_too() {
        let text = "size_t f(std::string_view s, std::string_view t, size_t n) {\n    size_t i = 0;\n    for (; i < n; ++i) {\n        if (s[i] != t[i]) break;\n    }\n    return i;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 4);
        assert!(after.contains("__builtin_memcmp(&s[i], &t[i], 8) == 0) {\n        i += 8;\n    }\n    for (; i < n; ++i) {"), "{after}");
        let text = "int f(const char *s, const char *t, int n) {\n    for (int i = 0; i < n; i++)\n        if (s[i] != t[i])\n            return 0;\n    return 1;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(
            after.contains("{\n    int i = 0;\n    while (8")
                && after.contains("for (; i < n; i++)"),
            "{after}"
        );
    }

    #[test]
    fn loops_with_other_work_are_refused() {
        for body in ["i++, n--;", "i += 2;", "{ i++; g(); }"] {
            let text = format!(
                "int f(const char *a, const char *b, int i, int n) {{\n    while (i < n && a[i] == b[i])\n        {body}\n    return i;\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 2);
        }
    }
}
