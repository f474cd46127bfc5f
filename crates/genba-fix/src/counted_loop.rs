//! Loops that count: what they count, to where, and what they repeat, in whichever form they are written. Pure.

use tree_sitter::Node;

use crate::source_file::{SourceFile, bare, descendants};

/// How many iterations are left.
pub(crate) enum Until<'a> {
    /// `variable < end` or `variable != end`, the variable going up by one.
    End {
        /// An index or a pointer.
        variable: &'a str,
        /// The bound.
        end: Node<'a>,
        /// Whether the bound itself is reached (`<=`).
        inclusive: bool,
    },
    /// `variable--` or `variable > 0`: the variable going down by one, to zero.
    Zero {
        /// The count.
        variable: &'a str,
    },
}

/// A loop that counts by one.
pub(crate) struct CountedLoop<'a> {
    /// The loop.
    pub node: Node<'a>,
    /// What is executed first, once; without a semicolon.
    pub initializer: Option<&'a str>,
    /// Its bound.
    pub until: Until<'a>,
    /// What is repeated. In a `while` loop the step is among it.
    pub body: Node<'a>,
    /// The expression behind each iteration, if it stands in the head of the loop.
    pub update: Option<&'a str>,
    /// Whether the condition itself counts: `while (n--)`.
    pub counts_in_condition: bool,
}

impl<'a> CountedLoop<'a> {
    /// The variable that counts.
    pub(crate) fn variable(&self) -> &'a str {
        match self.until {
            Until::End { variable, .. } | Until::Zero { variable } => variable,
        }
    }
}

/// A loop as one that counts by one; `None` if it is not.
pub(crate) fn counted<'a>(file: &'a SourceFile, node: Node<'a>) -> Option<CountedLoop<'a>> {
    if !matches!(node.kind(), "for_statement" | "while_statement") {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    if leaves_early(body) {
        return None;
    }
    let condition = bare(node.child_by_field_name("condition")?);
    let initializer = node.child_by_field_name("initializer");
    let update = node.child_by_field_name("update");
    let steps = |by: &str| -> Vec<&'a str> { steps_of(file, update, body, by) };
    let (until, counts_in_condition) = bound(file, condition)?;
    let (variable, sign) = match &until {
        Until::End { variable, .. } => (*variable, "++"),
        Until::Zero { variable } => (*variable, "--"),
    };
    let stepped = steps(sign).iter().filter(|one| **one == variable).count();
    let other = match sign {
        "++" => "--",
        _ => "++",
    };
    let once = stepped == usize::from(!counts_in_condition)
        && !steps(other).contains(&variable)
        && !assigned(file, body, variable);
    once.then(|| CountedLoop {
        node,
        initializer: initializer.map(|one| file.text(one).trim_end().trim_end_matches(';')),
        until,
        body,
        update: update.map(|one| file.text(one)),
        counts_in_condition,
    })
}

/// Whether the body may leave the loop, or an iteration, before its end.
fn leaves_early(body: Node<'_>) -> bool {
    descendants(body).into_iter().any(|node| {
        matches!(
            node.kind(),
            "break_statement"
                | "continue_statement"
                | "return_statement"
                | "goto_statement"
                | "labeled_statement"
                | "throw_statement"
        )
    })
}

/// The bound that a condition tests, and whether it counts itself.
fn bound<'a>(file: &'a SourceFile, condition: Node<'a>) -> Option<(Until<'a>, bool)> {
    let name = |node: Node<'a>| (node.kind() == "identifier").then(|| file.text(node));
    match condition.kind() {
        "identifier" => {
            let variable = name(condition)?;
            Some((Until::Zero { variable }, false))
        }
        "update_expression" => Some((
            Until::Zero {
                variable: down(file, condition)?,
            },
            true,
        )),
        "binary_expression" => {
            let left = bare(condition.child_by_field_name("left")?);
            let right = bare(condition.child_by_field_name("right")?);
            let zero = |node: Node<'_>| file.text(node) == "0";
            match file.operator(condition) {
                ">" | "!=" if zero(right) => match left.kind() {
                    "update_expression" => Some((
                        Until::Zero {
                            variable: down(file, left)?,
                        },
                        true,
                    )),
                    _ => Some((
                        Until::Zero {
                            variable: name(left)?,
                        },
                        false,
                    )),
                },
                operator @ ("<" | "!=" | "<=") => {
                    let inclusive = operator == "<=";
                    let variable = name(left)?;
                    Some((
                        Until::End {
                            variable,
                            end: right,
                            inclusive,
                        },
                        false,
                    ))
                }
                ">" => {
                    let variable = name(right)?;
                    Some((
                        Until::End {
                            variable,
                            end: left,
                            inclusive: false,
                        },
                        false,
                    ))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The variable of `n--`; what tests before it counts, as `--n` does, has one iteration less.
fn down<'a>(file: &'a SourceFile, node: Node<'a>) -> Option<&'a str> {
    let argument = node.child_by_field_name("argument")?;
    (argument.kind() == "identifier" && file.squashed(node).ends_with("--"))
        .then(|| file.text(argument))
}

/// What a loop steps by one in its head, or in the statements of its body.
fn steps_of<'a>(
    file: &'a SourceFile,
    update: Option<Node<'a>>,
    body: Node<'a>,
    by: &str,
) -> Vec<&'a str> {
    let mut steps = Vec::new();
    for part in update.into_iter().chain([body]) {
        for node in descendants(part) {
            match node.kind() {
                "update_expression" if file.text(node).contains(by) => {
                    steps.extend(
                        node.child_by_field_name("argument")
                            .map(|one| file.text(one)),
                    );
                }
                "assignment_expression" => {
                    let one = node
                        .child_by_field_name("right")
                        .is_some_and(|right| file.text(right) == "1");
                    let fits = match by {
                        "++" => file.operator(node) == "+=",
                        _ => file.operator(node) == "-=",
                    };
                    if one && fits {
                        steps.extend(node.child_by_field_name("left").map(|one| file.text(one)));
                    }
                }
                _ => {}
            }
        }
    }
    // A step in the body must be a statement of its own: one that is always executed.
    let listed = |name: &str| {
        let below = descendants(body).into_iter().filter(|node| {
            matches!(node.kind(), "update_expression" | "assignment_expression")
                && ["argument", "left"].iter().any(|field| {
                    node.child_by_field_name(field)
                        .is_some_and(|one| file.text(one) == name)
                })
        });
        below.into_iter().all(|node| {
            node.parent().is_some_and(|statement| {
                statement.kind() == "expression_statement" && statement.parent() == Some(body)
            })
        })
    };
    steps.retain(|name| listed(name));
    steps
}

/// Whether the body changes a variable otherwise than by a step of one.
fn assigned(file: &SourceFile, body: Node<'_>, variable: &str) -> bool {
    descendants(body).into_iter().any(|node| match node.kind() {
        "assignment_expression" => {
            let left = node.child_by_field_name("left");
            let right = node.child_by_field_name("right");
            let step = matches!(file.operator(node), "+=" | "-=")
                && right.is_some_and(|right| file.text(right) == "1");
            left.is_some_and(|left| file.text(left) == variable) && !step
        }
        "pointer_expression" => {
            file.operator(node) == "&"
                && (node.child_by_field_name("argument"))
                    .is_some_and(|one| file.text(one) == variable)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::source_file::is_loop;

    /// The variable, the bound (`0` downwards) and whether the condition counts.
    fn shape(text: &str) -> Option<(String, String, bool)> {
        let text = format!("void f(void) {{ {text} }}");
        let file = SourceFile::new("a.c", text.into_bytes(), Dialect::C).expect("a text");
        let node = descendants(file.root())
            .into_iter()
            .find(|node| is_loop(*node))?;
        let found = counted(&file, node)?;
        let end = match found.until {
            Until::End { end, .. } => file.text(end).to_owned(),
            Until::Zero { .. } => "0".to_owned(),
        };
        Some((found.variable().to_owned(), end, found.counts_in_condition))
    }

    #[test]
    fn same_loop_in_different_forms_is_recognised() {
        let up = Some(("i".to_owned(), "n".to_owned(), false));
        for text in [
            "for (int i = 0; i < n; i++) g(i);",
            "for (i = 0; i != n; ++i) { g(i); }",
            "for (; n > i; i += 1) g(i);",
            "while (i < n) { g(i); i++; }",
        ] {
            assert_eq!(shape(text), up, "{text}");
        }
        let down = |counts| Some(("n".to_owned(), "0".to_owned(), counts));
        assert_eq!(shape("while (n--) g(*p++);"), down(true));
        assert_eq!(shape("while (n-- > 0) { g(*p++); }"), down(true));
        assert_eq!(shape("for (; n > 0; n--) g(n);"), down(false));
        assert_eq!(shape("while (n != 0) { g(n); --n; }"), down(false));
    }

    #[test]
    fn loops_that_leave_early_or_step_otherwise_are_not() {
        for text in [
            "for (i = 0; i < n; i++) if (g(i)) break;",
            "for (i = 0; i < n; i += 2) g(i);",
            "for (i = 0; i < n; i++) { g(i); i = h(i); }",
            "while (i < n) { if (g(i)) i++; }",
            "for (i = 0; i < n; i++) g(&i);",
            "while (--n) g(n);",
            "while (i < n) { g(i); i++; i++; }",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
    }
}
