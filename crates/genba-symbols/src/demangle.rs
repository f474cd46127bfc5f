//! Rust and C++ names as people wrote them.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::DemangleOptions;

/// Names longer than this stay as they are, in bytes.
pub const MAX_MANGLED: usize = 16 << 10;
/// Demangled names are given up beyond this length, in bytes: substitutions can make them
/// exponentially longer than their mangled form.
pub const MAX_DEMANGLED: usize = 64 << 10;

/// The demangled form of a Rust (legacy or v0, without its hash) or C++ (Itanium) symbol;
/// `None` for names that are not mangled, are too long, or are damaged. Takes bounded time
/// and memory.
#[must_use]
pub fn demangle(name: &str) -> Option<String> {
    demangle_with(name, &DemangleOptions::new())
}

/// As [`demangle`], without the parameters and the return type of C++ functions: the name that
/// perf and gdb list a function under.
#[must_use]
pub fn demangle_brief(name: &str) -> Option<String> {
    let brief = demangle_with(name, &DemangleOptions::new().no_params().no_return_type())?;
    // A C++ name has no dot but before what marks a part or a copy that the compiler made, which
    // is left out with the parameters: without it the parts of a function look all the same.
    // Rust's names may have dots anywhere.
    match name.split_once('.') {
        Some((_, mark)) if name.starts_with("_Z") && rust(name).is_none() => {
            Some(format!("{brief} [clone .{mark}]"))
        }
        _ => Some(brief),
    }
}

/// The name if it is one of Rust's.
fn rust(name: &str) -> Option<rustc_demangle::Demangle<'_>> {
    let may_be = name.starts_with("_R") || name.starts_with("_ZN");
    may_be
        .then(|| rustc_demangle::try_demangle(name).ok())
        .flatten()
}

fn demangle_with(name: &str, options: &DemangleOptions) -> Option<String> {
    if name.len() > MAX_MANGLED {
        return None;
    }
    // `foo.isra.0`, `foo.cold`, `foo.llvm.123` demangle with their suffix; `foo@plt` below.
    if let Some(stem) = name.strip_suffix("@plt") {
        return demangle_with(stem, options).map(|name| name + "@plt");
    }
    if let Some(rust) = rust(name) {
        return bounded(|out| {
            use fmt::Write as _;
            write!(out, "{rust:#}")
        });
    }
    if !(name.starts_with("_Z") || name.starts_with("___Z") || name.starts_with("_GLOBAL_")) {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name.as_bytes()).ok()?;
    bounded(|out| symbol.structured_demangle(out, options))
}

/// A name cut for display to at most `limit` bytes, on a character's border, with an ellipsis
/// where something was cut.
#[must_use]
pub fn cut_name(name: &str, limit: usize) -> Cow<'_, str> {
    if name.len() <= limit {
        return Cow::Borrowed(name);
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &name[..end]))
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        if self.0.len() + s.len() > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(s);
        Ok(())
    }
}

fn bounded(write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut out = Bounded(String::new());
    write(&mut out).ok()?;
    Some(out.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rust_and_cpp_names_are_demangled_and_others_kept() {
        let cases = [
            ("_ZN3foo3barEv", Some("foo::bar()")),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                Some("core::fmt::Write::write_fmt"),
            ),
            ("_RNvCs15kBYyAo9fc_7mycrate3foo", Some("mycrate::foo")),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                Some("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            ),
            ("_Z3foov@plt", Some("foo()@plt")),
            ("main", None),
            ("", None),
            ("_Z", None),
        ];
        for (raw, expected) in cases {
            assert_eq!(demangle(raw).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn brief_names_equal_those_of_perf() {
        for (raw, expected) in [
            ("_ZN3foo3barEi", "foo::bar"),
            ("_Z1fIiEvT_", "f<int>"),
            ("_ZN1AclEi", "A::operator()"),
            ("_Z3fooi.cold", "foo [clone .cold]"),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
        ] {
            assert_eq!(demangle_brief(raw).as_deref(), Some(expected), "{raw}");
        }
    }

    #[test]
    fn long_and_exponentially_growing_names_are_not_demangled() {
        assert_eq!(demangle(&format!("_Z{}", "N".repeat(100 << 20))), None);
        assert_eq!(demangle(&format!("_Z1f{}", "P".repeat(10_000))), None);
        // Each substitution doubles the type before it.
        let mut name = String::from("_Z1fSt4pairIiiE");
        for i in 0..60 {
            let s = match i {
                0 => "S_".to_owned(),
                n => format!(
                    "S{}_",
                    std::char::from_digit((n - 1) % 36, 36)
                        .unwrap()
                        .to_ascii_uppercase()
                ),
            };
            name.push_str(&format!("St4pairI{s}{s}E"));
        }
        if let Some(out) = demangle(&name) {
            assert!(out.len() <= MAX_DEMANGLED);
        }
    }

    #[test]
    fn names_are_cut_on_a_character_boundary() {
        assert_eq!(cut_name("abcdef", 6), "abcdef");
        assert_eq!(cut_name("äääääää", 6), "ä…");
    }

    proptest! {
        #[test]
        fn arbitrary_names_do_not_panic(name in "(_Z|_R|_ZN)?[A-Za-z0-9_<>(),.@$]{0,200}|.{0,50}") {
            if let Some(out) = demangle(&name) {
                prop_assert!(out.len() <= MAX_DEMANGLED);
            }
            prop_assert!(cut_name(&name, 20).len() <= 20 || name.len() <= 20);
        }
    }
}
