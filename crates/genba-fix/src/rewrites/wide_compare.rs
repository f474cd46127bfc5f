//! Eight bytes at a time in a loop that looks for the first difference.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    for outer in subject.loops() {
        if let Some(text) = wide_loop(subject.file, outer) {
            let indent = subject.file.indent(outer);
            return Ok(vec![Rewrite {
                assumes: vec!["what is compared up to the bound may be read".to_owned()],
                ..subject.rewrite(
                    "compare eight bytes at a time before single ones",
                    vec![Edit::insert(
                        outer.start_byte(),
                        format!("{text}\n{indent}"),
                    )],
                )
            }]);
        }
    }
    Err("no loop at its lines has the form while (b < end && *a == *b) or while (i < n && a[i] == b[i])".to_owned())
}

/// The loop over eight bytes, which leaves the position to the loop that it stands before.
fn wide_loop(file: &SourceFile, outer: Node<'_>) -> Option<String> {
    let condition = bare(outer.child_by_field_name("condition")?);
    // An initialiser would set the position back.
    if outer.kind() == "do_statement"
        || outer.child_by_field_name("initializer").is_some()
        || file.operator(condition) != "&&"
    {
        return None;
    }
    let bound = bare(condition.child_by_field_name("left")?);
    let equal = bare(condition.child_by_field_name("right")?);
    if file.operator(bound) != "<" || file.operator(equal) != "==" {
        return None;
    }
    let (at, end) = (
        bound.child_by_field_name("left")?,
        bound.child_by_field_name("right")?,
    );
    let (one, two) = (
        bare(equal.child_by_field_name("left")?),
        bare(equal.child_by_field_name("right")?),
    );
    let stepped: Vec<String> = steps(file, outer)?;
    let (at, end) = (file.text(at), file.text(end));
    let indent = file.indent(outer);
    let (first, second) = (file.text(one), file.text(two));
    let same = |stepped: &[&str], wanted: &[String]| {
        stepped.len() == wanted.len()
            && stepped
                .iter()
                .all(|one| wanted.iter().any(|other| one == other))
    };
    let (room, advance) = match (one.kind(), two.kind()) {
        ("pointer_expression", "pointer_expression") => {
            let (a, b) = (pointer(file, one)?, pointer(file, two)?);
            if !same(&[a, b], &stepped) || (at != a && at != b) {
                return None;
            }
            (
                format!("{end} - {at} >= 8"),
                format!("{a} += 8;\n{indent}    {b} += 8;"),
            )
        }
        ("subscript_expression", "subscript_expression") => {
            let index = format!("[{at}]");
            if !same(&[at], &stepped) || !first.ends_with(&index) || !second.ends_with(&index) {
                return None;
            }
            (format!("{end} - {at} >= 8"), format!("{at} += 8;"))
        }
        _ => return None,
    };
    // Elements of one byte: known to the compiler.
    Some(format!(
        "while (sizeof({first}) == 1 && {at} < {end} && {room} && __builtin_memcmp(&{first}, &{second}, 8) == 0) {{\n{indent}    {advance}\n{indent}}}"
    ))
}

fn pointer<'a>(file: &'a SourceFile, node: Node<'_>) -> Option<&'a str> {
    let inner = node.child_by_field_name("argument")?;
    (file.operator(node) == "*" && inner.kind() == "identifier").then(|| file.text(inner))
}

/// What the loop increments, if it does nothing else.
fn steps(file: &SourceFile, outer: Node<'_>) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    let parts = ["body", "update"].map(|part| outer.child_by_field_name(part));
    for part in parts.into_iter().flatten() {
        for node in descendants(part) {
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
                _ if !node.is_named() => {}
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
        assert!(after.contains("    while (sizeof(*a) == 1 && b < end && end - b >= 8 && __builtin_memcmp(&*a, &*b, 8) == 0) {\n        a += 8;\n        b += 8;\n    }\n    while (b < end && *a == *b) {"), "{after}");
        let text = "int f(const char *a, const char *b, int i, int n) {\n    while (i < n && a[i] == b[i])\n        i++;\n    return i;\n}\n";
        assert!(
            rewritten(CAUSE, "a.c", text, 2)
                .contains("__builtin_memcmp(&a[i], &b[i], 8) == 0) {\n        i += 8;")
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
