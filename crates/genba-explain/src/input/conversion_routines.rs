//! Library routines that convert between text, numbers, times and names, by their names, and what
//! their formats ask for.

use genba_code::Location;
use genba_model::ConversionKind;

use crate::constants::registers::{R8, RCX, RDI, RDX, RSI};
use crate::input::runtime_services::plain;

/// A library routine that converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    /// What it converts.
    pub kind: ConversionKind,
    /// The register of its format, if it has one.
    pub format: Option<Location>,
}

/// What a format string asks `printf` to convert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatDirectives {
    /// Floating-point numbers.
    pub floats: u32,
    /// Integers.
    pub integers: u32,
    /// Strings.
    pub texts: u32,
    /// Single characters.
    pub characters: u32,
    /// Others: pointers, counts, unknown ones.
    pub others: u32,
}

/// A routine's name without versions, prefixes and underscores: `snprintf` of `___snprintf`.
#[must_use]
pub fn routine_name(name: &str) -> &str {
    let name = plain(name).trim_start_matches('_');
    if matches_pattern(name) {
        return REGEX_SEARCH;
    }
    let name = name.strip_prefix("isoc99_").unwrap_or(name);
    name.strip_prefix("isoc23_").unwrap_or(name)
}

/// What users call of C++'s regular expressions, whatever its instances are called inside.
const REGEX_SEARCH: &str = "std::regex_search";

/// The routine of a name, for routines of the C and C++ libraries and of Rust's.
#[must_use]
pub fn routine(name: &str) -> Option<Routine> {
    let formatted = |format| Routine {
        kind: ConversionKind::Format,
        format: Some(format),
    };
    let plainly = |kind| Routine { kind, format: None };
    Some(match routine_name(name) {
        "printf" => formatted(RDI),
        "fprintf" | "dprintf" | "sprintf" | "printf_chk" => formatted(RSI),
        "snprintf" | "asprintf" | "fprintf_chk" | "dprintf_chk" | "asprintf_chk" => formatted(RDX),
        "sprintf_chk" => formatted(RCX),
        "snprintf_chk" => formatted(R8),
        "vprintf" => formatted(RDI),
        "vfprintf" | "vdprintf" | "vsprintf" | "vprintf_chk" => formatted(RSI),
        "vsnprintf" | "vasprintf" | "vfprintf_chk" | "vdprintf_chk" | "vasprintf_chk" => {
            formatted(RDX)
        }
        "vsprintf_chk" => formatted(RCX),
        "vsnprintf_chk" => formatted(R8),
        "sscanf" | "fscanf" => Routine {
            kind: ConversionKind::Scan,
            format: Some(RSI),
        },
        "strtod" | "strtof" | "strtold" | "strtod_l" | "strtof_l" | "strtold_l" => {
            plainly(ConversionKind::ParseFloat)
        }
        "strtol" | "strtoll" | "strtoul" | "strtoull" | "strtoimax" | "strtoumax" | "atoi"
        | "atol" | "atoll" => plainly(ConversionKind::ParseInteger),
        "ecvt" | "ecvt_r" | "fcvt" | "fcvt_r" | "gcvt" => plainly(ConversionKind::FormatFloat),
        "gmtime" | "gmtime_r" | "timegm" | "localtime" | "localtime_r" | "localtime64_r"
        | "localtime64" | "mktime" | "mktime64" | "timelocal" => plainly(ConversionKind::LocalTime),
        "strftime_l" | "strptime_l" | "wcsftime" | "strftime" | "strptime" | "ctime"
        | "ctime_r" | "asctime" | "asctime_r" => plainly(ConversionKind::TimeText),
        "getpwuid" | "getpwuid_r" | "getpwnam" | "getpwnam_r" | "getgrgid" | "getgrgid_r"
        | "getgrnam" | "getgrnam_r" => plainly(ConversionKind::Account),
        "regcomp" | "pcre_compile" | "pcre2_compile_8" => plainly(ConversionKind::CompilePattern),
        REGEX_SEARCH => plainly(ConversionKind::MatchPattern),
        "cxa_throw" => plainly(ConversionKind::Exception),
        "dynamic_cast" => plainly(ConversionKind::TypeTest),
        "iconv" | "iconv_open" | "iconv_close" | "mbstowcs" | "mbsrtowcs" | "wcstombs"
        | "wcsrtombs" | "mbrtowc" | "wcrtomb" | "mbtowc" | "wctomb" => {
            plainly(ConversionKind::Encoding)
        }
        "inet_ntop" | "inet_ntoa" | "inet_pton" | "inet_aton" | "inet_addr" => {
            plainly(ConversionKind::AddressText)
        }
        other if other.contains("std::__detail::_Compiler<") && other.contains("::_Compiler") => {
            plainly(ConversionKind::CompilePattern)
        }
        other if is_stream_float(other) => plainly(ConversionKind::FormatFloat),
        other if is_rust_float(other) => plainly(ConversionKind::FormatFloat),
        _ => return None,
    })
}

/// The register in which a function of this name takes a format as `printf` does.
#[must_use]
pub fn format_register(name: &str) -> Option<Location> {
    let routine = routine(name)?;
    routine
        .format
        .filter(|_| routine.kind == ConversionKind::Format)
}

/// Rust's function that puts the values of a format into a writer.
pub const RUST_LOOP_OVER_VALUES: &str = "core::fmt::write";

/// What a function does in a library's general formatting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formatting {
    /// It puts a value in, or takes one out.
    Item,
    /// It makes or ends a stream or a text.
    Around,
    /// It hands each value to what puts it in: to code of the user's own, too.
    Values,
}

/// Functions of C++'s streams and of Rust's `core::fmt`, but for those that pass on what is text already.
#[must_use]
pub fn formatting(name: &str) -> Option<Formatting> {
    if name == RUST_LOOP_OVER_VALUES {
        return Some(Formatting::Values);
    }
    let holds = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if holds(&[
        "std::ostream",
        "std::basic_ostream<",
        "std::istream",
        "std::basic_istream<",
    ]) && holds(&[
        "::_M_insert<",
        "::_M_extract<",
        "::operator<<",
        "::operator>>",
        "std::__ostream_insert",
    ]) || holds(&["std::operator<< <", "std::operator>> <"])
        || name.starts_with('<')
            && holds(&[" as core::fmt::"])
            && !holds(&[" as core::fmt::Write>"])
    {
        return Some(Formatting::Item);
    }
    const AROUND: [&str; 9] = [
        "::basic_ostringstream",
        "::basic_istringstream",
        "::basic_stringstream",
        "::basic_stringbuf",
        "std::basic_ios<",
        "std::ios_base::",
        "std::locale::locale",
        "std::locale::~locale",
        "alloc::fmt::format",
    ];
    let destroys = holds(&["stringstream<"]) && name.contains("::~");
    (holds(&AROUND) || destroys).then_some(Formatting::Around)
}

/// Part of a usual value that one makes whose type is in the name of `core::fmt`'s function for it: one byte has three
/// digits at most, usual integers ten.
#[must_use]
pub fn part_of_value(name: &str) -> f64 {
    let of_byte = |of: &str| name.starts_with('<') && name[1..].starts_with(of);
    match ["u8 as ", "i8 as ", "bool as ", "char as "]
        .iter()
        .any(|of| of_byte(of))
    {
        true => 0.5,
        false => 1.0,
    }
}

/// `std::__detail::__regex_algo_impl<…>`, where `std::regex_match`, `std::regex_search` and the iterators come together
/// in libstdc++.
fn matches_pattern(name: &str) -> bool {
    let own = name.find("std::__detail::__regex_algo_");
    // A function of the user's with such a name among its parameters is none.
    own.is_some_and(|at| !name[..at].contains(['<', '(']))
}

/// `std::ostream& std::ostream::_M_insert<double>(double)`.
fn is_stream_float(name: &str) -> bool {
    name.contains("_M_insert<double>") || name.contains("_M_insert<long double>")
}

/// `core::fmt::float::float_to_decimal_common_shortest`.
fn is_rust_float(name: &str) -> bool {
    name.contains("core::fmt::float::float_to_")
}

impl FormatDirectives {
    /// The directives of a `printf` format (C17, 7.21.6.1).
    #[must_use]
    pub fn of(format: &str) -> Self {
        let mut found = Self::default();
        let mut rest = format.bytes();
        while rest.by_ref().any(|byte| byte == b'%') {
            let qualifier = |byte: &u8| b"-+ #0123456789.*'hlLqjzt$".contains(byte);
            match rest.by_ref().find(|byte| !qualifier(byte)) {
                Some(b'%') | None => {}
                Some(b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A') => found.floats += 1,
                Some(b'd' | b'i' | b'u' | b'x' | b'X' | b'o') => found.integers += 1,
                Some(b's') => found.texts += 1,
                Some(b'c') => found.characters += 1,
                Some(_) => found.others += 1,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_counted_by_what_they_convert() {
        let of = FormatDirectives::of("%-5.2f|%lld %%d %*s %#010lx %c %.17Lg%");
        let found = (of.floats, of.integers, of.texts, of.characters, of.others);
        assert_eq!(found, (2, 2, 1, 1, 0));
        assert_eq!(FormatDirectives::of("%p").others, 1);
        assert_eq!(FormatDirectives::of("no more"), FormatDirectives::default());
    }

    #[test]
    fn conversions_are_recognised_by_name_variants_and_nothing_else_is() {
        for (name, format) in [
            ("___snprintf_chk", Some(R8)),
            // int __vfprintf_chk(FILE *, int flag, const char *format, va_list)
            ("__vfprintf_chk@GLIBC_2.3.4", Some(RDX)),
            ("___vsnprintf_chk", Some(R8)),
            ("snprintf@@GLIBC_2.2.5", Some(RDX)),
            ("__isoc99_sscanf@GLIBC_2.7", Some(RSI)),
            ("__localtime_r", None),
            ("std::ostream& std::ostream::_M_insert<double>", None),
            ("core::fmt::float::float_to_decimal_common_exact", None),
        ] {
            assert_eq!(routine(name).map(|one| one.format), Some(format), "{name}");
        }
        for (name, kind) in [
            ("inet_ntop", ConversionKind::AddressText),
            ("__isoc23_strtol@GLIBC_2.38", ConversionKind::ParseInteger),
            ("__GI_strtoull", ConversionKind::ParseInteger),
            ("iconv_open", ConversionKind::Encoding),
            (
                "bool std::__detail::__regex_algo_impl<char const*, char, std::__cxx11::regex_traits<char> >",
                ConversionKind::MatchPattern,
            ),
            (
                "std::__detail::_Compiler<std::__cxx11::regex_traits<char> >::_Compiler",
                ConversionKind::CompilePattern,
            ),
        ] {
            assert_eq!(routine(name).map(|one| one.kind), Some(kind), "{name}");
        }
        for name in [
            "regexec",
            "take<std::__detail::__regex_algo_impl<char const*> >",
            "strtok",
            "printf_row",
            "localtime_cached",
            "memcpy",
        ] {
            assert_eq!(routine(name), None, "{name}");
        }
    }

    #[test]
    fn values_of_one_byte_are_half_of_usual_ones() {
        assert_eq!(part_of_value("<u8 as core::fmt::Display>::fmt"), 0.5);
        assert_eq!(part_of_value("<u32 as core::fmt::Display>::fmt"), 1.0);
        assert_eq!(part_of_value("u8 as "), 1.0);
        assert_eq!(part_of_value(""), 1.0);
    }

    #[test]
    fn formatting_is_distinguished_from_passing_text_on() {
        for (name, kind) in [
            ("std::ostream::operator<<", Formatting::Item),
            (
                "std::ostream& std::ostream::_M_insert<long>",
                Formatting::Item,
            ),
            ("<u32 as core::fmt::Display>::fmt", Formatting::Item),
            ("alloc::fmt::format::format_inner", Formatting::Around),
            ("core::fmt::write", Formatting::Values),
            (
                "std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> \
                 >::basic_ostringstream",
                Formatting::Around,
            ),
        ] {
            assert_eq!(formatting(name), Some(kind), "{name}");
        }
        for name in [
            "std::ostream::write",
            "<alloc::string::String as core::fmt::Write>::write_str",
            "my::core::fmt::write",
            "core::fmt::write_text",
            "std::ostream::flush",
            "std::getline",
            "my::format",
        ] {
            assert_eq!(formatting(name), None, "{name}");
        }
    }
}
