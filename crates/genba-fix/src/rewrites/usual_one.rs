//! Divisions by, and powers of, what is usually one.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let mut edits: Vec<Edit> = Vec::new();
    let mut shown: Vec<String> = Vec::new();
    for node in subject.nodes_by_place() {
        if !subject.is_at_place(node) {
            break;
        }
        let Some((value, usual)) = operands(subject, node) else {
            continue;
        };
        let inside = |edit: &Edit| {
            edit.range.contains(&node.start_byte()) || node.byte_range().contains(&edit.range.start)
        };
        let variable = matches!(
            usual.kind(),
            "identifier" | "field_expression" | "subscript_expression"
        );
        if !variable || !subject.is_pure(value) || edits.iter().any(inside) {
            continue;
        }
        let (value, usual) = (file.text(value), file.text(usual));
        let whole = file.text(node);
        shown.push(format!("`{whole}` where {usual} is 1"));
        edits.push(Edit::replace(
            node.byte_range(),
            format!("({usual} == 1 ? ({value}) : {whole})"),
        ));
    }
    let all = match edits.is_empty() {
        true => {
            return Err("no division by a variable and no power of one stands at its lines; what another value would \
                        spare is not known from the source: test there for the value that the finding names"
                .to_owned());
        }
        false => subject.rewrite(format!("skip {}", shown.join(" and ")), edits.clone()),
    };
    let mut found = vec![all];
    if edits.len() > 1 {
        let single = shown
            .iter()
            .zip(edits)
            .map(|(shown, edit)| subject.rewrite(format!("skip {shown}"), vec![edit]));
        found.extend(single);
    }
    Ok(found)
}

/// What stays of a division by, or a power of, one; and what has to be one.
fn operands<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<(Node<'a>, Node<'a>)> {
    let file = subject.file;
    match node.kind() {
        "binary_expression" if file.operator(node) == "/" => {
            (node.child_by_field_name("left")).zip(node.child_by_field_name("right"))
        }
        "call_expression" => {
            let name = file.squashed(node.child_by_field_name("function")?);
            let list = node.child_by_field_name("arguments")?;
            let power = matches!(name.trim_start_matches("std::"), "pow" | "powf" | "powl");
            power.then(|| list.named_child(0).zip(list.named_child(1)))?
        }
        _ => None,
    }
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
