//! Whose code a source file, function or module is.

/// Parts of paths of files that come with compilers and libraries: a user changes the line
/// that uses them, not them.
const TOOLCHAIN: [&str; 8] = [
    "/usr/include/",
    "/usr/local/include/",
    "/usr/lib/gcc/",
    "/usr/lib/llvm",
    "/rustc/",
    "/rustlib/src/",
    "/.cargo/registry/",
    "/.cargo/git/",
];

/// Whether a file comes with a compiler or a library rather than being the user's.
#[must_use]
pub fn is_toolchain_file(file: &str) -> bool {
    TOOLCHAIN.iter().any(|part| file.contains(part))
        || file.starts_with("/rust/deps/")
        || file.starts_with("library/core/")
        || file.starts_with("library/std/")
        || file.starts_with("library/alloc/")
}

/// Whether a function's name is one of a language's own library.
#[must_use]
pub fn is_library_name(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    [
        "std::",
        "core::",
        "alloc::",
        "__gnu_cxx::",
        "hashbrown::",
        "compiler_builtins::",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// Whether a module is where a distribution keeps its libraries.
#[must_use]
pub fn is_system_module(module: &str) -> bool {
    ["/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/"]
        .iter()
        .any(|directory| module.starts_with(directory))
}

/// Whether a module belongs to the C and C++ runtime, the dynamic linker, or is an allocator.
#[must_use]
pub fn is_runtime_library(module: &str) -> bool {
    const RUNTIME: [&str; 14] = [
        "libc.so",
        "libc-",
        "libm.so",
        "libm-",
        "ld-linux",
        "ld-2",
        "libpthread",
        "libdl",
        "librt",
        "libstdc++",
        "libgcc_s",
        "libjemalloc",
        "libmimalloc",
        "libtcmalloc",
    ];
    let file = module.rsplit('/').next().unwrap_or(module);
    RUNTIME.iter().any(|prefix| file.starts_with(prefix))
}

/// Whether a module is an interpreter of Python or Ruby or an extension that comes with it.
#[must_use]
pub fn is_script_runtime(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or(module);
    ["python", "libpython", "ruby", "libruby"]
        .iter()
        .any(|prefix| file.starts_with(prefix))
        || module.contains("/lib-dynload/")
        || module.contains("/ruby/3.") && !module.contains("/gems/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_and_their_extensions_are_told_from_packages() {
        assert!(is_script_runtime("/usr/bin/python3.11"));
        assert!(is_script_runtime(
            "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"
        ));
        assert!(is_script_runtime(
            "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"
        ));
        assert!(is_script_runtime(
            "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/stringio.so"
        ));
        assert!(!is_script_runtime(
            "/usr/lib/python3/dist-packages/numpy/core/_multiarray.so"
        ));
        assert!(!is_script_runtime("/srv/app/pythonish/server"));
    }

    #[test]
    fn compiler_headers_are_not_user_code() {
        assert!(is_toolchain_file("/usr/include/c++/12/bits/stl_vector.h"));
        assert!(is_toolchain_file(
            "/rustc/abc/library/core/src/slice/mod.rs"
        ));
        assert!(is_toolchain_file(
            "/home/me/.cargo/registry/src/x/serde/src/lib.rs"
        ));
        assert!(is_toolchain_file("/rust/deps/hashbrown-0.16.1/src/map.rs"));
        assert!(!is_toolchain_file("/home/me/rust/deps/queue.rs"));
        assert!(!is_toolchain_file("/home/me/project/src/queue.cc"));
        assert!(is_library_name(
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop"
        ));
        assert!(is_library_name("std::vector<int>::push_back"));
        assert!(!is_library_name("stdx::thing"));
    }
}
