//! Another container of the standard library with the same interface: a deque for a vector that is consumed from
//! its front, or for a list whose elements lie apart.

use tree_sitter::Node;

use super::{Rewrite, Subject};
use crate::Dialect;
use crate::edit::Edit;
use crate::source_file::{SourceFile, descendants, squash, words};

/// What a list can do and a deque cannot, or does at another price.
const OF_LISTS: [&str; 7] = [
    ".splice(",
    ".sort(",
    ".merge(",
    ".remove_if(",
    ".remove(",
    ".unique(",
    ".reverse(",
];

/// `vector` → `deque` where elements are erased from, or inserted at, the front.
pub(super) fn consumed_from_front(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::Cpp {
        return Err("its file is not C++".to_owned());
    }
    let none = "nothing is erased from the front of a vector at its lines";
    for call in subject.nodes_by_place() {
        if !subject.is_at_place(call) {
            break;
        }
        if call.kind() != "call_expression" {
            continue;
        }
        let text = file.squashed(call);
        let Some((name, _)) = text
            .split_once(".erase(")
            .or_else(|| text.split_once(".insert("))
        else {
            continue;
        };
        if !text.starts_with(&format!("{name}.erase({name}.begin())"))
            && !text.starts_with(&format!("{name}.insert({name}.begin(),"))
        {
            continue;
        }
        let Some(last) = words(name).last() else {
            continue;
        };
        let (edits, others) = declarations(file, last, "vector");
        if edits.is_empty() {
            return Err(format!("the declaration of {name} is not in {}", file.path));
        }
        let all = squash(file.source());
        let needs = [".data()", ".capacity(", ".reserve("]
            .iter()
            .find(|end| all.contains(&format!("{last}{end}")));
        if let Some(needs) = needs {
            return Err(format!("{name}{needs} needs a vector"));
        }
        let mut edits = edits;
        if others > 0 {
            return Err(format!("{last} is declared several times"));
        }
        edits.extend(front_calls(file, name));
        edits.push(include(file));
        return Ok(vec![subject.rewrite(format!("make {name} a deque"), edits)]);
    }
    Err(none.to_owned())
}

/// Calls at the front by the names that a deque has for them.
fn front_calls(file: &SourceFile, name: &str) -> Vec<Edit> {
    let erased = format!("{name}.erase({name}.begin())");
    descendants(file.root())
        .into_iter()
        .filter(|node| node.kind() == "call_expression" && file.squashed(*node) == erased)
        .filter(|node| {
            node.parent()
                .is_some_and(|parent| parent.kind() == "expression_statement")
        })
        .map(|node| Edit::replace(node.byte_range(), format!("{name}.pop_front()")))
        .collect()
}

/// `list` → `deque`.
pub(super) fn contiguous(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let file = subject.file;
    if file.dialect != Dialect::Cpp {
        return Err(
            "which list of C it is, and where its nodes come from, is not known".to_owned(),
        );
    }
    let all = squash(file.source());
    if let Some(needs) = OF_LISTS.iter().find(|one| all.contains(**one)) {
        return Err(format!("the file uses {needs}…), which lists have"));
    }
    let edits: Vec<Edit> = descendants(file.root())
        .into_iter()
        .filter(|node| node.kind() == "template_type")
        .filter_map(|node| node.child_by_field_name("name"))
        .filter(|name| file.text(*name) == "list")
        .map(|name| Edit::replace(name.byte_range(), "deque"))
        .collect();
    if edits.is_empty() {
        return Err("its file has no std::list".to_owned());
    }
    let mut edits = edits;
    edits.push(include(file));
    Ok(vec![Rewrite {
        assumes: vec![
            "no iterator or address of an element is kept while elements are added to the middle or removed".to_owned(),
        ],
        ..subject.rewrite("keep the elements of lists in deques", edits)
    }])
}

fn include(file: &SourceFile) -> Edit {
    // Before the first line that includes something, or at the beginning.
    let first =
        (descendants(file.root()).into_iter()).find(|node| node.kind() == "preproc_include");
    Edit::insert(
        first.map_or(0, |node| node.start_byte()),
        "#include <deque>\n",
    )
}

/// Edits of the declarations of a name as `std::KIND<…>`, and how many others it has.
fn declarations(file: &SourceFile, name: &str, kind: &str) -> (Vec<Edit>, usize) {
    let (mut edits, mut others) = (Vec::new(), 0);
    for node in descendants(file.root()) {
        let kinds = ["field_declaration", "declaration", "parameter_declaration"];
        let Some(declared) = node
            .child_by_field_name("type")
            .filter(|_| kinds.contains(&node.kind()))
        else {
            continue;
        };
        let rest = file
            .source()
            .get(declared.end_byte()..node.end_byte())
            .unwrap_or_default();
        let declarator = node.child_by_field_name("declarator");
        let named = declarator.is_some_and(|one| words(file.text(one)).next() == Some(name));
        if !named || rest.contains(',') {
            continue;
        }
        match template_name(file, declared).filter(|one| file.text(*one) == kind) {
            Some(one) => edits.push(Edit::replace(one.byte_range(), "deque")),
            None => others += 1,
        }
    }
    (edits, others)
}

fn template_name<'a>(file: &SourceFile, declared: Node<'a>) -> Option<Node<'a>> {
    let template = match declared.kind() {
        "template_type" => declared,
        "qualified_identifier" => declared.child_by_field_name("name")?,
        _ => return None,
    };
    let name = template.child_by_field_name("name")?;
    (!file.text(name).is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn vector_that_is_consumed_from_its_front_is_a_deque() {
        let text = "#include <vector>\nclass Q {\n    Job f()\n    {\n        Job job = jobs_.front();\n        jobs_.erase(jobs_.begin());\n        return job;\n    }\n    std::vector<Job> jobs_;\n};\n";
        let after = rewritten("quadratic", "a.cc", text, 6);
        assert!(
            after.contains("std::deque<Job> jobs_;") && after.contains("jobs_.pop_front();"),
            "{after}"
        );
        assert!(after.starts_with("#include <deque>\n"));
        refused(
            "quadratic",
            "a.cc",
            &text.replace("jobs_.front()", "*jobs_.data()"),
            6,
        );
    }

    #[test]
    fn list_is_a_deque_unless_it_is_spliced() {
        let text = "#include <list>\nusing Cell = std::list<P>;\nint f(const Cell &c) {\n    int sum = 0;\n    for (const P &p : c) sum += p.x;\n    return sum;\n}\n";
        assert!(
            rewritten("pointer-chase", "a.cc", text, 5).contains("using Cell = std::deque<P>;")
        );
        let text = text.replace("return sum", "c.sort(); return sum");
        refused("pointer-chase", "a.cc", &text, 5);
    }
}
