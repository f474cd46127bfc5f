//! Chains of tests with the usual case in front.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants};

/// Cases that are tried in front: with more of them each is measured too seldom within the time.
const MAX_TRIED: usize = 2;

/// A case of a chain.
struct Case<'a> {
    condition: Node<'a>,
    body: Node<'a>,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut reason = "no chain of `if … else if …` at its lines tests one value for one text or number after the other".to_owned();
    for node in subject.nodes_by_place() {
        if !subject.is_at_place(node) {
            break;
        }
        let first = node.kind() == "if_statement"
            && node.parent().is_none_or(|one| one.kind() != "else_clause");
        if !first {
            continue;
        }
        let cases = cases(node);
        if cases.len() < 2 {
            continue;
        }
        match exclusive(subject.file, &cases) {
            Ok(assumes) => return Ok(in_front(subject, &cases, &assumes)),
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

fn cases(first: Node<'_>) -> Vec<Case<'_>> {
    let mut found = Vec::new();
    let mut next = Some(first);
    while let Some(node) = next.filter(|one| one.kind() == "if_statement") {
        let parts = node
            .child_by_field_name("condition")
            .zip(node.child_by_field_name("consequence"));
        let Some((condition, body)) = parts else {
            break;
        };
        found.push(Case { condition, body });
        next = (node.child_by_field_name("alternative")).and_then(|one| match one.kind() {
            "else_clause" => one.named_child(0),
            _ => Some(one),
        });
    }
    found
}

/// A comparison of one value with a constant: the text of all but the constant, and the constant.
fn comparison(file: &SourceFile, node: Node<'_>) -> Option<(String, String)> {
    let node = bare(node);
    let constant = constant_of(file, node)?;
    let text = file.squashed(node);
    let value = file.squashed(constant);
    let form = text.replacen(&value, "?", 1);
    let equality = match node.kind() {
        "binary_expression" => file.operator(node) == "==",
        "unary_expression" => file.operator(node) == "!",
        _ => node.kind() == "call_expression",
    };
    (equality && effects(node) == 0).then_some((form, value))
}

fn effects(node: Node<'_>) -> usize {
    (descendants(node).iter())
        .filter(|one| {
            matches!(
                one.kind(),
                "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR"
            )
        })
        .count()
}

/// The only text or number in an expression; of `strcmp(a, "x") == 0` the text.
fn constant_of<'a>(file: &SourceFile, node: Node<'a>) -> Option<Node<'a>> {
    let kinds = ["string_literal", "char_literal", "number_literal"];
    let all: Vec<Node<'_>> = descendants(node)
        .into_iter()
        .filter(|one| kinds.contains(&one.kind()))
        .collect();
    let texts: Vec<Node<'_>> = all
        .iter()
        .copied()
        .filter(|one| one.kind() == "string_literal")
        .collect();
    match (&all[..], &texts[..]) {
        ([one], _) => Some(*one),
        ([_, _], [text]) => {
            let rest = all.iter().find(|one| *one != text)?;
            (file.text(*rest) == "0").then_some(*text)
        }
        _ => None,
    }
}

/// The comparisons of a condition that holds where one of them does.
fn alternatives<'a>(file: &SourceFile, condition: Node<'a>, found: &mut Vec<Node<'a>>) {
    let node = bare(condition);
    if node.kind() == "binary_expression" && file.operator(node) == "||" {
        for side in ["left", "right"] {
            if let Some(one) = node.child_by_field_name(side) {
                alternatives(file, one, found);
            }
        }
    } else {
        found.push(node);
    }
}

/// Whether at most one case holds: all compare the same value with constants that differ.
fn exclusive(file: &SourceFile, cases: &[Case<'_>]) -> Result<Vec<String>, String> {
    let mut constants = Vec::new();
    let mut form: Option<String> = None;
    let mut calls = false;
    for case in cases {
        let mut all = Vec::new();
        alternatives(file, case.condition, &mut all);
        for one in all {
            let (own, constant) = comparison(file, one).ok_or_else(|| {
                format!(
                    "`{}` is not a comparison with one text or number",
                    file.text(one)
                )
            })?;
            if form.as_ref().is_some_and(|form| *form != own) {
                return Err("its tests compare different values".to_owned());
            }
            if constants.contains(&constant) {
                return Err(format!("{constant} is tested for twice"));
            }
            calls |= descendants(one)
                .iter()
                .any(|one| one.kind() == "call_expression");
            form = Some(own);
            constants.push(constant);
        }
    }
    Ok(match calls {
        true => {
            vec!["at most one of the tests of the chain holds, and they have no effect".to_owned()]
        }
        false => Vec::new(),
    })
}

/// Each of the last cases in front of the others, the last first.
fn in_front(subject: &Subject<'_>, cases: &[Case<'_>], assumes: &[String]) -> Vec<Rewrite> {
    let file = subject.file;
    let tried = (1..cases.len()).rev().take(MAX_TRIED);
    tried
        .map(|usual| {
            let mut edits = Vec::new();
            // The cases from the first to the usual one move by one place.
            for at in 0..=usual {
                let from = if at == 0 { usual } else { at - 1 };
                edits.push(Edit::replace(
                    cases[at].condition.byte_range(),
                    file.text(cases[from].condition),
                ));
                edits.push(Edit::replace(
                    cases[at].body.byte_range(),
                    file.text(cases[from].body),
                ));
            }
            Rewrite {
                assumes: assumes.to_vec(),
                ..subject.rewrite(
                    format!("test `{}` first", file.text(bare(cases[usual].condition))),
                    edits,
                )
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused};

    const CAUSE: &str = "general-case-first";

    #[test]
    fn each_later_case_is_tried_in_front() {
        let text = "void f(const char *s) {\n    if (is(s, \"a\") || is(s, \"b\"))\n        one();\n    else if (is(s, \"c\")) {\n        two();\n    } else if (is(s, \"d\"))\n        three();\n    else\n        four();\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", text)], 2);
        assert_eq!(after.len(), 2);
        assert!(after[0][0].contains("if (is(s, \"d\"))\n        three();\n    else if (is(s, \"a\") || is(s, \"b\")) one();"), "{}", after[0][0]);
        assert!(after[0][0].contains("else if (is(s, \"c\"))\n        {\n        two();\n    }\n    else\n        four();"), "{}", after[0][0]);
    }

    #[test]
    fn tests_that_may_both_hold_are_refused() {
        for test in ["is(s, \"a\")", "n > 4", "has(s, \"b\")", "n == 4"] {
            refused(
                CAUSE,
                "a.c",
                &format!(
                    "void f(const char *s, int n) {{\n    if (is(s, \"a\"))\n        g();\n    else if ({test})\n        h();\n}}\n"
                ),
                2,
            );
        }
    }
}
