//! Stores that nobody reads, left out.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare, descendants};

/// Functions that fill a buffer: what they are given is evaluated for nothing else.
const FILLS: [&str; 6] = [
    "memset",
    "std::memset",
    "bzero",
    "std::fill",
    "std::fill_n",
    "std::ranges::fill",
];
/// Member functions that change nothing.
const QUESTIONS: [&str; 8] = [
    "data", "size", "length", "begin", "end", "capacity", "c_str", "get",
];

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    if matches!(subject.change, Some(genba_model::Fix::ClearUsedPart)) {
        return Err("which part of the buffer was used is not known from the source".to_owned());
    }
    let file = subject.file;
    let found: Vec<(String, Edit)> = descendants(subject.function)
        .into_iter()
        .filter(|node| subject.is_at_place(*node))
        .filter_map(|node| without_store(file, node))
        .collect();
    let assumes = || vec!["nobody reads what is stored there before it is stored anew".to_owned()];
    let rewrite = |title: String, edits| Rewrite {
        assumes: assumes(),
        ..subject.rewrite(title, edits)
    };
    let mut all = Vec::new();
    if found.len() > 1 {
        let edits = found.iter().map(|one| one.1.clone()).collect();
        all.push(rewrite(format!("leave out {} stores", found.len()), edits));
    }
    for (what, edit) in found {
        all.push(rewrite(format!("leave out {what}"), vec![edit]));
    }
    match all.is_empty() {
        true => {
            Err("no statement at its lines only stores into memory or fills a buffer".to_owned())
        }
        false => Ok(all),
    }
}

/// What is left out, and the edit, where a node is a store and nothing else.
fn without_store(file: &SourceFile, node: Node<'_>) -> Option<(String, Edit)> {
    match node.kind() {
        "expression_statement" => {
            let inner = node.named_child(0)?;
            let stores = match inner.kind() {
                "assignment_expression" => is_plain_store(file, inner),
                "call_expression" => is_fill(file, inner),
                _ => false,
            };
            let listed = (node.parent()).is_some_and(|one| one.kind() == "compound_statement");
            let edit = match listed {
                true => Edit::replace(file.whole_lines(node), ""),
                false => Edit::replace(node.byte_range(), ";"),
            };
            stores.then(|| (format!("`{}`", file.text(node)), edit))
        }
        // `char line[80] = {0};`
        "init_declarator" => {
            let value = node.child_by_field_name("value")?;
            let declarator = node.child_by_field_name("declarator")?;
            let zero = matches!(
                file.squashed(value).as_str(),
                "{0}" | "{}" | "{'\\0'}" | "{0,}"
            );
            // Of an array without a length the initializer gives it.
            let sized = declarator.child_by_field_name("size").is_some();
            let array = declarator.kind() == "array_declarator" && sized;
            (zero && array).then(|| {
                let what = format!("the zeros of `{}`", file.text(declarator));
                (
                    what,
                    Edit::replace(declarator.end_byte()..node.end_byte(), ""),
                )
            })
        }
        // Zeroed memory that is written before it is read.
        "call_expression" => {
            let function = node.child_by_field_name("function")?;
            let arguments = node.child_by_field_name("arguments")?;
            let name = file.text(function);
            let (count, size) = (arguments.named_child(0)?, arguments.named_child(1)?);
            let zeroes =
                matches!(name, "calloc" | "std::calloc") && arguments.named_child_count() == 2;
            let pure = file.is_pure(count) && file.is_pure(size);
            (zeroes && pure).then(|| {
                let (count, size) = (file.text(count), file.text(size));
                let allocate = name.replace("calloc", "malloc");
                let text = format!("{allocate}((size_t)({count}) * ({size}))");
                (
                    "the zeros of the allocated memory".to_owned(),
                    Edit::replace(node.byte_range(), text),
                )
            })
        }
        _ => None,
    }
}

/// Whether an assignment stores into memory, with nothing else that happens.
fn is_plain_store(file: &SourceFile, assignment: Node<'_>) -> bool {
    let (Some(left), Some(right)) = (
        assignment.child_by_field_name("left").map(bare),
        assignment.child_by_field_name("right"),
    ) else {
        return false;
    };
    let memory = match left.kind() {
        "subscript_expression" | "field_expression" => true,
        "pointer_expression" => file.operator(left) == "*",
        _ => false,
    };
    memory && file.operator(assignment) == "=" && file.is_pure(left) && file.is_pure(right)
}

/// Whether a call only fills a buffer.
fn is_fill(file: &SourceFile, call: Node<'_>) -> bool {
    let name = call
        .child_by_field_name("function")
        .map(|one| file.text(one));
    if !name.is_some_and(|name| FILLS.contains(&name)) {
        return false;
    }
    let arguments = call.child_by_field_name("arguments");
    arguments.is_some_and(|list| {
        descendants(list).into_iter().all(|node| match node.kind() {
            "assignment_expression" | "update_expression" | "lambda_expression" | "ERROR" => false,
            "call_expression" => {
                let name = node
                    .child_by_field_name("function")
                    .map(|one| file.text(one));
                let last = name.and_then(|name| name.rsplit(['.', '>']).next());
                last.is_some_and(|last| QUESTIONS.contains(&last))
            }
            _ => true,
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused, rewritten};

    const CAUSE: &str = "dead-store";

    #[test]
    fn stores_fills_and_zeros_are_left_out() {
        let text = "void f(struct p *p, int n) {\n    for (int i = 0; i < n; i++) {\n        p->a[i] = 1;\n        p->b[i] = n * i;\n    }\n}\n";
        assert!(!rewritten(CAUSE, "a.c", text, 4).contains("p->b"));
        let text = "int f(int n) {\n    char line[80] = {0};\n    return g(line, n);\n}\n";
        assert!(rewritten(CAUSE, "a.c", text, 2).contains("    char line[80];\n"));
        let text = "void f(std::vector<int> &v) {\n    std::memset(v.data(), 0, v.size() * 4);\n    g(v);\n}\n";
        assert!(!rewritten(CAUSE, "a.cc", text, 2).contains("memset"));
        let text = "void f(int n) {\n    int *p = calloc(n, sizeof *p);\n    g(p);\n}\n";
        assert!(rewritten(CAUSE, "a.c", text, 2).contains("malloc((size_t)(n) * (sizeof *p))"));
    }

    #[test]
    fn the_only_statement_of_a_branch_leaves_an_empty_one() {
        let text = "void f(struct p *p, int n) {\n    if (n) p->a = 1;\n}\n";
        assert!(rewritten(CAUSE, "a.c", text, 2).contains("    if (n) ;\n"));
    }

    #[test]
    fn several_stores_are_left_out_together_and_singly() {
        let text = "void f(struct p *p) {\n    p->a = 1; p->b = 2;\n}\n";
        assert_eq!(all_rewritten(CAUSE, &[("a.c", text)], 2).len(), 3);
    }

    #[test]
    fn stores_with_an_effect_and_of_variables_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "void f(int *p, int n) {\n    p[n] = g();\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "void f(int *p, int n) {\n    *p++ = n;\n}\n",
            2,
        );
        refused(
            CAUSE,
            "a.c",
            "int f(int n) {\n    n = 3;\n    return n;\n}\n",
            2,
        );
    }
}
