//! Objects of one size from a list of those that were freed, instead of from the allocator.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{DeclaredType, ancestors, bare, descendants, function_name, words};

/// Blocks that a list keeps: chosen, some megabytes of small objects.
const MOST_KEPT: u32 = 65536;

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect == Dialect::Cpp {
        return in_class(subject).map(|rewrite| vec![rewrite]);
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
        let frees = |one: &Node<'_>| hands_on(subject, file.text(*one), "free");
        let Some(name) = name.filter(frees) else {
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
        let same = declared.is_some_and(|one| {
            one.pointers == 1 && own_name(subject, &one.specifiers) == own_name(subject, &kind)
        });
        if same {
            edits.push(Edit::replace(name.byte_range(), "give_back"));
        }
    }
    if edits.is_empty() {
        return Err(format!(
            "no pointer to {kind} is freed in {}: keep freed objects in a list where they are freed",
            file.path
        ));
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
        .filter(|one| one.kind() == "sizeof_expression")
        .filter(|_| hands_on(subject, file.text(name), "malloc"))?;
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

/// Whether a function is the allocator's, or one of the sources that only hands its argument on to it.
fn hands_on(subject: &Subject<'_>, name: &str, to: &str) -> bool {
    if name == to {
        return true;
    }
    // `free` of more than its argument, or an allocator with its own counts, would be left out.
    (subject.sources.files.iter())
        .filter(|file| file.source().contains(name))
        .flat_map(|file| {
            descendants(file.root())
                .into_iter()
                .map(move |node| (file, node))
        })
        .filter(|(file, node)| {
            node.kind() == "function_definition" && function_name(file, *node) == Some(name)
        })
        .any(|(file, node)| {
            let Some(body) = node.child_by_field_name("body") else {
                return false;
            };
            let calls = file.calls(body);
            let own = calls.iter().any(|call| call == to);
            let ends = ["abort", "exit", "die", "fprintf", "fputs", "perror"];
            own && calls
                .iter()
                .all(|call| call == to || ends.contains(&call.as_str()))
                && !descendants(body).into_iter().any(|one| {
                    let target = (one.kind() == "assignment_expression")
                        .then(|| one.child_by_field_name("left"))
                        .flatten();
                    let local = target.is_none_or(|target| target.kind() == "identifier");
                    one.kind() == "update_expression"
                        || !local
                        || matches!(file.operator(one), "+=" | "-=")
                })
        })
}

/// A type by the name that its aliases end at.
fn own_name(subject: &Subject<'_>, specifiers: &str) -> String {
    let kind = DeclaredType {
        specifiers: plain(specifiers),
        pointers: 0,
    };
    plain(&subject.types.resolved(kind).specifiers)
}

/// A class that keeps its freed objects: its own `operator new` and `operator delete`.
fn in_class(subject: &Subject<'_>) -> Result<Rewrite, String> {
    let file = subject.file;
    let made = subject
        .nodes_by_place()
        .into_iter()
        .filter(|node| subject.is_at_place(*node) && node.kind() == "new_expression")
        .find_map(|node| {
            let plain = node.child_by_field_name("declarator").is_none()
                && node.child_by_field_name("placement").is_none();
            let kind = node.child_by_field_name("type").filter(|_| plain)?;
            words(file.text(kind)).last().map(str::to_owned)
        });
    let name = made.ok_or(
        "no `new` of one object stands at its lines: where a container or std::make_shared makes them, give it an allocator \
         that keeps freed memory",
    )?;
    for (index, home) in subject.sources.files.iter().enumerate() {
        for node in descendants(home.root()) {
            let record = matches!(node.kind(), "struct_specifier" | "class_specifier");
            let own = node
                .child_by_field_name("name")
                .is_some_and(|one| home.text(one) == name);
            let Some(body) = node.child_by_field_name("body").filter(|_| record && own) else {
                continue;
            };
            if home.text(body).contains("operator new") {
                return Err(format!("{name} has an operator new of its own"));
            }
            if home.text(node).contains("alignas") {
                return Err(format!("{name} has an alignment of its own"));
            }
            let template = node
                .parent()
                .is_some_and(|one| one.kind() == "template_declaration");
            if template {
                return Err(format!("{name} is a template"));
            }
            let before = home.line_start(outermost(node).start_byte());
            let restore = if node.kind() == "class_specifier" {
                "private:\n"
            } else {
                ""
            };
            let helper = MEMBERS
                .replace("KEPT", &MOST_KEPT.to_string())
                .replace("NAME", &name);
            return Ok(Rewrite {
                title: format!("keep freed objects of {name} for reuse"),
                assumes: vec!["a thread that ends may leave its freed objects behind".to_owned()],
                edits: vec![(
                    index,
                    vec![
                        Edit::insert(before, "#include <cstddef>\n#include <new>\n\n"),
                        Edit::insert(body.start_byte() + 1, format!("\n{helper}{restore}")),
                    ],
                )],
            });
        }
    }
    Err(format!("the class {name} is not in the sources"))
}

/// The outermost node around a node below the whole file.
fn outermost(node: Node<'_>) -> Node<'_> {
    ancestors(node)
        .take_while(|one| one.kind() != "translation_unit")
        .last()
        .unwrap_or(node)
}

/// Members of a class that keep its freed objects. Objects of classes that derive from it have another size.
const MEMBERS: &str = "\
public:
    // Freed objects, for the next that are needed.
    struct FreedObject { FreedObject *next; };
    struct FreedObjects { FreedObject *first; unsigned count; };
    static FreedObjects &freed_objects() { static thread_local FreedObjects all{}; return all; }
    static void *operator new(std::size_t size)
    {
        FreedObjects &all = freed_objects();
        if (size != sizeof(NAME) || !all.first)
            return ::operator new(size < sizeof(FreedObject) ? sizeof(FreedObject) : size);
        FreedObject *one = all.first;
        all.first = one->next;
        all.count--;
        return one;
    }
    static void operator delete(void *block, std::size_t size)
    {
        FreedObjects &all = freed_objects();
        if (!block || size != sizeof(NAME) || all.count >= KEPT) {
            ::operator delete(block);
            return;
        }
        FreedObject *one = static_cast<FreedObject *>(block);
        one->next = all.first;
        all.first = one;
        all.count++;
    }
";

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
    fn allocator_that_only_tests_the_result_is_seen_through() {
        let text = "typedef struct item item_t;\nstatic void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }\nvoid f(void)\n{\n    item_t *it = xmalloc(sizeof *it);\n    use(it);\n}\nvoid g(struct item *it)\n{\n    free(it);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 5);
        assert!(after.contains("item_t *it = take_object();"), "{after}");
        assert!(after.contains("    give_back(it);"), "{after}");
        refused(
            CAUSE,
            "a.c",
            &text.replace("if (!p) abort();", "total += n;"),
            5,
        );
    }

    #[test]
    fn class_keeps_its_objects() {
        let text = "struct Event { long when; };\nvoid f(Q &q) {\n    q.push(new Event{1});\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 3);
        assert!(
            after.contains("static void *operator new(std::size_t size)"),
            "{after}"
        );
        assert!(after.contains("size != sizeof(Event)"), "{after}");
        refused(
            CAUSE,
            "a.cc",
            "void f(Q &q) {\n    q.push(new int[3]);\n}\n",
            2,
        );
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
