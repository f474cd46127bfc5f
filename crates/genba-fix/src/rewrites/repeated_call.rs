//! Calls that a function makes twice with the same arguments, made once.

use tree_sitter::Node;

use super::hoisted_call::{kept, stores, unknown_call, when_needed, worth_keeping};
use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::effects::plain_name;
use crate::source_file::{ancestors, descendants, is_loop, words};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let mut reason =
        "its function makes no call twice with the same arguments that is known to have no effect"
            .to_owned();
    for call in subject.nodes_by_place() {
        if call.kind() != "call_expression" || !worth_keeping(subject, call) {
            continue;
        }
        let text = file.squashed(call);
        let all: Vec<Node<'_>> = descendants(subject.function)
            .into_iter()
            .filter(|one| one.kind() == "call_expression" && file.squashed(*one) == text)
            .collect();
        if all.len() < 2 || !all.iter().any(|one| subject.is_at_place(*one)) {
            continue;
        }
        match once(subject, &all) {
            Ok(rewrite) => return Ok(vec![rewrite]),
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

/// The calls as one that is made where it is needed first.
fn once(subject: &Subject<'_>, all: &[Node<'_>]) -> Result<Rewrite, String> {
    let file = subject.file;
    let (first, last) = (all[0], all[all.len() - 1]);
    let shown = file.text(first);
    // The block around all of them.
    let block = ancestors(first)
        .find(|one| {
            one.kind() == "compound_statement" && one.byte_range().contains(&last.start_byte())
        })
        .ok_or("the calls are in no common block")?;
    let mut cursor = block.walk();
    let between: Vec<Node<'_>> = block
        .named_children(&mut cursor)
        .filter(|one| one.end_byte() > first.start_byte() && one.start_byte() < last.end_byte())
        .collect();
    let statement = between.first().ok_or("the calls are in no statement")?;
    // A loop around one of them alone would call it again with what the loop has changed.
    if between
        .iter()
        .any(|one| descendants(*one).into_iter().any(is_loop))
    {
        return Err(format!("a loop stands between the calls of `{shown}`"));
    }
    let arguments: Vec<&str> = words(shown).collect();
    let mut assumes = Vec::new();
    for one in &between {
        // What is declared or assigned before the first call is not between them.
        let changed = file.changed(*one);
        if let Some(name) = changed.iter().find(|name| {
            arguments.contains(&name.as_str())
                || words(name)
                    .next()
                    .is_some_and(|base| arguments.contains(&base))
        }) {
            return Err(format!("{name} changes between the calls of `{shown}`"));
        }
        if let Some(other) = unknown_call(subject, *one) {
            return Err(format!("{other}() may change what `{shown}` reads"));
        }
        if stores(file, *one).next().is_some() {
            assumes = vec![format!(
                "the stores between the calls do not change what `{shown}` reads"
            )];
        }
    }
    let function = first
        .child_by_field_name("function")
        .map(|one| file.squashed(one));
    let base = plain_name(function.as_deref().unwrap_or("result")).to_owned();
    let name = file.fresh_name(&format!("{base}_once"));
    let indent = file.indent(*statement);
    let mut edits = vec![Edit::insert(
        statement.start_byte(),
        kept(file, shown, &name, indent),
    )];
    edits.extend(
        all.iter()
            .map(|one| Edit::replace(one.byte_range(), when_needed(shown, &name))),
    );
    Ok(Rewrite {
        assumes,
        ..subject.rewrite(
            format!("call {shown} once instead of {} times", all.len()),
            edits,
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    const CAUSE: &str = "redundant-computation";
    const HASH: &str = "unsigned hash(const char *k) { unsigned h = 1; while (*k) h = h * 33 ^ *k++; return h; }\n";

    #[test]
    fn same_call_in_one_block_is_made_once() {
        let text = format!(
            "{HASH}void f(struct t *t, const char *k) {{\n    if (t->v[hash(k)]) {{\n        t->n = malloc(3);\n    }}\n    t->last = t->v[hash(k)];\n}}\n"
        );
        let after = rewritten(CAUSE, "a.c", &text, 3);
        assert!(after.contains("    __typeof__(hash(k)) hash_once;\n    int hash_once_known = 0;\n    if (t->v[(hash_once_known"), "{after}");
        assert_eq!(after.matches("hash_once = hash(k)").count(), 2);
    }

    #[test]
    fn changed_arguments_unknown_calls_and_loops_are_refused() {
        for between in ["k++;", "k = next;", "cut(k);", "while (*t) hash(k);"] {
            let text = format!(
                "{HASH}void f(int *t, const char *k) {{\n    t[0] = hash(k);\n    {between}\n    t[1] = hash(k);\n}}\n"
            );
            refused(CAUSE, "a.c", &text, 3);
        }
    }
}
