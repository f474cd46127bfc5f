//! Atomic operations that no other thread needs: counters of a program without threads, and reference counts
//! of arguments that are only read.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, descendants, words};

/// What starts threads, or runs code at any moment.
const CONCURRENT: [&str; 12] = [
    "pthread_create",
    "thrd_create",
    "thread",
    "jthread",
    "async",
    "omp",
    "fork",
    "vfork",
    "clone",
    "signal",
    "sigaction",
    "mmap",
];

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    match subject.file.dialect {
        Dialect::C => counters(subject).map(|rewrite| vec![rewrite]),
        Dialect::Cpp => shared_pointers(subject).map(|rewrite| vec![rewrite]),
    }
}

/// `atomic_fetch_add(&x, n);` as a load and a store, which need no bus lock.
fn counters(subject: &Subject<'_>) -> Result<Rewrite, String> {
    for file in &subject.sources.files {
        // Names, not what comments say.
        let word = (descendants(file.root()).into_iter())
            .filter(|node| node.kind().ends_with("identifier"))
            .map(|node| file.text(node))
            .find(|word| CONCURRENT.contains(word))
            .or_else(|| file.source().contains("#pragma omp").then_some("omp"));
        if let Some(word) = word {
            return Err(format!(
                "{} mentions {word}: other threads may exist",
                file.path
            ));
        }
    }
    let file = subject.file;
    let mut edits = Vec::new();
    for node in descendants(file.root()) {
        let name = node
            .child_by_field_name("function")
            .map_or("", |one| file.text(one));
        let operator = match name {
            "atomic_fetch_add" | "atomic_fetch_add_explicit" => "+",
            "atomic_fetch_sub" | "atomic_fetch_sub_explicit" => "-",
            _ => continue,
        };
        let unused = node
            .parent()
            .is_some_and(|one| one.kind() == "expression_statement");
        let list = node.child_by_field_name("arguments");
        let Some((place, amount)) =
            list.and_then(|list| list.named_child(0).zip(list.named_child(1)))
        else {
            continue;
        };
        if !unused || !subject.is_pure(place) || !subject.is_pure(amount) {
            continue;
        }
        let (place, amount) = (file.text(place), file.text(amount));
        edits.push(Edit::replace(
            node.byte_range(),
            format!(
                "atomic_store_explicit({place}, atomic_load_explicit({place}, memory_order_relaxed) {operator} {amount}, \
                 memory_order_relaxed)"
            ),
        ));
    }
    match edits.is_empty() {
        true => Err(
            "no atomic_fetch_add or atomic_fetch_sub of its file leaves its result unused"
                .to_owned(),
        ),
        false => Ok(Rewrite {
            assumes: vec!["no library that the program calls starts threads that count".to_owned()],
            ..subject.rewrite(
                "count with a load and a store instead of a locked instruction",
                edits,
            )
        }),
    }
}

/// Parameters `std::shared_ptr<T> p` of functions that only read through them, as references.
fn shared_pointers(subject: &Subject<'_>) -> Result<Rewrite, String> {
    let file = subject.file;
    let called = file.calls(subject.function);
    let mut edits = Vec::new();
    let mut names = Vec::new();
    for function in descendants(file.root()) {
        if function.kind() != "function_definition" {
            continue;
        }
        let text = file.text(function);
        let own = function == subject.function;
        if !own
            && !called
                .iter()
                .any(|name| words(text).any(|word| word == name.as_str()))
        {
            continue;
        }
        edits.extend(parameters(file, function, &mut names));
    }
    match edits.is_empty() {
        true => Err(
            "no function there takes a std::shared_ptr by value and only reads through it"
                .to_owned(),
        ),
        false => Ok(subject.rewrite(format!("take {} by reference", names.join(", ")), edits)),
    }
}

fn parameters(file: &SourceFile, function: Node<'_>, names: &mut Vec<String>) -> Vec<Edit> {
    let Some(body) = function.child_by_field_name("body") else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    for node in descendants(function) {
        if node.kind() != "parameter_declaration" || node.start_byte() > body.start_byte() {
            continue;
        }
        let (Some(kind), Some(name)) = (
            node.child_by_field_name("type"),
            node.child_by_field_name("declarator"),
        ) else {
            continue;
        };
        if name.kind() != "identifier" || !file.squashed(kind).starts_with("std::shared_ptr<") {
            continue;
        }
        // A call, or a copy, might let go of the original while it is used here.
        let reads_only = file.calls(body).is_empty()
            && descendants(body)
                .into_iter()
                .filter(|one| one.kind() == "identifier" && file.text(*one) == file.text(name))
                .all(|one| {
                    one.parent().is_some_and(|parent| {
                        parent.kind() == "field_expression" && file.operator(parent) == "->"
                    })
                });
        if reads_only {
            names.push(file.text(name).to_owned());
            let constant = if file.text(node).starts_with("const") {
                ""
            } else {
                "const "
            };
            edits.push(Edit::insert(node.start_byte(), constant));
            edits.push(Edit::insert(name.start_byte(), "&"));
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "needless-atomic";

    #[test]
    fn counter_without_threads_is_not_locked() {
        let text =
            "static atomic_ulong words;\nvoid f(void) {\n    atomic_fetch_add(&words, 1);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 3);
        assert!(after.contains("atomic_store_explicit(&words, atomic_load_explicit(&words, memory_order_relaxed) + 1, memory_order_relaxed);"));
    }

    #[test]
    fn programs_with_threads_and_used_results_are_refused() {
        let text = "void f(void) {\n    atomic_fetch_add(&words, 1);\n}\nint main(void) { pthread_create(0, 0, g, 0); }\n";
        refused(CAUSE, "a.c", text, 2);
        refused(
            CAUSE,
            "a.c",
            "int f(void) {\n    return atomic_fetch_add(&words, 1);\n}\n",
            2,
        );
    }

    #[test]
    fn shared_pointer_that_is_only_read_is_taken_by_reference() {
        let text = "int f(std::shared_ptr<Rule> rule, int v) { return v >= rule->low; }\nvoid g() {\n    f(a, 1);\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 3);
        assert!(after.starts_with("int f(const std::shared_ptr<Rule> &rule, int v)"));
        refused(
            CAUSE,
            "a.cc",
            "void f(std::shared_ptr<Rule> rule) { keep(rule); }\n",
            1,
        );
    }
}
