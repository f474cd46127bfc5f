//! Thread-local variables of a shared library that need no call to be found.

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{descendants, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let used: Vec<&str> = words(file.text(subject.function)).collect();
    let mut edits = Vec::new();
    for node in descendants(file.root()) {
        if node.kind() != "declaration" {
            continue;
        }
        let text = file.text(node);
        let keyword = ["__thread", "_Thread_local", "thread_local"]
            .into_iter()
            .find(|keyword| words(text).any(|word| word == *keyword));
        let known = text.contains("tls_model");
        let mut declarator = node.child_by_field_name("declarator");
        while let Some(inner) = declarator.and_then(|one| one.child_by_field_name("declarator")) {
            declarator = Some(inner);
        }
        let Some((keyword, declarator)) = keyword.zip(declarator) else {
            continue;
        };
        if known || !used.contains(&file.text(declarator)) {
            continue;
        }
        let Some(at) = text.find(keyword) else {
            continue;
        };
        edits.push(Edit::insert(
            node.start_byte() + at + keyword.len(),
            " __attribute__((tls_model(\"initial-exec\")))",
        ));
    }
    if edits.is_empty() {
        return Err("its function uses no thread-local variable that its file declares".to_owned());
    }
    Ok(vec![Rewrite {
        assumes: vec![
            "the library is loaded with the program, or its thread-local data is small: dlopen has little \
             room for it"
                .to_owned(),
        ],
        ..subject.rewrite("give thread-local variables a fixed offset", edits)
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn variable_gets_the_model() {
        let text = "static __thread struct c counters;\nvoid f(void) {\n    counters.n++;\n}\n";
        let after = rewritten("tls-lookup", "a.c", text, 3);
        assert!(after.starts_with(
            "static __thread __attribute__((tls_model(\"initial-exec\"))) struct c counters;"
        ));
    }

    #[test]
    fn variable_of_another_file_is_refused() {
        refused(
            "tls-lookup",
            "a.c",
            "void f(void) {\n    counters.n++;\n}\n",
            2,
        );
    }
}
