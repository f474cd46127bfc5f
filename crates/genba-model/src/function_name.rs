//! Names of functions as compilers and runtimes write them, and which of them a user's name means.

/// A demangled name without its parameters, template arguments kept: `ns::f<int>(char)` →
/// `ns::f<int>`. What people type to name a function.
#[must_use]
pub fn without_parameters(name: &str) -> &str {
    let bytes = name.as_bytes();
    let mut depth = 0i32;
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'<' => depth += 1,
            b'>' if i > 0 && bytes[i - 1] == b'-' => {}
            b'>' => depth -= 1,
            b'(' if depth <= 0 && i > 0 => {
                let rest = &name[i..];
                if rest.starts_with("(anonymous namespace)") || name[..i].ends_with("operator") {
                    // Not the parameters yet.
                    i += rest.find(')').unwrap_or(0);
                } else {
                    return &name[..i];
                }
            }
            b'o' if name[i..].starts_with("operator") => {
                // The symbols of `operator<<` are not brackets.
                i += operator_length(&name[i..]);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    name
}

/// The length of `operator` and those of its symbols that look like brackets or arrows.
fn operator_length(name: &str) -> usize {
    let symbols = name.bytes().skip("operator".len());
    "operator".len()
        + symbols
            .take_while(|byte| matches!(byte, b'<' | b'>' | b'-' | b'='))
            .count()
}

/// The type and name of a method that .NET's perf map names with its return type, assembly, parameters and tier:
/// `double [App] Spectral::EvalA(int32)[OptimizedTier1]` → `Spectral::EvalA`. `None` for other names.
#[must_use]
pub fn managed_method(name: &str) -> Option<&str> {
    let (_, assembly) = name.split_once(" [")?;
    let (_, method) = assembly.split_once("] ")?;
    let (method, parameters) = method.split_once('(')?;
    let is_method = method.contains("::") && parameters.contains(')');
    is_method.then_some(method)
}

/// What compilers put behind the names of functions that they copied or cut.
const CLONE_KINDS: [&str; 6] = ["constprop", "isra", "part", "cold", "lto_priv", "llvm"];

/// How well a user's name fits the name of a function; the greater the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFit {
    /// It is the end of the path, perhaps without template arguments, parameters and marks of clones:
    /// `Basket::has` for `shop::Basket<int>::has [clone .isra.0]`.
    EndOfPath,
    /// It is the name, perhaps with parameters that the name lacks.
    Whole,
}

/// Returns how well the name that a user gives fits that of a function; `None` where it means another one.
#[must_use]
pub fn name_fit(function: &str, wanted: &str) -> Option<NameFit> {
    let method = managed_method(function);
    let is_whole = function == wanted
        || without_parameters(wanted) == function
        || method.is_some_and(|method| method == wanted);
    if is_whole {
        return Some(NameFit::Whole);
    }
    let (path, clone) = split_clone(method.unwrap_or(function));
    let (wanted_path, wanted_clone) = split_clone(wanted);
    if wanted_path.is_empty() || !wanted_clone.is_empty() && wanted_clone != clone {
        return None;
    }
    let (bare, wanted_bare) = (without_parameters(path), without_parameters(wanted_path));
    let (parameters, wanted_parameters) = (&path[bare.len()..], &wanted_path[wanted_bare.len()..]);
    let is_overload = parameters.is_empty()
        || wanted_parameters.is_empty()
        || is_same_text(parameters, wanted_parameters);
    let (components, wanted) = (components(bare), components(wanted_bare));
    let is_end = components.len() >= wanted.len()
        && (components.iter().rev().zip(wanted.iter().rev())).all(|(one, wanted)| {
            is_same_text(one, wanted)
                || !wanted.contains('<') && without_arguments(one) == Some(wanted.trim())
        });
    (is_overload && is_end).then_some(NameFit::EndOfPath)
}

/// Returns the indices of the names that the user's name means: those that it is, else those whose end it is.
pub fn best_fits<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Vec<usize> {
    let fits: Vec<Option<NameFit>> = names.map(|name| name_fit(name, wanted)).collect();
    let Some(best) = fits.iter().copied().max().flatten() else {
        return Vec::new();
    };
    let indexed = fits.iter().enumerate();
    indexed
        .filter(|(_, fit)| **fit == Some(best))
        .map(|(index, _)| index)
        .collect()
}

/// Returns the name, and the mark of a clone behind it: `f [clone .cold]` and `f.cold` → `f`, `cold`.
fn split_clone(name: &str) -> (&str, &str) {
    if let Some((name, mark)) = name.split_once(" [clone .") {
        return (name, mark.trim_end_matches(']'));
    }
    let is_mark = |rest: &str| {
        let after = CLONE_KINDS.iter().find_map(|kind| rest.strip_prefix(kind));
        after.is_some_and(|after| after.is_empty() || after.starts_with('.'))
    };
    let dots = name.match_indices('.').map(|(at, _)| at);
    dots.map(|at| (&name[..at], &name[at + 1..]))
        .find(|(_, rest)| is_mark(rest))
        .unwrap_or((name, ""))
}

/// Returns the parts between `::`, those in brackets left whole.
fn components(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let (mut parts, mut start, mut depth, mut i) = (Vec::new(), 0, 0i32, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' if i > 0 && bytes[i - 1] == b'-' => {}
            b'>' | b')' | b'}' | b']' => depth = (depth - 1).max(0),
            b'o' if name[i..].starts_with("operator") => {
                i += operator_length(&name[i..]);
                continue;
            }
            b':' if depth == 0 && bytes.get(i + 1) == Some(&b':') => {
                parts.push(&name[start..i]);
                start = i + 2;
                i += 1;
            }
            _ => {}
        }
        i += 1;
    }
    parts.push(&name[start..]);
    parts
}

/// Returns a component without its template arguments; `None` for operators, whose symbols may be brackets.
fn without_arguments(component: &str) -> Option<&str> {
    if component.starts_with("operator") {
        return None;
    }
    let end = component.find('<').filter(|at| *at > 0);
    end.map(|end| component[..end].trim())
}

/// `std::string` as symbols have it, without blanks.
const STRING: &str = "std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>";

/// Whether two texts differ in their blanks at most, and in how they write `std::string`.
fn is_same_text(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace(' ', "").replace(STRING, "std::string");
    one == other || plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn methods_of_dotnet_are_known_by_type_and_name() {
        let full = "void [Spectral] Spectral::Times(int32,float64[],float64[])[Optimized]";
        assert_eq!(managed_method(full), Some("Spectral::Times"));
        for other in ["main", "ns::f(int)", "stub<91> Allocate<FIXUP>", "a [b] c"] {
            assert_eq!(managed_method(other), None, "{other}");
        }
    }

    #[test]
    fn parameters_are_removed_and_template_arguments_kept() {
        for (full, short) in [
            ("foo::bar(int, char)", "foo::bar"),
            ("foo<int (*)(char)>::bar(int)", "foo<int (*)(char)>::bar"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            (
                "ns::(anonymous namespace)::f(int)",
                "ns::(anonymous namespace)::f",
            ),
            ("S::operator()(int) const", "S::operator()"),
            ("S::operator<<(int)", "S::operator<<"),
            ("S::operator->()", "S::operator->"),
            ("core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"),
        ] {
            assert_eq!(without_parameters(full), short);
        }
    }

    const HAS: &str = "shop::Basket<std::string>::has [clone .isra.0]";

    #[test]
    fn end_of_a_path_names_a_function_without_what_the_compiler_adds() {
        for (function, wanted) in [
            (HAS, "has"),
            (HAS, "Basket::has"),
            (HAS, "shop::Basket::has"),
            (HAS, "shop::Basket<std::string>::has"),
            (HAS, "Basket<std::string>::has [clone .isra.0]"),
            (HAS, "Basket::has(std::string const&)"),
            ("a::f(int, char)", "f(int,char)"),
            ("parse.constprop.0.cold", "parse"),
            (
                "std::vector<int, std::allocator<int> >::at",
                "vector<int, std::allocator<int>>::at",
            ),
            (
                "a::Set<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::has",
                "Set<std::string>::has",
            ),
            ("<prog::Foo as prog::Bar>::run", "run"),
            ("S::operator<<", "operator<<"),
            (
                "double [App] Spectral::EvalA(int32)[OptimizedTier1]",
                "EvalA",
            ),
        ] {
            let found = name_fit(function, wanted);
            assert_eq!(found, Some(NameFit::EndOfPath), "{function}: {wanted}");
        }
    }

    #[test]
    fn name_of_another_function_does_not_fit() {
        for (function, wanted) in [
            (HAS, "as"),
            (HAS, "Basket"),
            (HAS, "Basket<int>::has"),
            (HAS, "Basket::has [clone .cold]"),
            (HAS, "x::shop::Basket::has"),
            ("a::f(int)", "f(char)"),
            ("S::operator<", "operator"),
            ("main::{{closure}}", "main"),
            ("f.S", "f"),
            ("f", ""),
        ] {
            assert_eq!(name_fit(function, wanted), None, "{function}: {wanted}");
        }
    }

    #[test]
    fn whole_names_are_preferred_to_ends_of_paths() {
        let names = ["a::f", "f", "f [clone .cold]", "g"];
        let found = |wanted: &str| best_fits(names.into_iter(), wanted);
        assert_eq!(found("f"), [1]);
        assert_eq!(found("f(int)"), [1]);
        assert_eq!(found("a::f"), [0]);
        assert_eq!(best_fits(["a::f", "b::f"].into_iter(), "f"), [0, 1]);
        assert_eq!(found("h"), [0usize; 0]);
    }

    proptest! {
        #[test]
        fn arbitrary_names_do_not_panic(
            name in "(operator|[A-Za-z_<>(){}\\[\\] ,.:~-]){0,60}|.{0,50}",
            wanted in "(operator|[A-Za-z_<>(){}\\[\\] ,.:~-]){0,20}|.{0,20}",
        ) {
            prop_assert!(name.starts_with(without_parameters(&name)));
            prop_assert_eq!(name_fit(&name, &name), Some(NameFit::Whole));
            let _ = name_fit(&name, &wanted);
        }
    }
}
