//! Functions that never return, by the names in symbol tables: what stands behind their calls is not reached from
//! there. Compilers put other cold code behind them, whose ways lead anywhere, so that a call taken for one that
//! returns makes one loop of what are several.
//!
//! **Non-goal.** Functions of the program that never return; debug information says so of few. Short names that programs
//! give to functions of their own (`err`) count where they are calls of a library only.
//!
//! Source: ISO C 7.22.4 (`_Noreturn`); the Linux Standard Base (glibc's internals of `assert`, `setjmp` and the stack
//! protector); Itanium C++ ABI: Exception Handling; the sources of libstdc++ and of Rust's `core` name theirs.

/// Whether the function of a symbol, mangled or not, never returns. `of_library` says that it is called through the
/// procedure linkage table.
pub(crate) fn never_returns(symbol: &str, of_library: bool) -> bool {
    let name = symbol.split(['@', '$']).next().unwrap_or(symbol);
    let bare = name.trim_start_matches('_');
    const EXACT: [&str; 21] = [
        "abort",
        "assert_fail",
        "assert_perror_fail",
        "assert_rtn",
        "cxa_bad_cast",
        "cxa_bad_typeid",
        "cxa_call_unexpected",
        "cxa_rethrow",
        "cxa_throw",
        "cxa_throw_bad_array_new_length",
        "exit",
        "Exit",
        "fortify_fail",
        "longjmp",
        "longjmp_chk",
        "pthread_exit",
        "quick_exit",
        "rust_start_panic",
        "siglongjmp",
        "stack_chk_fail",
        "Unwind_Resume",
    ];
    const SHORT: [&str; 4] = ["err", "errx", "verr", "verrx"];
    // Mangled names have the length of each part in front of it.
    const PARTS: [&str; 11] = [
        "9panicking",
        "13unwrap_failed",
        "13expect_failed",
        "18handle_alloc_error",
        "slice_start_index",
        "slice_end_index",
        "slice_index_order_fail",
        "slice_error_fail",
        "len_mismatch_fail",
        "16process4exit",
        "17capacity_overflow",
    ];
    let mangled = name.starts_with("_Z") || name.starts_with("_R");
    let throws = name.starts_with("_ZSt") && name.contains("__throw_") || name == "_ZSt9terminatev";
    let library = of_library && SHORT.contains(&bare);
    library
        || EXACT.contains(&bare)
        || mangled && PARTS.iter().any(|part| name.contains(part))
        || throws
}

#[cfg(test)]
mod tests {
    use super::never_returns;

    #[test]
    fn libraries_ends() {
        for name in [
            "abort",
            "__assert_fail@plt",
            "exit@GLIBC_2.2.5",
            "__stack_chk_fail",
            "_Unwind_Resume",
            "__cxa_throw",
            "_ZSt20__throw_length_errorPKc",
            "_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE",
            "_ZN4core6result13unwrap_failed17h0123456789abcdefE",
            "_RNvNtCs1_4core9panicking9panic_fmt",
            "_ZN4core5slice5index26slice_start_index_len_fail17h0123456789abcdefE",
        ] {
            assert!(never_returns(name, false), "{name}");
        }
        assert!(never_returns("errx@plt", true));
    }

    #[test]
    fn others_return() {
        for name in [
            "exited",
            "error",
            "panic_if_needed",
            "_ZN3abc5abort17h0123456789abcdefE",
            "my_assert",
            "memcpy@plt",
            "_ZN4core3fmt5write17h0123456789abcdefE",
            "throw_away",
            "set_len_fail",
            "_Z14check_len_failv",
            "err",
        ] {
            assert!(!never_returns(name, false), "{name}");
        }
    }
}
