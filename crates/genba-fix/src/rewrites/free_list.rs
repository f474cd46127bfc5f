//! Objects of one size from a list of those that were freed, instead of from the allocator.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{ancestors, bare, descendants, words};

/// Blocks that a list keeps: chosen, some megabytes of small objects.
const MOST_KEPT: u32 = 65536;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::C {
        return Err("its file is not C".to_owned());
    }
    let none = "no malloc(sizeof …) of one object stands at its lines";
    let (call, kind) = (subject.nodes_by_place().into_iter())
        .filter(|node| subject.is_at_place(*node))
        .find_map(|node| Some((node, allocated(subject, node)?)))
        .ok_or(none)?;
    // Blocks come back where a pointer to the type is freed.
    let mut edits = Vec::new();
    let size = format!("sizeof({kind})");
    for node in descendants(file.root()) {
        let name = (node.kind() == "call_expression")
            .then(|| node.child_by_field_name("function"))
            .flatten();
        let Some(name) = name.filter(|one| file.text(*one) == "free") else {
            continue;
        };
        let argument = node
            .child_by_field_name("arguments")
            .and_then(|list| list.named_child(0))
            .map(bare);
        let Some(argument) = argument.filter(|one| one.kind() == "identifier") else {
            continue;
        };
        let Some(function) = ancestors(node).find(|one| one.kind() == "function_definition") else {
            continue;
        };
        let declared = file.declared_type(function, file.text(argument));
        let same =
            declared.is_some_and(|one| one.pointers == 1 && plain(&one.specifiers) == plain(&kind));
        if same {
            edits.push(Edit::replace(name.byte_range(), "give_back"));
        }
    }
    if edits.is_empty() {
        return Err(format!("no pointer to {kind} is freed in {}", file.path));
    }
    edits.push(Edit::replace(call.byte_range(), "take_object()"));
    let helpers = format!(
        "#include <stdlib.h>\n\n/* Freed objects of one size, for the next that are needed. */\n\
         static _Thread_local struct freed_object {{\n    struct freed_object *next;\n}} *freed_objects;\n\
         static _Thread_local unsigned freed_count;\n\n\
         static inline void *take_object(void)\n{{\n    struct freed_object *one = freed_objects;\n    if (!one)\n        \
         return malloc({size} < sizeof *one ? sizeof *one : {size});\n    freed_objects = one->next;\n    freed_count--;\n    return one;\n}}\n\n\
         static inline void give_back(void *block)\n{{\n    struct freed_object *one = (struct freed_object *)block;\n    if (!one || freed_count >= {MOST_KEPT}) {{\n        \
         free(block);\n        return;\n    }}\n    one->next = freed_objects;\n    freed_objects = one;\n    freed_count++;\n}}\n\n"
    );
    if file.source().contains("take_object") {
        return Err("its file has a list of freed objects already".to_owned());
    }
    let at = subject.before_first_function();
    edits.push(Edit::insert(at, helpers));
    Ok(vec![Rewrite {
        assumes: vec![
            format!(
                "pointers to {kind} that are freed here come from malloc({size}) or point to a larger block"
            ),
            "a thread that ends may leave its freed objects behind".to_owned(),
        ],
        ..subject.rewrite(format!("keep freed objects of {kind} for reuse"), edits)
    }])
}

/// The type of the object of which a call asks for memory: `struct node` of `malloc(sizeof *n)`.
fn allocated(subject: &Subject<'_>, call: Node<'_>) -> Option<String> {
    let file = subject.file;
    let name = call
        .child_by_field_name("function")
        .filter(|_| call.kind() == "call_expression")?;
    let list = call
        .child_by_field_name("arguments")
        .filter(|list| list.named_child_count() == 1)?;
    let size = list
        .named_child(0)
        .filter(|one| one.kind() == "sizeof_expression" && file.text(name) == "malloc")?;
    let text = file.squashed(size);
    let inner = text
        .strip_prefix("sizeof")?
        .trim()
        .trim_start_matches('(')
        .trim_end_matches(')')
        .to_owned();
    match inner.strip_prefix('*') {
        Some(variable) => {
            let declared = file.declared_type(subject.function, variable)?;
            (declared.pointers == 1).then(|| plain(&declared.specifiers))
        }
        None => Some(inner),
    }
}

/// Without qualifiers and storage classes.
fn plain(specifiers: &str) -> String {
    words(specifiers)
        .filter(|word| !matches!(*word, "const" | "static" | "register" | "volatile"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "malloc-churn";

    #[test]
    fn objects_of_a_type_come_from_those_that_were_freed() {
        let text = "struct node { int x; };\n\nstatic struct node *f(void)\n{\n    struct node *n = malloc(sizeof *n);\n    return n;\n}\n\nstatic void release(struct node *n, char *name)\n{\n    free(name);\n    free(n);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 5);
        assert!(after.contains("struct node *n = take_object();"), "{after}");
        assert!(after.contains("    free(name);\n    give_back(n);"));
        assert!(after.contains("return malloc(sizeof(struct node) < sizeof *one"));
    }

    #[test]
    fn arrays_and_objects_that_are_freed_elsewhere_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "char *f(int n)\n{\n    return malloc(n);\n}\n",
            3,
        );
        refused(
            CAUSE,
            "a.c",
            "char *f(void)\n{\n    struct node *n = malloc(sizeof *n);\n    return n;\n}\n",
            3,
        );
    }
}
