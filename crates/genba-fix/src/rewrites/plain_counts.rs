//! Atomic operations that no other thread needs: counters of a program without threads, and reference counts
//! of arguments that are only read.

use std::collections::BTreeSet;

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
    let counted = counters(subject).map(|rewrite| vec![rewrite]);
    match subject.file.dialect {
        Dialect::C => counted,
        Dialect::Cpp => match shared_pointers(subject) {
            Ok(rewrite) => Ok(vec![rewrite]),
            Err(reason) => counted.map_err(|other| format!("{reason}; {other}")),
        },
    }
}

/// Refuses where other threads, or handlers of signals, may count, too.
fn alone(subject: &Subject<'_>) -> Result<(), String> {
    for file in &subject.sources.files {
        // Names, not what comments say.
        let word = (descendants(file.root()).into_iter())
            .filter(|node| node.kind().ends_with("identifier"))
            .map(|node| file.text(node))
            .find(|word| CONCURRENT.contains(word))
            .or_else(|| file.source().contains("#pragma omp").then_some("omp"));
        if let Some(word) = word {
            return Err(format!(
                "{} mentions {word}: other threads may exist. Count in a variable of each thread, and add these up when \
                 they are read",
                file.path
            ));
        }
    }
    Ok(())
}

/// An atomic operation as a load and a store.
struct Counter<'a> {
    /// The call or the operator's expression.
    node: Node<'a>,
    /// The counter, as it is named or pointed to.
    place: String,
    /// How it is loaded and stored.
    access: Access,
    operator: &'static str,
    amount: String,
    /// Whether the result is the new value, not the old one.
    gives_new: bool,
}

/// How a counter is loaded and stored without a bus lock.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// `atomic_store_explicit(p, …)`
    Functions,
    /// `x.store(…)`
    Members,
    /// `*(p)`: the built-in functions of compilers work on plain variables.
    Plain,
}

impl Counter<'_> {
    fn load(&self) -> String {
        let place = &self.place;
        match self.access {
            Access::Functions => format!("atomic_load_explicit({place}, memory_order_relaxed)"),
            Access::Members => format!("{place}.load(std::memory_order_relaxed)"),
            Access::Plain => format!("*({place})"),
        }
    }

    fn store(&self, value: &str) -> String {
        let place = &self.place;
        match self.access {
            Access::Functions => {
                format!("atomic_store_explicit({place}, {value}, memory_order_relaxed)")
            }
            Access::Members => format!("{place}.store({value}, std::memory_order_relaxed)"),
            Access::Plain => format!("*({place}) = {value}"),
        }
    }

    /// The operation as a statement, or as an expression of its result.
    fn without_lock(&self, file: &SourceFile) -> String {
        let (load, operator, amount) = (self.load(), self.operator, &self.amount);
        let unused = (self.node.parent()).is_some_and(|one| {
            one.kind() == "expression_statement" || is_step_of_loop(one, self.node)
        });
        if unused {
            return self.store(&format!("{load} {operator} {amount}"));
        }
        let old = file.fresh_name("old_value");
        let stored = self.store(&format!("{old} {operator} ({amount})"));
        let result = match self.gives_new {
            true => format!("{old} {operator} ({amount})"),
            false => old.clone(),
        };
        let kind = match file.dialect {
            Dialect::C => format!("__typeof__({load} + 0)"),
            Dialect::Cpp => "auto".to_owned(),
        };
        format!("({{ const {kind} {old} = {load}; {stored}; {result}; }})")
    }
}

/// Whether an expression is what a `for` loop does after each iteration.
fn is_step_of_loop(parent: Node<'_>, node: Node<'_>) -> bool {
    parent.kind() == "for_statement" && parent.child_by_field_name("update") == Some(node)
}

/// `atomic_fetch_add(&x, n);` as a load and a store, which need no bus lock.
fn counters(subject: &Subject<'_>) -> Result<Rewrite, String> {
    alone(subject)?;
    let file = subject.file;
    let atomics = atomic_names(subject);
    let found: Vec<Counter<'_>> = descendants(file.root())
        .into_iter()
        .filter_map(|node| called(subject, node).or_else(|| operated(subject, node, &atomics)))
        .collect();
    let mut edits: Vec<Edit> = Vec::new();
    for one in &found {
        let inside = |edit: &Edit| edit.range.contains(&one.node.start_byte());
        if !edits.iter().any(inside) {
            edits.push(Edit::replace(one.node.byte_range(), one.without_lock(file)));
        }
    }
    let here = found.iter().any(|one| {
        subject.is_at_place(one.node)
            || subject
                .function
                .byte_range()
                .contains(&one.node.start_byte())
    });
    match edits.is_empty() || !here {
        true => {
            Err("its function adds to no atomic counter in a form that is understood".to_owned())
        }
        false => Ok(Rewrite {
            assumes: vec!["no library that the program calls starts threads that count".to_owned()],
            ..subject.rewrite(
                "count with a load and a store instead of a locked instruction",
                edits,
            )
        }),
    }
}

/// An atomic addition by a function of `stdatomic.h`, of the compiler, or of `std::atomic`.
fn called<'a>(subject: &Subject<'a>, node: Node<'a>) -> Option<Counter<'a>> {
    let file = subject.file;
    let function =
        (node.kind() == "call_expression").then(|| node.child_by_field_name("function"))??;
    let list = node.child_by_field_name("arguments")?;
    if function.kind() == "field_expression" {
        let object = function.child_by_field_name("argument")?;
        let operator = match file.text(function.child_by_field_name("field")?) {
            "fetch_add" => "+",
            "fetch_sub" => "-",
            "fetch_or" => "|",
            "fetch_and" => "&",
            _ => return None,
        };
        let amount = list.named_child(0)?;
        let arrow = file.operator(function) == "->";
        let text = file.text(object);
        return (subject.is_pure(object) && subject.is_pure(amount)).then(|| Counter {
            node,
            place: if arrow {
                format!("(*{text})")
            } else {
                text.to_owned()
            },
            access: Access::Members,
            operator,
            amount: file.text(amount).to_owned(),
            gives_new: false,
        });
    }
    let name = file.text(function);
    let plain = name
        .trim_start_matches("std::")
        .trim_end_matches("_explicit");
    let (operator, access, gives_new) = match plain {
        "atomic_fetch_add" => ("+", Access::Functions, false),
        "atomic_fetch_sub" => ("-", Access::Functions, false),
        "__sync_fetch_and_add" | "__atomic_fetch_add" => ("+", Access::Plain, false),
        "__sync_fetch_and_sub" | "__atomic_fetch_sub" => ("-", Access::Plain, false),
        "__sync_add_and_fetch" | "__atomic_add_fetch" => ("+", Access::Plain, true),
        "__sync_sub_and_fetch" | "__atomic_sub_fetch" => ("-", Access::Plain, true),
        _ => return None,
    };
    // The functions of C++ have another namespace.
    if access == Access::Functions && file.dialect == Dialect::Cpp {
        return None;
    }
    let (place, amount) = list.named_child(0).zip(list.named_child(1))?;
    (subject.is_pure(place) && subject.is_pure(amount)).then(|| Counter {
        node,
        place: file.text(place).to_owned(),
        access,
        operator,
        amount: file.text(amount).to_owned(),
        gives_new,
    })
}

/// `x++`, `++x`, `x += n` of a `std::atomic`.
fn operated<'a>(
    subject: &Subject<'a>,
    node: Node<'a>,
    atomics: &BTreeSet<String>,
) -> Option<Counter<'a>> {
    let file = subject.file;
    let (target, operator, amount) = match node.kind() {
        "update_expression" => {
            let down = file.text(node).contains("--");
            let target = node.child_by_field_name("argument")?;
            (target, if down { "-" } else { "+" }, "1".to_owned())
        }
        "assignment_expression" => {
            let operator = match file.operator(node) {
                "+=" => "+",
                "-=" => "-",
                _ => return None,
            };
            let amount = node
                .child_by_field_name("right")
                .filter(|one| subject.is_pure(*one))?;
            (
                node.child_by_field_name("left")?,
                operator,
                file.text(amount).to_owned(),
            )
        }
        _ => return None,
    };
    let name = words(file.text(target)).last()?;
    let plain = matches!(
        target.kind(),
        "identifier" | "field_expression" | "qualified_identifier"
    );
    (plain && atomics.contains(name) && subject.is_pure(target)).then(|| Counter {
        node,
        place: file.text(target).to_owned(),
        access: Access::Members,
        operator,
        amount,
        gives_new: !file.text(node).ends_with(['+', '-']),
    })
}

/// Names that the sources declare as `std::atomic` and nothing else.
fn atomic_names(subject: &Subject<'_>) -> BTreeSet<String> {
    let (mut atomics, mut others) = (BTreeSet::new(), BTreeSet::new());
    if subject.file.dialect == Dialect::C {
        return atomics;
    }
    for file in &subject.sources.files {
        for node in descendants(file.root()) {
            let declares = matches!(
                node.kind(),
                "declaration" | "field_declaration" | "parameter_declaration"
            );
            let Some(kind) = node.child_by_field_name("type").filter(|_| declares) else {
                continue;
            };
            let kind = file.squashed(kind);
            let atomic = kind.starts_with("std::atomic") || kind.starts_with("atomic<");
            let mut cursor = node.walk();
            for declarator in node.children_by_field_name("declarator", &mut cursor) {
                let Some(name) = words(file.text(declarator)).next() else {
                    continue;
                };
                match atomic {
                    true => atomics.insert(name.to_owned()),
                    false => others.insert(name.to_owned()),
                };
            }
        }
    }
    &atomics - &others
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
    fn used_results_builtins_and_members_are_understood() {
        let after = rewritten(
            CAUSE,
            "a.c",
            "int f(void) {\n    return atomic_fetch_add(&words, 1);\n}\n",
            2,
        );
        assert!(
            after.contains("+ (1), memory_order_relaxed); old_value; })"),
            "{after}"
        );
        let text = "void f(void) {\n    __sync_fetch_and_add(&s.calls, 2);\n}\n";
        assert!(rewritten(CAUSE, "a.c", text, 2).contains("*(&s.calls) = *(&s.calls) + 2;"));
        let text = "class N {\n    std::atomic<int> refs_{1};\n    void f() { refs_.fetch_add(1); ++refs_; }\n    void g() { if (refs_.fetch_sub(1) == 1) delete this; }\n};\n";
        let after = rewritten(CAUSE, "a.cc", text, 3);
        assert_eq!(after.matches("refs_.store(refs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);").count(), 2, "{after}");
        assert!(
            after.contains("old_value - (1), std::memory_order_relaxed); old_value; }) == 1)"),
            "{after}"
        );
    }

    #[test]
    fn programs_with_threads_are_refused() {
        let text = "void f(void) {\n    atomic_fetch_add(&words, 1);\n}\nint main(void) { pthread_create(0, 0, g, 0); }\n";
        refused(CAUSE, "a.c", text, 2);
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
