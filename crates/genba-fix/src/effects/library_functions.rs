//! Functions of the C and C++ libraries that change nothing, by what their values depend on.

/// Functions of numbers that read and write no memory that a program looks at (`errno` apart).
pub(crate) const OF_NUMBERS: [&str; 40] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod",
    "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "lround", "pow", "rint", "round",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
];
/// Casts, and functions of values or references that change nothing.
pub(crate) const OF_VALUES: [&str; 25] = [
    "static_cast",
    "const_cast",
    "reinterpret_cast",
    "dynamic_cast",
    "bit_cast",
    "abs",
    "labs",
    "min",
    "max",
    "clamp",
    "get",
    "as_const",
    "forward",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "numeric_limits",
    "popcount",
    "countl_zero",
    "countr_zero",
    "__builtin_expect",
    "__builtin_popcount",
    "__builtin_ctz",
    "__builtin_clz",
];
/// Functions of the C library that read what their arguments point to.
pub(crate) const OF_MEMORY: [&str; 24] = [
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint",
    "ispunct", "isspace", "isupper", "isxdigit", "tolower", "toupper", "strlen", "strnlen",
    "wcslen", "strchr", "strrchr", "strstr", "strcmp", "strncmp", "memcmp", "memchr",
];
/// Member functions of the standard library's containers that change nothing.
pub(crate) const QUESTIONS: [&str; 26] = [
    "size",
    "length",
    "empty",
    "capacity",
    "data",
    "c_str",
    "begin",
    "end",
    "cbegin",
    "cend",
    "rbegin",
    "rend",
    "front",
    "back",
    "at",
    "find",
    "count",
    "compare",
    "value",
    "has_value",
    "get",
    "load",
    "top",
    "starts_with",
    "ends_with",
    "contains",
];
