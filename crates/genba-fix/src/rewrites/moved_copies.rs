//! Copies of C++ objects that need not be made: references where nothing changes, moves where nothing else uses the
//! original.

use tree_sitter::Node;

use super::object_uses::{base_of, changes_of, is_object, may_change, sole_definition, uses};
use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{
    SourceFile, ancestors, bare, descendants, function_name, is_loop, squash, words,
};

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::Cpp {
        return Err(
            "its file is not C++: what is copied in C, and whether others see it, is not known"
                .to_owned(),
        );
    }
    let mut at_place = Vec::new();
    let mut assumes = Vec::new();
    let mut others = Vec::new();
    for function in functions_of_concern(subject) {
        for (edits, assumption, here) in edits_of(subject, function) {
            assumes.extend(assumption);
            others.extend(edits.clone());
            if here {
                at_place.extend(edits);
            }
        }
    }
    let (getters, assumption) = getters_by_reference(subject);
    if !getters.is_empty() {
        assumes.push(assumption.to_owned());
        others.extend(getters.clone());
        at_place.extend(getters);
    }
    let mut found = Vec::new();
    dedup(&mut others);
    dedup(&mut at_place);
    let title = "refer to objects, or move them, instead of copying";
    if others.len() > at_place.len() {
        found.push(Rewrite {
            assumes: assumes.clone(),
            ..subject.rewrite(
                format!("{title}, in all functions that hand them on"),
                others,
            )
        });
    }
    if !at_place.is_empty() {
        found.push(Rewrite {
            assumes,
            ..subject.rewrite(title, with_header(file, at_place))
        });
    }
    if let Some(first) = found.first_mut().filter(|_| true)
        && let Some((_, edits)) = first.edits.first_mut()
    {
        *edits = with_header(file, std::mem::take(edits));
    }
    match found.is_empty() {
        true => Err(
            "its function copies no object that is only read, or used for the last time".to_owned(),
        ),
        false => Ok(found),
    }
}

/// Copies for which memory is allocated. In C there are none, and nothing to say.
pub(super) fn with_allocations(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    match subject.file.dialect {
        Dialect::C => Err(String::new()),
        Dialect::Cpp => rewrites(subject),
    }
}

fn dedup(edits: &mut Vec<Edit>) {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    edits.dedup();
    // One change for one place.
    let mut end = 0;
    edits.retain(|edit| {
        let fits = edit.range.start >= end;
        end = end.max(edit.range.end);
        fits
    });
}

/// With the header that `std::move` needs.
fn with_header(file: &SourceFile, mut edits: Vec<Edit>) -> Vec<Edit> {
    let moves = edits.iter().any(|edit| edit.text.contains("std::move"));
    let there = file.source().contains("#include <utility>")
        || edits.iter().any(|edit| edit.text.contains("#include"));
    if moves && !there {
        let first =
            (descendants(file.root()).into_iter()).find(|node| node.kind() == "preproc_include");
        edits.push(Edit::insert(
            first.map_or(0, |node| node.start_byte()),
            "#include <utility>\n",
        ));
    }
    edits
}

/// The place's function and those of the same class or file that take objects from it, or give them to it.
fn functions_of_concern<'a>(subject: &Subject<'a>) -> Vec<Node<'a>> {
    let file = subject.file;
    let mut all = vec![subject.function];
    let class = ancestors(subject.function)
        .find(|one| matches!(one.kind(), "class_specifier" | "struct_specifier"));
    let around = class.unwrap_or_else(|| file.root());
    all.extend(
        descendants(around)
            .into_iter()
            .filter(|one| one.kind() == "function_definition" && *one != subject.function),
    );
    all
}

type Found = (Vec<Edit>, Option<String>, bool);

/// Edits of a function, what they assume, and whether they are at the place.
fn edits_of(subject: &Subject<'_>, function: Node<'_>) -> Vec<Found> {
    let file = subject.file;
    let mut found = Vec::new();
    for node in descendants(function) {
        let here = function == subject.function && subject.is_at_place(node);
        let one = match node.kind() {
            "parameter_declaration" => parameter(file, function, node).map(|edits| (edits, None)),
            "for_range_loop" => range_variable(file, node).map(|edits| (edits, None)),
            "declaration" => local(file, function, node),
            _ => None,
        };
        // What a function of the place takes belongs to it.
        let own = here || function == subject.function && node.kind() == "parameter_declaration";
        found.extend(one.map(|(edits, assumption)| (edits, assumption, own)));
    }
    found
}

/// Member functions that return a field by value, of the place or called there: by reference.
fn getters_by_reference(subject: &Subject<'_>) -> (Vec<Edit>, &'static str) {
    let file = subject.file;
    let called: Vec<String> = descendants(subject.function)
        .into_iter()
        .filter(|node| node.kind() == "call_expression" && subject.is_at_place(*node))
        .filter_map(|node| {
            let name = node
                .child_by_field_name("function")?
                .child_by_field_name("field")?;
            Some(file.text(name).to_owned())
        })
        .collect();
    let mut edits = Vec::new();
    for function in descendants(file.root()) {
        if function.kind() != "function_definition" {
            continue;
        }
        let own = function == subject.function;
        let wanted = own
            || function_name(file, function)
                .is_some_and(|name| called.iter().any(|one| one == name));
        if wanted {
            edits.extend(getter(file, function));
        }
    }
    (
        edits,
        "nobody keeps what the function returns a reference to after the object has gone",
    )
}

/// `std::string name() const { return name_; }` in a class.
fn getter(file: &SourceFile, function: Node<'_>) -> Option<Edit> {
    let list = function
        .parent()
        .filter(|one| one.kind() == "field_declaration_list")?;
    let kind = function
        .child_by_field_name("type")
        .filter(|one| is_object(file, *one) && file.text(*one) != "auto")?;
    let declarator = function
        .child_by_field_name("declarator")
        .filter(|one| one.kind() == "function_declarator")?;
    let constant = file
        .squashed(declarator)
        .rsplit(')')
        .next()
        .is_some_and(|behind| behind.starts_with("const"));
    let body = function.child_by_field_name("body")?;
    let returned = body
        .named_child(0)
        .filter(|one| one.kind() == "return_statement" && body.named_child_count() == 1)?;
    let field = returned
        .named_child(0)
        .filter(|one| one.kind() == "identifier")?;
    // The field is declared in the class with the same type.
    let mut cursor = list.walk();
    let same = list.named_children(&mut cursor).any(|one| {
        one.kind() == "field_declaration"
            && (file.declared_type_in(one, file.text(field))).is_some_and(|declared| {
                declared.pointers == 0 && squash(&declared.specifiers) == file.squashed(kind)
            })
    });
    let head = &file.source()[function.start_byte()..kind.start_byte()];
    (constant && same && !head.contains("virtual") && !file.text(declarator).contains("override"))
        .then(|| Edit::replace(kind.byte_range(), format!("const {} &", file.text(kind))))
}

/// A parameter by value that is only read: by reference.
fn parameter(file: &SourceFile, function: Node<'_>, node: Node<'_>) -> Option<Vec<Edit>> {
    let list = node.parent()?;
    let declarator = list
        .parent()
        .filter(|one| one.kind() == "function_declarator")?;
    // Of this function itself, not of a lambda or a pointer in it.
    ancestors(declarator)
        .find(|one| matches!(one.kind(), "function_definition" | "lambda_expression"))
        .filter(|one| *one == function)?;
    let kind = node
        .child_by_field_name("type")
        .filter(|one| is_object(file, *one))?;
    let name = node
        .child_by_field_name("declarator")
        .filter(|one| one.kind() == "identifier")?;
    let body = function.child_by_field_name("body")?;
    if file.text(node).starts_with("const") || !sole_definition(file, function) {
        return None;
    }
    let all = uses(file, body, file.text(name), 0);
    if all.is_empty()
        || all.iter().any(|one| may_change(file, *one))
        || function.child_by_field_name("initializers").is_some()
    {
        return None;
    }
    Some(vec![Edit::replace(
        node.byte_range(),
        format!("const {} &{}", file.text(kind), file.text(name)),
    )])
}

/// A variable of a range loop by value that is only read: by reference.
fn range_variable(file: &SourceFile, node: Node<'_>) -> Option<Vec<Edit>> {
    let kind = node
        .child_by_field_name("type")
        .filter(|one| is_object(file, *one))?;
    let name = node
        .child_by_field_name("declarator")
        .filter(|one| one.kind() == "identifier")?;
    let head = &file.source()[node.start_byte()..kind.start_byte()];
    let body = node.child_by_field_name("body")?;
    let all = uses(file, body, file.text(name), 0);
    if all.iter().any(|one| may_change(file, *one)) {
        return None;
    }
    let constant = if head.contains("const") { "" } else { "const " };
    Some(vec![Edit::replace(
        kind.start_byte()..name.end_byte(),
        format!("{constant}{} &{}", file.text(kind), file.text(name)),
    )])
}

/// A local object: a reference to what it is copied of, if neither changes; else moved where it is used last.
fn local(
    file: &SourceFile,
    function: Node<'_>,
    node: Node<'_>,
) -> Option<(Vec<Edit>, Option<String>)> {
    let kind = node
        .child_by_field_name("type")
        .filter(|one| is_object(file, *one))?;
    let declarator = node.child_by_field_name("declarator")?;
    let list = node
        .parent()
        .filter(|one| one.kind() == "compound_statement")?;
    let (name, value) = match declarator.kind() {
        "init_declarator" => (
            declarator.child_by_field_name("declarator")?,
            declarator.child_by_field_name("value"),
        ),
        "identifier" => (declarator, None),
        _ => return None,
    };
    if name.kind() != "identifier"
        || file.text(node).starts_with("const")
        || file.text(node).starts_with("static")
    {
        return None;
    }
    let shown = file.text(name);
    let all = uses(file, list, shown, node.end_byte());
    if let Some(value) = value.map(bare).filter(|value| is_place(file, *value)) {
        let base = base_of(file, value);
        let changes = changes_of(file, list, &base, node.end_byte());
        if changes.is_empty() && !all.is_empty() && !all.iter().any(|one| may_change(file, *one)) {
            let text = format!("const {} &{shown} = {};", file.text(kind), file.text(value));
            let assumes = format!("{} does not change while {shown} is used", file.text(value));
            return Some((vec![Edit::replace(node.byte_range(), text)], Some(assumes)));
        }
        // The next thing is that the container gives the original up.
        let gone = changes
            .first()
            .is_some_and(|name| matches!(name.as_str(), "pop" | "pop_front" | "pop_back"));
        let end = ["front()", "back()"]
            .iter()
            .any(|end| file.text(value).ends_with(end));
        if gone && end {
            return Some((
                vec![Edit::replace(
                    value.byte_range(),
                    format!("std::move({})", file.text(value)),
                )],
                None,
            ));
        }
    }
    last_use(file, function, list, node, shown).map(|edits| (edits, None))
}

/// Whether an expression names something that exists: an element, a field, a variable, the front of a container.
fn is_place(file: &SourceFile, value: Node<'_>) -> bool {
    match value.kind() {
        "field_expression" | "subscript_expression" => file.is_pure(value),
        "call_expression" => ["front()", "back()"]
            .iter()
            .any(|end| file.text(value).ends_with(end)),
        _ => false,
    }
}

/// The last use of a local object, as a part of another object or something put into a container: moved there.
fn last_use(
    file: &SourceFile,
    function: Node<'_>,
    list: Node<'_>,
    node: Node<'_>,
    name: &str,
) -> Option<Vec<Edit>> {
    let all = uses(file, list, name, node.end_byte());
    let last = *all.last()?;
    let parent = last.parent()?;
    // Not in a loop that is in the scope of the object: it would be used again.
    if ancestors(last)
        .take_while(|one| *one != list)
        .any(|one| is_loop(one) || one.kind() == "lambda_expression")
    {
        return None;
    }
    let statement = ancestors(last).find(|one| one.parent() == Some(list))?;
    // Twice in one statement: which is evaluated first?
    if all
        .iter()
        .filter(|one| statement.byte_range().contains(&one.start_byte()))
        .count()
        != 1
    {
        return None;
    }
    let moved = Edit::replace(last.byte_range(), format!("std::move({name})"));
    match parent.kind() {
        "initializer_list" => Some(vec![moved]),
        "argument_list" => {
            let call = parent.parent()?;
            let called = call.child_by_field_name("function")?;
            let last_name = file.text(called).rsplit(['.', '>', ':']).next()?;
            if matches!(
                last_name,
                "push_back"
                    | "push_front"
                    | "push"
                    | "emplace_back"
                    | "insert"
                    | "emplace"
                    | "append"
            ) {
                return (last_name != "append").then(|| vec![moved]);
            }
            let argument = (0..parent.named_child_count())
                .find(|at| parent.named_child(*at as u32 as _) == Some(last))?;
            let mut edits = sink(file, function, last_name, argument)?;
            edits.push(moved);
            Some(edits)
        }
        _ => None,
    }
}

/// Edits of a function of the file that only puts what it is given into a container: it takes it by value, and moves it.
fn sink(file: &SourceFile, caller: Node<'_>, name: &str, argument: usize) -> Option<Vec<Edit>> {
    let mut found = descendants(file.root()).into_iter().filter(|one| {
        one.kind() == "function_definition"
            && *one != caller
            && (descendants(*one)
                .into_iter()
                .find(|one| one.kind() == "function_declarator"))
            .and_then(|one| one.child_by_field_name("declarator"))
            .is_some_and(|one| words(file.text(one)).last() == Some(name))
    });
    let function = found.next()?;
    if found.next().is_some() || !sole_definition(file, function) {
        return None;
    }
    let declarator = descendants(function)
        .into_iter()
        .find(|one| one.kind() == "function_declarator")?;
    let list = declarator.child_by_field_name("parameters")?;
    let parameter = list.named_child(argument as u32 as _)?;
    let kind = parameter.child_by_field_name("type")?;
    let reference = parameter
        .child_by_field_name("declarator")
        .filter(|one| one.kind() == "reference_declarator")?;
    let own = words(file.text(reference)).next()?;
    let constant = file.text(parameter).starts_with("const");
    let all = uses(file, function.child_by_field_name("body")?, own, 0);
    let [only] = all[..] else { return None };
    let call = only
        .parent()
        .filter(|one| one.kind() == "argument_list")?
        .parent()?;
    let called = call.child_by_field_name("function")?;
    let puts = matches!(
        file.text(called).rsplit(['.', '>']).next()?,
        "push_back" | "push_front" | "push" | "emplace_back" | "insert"
    );
    (constant
        && puts
        && !ancestors(only)
            .take_while(|one| *one != function)
            .any(is_loop))
    .then(|| {
        vec![
            Edit::replace(parameter.byte_range(), format!("{} {own}", file.text(kind))),
            Edit::replace(only.byte_range(), format!("std::move({own})")),
        ]
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn field_is_returned_by_reference() {
        let text = "class P {\n    std::string name, place; int age;\npublic:\n    std::string get() const { return name; }\n    int old() const { return age; }\n    std::string made() const { return name + place; }\n};\nint f(const P &p) {\n    return p.get().size() + p.old();\n}\n";
        let after = rewritten("repeated-copy", "a.cc", text, 9);
        assert!(
            after.contains("    const std::string & get() const { return name; }\n    int old()"),
            "{after}"
        );
        assert!(after.contains("    std::string made()"), "{after}");
    }

    const CAUSE: &str = "repeated-copy";

    #[test]
    fn objects_that_are_only_read_are_references() {
        let text = "int f(std::string s, const std::vector<Item> &v) {\n    int n = s.size();\n    for (Item item : v)\n        n += item.x;\n    Item first = v[0];\n    return n + first.x;\n}\n";
        let after = rewritten(CAUSE, "a.cc", text, 1);
        assert!(
            after.contains("int f(const std::string &s, const"),
            "{after}"
        );
        assert!(after.contains("for (const Item &item : v)"));
        assert!(after.contains("const Item &first = v[0];"));
    }

    #[test]
    fn objects_are_moved_where_they_are_used_last() {
        let text = "struct Q {\n    void f(std::string s) {\n        std::string body = s.substr(1);\n        Message m{1, body};\n        put(m);\n    }\n    void put(const Message &m) { q.push_back(m); }\n    int g() {\n        Message m = q.front();\n        q.pop_front();\n        return m.x;\n    }\n    std::deque<Message> q;\n};\n";
        let after = rewritten(CAUSE, "a.cc", text, 3);
        assert!(after.contains("Message m{1, std::move(body)};"), "{after}");
        assert!(after.contains("put(std::move(m));"));
        assert!(after.contains("void put(Message m) { q.push_back(std::move(m)); }"));
        assert!(after.contains("Message m = std::move(q.front());"));
        assert!(after.starts_with("#include <utility>\n"));
    }

    #[test]
    fn what_changes_or_is_used_again_stays() {
        for body in ["s.x = 1;", "g(&s);", "swap(s, q);"] {
            refused(
                CAUSE,
                "a.cc",
                &format!("void f(Thing s) {{\n    {body}\n}}\n"),
                2,
            );
        }
        refused(CAUSE, "a.c", "void f(struct p s) {\n    g(s.x);\n}\n", 2);
    }
}
