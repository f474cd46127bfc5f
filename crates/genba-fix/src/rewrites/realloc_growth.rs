//! Growth of a buffer by a factor instead of a constant.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, ancestors, descendants};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let mut found: Vec<Rewrite> = Vec::new();
    found.extend(by_factor(subject));
    found.extend(without_exact_reserve(subject));
    if found.is_empty() {
        found.extend(in_classes(subject));
    }
    match found.is_empty() {
        true => Err(
            "its function neither calls realloc for a size that grows, nor reserves for a size that it adds to: ask \
             for twice as much where the buffer is full"
                .to_owned(),
        ),
        false => Ok(found),
    }
}

/// `room += 16; p = realloc(p, room * size)`
fn by_factor(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    for node in subject.nodes_by_place() {
        if node.kind() != "assignment_expression" {
            continue;
        }
        let (Some(left), Some(right)) = (
            node.child_by_field_name("left"),
            node.child_by_field_name("right"),
        ) else {
            continue;
        };
        let capacity = file.squashed(left);
        let constant = match file.operator(node) {
            "+=" => is_constant(file, right).then(|| file.text(right)),
            "=" => sum_with(file, right, &capacity),
            _ => None,
        };
        let Some(constant) = constant else { continue };
        let block = ancestors(node).find(|one| one.kind() == "compound_statement")?;
        let grown = descendants(block).into_iter().any(|call| {
            let function = call
                .child_by_field_name("function")
                .map(|one| file.squashed(one));
            call.kind() == "call_expression"
                && function
                    .is_some_and(|name| name.ends_with("realloc") || name.ends_with("reallocarray"))
                && call.start_byte() > node.end_byte()
                && call
                    .child_by_field_name("arguments")
                    .is_some_and(|list| file.squashed(list).contains(&capacity))
        });
        if grown {
            let place = file.text(left);
            return Some(subject.rewrite(
                format!("let {place} grow by a factor of two instead of {constant}"),
                vec![Edit::replace(
                    node.byte_range(),
                    format!("{place} += {place} + {constant}"),
                )],
            ));
        }
    }
    None
}

fn is_constant(file: &SourceFile, node: Node<'_>) -> bool {
    node.kind() == "number_literal"
        || node.kind() == "identifier" && !file.text(node).contains(char::is_lowercase)
}

/// The constant of `capacity + constant`.
fn sum_with<'a>(file: &'a SourceFile, sum: Node<'_>, capacity: &str) -> Option<&'a str> {
    let (left, right) = (
        sum.child_by_field_name("left")?,
        sum.child_by_field_name("right")?,
    );
    (file.operator(sum) == "+" && file.squashed(left) == capacity && is_constant(file, right))
        .then(|| file.text(right))
}

/// `p = realloc(p, used + n)`, without a capacity: sizes in classes, so that most calls find the room already.
fn in_classes(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    let helper = file.fresh_name("grown_size");
    for call in subject.nodes_by_place() {
        let function = (call.kind() == "call_expression" && subject.is_at_place(call))
            .then(|| call.child_by_field_name("function"))
            .flatten();
        let Some(name) = function.map(|one| file.text(one)) else {
            continue;
        };
        let list = call.child_by_field_name("arguments")?;
        if name.rsplit("::").next() != Some("realloc") || list.named_child_count() != 2 {
            continue;
        }
        let size = list.named_child(1)?;
        let adds = descendants(size).into_iter().any(|one| {
            one.kind() == "binary_expression" && file.operator(one) == "+"
                || one.kind() == "update_expression"
        });
        let variable = matches!(
            size.kind(),
            "identifier" | "binary_expression" | "parenthesized_expression"
        );
        if !(adds || variable) {
            continue;
        }
        let text = format!(
            "/* A size up to a quarter larger, the same for many sizes: memory that grows is moved seldom. */\n\
             static inline size_t {helper}(size_t size)\n{{\n    size_t step = 16;\n    while (step < size / 8)\n        \
             step *= 2;\n    return size > (size_t)-1 - step ? size : (size + step - 1) / step * step;\n}}\n\n"
        );
        let edits = vec![
            Edit::insert(
                subject.before_code(),
                format!("#include <stddef.h>\n\n{text}"),
            ),
            Edit::replace(size.byte_range(), format!("{helper}({})", file.text(size))),
        ];
        return Some(subject.rewrite(
            "let the buffer grow in steps of an eighth of its size",
            edits,
        ));
    }
    None
}

/// `v.reserve(v.size() + n)`: exact room, which `push_back` would have made by a factor.
fn without_exact_reserve(subject: &Subject<'_>) -> Option<Rewrite> {
    let file = subject.file;
    subject.nodes_by_place().into_iter().find_map(|node| {
        let function = node
            .child_by_field_name("function")
            .filter(|_| node.kind() == "call_expression")?;
        let (object, method) = (
            function.child_by_field_name("argument")?,
            function.child_by_field_name("field")?,
        );
        let list = node.child_by_field_name("arguments")?;
        let size = format!("{}.size()", file.squashed(object));
        let statement = node
            .parent()
            .filter(|one| one.kind() == "expression_statement")?;
        (file.text(method) == "reserve"
            && list.named_child_count() == 1
            && file.squashed(list).contains(&size)
            && file.squashed(list).contains('+'))
        .then(|| {
            subject.rewrite(
                format!(
                    "leave the growth of {} to itself: it grows by a factor",
                    file.text(object)
                ),
                vec![Edit::replace(file.whole_lines(statement), String::new())],
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn capacity_grows_by_a_factor() {
        let text = "void f(struct p *p) {\n    if (p->used == p->room) {\n        p->room += 4;\n        \
                    p->d = realloc(p->d, p->room * sizeof *p->d);\n    }\n}\n";
        let after = rewritten("realloc-growth", "a.c", text, 4);
        assert!(after.contains("p->room += p->room + 4;"));
    }

    #[test]
    fn exact_sizes_become_classes() {
        let text =
            "void f(struct p *p, size_t n) {\n    p->d = realloc(p->d, p->used + n + 1);\n}\n";
        let after = rewritten("realloc-growth", "a.c", text, 2);
        assert!(
            after.contains("realloc(p->d, grown_size(p->used + n + 1));"),
            "{after}"
        );
    }

    #[test]
    fn exact_reserve_goes() {
        let text = "void f(std::vector<int> &v, int n) {\n    v.reserve(v.size() + n);\n    v.push_back(n);\n}\n";
        let after = rewritten("realloc-growth", "a.cc", text, 3);
        assert_eq!(
            after,
            "void f(std::vector<int> &v, int n) {\n    v.push_back(n);\n}\n"
        );
    }

    #[test]
    fn sums_that_are_not_capacities_are_refused() {
        let text = "void f(struct p *p, char *q, int n) {\n    p->count += 4;\n    q = realloc(q, 4096);\n}\n";
        refused("realloc-growth", "a.c", text, 3);
        refused(
            "realloc-growth",
            "a.cc",
            "void f(V &v, int n) {\n    v.reserve(n);\n}\n",
            2,
        );
    }
}
