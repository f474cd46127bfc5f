//! Divisions by, and powers of, what is usually one.

use super::{Rewrite, Subject};
use crate::edit::Edit;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    for node in subject.nodes_by_place() {
        if !subject.is_at_place(node) {
            break;
        }
        let (value, usual) = match node.kind() {
            "binary_expression" if file.operator(node) == "/" => {
                let parts = node
                    .child_by_field_name("left")
                    .zip(node.child_by_field_name("right"));
                let Some(parts) = parts else { continue };
                parts
            }
            "call_expression" => {
                let name = node
                    .child_by_field_name("function")
                    .map(|one| file.squashed(one))
                    .unwrap_or_default();
                let list = node.child_by_field_name("arguments");
                let pair = list.and_then(|list| list.named_child(0).zip(list.named_child(1)));
                match (name.trim_start_matches("std::"), pair) {
                    ("pow" | "powf" | "powl", Some(pair)) => pair,
                    _ => continue,
                }
            }
            _ => continue,
        };
        let variable = matches!(
            usual.kind(),
            "identifier" | "field_expression" | "subscript_expression"
        );
        if !variable || !file.is_pure(value) {
            continue;
        }
        let (value, usual) = (file.text(value), file.text(usual));
        let whole = file.text(node);
        return Ok(vec![subject.rewrite(
            format!("skip `{whole}` where {usual} is 1"),
            vec![Edit::replace(
                node.byte_range(),
                format!("({usual} == 1 ? ({value}) : {whole})"),
            )],
        )]);
    }
    Err("no division by a variable and no power of one stands at its lines; what another value would spare is not \
         known from the source"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "known-operand";

    #[test]
    fn power_and_quotient_of_one_are_skipped() {
        let text = "float f(float v, float g) {\n    return powf(v, g);\n}\n";
        assert!(rewritten(CAUSE, "a.c", text, 2).contains("return (g == 1 ? (v) : powf(v, g));"));
        let text = "long f(long v, struct r *r) {\n    return (v + 1) / r->d;\n}\n";
        assert!(
            rewritten(CAUSE, "a.c", text, 2).contains("(r->d == 1 ? ((v + 1)) : (v + 1) / r->d)")
        );
    }

    #[test]
    fn constants_and_effects_are_refused() {
        refused(CAUSE, "a.c", "int f(int v) {\n    return v / 3;\n}\n", 2);
        refused(
            CAUSE,
            "a.c",
            "int f(int v, int d) {\n    return v++ / d;\n}\n",
            2,
        );
    }
}
