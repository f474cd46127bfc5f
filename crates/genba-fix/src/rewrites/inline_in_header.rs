//! Small functions of another translation unit, moved into the header that declares them.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, descendants, function_declarator, is_loop, words};

/// Most bytes of a function that is moved.
const MAX_BYTES: usize = 600;
/// Most statements of a function that is moved.
const MAX_STATEMENTS: usize = 4;

/// A definition with its declaration in a header.
struct Movable<'a> {
    name: String,
    definition: Node<'a>,
    header: usize,
    declaration: Node<'a>,
    member: bool,
}

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let all: Vec<Movable<'_>> = definitions(subject.file)
        .into_iter()
        .filter_map(|definition| movable(subject, definition))
        .collect();
    let wanted = own_name(subject.file, subject.function)
        .filter(|name| all.iter().any(|one| one.name == *name));
    let Some(wanted) = wanted else {
        return local(subject).map(|rewrite| vec![rewrite]);
    };
    let one: Vec<&Movable<'_>> = all.iter().filter(|one| one.name == wanted).collect();
    // Its neighbours are called as it is: all that are declared in the same header.
    let alike: Vec<&Movable<'_>> = all
        .iter()
        .filter(|other| other.header == one[0].header)
        .collect();
    let mut found = Vec::new();
    if alike.len() > one.len() {
        found.push(moved(subject, &alike));
    }
    found.push(moved(subject, &one));
    Ok(found)
}

/// A function of one file made local to it: calls then need no table of a shared library, and it can be inlined.
fn local(subject: &Subject<'_>) -> Result<Rewrite, String> {
    let none = "its function is not a small one without a loop or static variables that one header declares";
    let file = subject.file;
    // The function itself, or one that it calls.
    let mut names: Vec<String> = own_name(file, subject.function).into_iter().collect();
    names.extend(file.calls(subject.function));
    for name in names {
        let elsewhere = (subject.sources.files.iter().enumerate()).any(|(index, other)| {
            index != subject.place.file && words(other.source()).any(|word| word == name)
        });
        if name == "main" || elsewhere || file.dialect != Dialect::C {
            continue;
        }
        let own: Vec<Node<'_>> = descendants(file.root())
            .into_iter()
            .filter(|node| matches!(node.kind(), "function_definition" | "declaration"))
            .filter(|node| own_name(file, *node).as_deref() == Some(name.as_str()))
            .collect();
        let defined = own.iter().any(|node| node.kind() == "function_definition");
        let plain = |node: &Node<'_>| {
            node.parent()
                .is_some_and(|one| one.kind() == "translation_unit")
                && !words(file.text(*node))
                    .take(4)
                    .any(|word| matches!(word, "static" | "extern" | "inline" | "__attribute__"))
        };
        if defined && own.iter().all(plain) {
            let edits = own
                .iter()
                .map(|node| Edit::insert(node.start_byte(), "static "));
            return Ok(Rewrite {
                assumes: vec![format!("nobody outside of {} calls {name}", file.path)],
                ..subject.rewrite(format!("make {name} local to its file"), edits.collect())
            });
        }
    }
    Err(none.to_owned())
}

fn definitions(file: &SourceFile) -> Vec<Node<'_>> {
    descendants(file.root())
        .into_iter()
        .filter(|node| node.kind() == "function_definition")
        .collect()
}

/// The name as written: `is_word`, `Image::at`.
fn own_name(file: &SourceFile, node: Node<'_>) -> Option<String> {
    let name = function_declarator(node)?.child_by_field_name("declarator")?;
    Some(file.squashed(name))
}

fn movable<'a>(subject: &Subject<'a>, definition: Node<'a>) -> Option<Movable<'a>> {
    let file = subject.file;
    let body = definition.child_by_field_name("body")?;
    let small = definition.end_byte() - definition.start_byte() <= MAX_BYTES
        && body.named_child_count() <= MAX_STATEMENTS
        && body.kind() == "compound_statement";
    let nodes = descendants(definition);
    let plain = !nodes.iter().any(|node| {
        is_loop(*node)
            || matches!(
                node.kind(),
                "preproc_if"
                    | "preproc_ifdef"
                    | "ERROR"
                    | "goto_statement"
                    | "field_initializer_list"
            )
            || node.kind() == "storage_class_specifier"
    });
    if !small || !plain || definition.parent()?.kind() == "template_declaration" {
        return None;
    }
    let name = own_name(file, definition)?;
    let parts: Vec<&str> = name.split("::").collect();
    let (class, plain_name) = match parts[..] {
        [name] => (None, name),
        [class, name] if file.dialect == Dialect::Cpp => (Some(class), name),
        _ => return None,
    };
    if !plain_name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    // One declaration, in a header; an overload would make it two.
    let mut found = None;
    for (index, header) in subject.sources.files.iter().enumerate() {
        let ending = header.path.rsplit('.').next().unwrap_or_default();
        if !matches!(ending, "h" | "hh" | "hpp" | "hxx") || !header.source().contains(plain_name) {
            continue;
        }
        for node in descendants(header.root()) {
            let kind = if class.is_some() {
                "field_declaration"
            } else {
                "declaration"
            };
            if node.kind() != kind || own_name(header, node).as_deref() != Some(plain_name) {
                continue;
            }
            let class_matches = class.is_none_or(|class| {
                let outer = node.parent().and_then(|list| list.parent());
                let name = outer.and_then(|outer| outer.child_by_field_name("name"));
                name.is_some_and(|name| header.text(name) == class)
            });
            if !class_matches {
                continue;
            }
            let declared = function_declarator(node)?.child_by_field_name("parameters")?;
            let same = class.is_none()
                || names_left_out(header, declared)
                    == names_left_out(
                        file,
                        function_declarator(definition)?.child_by_field_name("parameters")?,
                    );
            if !same {
                continue;
            }
            if found.is_some() {
                return None;
            }
            found = Some((index, node));
        }
    }
    let (header, declaration) = found?;
    // Virtual functions are called through a table, whatever the header says.
    let text = subject.sources.files[header].text(declaration);
    let special = [
        "virtual",
        "override",
        "= 0",
        "static",
        "extern \"C\"",
        "__attribute__",
        "[[",
    ];
    if special.iter().any(|word| text.contains(word)) {
        return None;
    }
    let member = class.is_some();
    Some(Movable {
        name,
        definition,
        header,
        declaration,
        member,
    })
}

/// The types of parameters.
fn names_left_out(file: &SourceFile, list: Node<'_>) -> Vec<String> {
    let mut cursor = list.walk();
    list.named_children(&mut cursor)
        .filter_map(|one| {
            one.child_by_field_name("type")
                .map(|kind| file.squashed(kind))
        })
        .collect()
}

fn moved(subject: &Subject<'_>, all: &[&Movable<'_>]) -> Rewrite {
    let file = subject.file;
    let mut here = Vec::new();
    let mut there = Vec::new();
    let header_index = all[0].header;
    let header = &subject.sources.files[header_index];
    for one in all {
        let definition = file.text(one.definition);
        let body = one
            .definition
            .child_by_field_name("body")
            .map_or("", |body| file.text(body));
        if one.member {
            // The declaration keeps its specifiers and default arguments.
            let declaration = header
                .text(one.declaration)
                .trim_end()
                .trim_end_matches(';');
            let indent = header.indent(one.declaration);
            let body = body.replace('\n', &format!("\n{indent}"));
            there.push(Edit::replace(
                one.declaration.byte_range(),
                format!("{declaration}\n{indent}{body}"),
            ));
            here.push(Edit::replace(
                with_comment_line(file, one.definition),
                String::new(),
            ));
            continue;
        }
        match file.dialect {
            Dialect::Cpp => {
                there.push(Edit::replace(
                    one.declaration.byte_range(),
                    format!("inline {definition}"),
                ));
                here.push(Edit::replace(
                    with_comment_line(file, one.definition),
                    String::new(),
                ));
            }
            // The rules of C99: this file still has the function for those who do not inline it.
            Dialect::C => {
                there.push(Edit::replace(
                    one.declaration.byte_range(),
                    format!("inline {definition}"),
                ));
                let head = &definition[..definition.len() - body.len()];
                here.push(Edit::replace(
                    one.definition.byte_range(),
                    format!("extern inline {};", head.trim_end()),
                ));
            }
        }
    }
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let title = match names.len() {
        1 => format!(
            "define {} in {}, where it can be inlined",
            names[0], header.path
        ),
        count => format!(
            "define {} and {} more in {}, where they can be inlined",
            own_name(file, subject.function).unwrap_or_else(|| names[0].to_owned()),
            count - 1,
            header.path
        ),
    };
    Rewrite {
        title,
        assumes: Vec::new(),
        edits: vec![(header_index, there), (subject.place.file, here)],
    }
}

/// The lines of a definition with one empty line behind them.
fn with_comment_line(file: &SourceFile, node: Node<'_>) -> std::ops::Range<usize> {
    let lines = file.whole_lines(node);
    let rest = &file.source()[lines.end..];
    let more = usize::from(rest.starts_with('\n'));
    lines.start..lines.end + more
}

#[cfg(test)]
mod tests {
    use crate::test_support::{all_rewritten, refused};

    const CAUSE: &str = "tiny-callee-not-inlined";

    #[test]
    fn c_functions_move_and_stay_callable() {
        let source = "#include \"a.h\"\nint first(char c)\n{\n    return table[c] & 1;\n}\n\nint second(char c) { return c; }\n";
        let header = "extern int table[256];\nint first(char c);\nint second(char c);\n";
        let after = all_rewritten(CAUSE, &[("a.c", source), ("a.h", header)], 4);
        assert_eq!(after.len(), 2);
        assert_eq!(
            after[0][0],
            "#include \"a.h\"\nextern inline int first(char c);\n\nextern inline int second(char c);\n"
        );
        assert!(after[0][1].contains("inline int first(char c)\n{\n    return table[c] & 1;\n}\ninline int second(char c) { return c; }"));
        assert!(after[1][1].contains("\nint second(char c);"));
    }

    #[test]
    fn members_move_into_their_class() {
        let source = "#include \"i.h\"\nint Image::at(int x) const\n{\n    return data_[x];\n}\n\nvoid other() {}\n";
        let header = "class Image {\n    int at(int x) const;\n    int *data_;\n};\n";
        let after = all_rewritten(CAUSE, &[("i.cc", source), ("i.h", header)], 4);
        assert_eq!(after[0][0], "#include \"i.h\"\nvoid other() {}\n");
        assert!(
            after[0][1]
                .contains("    int at(int x) const\n    {\n        return data_[x];\n    }\n")
        );
    }

    #[test]
    fn functions_with_state_loops_or_without_a_header_are_refused() {
        refused(
            CAUSE,
            "a.c",
            "static int f(int c) {\n    return c + 1;\n}\n",
            2,
        );
        for body in ["static int n; return n++;", "while (c) c--; return c;"] {
            let source = format!("int f(int c) {{\n    {body}\n}}\n");
            let files = [("a.c", source.as_str()), ("a.h", "int f(int c);\n")];
            assert!(crate::test_support::try_rewritten(CAUSE, &files, 2).is_err());
        }
    }

    #[test]
    fn function_that_no_other_file_names_becomes_local() {
        let source = "int step(int c);\nint f(int n) {\n    return step(n);\n}\nint step(int c) {\n    return c + 1;\n}\n";
        let after = all_rewritten(CAUSE, &[("a.c", source), ("b.c", "int f(int n);\n")], 3);
        assert!(after[0][0].starts_with("static int step(int c);\nint f"));
        assert!(after[0][0].contains("\nstatic int step(int c) {"));
    }
}
