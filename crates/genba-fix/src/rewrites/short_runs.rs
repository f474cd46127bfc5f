//! Short copies and fills without a call, and short loops without vectors.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::edit::Edit;
use crate::source_file::{SourceFile, bare};

/// What copies and fills up to 32 bytes by two words that may overlap, and leaves longer ones to the library.
const HELPERS: &str = "\
#include <string.h>

/* Up to 32 bytes by words that may overlap, longer ones by the library. */
static inline __attribute__((always_inline, unused)) void *copy_short(void *to, const void *from, size_t length)
{
    char *t = (char *)to;
    const char *f = (const char *)from;
    if (length > 32)
        return memcpy(to, from, length);
    if (length >= 16) {
        char a[16], b[16];
        memcpy(a, f, 16), memcpy(b, f + length - 16, 16);
        memcpy(t, a, 16), memcpy(t + length - 16, b, 16);
    } else if (length >= 8) {
        char a[8], b[8];
        memcpy(a, f, 8), memcpy(b, f + length - 8, 8);
        memcpy(t, a, 8), memcpy(t + length - 8, b, 8);
    } else if (length >= 4) {
        char a[4], b[4];
        memcpy(a, f, 4), memcpy(b, f + length - 4, 4);
        memcpy(t, a, 4), memcpy(t + length - 4, b, 4);
    } else if (length) {
        char a = f[0], b = f[length / 2], c = f[length - 1];
        t[0] = a, t[length / 2] = b, t[length - 1] = c;
    }
    return to;
}

static inline __attribute__((always_inline, unused)) void *fill_short(void *to, int value, size_t length)
{
    char *t = (char *)to;
    const unsigned long long eight = (unsigned char)value * 0x0101010101010101ull;
    if (length > 32)
        return memset(to, value, length);
    if (length >= 16) {
        memcpy(t, &eight, 8), memcpy(t + 8, &eight, 8);
        memcpy(t + length - 16, &eight, 8), memcpy(t + length - 8, &eight, 8);
    } else if (length >= 8) {
        memcpy(t, &eight, 8), memcpy(t + length - 8, &eight, 8);
    } else if (length >= 4) {
        memcpy(t, &eight, 4), memcpy(t + length - 4, &eight, 4);
    } else if (length) {
        t[0] = t[length / 2] = t[length - 1] = (char)value;
    }
    return to;
}

";

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    let mut found = Vec::new();
    let mut calls = Vec::new();
    for node in subject.nodes_by_place() {
        if subject.is_at_place(node)
            && let Some((name, helper)) = short_call(file, node)
        {
            calls.push(Edit::replace(name.byte_range(), helper));
        }
    }
    if !calls.is_empty() && !file.source().contains("copy_short(") {
        let mut edits = calls;
        edits.push(Edit::insert(subject.before_code(), HELPERS));
        found.push(subject.rewrite("copy and fill a few bytes without a call", edits));
    }
    if let Some(inner) = subject.loops().into_iter().next()
        && let Some(edits) = plain_loop(inner)
    {
        found.push(subject.rewrite("keep the compiler from vectorising the loop", edits));
    }
    match found.is_empty() {
        true => Err(
            "no loop and no call of memcpy or memset with a variable length stands at its lines"
                .to_owned(),
        ),
        false => Ok(found),
    }
}

/// The name in a call that copies or fills a variable number of bytes, and what takes its place.
fn short_call<'a>(file: &SourceFile, node: Node<'a>) -> Option<(Node<'a>, &'static str)> {
    let name = node
        .child_by_field_name("function")
        .filter(|_| node.kind() == "call_expression")?;
    let helper = match file.text(name) {
        "memcpy" | "std::memcpy" => "copy_short",
        "memset" | "std::memset" => "fill_short",
        _ => return None,
    };
    let arguments = node.child_by_field_name("arguments")?;
    let length = bare(arguments.named_child(2)?);
    // The compiler does it of lengths that it knows.
    (!matches!(length.kind(), "number_literal" | "sizeof_expression")).then_some((name, helper))
}

/// An empty statement of assembly at the end of the body, which no vector loop can have.
fn plain_loop(inner: Node<'_>) -> Option<Vec<Edit>> {
    const BARRIER: &str = "__asm__ __volatile__(\"\");";
    let body = inner.child_by_field_name("body")?;
    Some(match body.kind() {
        "compound_statement" => vec![Edit::insert(body.end_byte() - 1, format!("    {BARRIER} "))],
        _ => vec![
            Edit::insert(body.start_byte(), "{ "),
            Edit::insert(body.end_byte(), format!(" {BARRIER} }}")),
        ],
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused, rewritten};

    const CAUSE: &str = "short-trip-vector-loop";

    #[test]
    fn short_fill_is_not_a_call() {
        let text = "#include <x.h>\n\nvoid f(char *line, int n, int byte) {\n    memset(line, byte, (size_t)n);\n}\n";
        let after = rewritten(CAUSE, "a.c", text, 4);
        assert!(after.contains("    fill_short(line, byte, (size_t)n);"));
        assert!(
            after.find("copy_short(void").expect("helpers")
                < after.find("void f(").expect("function")
        );
        refused(CAUSE, "a.c", &text.replace("(size_t)n", "16"), 4);
    }

    #[test]
    fn short_loop_has_a_barrier() {
        let text =
            "void f(int *a, int n) {\n    for (int i = 0; i < n; i++)\n        a[i] += 1;\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", text)], 3);
        assert!(
            after[0][0].contains("{ a[i] += 1; __asm__ __volatile__(\"\"); }"),
            "{}",
            after[0][0]
        );
    }
}
