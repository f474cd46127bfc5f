//! Function-like macros written out at the lines of a place, so that a rewrite sees what they stand for. Pure.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::edit::{Edit, apply};
use crate::rewrites::{Place, Sources};
use crate::source_file::{SourceFile, descendants, is_loop, lines};

/// Deepest nesting of macros that is written out.
const MAX_ROUNDS: usize = 4;
/// Largest text that one use may become, bytes.
const MAX_EXPANSION_BYTES: usize = 4096;

/// A macro with parameters.
struct Macro {
    parameters: Vec<String>,
    body: String,
}

/// The text of a file in which the macros of the sources are written out in the loop around the place (else at
/// its lines), and their names; `None` where there are none. Lines keep their numbers.
pub(crate) fn expanded(
    sources: &Sources,
    file: &SourceFile,
    function: Node<'_>,
    place: &Place<'_>,
) -> Option<(String, Vec<String>)> {
    let mut text = file.source().to_owned();
    let mut used: Vec<String> = Vec::new();
    let (mut first, mut last) = (place.line, place.end_line);
    // The outermost loop around the place: a nest is rewritten as a whole.
    for node in descendants(function)
        .into_iter()
        .filter(|node| is_loop(*node))
    {
        let (from, to) = lines(node);
        if from <= place.line && place.end_line <= to {
            (first, last) = (first.min(from), last.max(to));
        }
    }
    for _ in 0..MAX_ROUNDS {
        let current = SourceFile::new(&file.path, text.clone().into_bytes(), file.dialect).ok()?;
        let mut edits: Vec<Edit> = Vec::new();
        let mut macros: BTreeMap<String, Option<Macro>> = BTreeMap::new();
        for node in descendants(current.root()) {
            let (from, to) = lines(node);
            let name = (node.kind() == "call_expression" && from >= first && to <= last)
                .then(|| node.child_by_field_name("function"))
                .flatten()
                .filter(|one| one.kind() == "identifier");
            let inside = edits
                .iter()
                .any(|edit| edit.range.contains(&node.start_byte()));
            let Some(name) = name.filter(|_| !inside).map(|one| current.text(one)) else {
                continue;
            };
            let known = macros
                .entry(name.to_owned())
                .or_insert_with(|| defined(sources, name));
            let Some(one) = known else { continue };
            let Some(replacement) = written_out(&current, node, one) else {
                continue;
            };
            edits.push(Edit::replace(node.byte_range(), replacement));
            if !used.iter().any(|other| other == name) {
                used.push(name.to_owned());
            }
        }
        if edits.is_empty() {
            break;
        }
        text = apply(&text, &edits)?;
    }
    (!used.is_empty()).then_some((text, used))
}

/// The only macro of a name that the sources define, if it can be written out.
fn defined(sources: &Sources, name: &str) -> Option<Macro> {
    let mut found = None;
    for file in &sources.files {
        if !file.source().contains(name) {
            continue;
        }
        for node in descendants(file.root()) {
            let own = node
                .child_by_field_name("name")
                .filter(|_| node.kind() == "preproc_function_def");
            if own.is_none_or(|own| file.text(own) != name) {
                continue;
            }
            if found.is_some() {
                return None;
            }
            found = Some(of_definition(file, node)?);
        }
    }
    found
}

fn of_definition(file: &SourceFile, node: Node<'_>) -> Option<Macro> {
    let list = node.child_by_field_name("parameters")?;
    let mut cursor = list.walk();
    let parameters: Vec<String> = list
        .named_children(&mut cursor)
        .map(|one| file.text(one).to_owned())
        .collect();
    let body = file.text(node.child_by_field_name("value")?);
    // Pasted names, texts of arguments and a variable number of them are the preprocessor's matter.
    let plain = !body.contains('#')
        && !body.contains("//")
        && !body.contains("__VA_ARGS__")
        && !parameters.iter().any(|one| one.contains("..."));
    let body = body.replace("\\\n", " ");
    plain.then(|| Macro {
        parameters,
        body: body.trim().to_owned(),
    })
}

/// A use of a macro with its arguments in place of the parameters.
fn written_out(file: &SourceFile, call: Node<'_>, one: &Macro) -> Option<String> {
    let list = call.child_by_field_name("arguments")?;
    let mut cursor = list.walk();
    let arguments: Vec<&str> = list
        .named_children(&mut cursor)
        .filter(|one| one.kind() != "comment")
        .map(|one| file.text(one))
        .collect();
    if arguments.len() != one.parameters.len() || file.text(call).contains('\n') {
        return None;
    }
    let mut out = String::with_capacity(one.body.len());
    let mut rest = one.body.as_str();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(start) = rest.find(word) {
        let end = rest[start..]
            .find(|c: char| !word(c))
            .map_or(rest.len(), |end| start + end);
        out.push_str(&rest[..start]);
        let name = &rest[start..end];
        match one.parameters.iter().position(|other| other == name) {
            Some(at) => out.push_str(arguments[at]),
            None => out.push_str(name),
        }
        rest = &rest[end..];
        if out.len() > MAX_EXPANSION_BYTES {
            return None;
        }
    }
    out.push_str(rest);
    // Parentheses around one parameter that is a name say nothing: `(m)->v` is `m->v`.
    for argument in arguments {
        if argument.chars().all(word) {
            out = without_parentheses(&out, argument);
        }
    }
    let statement = call
        .parent()
        .is_some_and(|one| one.kind() == "expression_statement");
    if statement && out.starts_with('(') && out.ends_with(')') && is_one_group(&out) {
        out = out[1..out.len() - 1].trim().to_owned();
    }
    Some(out)
}

/// `(name)` as `name`, unless it is what a function is given.
fn without_parentheses(text: &str, name: &str) -> String {
    let group = format!("({name})");
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&group) {
        out.push_str(&rest[..at]);
        let called = out
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || c == '_');
        out.push_str(if called { &group } else { name });
        rest = &rest[at + group.len()..];
    }
    out.push_str(rest);
    out
}

/// Whether the parenthesis at the beginning is closed at the end.
fn is_one_group(text: &str) -> bool {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1 == text.len();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;

    fn after(text: &str, line: u32) -> Option<String> {
        let sources = Sources {
            files: vec![
                SourceFile::new("a.c", text.as_bytes().to_vec(), Dialect::C).expect("a text"),
            ],
        };
        let place = Place {
            file: 0,
            function: "f",
            line,
            end_line: line,
        };
        let file = &sources.files[0];
        expanded(&sources, file, file.function_at(line)?, &place).map(|(text, _)| text)
    }

    #[test]
    fn arguments_take_the_place_of_parameters() {
        let text = "#define AT(m, r) ((m)->v[(r) * 2])\nvoid f(struct m *m, int i) {\n    AT(m, i + 1) = AT(m, i);\n}\n";
        let after = after(text, 3).expect("a text");
        assert!(
            after.contains("    (m->v[(i + 1) * 2]) = (m->v[i * 2]);\n"),
            "{after}"
        );
        assert!(after.starts_with("#define AT(m, r) ((m)->v[(r) * 2])\n"));
    }

    #[test]
    fn macros_in_macros_are_written_out_and_statements_lose_their_parentheses() {
        let text = "#define B(c) ((c) & 0xff)\n#define STEP(c, b) ((c) = t[B((c) ^ (b))])\nvoid f(int c, char *p) {\n    STEP(c, *p++);\n}\n";
        let after = after(text, 4).expect("a text");
        assert!(
            after.contains("    c = t[((c ^ (*p++)) & 0xff)];\n"),
            "{after}"
        );
    }

    #[test]
    fn functions_pasted_names_and_other_lines_are_left_alone() {
        assert_eq!(
            after("int g(int);\nvoid f(int c) {\n    g(c);\n}\n", 3),
            None
        );
        assert_eq!(
            after("#define P(a) x##a\nvoid f(int c) {\n    P(c);\n}\n", 3),
            None
        );
        assert_eq!(
            after(
                "#define P(a) (a)\nvoid f(int c) {\n    P(c);\n    c++;\n}\n",
                4
            ),
            None
        );
    }
}
