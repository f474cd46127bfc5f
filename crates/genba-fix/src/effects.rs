//! What evaluating code may change: calls of the C and C++ libraries, and of functions and macros that the
//! sources define. Pure.
//!
//! A function has no effect if it changes only variables of its own and calls only such functions. That it
//! returns is taken for granted, as C++ does.

mod library_functions;
mod objects;

use std::cell::RefCell;
use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::Dialect;
use crate::declarations::{Own, own_variables};
use crate::rewrites::Sources;
use crate::source_file::{SourceFile, ancestors, bare, descendants, function_name, words};
use library_functions::{OF_MEMORY, OF_VALUES, QUESTIONS};
use objects::{declares_quietly, shifts_number};

pub(crate) use library_functions::OF_NUMBERS;

/// Most definitions of one name that are looked at.
const MAX_DEFINITIONS: usize = 12;
/// Deepest chain of calls that is followed.
const MAX_DEPTH: usize = 6;

/// What code does to what others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Its value depends on its operands alone.
    Nothing,
    /// Its value depends on memory, too.
    Reads,
    /// It may change memory, or it is not known.
    Changes,
}

/// Effects of the code of a program.
pub(crate) struct Effects<'a> {
    sources: &'a Sources,
    /// By name; `Changes` while the name is looked at, which is what recursion is taken for.
    named: RefCell<BTreeMap<String, Option<Effect>>>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            named: RefCell::default(),
        }
    }

    /// Whether evaluating an expression changes nothing.
    pub(crate) fn is_pure(&self, file: &SourceFile, expression: Node<'_>) -> bool {
        self.of(file, expression) < Effect::Changes
    }

    /// What evaluating an expression does. Variables count as operands.
    pub(crate) fn of(&self, file: &SourceFile, expression: Node<'_>) -> Effect {
        self.of_code(file, expression, None, 0)
    }

    /// What a call itself does, its arguments apart.
    pub(crate) fn of_call(&self, file: &SourceFile, call: Node<'_>) -> Effect {
        self.call(file, call, None, 0)
    }

    /// The effect of the functions of a name that the sources define; `None` if they define none.
    pub(crate) fn of_defined(&self, name: &str) -> Option<Effect> {
        self.of_named(name, 0)
    }

    fn of_code(
        &self,
        file: &SourceFile,
        code: Node<'_>,
        own: Option<&BTreeMap<String, Own>>,
        depth: usize,
    ) -> Effect {
        let mut effect = Effect::Nothing;
        for node in descendants(code) {
            effect = effect.max(match node.kind() {
                "assignment_expression" => store(file, node.child_by_field_name("left"), own),
                "update_expression" => store(file, node.child_by_field_name("argument"), own),
                "call_expression" => self.call(file, node, own, depth),
                "binary_expression"
                    if matches!(file.operator(node), "<<" | ">>")
                        && !shifts_number(self.sources, file, node) =>
                {
                    Effect::Changes
                }
                "subscript_expression" | "pointer_expression" | "field_expression" => Effect::Reads,
                "new_expression"
                | "delete_expression"
                | "gnu_asm_expression"
                | "lambda_expression"
                | "co_await_expression"
                | "throw_statement"
                | "throw_expression"
                | "ERROR" => Effect::Changes,
                "type_qualifier" if file.text(node) == "volatile" => Effect::Changes,
                // What is neither a variable of its own nor the name of a constant may be global.
                "identifier"
                    if !is_called(node)
                        && own.is_some_and(|own| !own.contains_key(file.text(node))) =>
                {
                    match file.text(node).contains(char::is_lowercase) {
                        true => Effect::Reads,
                        false => Effect::Nothing,
                    }
                }
                _ => Effect::Nothing,
            });
            if effect == Effect::Changes {
                break;
            }
        }
        effect
    }

    fn call(
        &self,
        file: &SourceFile,
        call: Node<'_>,
        own: Option<&BTreeMap<String, Own>>,
        depth: usize,
    ) -> Effect {
        let Some(function) = call.child_by_field_name("function") else {
            return Effect::Changes;
        };
        // `double(x)`
        if matches!(function.kind(), "primitive_type" | "sized_type_specifier") {
            return Effect::Nothing;
        }
        let whole = file.squashed(function);
        if whole.contains("numeric_limits<") {
            return Effect::Nothing;
        }
        let member = function.kind() == "field_expression";
        let name = plain_name(&whole).to_owned();
        if let Some(effect) = self.of_named(&name, depth) {
            return effect;
        }
        // A member function of an object of the function's own changes nothing else, of a class that is known.
        if member
            && own.is_some()
            && function
                .child_by_field_name("argument")
                .is_some_and(|object| is_own(file, object, own))
        {
            return Effect::Reads;
        }
        // `m(i, j)` of a variable: the operator of its class.
        let variable = file.dialect == Dialect::Cpp && function.kind() == "identifier";
        if variable
            && is_declared_variable(file, call, &name)
            && let Some(effect) = self.of_named("operator", depth)
        {
            return effect;
        }
        match () {
            () if !member && OF_NUMBERS.contains(&without_precision(&name)) => Effect::Nothing,
            () if OF_VALUES.contains(&name.as_str()) => Effect::Nothing,
            () if !member && OF_MEMORY.contains(&name.as_str()) => Effect::Reads,
            () if file.dialect == Dialect::Cpp && QUESTIONS.contains(&name.as_str()) => {
                Effect::Reads
            }
            () => Effect::Changes,
        }
    }

    /// The effect of all functions and macros of a name that the sources define; `None` if they define none.
    fn of_named(&self, name: &str, depth: usize) -> Option<Effect> {
        if let Some(known) = self.named.borrow().get(name) {
            return *known;
        }
        if depth >= MAX_DEPTH {
            return Some(Effect::Changes);
        }
        self.named
            .borrow_mut()
            .insert(name.to_owned(), Some(Effect::Changes));
        let mut found: Option<Effect> = None;
        let mut count = 0;
        for file in &self.sources.files {
            if !file.source().contains(name) {
                continue;
            }
            for node in descendants(file.root()) {
                let effect = match node.kind() {
                    "function_definition" if names(file, node, name) => {
                        self.of_function(file, node, depth)
                    }
                    "preproc_function_def"
                        if (node.child_by_field_name("name"))
                            .is_some_and(|one| file.text(one) == name) =>
                    {
                        self.of_macro(file, node, depth)
                    }
                    _ => continue,
                };
                count += 1;
                found = Some(found.unwrap_or(Effect::Nothing).max(effect));
                if count >= MAX_DEFINITIONS {
                    found = Some(Effect::Changes);
                }
            }
        }
        self.named.borrow_mut().insert(name.to_owned(), found);
        found
    }

    fn of_function(&self, file: &SourceFile, function: Node<'_>, depth: usize) -> Effect {
        let Some(body) = function.child_by_field_name("body") else {
            return Effect::Changes;
        };
        let own = own_variables(file, function);
        let defined = |name: &str| self.of_named(name, depth).is_some();
        if own.values().any(|one| one.lasting)
            || !declares_quietly(self.sources, file, function, &defined)
        {
            return Effect::Changes;
        }
        self.of_code(file, body, Some(&own), depth + 1)
    }

    fn of_macro(&self, file: &SourceFile, definition: Node<'_>, depth: usize) -> Effect {
        let Some(value) = definition.child_by_field_name("value") else {
            return Effect::Nothing;
        };
        let text = format!("void f(void) {{ ({}); }}", file.text(value));
        match SourceFile::new("macro", text.into_bytes(), file.dialect) {
            Ok(parsed) => self.of_code(&parsed, parsed.root(), None, depth + 1),
            Err(_) => Effect::Changes,
        }
    }
}

/// The effect of storing into a place: none if it is a variable of the function's own.
fn store(
    file: &SourceFile,
    target: Option<Node<'_>>,
    own: Option<&BTreeMap<String, Own>>,
) -> Effect {
    match target.is_some_and(|target| is_own(file, target, own)) {
        true => Effect::Nothing,
        false => Effect::Changes,
    }
}

/// Whether a place is, or is part of, a variable of a function's own.
fn is_own(file: &SourceFile, place: Node<'_>, own: Option<&BTreeMap<String, Own>>) -> bool {
    let Some(own) = own else { return false };
    let place = bare(place);
    match place.kind() {
        "identifier" => own
            .get(file.text(place))
            .is_some_and(|one| !one.refers && !one.lasting),
        "field_expression" => {
            file.operator(place) == "."
                && place
                    .child_by_field_name("argument")
                    .is_some_and(|object| is_own(file, object, Some(own)))
        }
        "subscript_expression" => {
            place
                .child_by_field_name("argument")
                .map(bare)
                .is_some_and(|array| {
                    let points = own
                        .get(file.text(array))
                        .is_some_and(|variable| variable.points);
                    !points && is_own(file, array, Some(own))
                })
        }
        _ => false,
    }
}

/// Whether the function around a call declares a variable of this name.
fn is_declared_variable(file: &SourceFile, call: Node<'_>, name: &str) -> bool {
    ancestors(call)
        .find(|one| one.kind() == "function_definition")
        .is_some_and(|function| own_variables(file, function).contains_key(name))
}

/// Whether a name is that of a called function.
fn is_called(name: Node<'_>) -> bool {
    name.parent()
        .is_some_and(|call| call.child_by_field_name("function") == Some(name))
}

fn names(file: &SourceFile, function: Node<'_>, name: &str) -> bool {
    function_name(file, function).is_some_and(|one| words(one).last() == Some(name))
}

/// The last name of a called function as written: `size` of `a->b.size`, `pow` of `std::pow<double>`.
pub(crate) fn plain_name(whole: &str) -> &str {
    let head = whole.split('<').next().unwrap_or(whole);
    let word = |c: char| c.is_alphanumeric() || c == '_';
    // Of `a<b>::f` the name is behind the template's arguments.
    let tail = match whole.ends_with('>') {
        true => head,
        false => whole,
    };
    tail.rsplit(|c: char| !word(c)).next().unwrap_or(tail)
}

/// A function of numbers without `std::` and the suffix of another precision.
pub(crate) fn without_precision(name: &str) -> &str {
    let name = name.rsplit("::").next().unwrap_or(name);
    match name.strip_suffix(['f', 'l']) {
        Some(base) if OF_NUMBERS.contains(&base) => base,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(text: &str, name: &str) -> Effect {
        let sources = Sources {
            files: vec![
                SourceFile::new(name, text.as_bytes().to_vec(), dialect(name)).expect("a text"),
            ],
        };
        let file = &sources.files[0];
        let call = descendants(file.root())
            .into_iter()
            .rfind(|node| node.kind() == "call_expression")
            .expect("a call");
        Effects::new(&sources).of(file, call)
    }

    fn dialect(name: &str) -> Dialect {
        Dialect::of_name(name, Dialect::C).expect("a source file")
    }

    #[test]
    fn function_that_changes_only_its_own_variables_is_pure() {
        let loops = "static int sum(const int *p, int n) { int s = 0, part[4]; while (n--) { s += *p++; part[n & 3] = s; } return s; }\n";
        assert_eq!(
            effect(
                &format!("{loops}int f(int *p) {{ return sum(p, 3); }}"),
                "a.c"
            ),
            Effect::Reads
        );
        let numbers = "static double sq(double x) { return x * fabs(x); }\ndouble f(double y) { return sq(y); }";
        assert_eq!(effect(numbers, "a.c"), Effect::Nothing);
        let chain = "double g(double x) { double y = x; y *= 2; return y; }\ndouble h(double x) { return g(x) + 1; }\ndouble f(double y) { return h(y); }";
        assert_eq!(effect(chain, "a.c"), Effect::Nothing);
    }

    #[test]
    fn function_that_stores_elsewhere_or_calls_what_is_unknown_is_not() {
        for body in [
            "*p = 1;",
            "p[0]++;",
            "count++;",
            "static int n; n++;",
            "unknown(p);",
            "g(p);",
            "volatile int v = 1;",
        ] {
            let text =
                format!("int g(int *p) {{ {body} return 1; }}\nint f(int *p) {{ return g(p); }}");
            assert_eq!(effect(&text, "a.c"), Effect::Changes, "{body}");
        }
        assert_eq!(
            effect("int f(int *p) { return unknown(p); }", "a.c"),
            Effect::Changes
        );
    }

    #[test]
    fn streams_locks_and_methods_of_own_objects_have_effects() {
        for body in [
            "std::cout << x;",
            "std::cerr << \"x\" << x;",
            "std::ofstream file(\"f\"); file << x;",
            "std::lock_guard<std::mutex> guard(m);",
            "Log log; log.add(x);",
            "std::cin >> x;",
        ] {
            let text = format!(
                "struct Log {{ void add(int n) {{ total += n; }} }};\nint g(int x) {{ {body} return x * 2; }}\nint f(int y) {{ return g(y); }}"
            );
            assert_eq!(effect(&text, "a.cc"), Effect::Changes, "{body}");
        }
        let plain = "int g(int x) { std::vector<int> v; v.push_back(x << 2); unsigned u = x; return v.size() + (u >> 3) + (1 << x); }\nint f(int y) { return g(y); }";
        assert!(effect(plain, "a.cc") < Effect::Changes);
    }

    #[test]
    fn casts_questions_and_limits_of_cpp_are_pure() {
        for call in [
            "static_cast<long>(n)",
            "v.size()",
            "std::min(a, b)",
            "double(n)",
        ] {
            let text = format!("long f() {{ return {call}; }}");
            assert!(effect(&text, "a.cc") < Effect::Changes, "{call}");
        }
        assert_eq!(
            effect(
                "long f() { return std::numeric_limits<long>::max(); }",
                "a.cc"
            ),
            Effect::Nothing
        );
        // A method of that name in the sources decides.
        let own =
            "struct Q { int n; int size() { return n++; } };\nint f(Q &q) { return q.size(); }";
        assert_eq!(effect(own, "a.cc"), Effect::Changes);
    }

    #[test]
    fn call_operators_of_the_sources_decide_for_variables() {
        let image = "struct I { int w; int *d; int operator()(int x, int y) const { return d[y * w + x]; } };\n";
        let pure = format!("{image}int f(const I &img) {{ return img(1, 2); }}");
        assert_eq!(effect(&pure, "a.cc"), Effect::Reads);
        assert_eq!(
            effect("int f(P keep) { return keep(1); }", "a.cc"),
            Effect::Changes
        );
    }

    #[test]
    fn macro_is_as_pure_as_its_text() {
        let pure = "#define AT(m, i) ((m)->v[i])\nint f(struct m *m) { return AT(m, 3); }";
        assert_eq!(effect(pure, "a.c"), Effect::Reads);
        let step = "#define NEXT(p) (*(p)++)\nint f(char *p) { return NEXT(p); }";
        assert_eq!(effect(step, "a.c"), Effect::Changes);
    }
}
