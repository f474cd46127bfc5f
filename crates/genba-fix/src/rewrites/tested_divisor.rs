//! A remainder whose operand is usually small, or whose divisor is usually a power of two: tested first.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, bare};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut sums = Vec::new();
    let mut others = Vec::new();
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    for node in subject.nodes_by_place() {
        let Some((left, right)) = remainder(subject, node) else {
            continue;
        };
        if taken.iter().any(|range| {
            range.contains(&node.start_byte()) || node.byte_range().contains(&range.start)
        }) {
            continue;
        }
        taken.push(node.byte_range());
        sums.push(conditional_subtraction(subject.file, node, left, right));
        others.push(power_of_two(subject.file, node, left, right));
    }
    if sums.is_empty() {
        return Err(
            "its lines have no remainder by an unsigned variable whose operands can be tested"
                .to_owned(),
        );
    }
    Ok(vec![
        subject.rewrite(
            "subtract the divisor once instead of dividing, where that is enough",
            sums,
        ),
        subject.rewrite(
            "mask instead of dividing, where the divisor is a power of two",
            others,
        ),
    ])
}

/// The operands of a remainder by a variable, if both are unsigned integers without effect.
fn remainder<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<(Node<'a>, Node<'a>)> {
    let file = subject.file;
    if node.kind() != "binary_expression"
        || file.operator(node) != "%"
        || !subject.is_at_place(node)
    {
        return None;
    }
    let (left, right) = (
        node.child_by_field_name("left")?,
        node.child_by_field_name("right")?,
    );
    // A function of the compiler proper, and no statement, may stand in an initialiser of a constant.
    let in_function = ancestors(node).any(|one| one.kind() == "compound_statement");
    let variable = matches!(bare(right).kind(), "identifier" | "field_expression");
    let pure = subject.is_pure(right) && !file.text(right).is_empty();
    (variable && pure && in_function && bare(left).kind() != "number_literal")
        .then_some((left, right))
}

/// `({ T n = LEFT; T d = RIGHT; n < d ? n : n - d < d ? n - d : n % d; })`: exact for unsigned operands,
/// which the compiler checks.
fn conditional_subtraction(
    file: &SourceFile,
    node: Node<'_>,
    left: Node<'_>,
    right: Node<'_>,
) -> Edit {
    block(file, node, left, right, |n, d| {
        format!("{n} < {d} ? {n} : {n} - {d} < {d} ? {n} - {d} : {n} % {d}")
    })
}

fn power_of_two(file: &SourceFile, node: Node<'_>, left: Node<'_>, right: Node<'_>) -> Edit {
    block(file, node, left, right, |n, d| {
        format!("({d} & ({d} - 1)) == 0 ? {n} & ({d} - 1) : {n} % {d}")
    })
}

/// A statement expression with both operands in variables of the type of the remainder, which must be
/// unsigned.
fn block(
    file: &SourceFile,
    node: Node<'_>,
    left: Node<'_>,
    right: Node<'_>,
    value: impl Fn(&str, &str) -> String,
) -> Edit {
    let (n, d) = (file.fresh_name("dividend"), file.fresh_name("divisor"));
    let (left, right) = (file.text(left), file.text(right));
    let kind = format!("__typeof__({})", file.text(node));
    // -1 is the largest value of an unsigned type, and less than 0 in a signed one.
    let check = match file.dialect {
        crate::Dialect::C => format!("_Static_assert((({kind})-1) > 0, \"unsigned\");"),
        crate::Dialect::Cpp => format!("static_assert((({kind})-1) > 0, \"unsigned\");"),
    };
    Edit::replace(
        node.byte_range(),
        format!(
            "({{ {check} {kind} {n} = {left}, {d} = {right}; {}; }})",
            value(&n, &d)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused};

    const CAUSE: &str = "loop-invariant-divisor";

    #[test]
    fn remainder_tests_its_operands_first() {
        let text = "unsigned f(unsigned head, unsigned back, unsigned size) {\n    return (head + back) % size;\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", text)], 2);
        assert!(after[0][0].contains("dividend = (head + back), divisor = size; dividend < divisor ? dividend : dividend - divisor < divisor ? dividend - divisor : dividend % divisor; })"));
        assert!(after[1][0].contains(
            "(divisor & (divisor - 1)) == 0 ? dividend & (divisor - 1) : dividend % divisor; })"
        ));
        assert!(
            after[0][0].contains(
                "_Static_assert(((__typeof__((head + back) % size))-1) > 0, \"unsigned\");"
            )
        );
    }

    #[test]
    fn constants_and_divisors_with_an_effect_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "int f(unsigned n) {\n    return n % 10;\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(unsigned n) {\n    return n % next();\n}\n",
            2,
        );
    }
}
