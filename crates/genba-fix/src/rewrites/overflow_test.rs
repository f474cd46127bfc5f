//! `value > limit / base` by multiplying with a test for overflow instead of dividing.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::bare;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    for node in subject.nodes_by_place() {
        if node.kind() != "binary_expression"
            || file.operator(node) != ">"
            || !subject.is_at_place(node)
        {
            continue;
        }
        let (Some(value), Some(quotient)) = (
            node.child_by_field_name("left"),
            node.child_by_field_name("right"),
        ) else {
            continue;
        };
        let quotient = bare(quotient);
        let division = quotient.kind() == "binary_expression" && file.operator(quotient) == "/";
        let (Some(limit), Some(base)) = (
            quotient.child_by_field_name("left"),
            quotient.child_by_field_name("right"),
        ) else {
            continue;
        };
        if !division
            || ![value, limit, base].iter().all(|one| subject.is_pure(*one))
            || bare(base).kind() == "number_literal"
        {
            continue;
        }
        let name = file.fresh_name("product");
        let kind = format!("__typeof__({})", file.text(quotient));
        let check = if file.dialect == Dialect::C {
            "_Static_assert"
        } else {
            "static_assert"
        };
        let (value, base) = (file.text(value), file.text(base));
        let limit = match difference(subject, bare(limit)) {
            // limit - digit: the digit is added to the product, as the program does.
            Some((limit, digit)) => {
                format!("__builtin_add_overflow({name}, {digit}, &{name}) || {name} > {limit}")
            }
            None => format!("{name} > {}", file.text(limit)),
        };
        let text = format!(
            "({{ {check}((({kind})-1) > 0, \"unsigned\"); {kind} {name}; \
             __builtin_mul_overflow({value}, {base}, &{name}) || {limit}; }})"
        );
        return Ok(vec![subject.rewrite(
            format!("multiply and test for overflow instead of dividing by {base}"),
            vec![Edit::replace(node.byte_range(), text)],
        )]);
    }
    Err("no test at its lines has the form value > limit / base".to_owned())
}

/// The operands of `limit - digit`.
fn difference<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<(&'a str, &'a str)> {
    let file = subject.file;
    let (left, right) = (
        node.child_by_field_name("left")?,
        node.child_by_field_name("right")?,
    );
    (node.kind() == "binary_expression" && file.operator(node) == "-")
        .then(|| (file.text(left), file.text(right)))
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "division-as-overflow-check";

    #[test]
    fn product_is_tested() {
        let text = "int f(unsigned long v, unsigned long max, unsigned b, unsigned d) {\n    return v > (max - d) / b;\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 2);
        assert!(after.contains("__builtin_mul_overflow(v, b, &product) || __builtin_add_overflow(product, d, &product) || product > max; })"));
        assert!(
            after.contains("_Static_assert(((__typeof__((max - d) / b))-1) > 0, \"unsigned\");")
        );
    }

    #[test]
    fn constants_and_other_comparisons_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "int f(unsigned v) {\n    return v > 100 / 10;\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(unsigned v, unsigned b) {\n    return v < 100 / b;\n}\n",
            2,
        );
    }
}
