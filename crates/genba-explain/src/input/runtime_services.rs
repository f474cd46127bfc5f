//! Services of the runtime by the names of its functions.

use genba_symbols::is_library_name;

/// A function's name without what libraries put around it: `__GI___libc_write` is `write`,
/// `cfree@GLIBC_2.2.5` is `cfree`.
#[must_use]
pub fn plain(name: &str) -> &str {
    let mut name = name.split('@').next().unwrap_or(name);
    loop {
        let short = name
            .strip_prefix("__GI_")
            .or_else(|| name.strip_prefix("__libc_"))
            .or_else(|| name.strip_prefix("__"))
            .unwrap_or(name);
        if short == name || short.is_empty() {
            return name;
        }
        name = short;
    }
}

const SYSTEM_CALLS: [&str; 44] = [
    "read",
    "write",
    "pread",
    "pread64",
    "pwrite",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "pwritev",
    "lseek",
    "lseek64",
    "open",
    "open64",
    "openat",
    "openat64",
    "close",
    "stat",
    "stat64",
    "fstat",
    "fstat64",
    "lstat",
    "lstat64",
    "fstatat",
    "fstatat64",
    "statx",
    "access",
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "poll",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendto",
    "sendmsg",
    "ioctl",
    "fcntl",
    "fcntl64",
    "times",
    "getrusage",
    "sched_yield",
];

/// System calls that open the file of a name.
pub(crate) const OPENING: [&str; 2] = ["open", "openat"];

/// System calls that ask about the file of a name.
pub(crate) const ASKING: [&str; 5] = ["stat", "lstat", "fstatat", "statx", "access"];

/// The service that a function of the runtime is the entry of, and whether it is a system call.
#[must_use]
pub fn service(name: &str) -> Option<(&'static str, bool)> {
    let name = plain(name);
    let memory = match name {
        "malloc" | "calloc" | "memalign" | "aligned_alloc" | "posix_memalign" | "valloc" => {
            "malloc"
        }
        "realloc" | "reallocarray" => "realloc",
        "free" | "cfree" => "free",
        "mmap" | "mmap64" => "mapping",
        _ if is_copy(name) => "copy",
        _ if is_lock_entry(name) => "lock",
        _ => {
            let known = SYSTEM_CALLS.iter().find(|call| **call == name)?;
            return Some((known.trim_end_matches("64"), true));
        }
    };
    Some((memory, false))
}

/// Whether a function of the runtime copies memory.
#[must_use]
pub fn is_copy_function(name: &str) -> bool {
    is_copy(plain(name))
}

/// Copies of memory, those chosen for the processor among them (`memmove_avx_unaligned_erms`).
fn is_copy(name: &str) -> bool {
    ["memcpy", "memmove", "mempcpy"].iter().any(|copy| {
        name.strip_prefix(copy)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

/// Whether a function of the C library reads memory up to what it looks for.
pub(crate) fn is_scan_function(name: &str) -> bool {
    // Of several versions the one for this processor: `__strlen_evex`.
    let stem = plain(name).split('_').next();
    matches!(
        stem,
        Some(
            "strlen"
                | "wcslen"
                | "strchr"
                | "strchrnul"
                | "strrchr"
                | "strstr"
                | "strpbrk"
                | "strspn"
                | "strcspn"
                | "memchr"
                | "memrchr"
                | "rawmemchr"
        )
    )
}

/// Whether a function takes a lock.
#[must_use]
pub fn is_lock_entry(name: &str) -> bool {
    matches!(
        plain(name),
        "pthread_mutex_lock"
            | "pthread_mutex_trylock"
            | "pthread_rwlock_rdlock"
            | "pthread_rwlock_wrlock"
            | "pthread_spin_lock"
    )
}

/// Whether time in a function of the runtime is time of the allocator.
#[must_use]
pub fn is_allocator(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "malloc",
        "free",
        "cfree",
        "calloc",
        "realloc",
        "_int_malloc",
        "_int_free",
        "_int_realloc",
        "_int_memalign",
        "_int_free_chunk",
        "_int_free_merge_chunk",
        "_int_free_create_chunk",
        "_int_free_maybe_consolidate",
        "malloc_consolidate",
        "sysmalloc",
        "systrim",
        "alloc_perturb",
        "rdl_alloc",
        "rdl_dealloc",
        "rdl_realloc",
        "rdl_alloc_zeroed",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "malloc_usable_size",
        "musable",
    ];
    let name = name.strip_prefix("__rustc::").unwrap_or(name);
    let name = plain(name);
    // `unlink_chunk.constprop.0`
    let name = name.split(".constprop").next().unwrap_or(name);
    let name = name.split(".isra").next().unwrap_or(name);
    NAMES.contains(&name)
        || name.starts_with("operator new")
        || name.starts_with("operator delete")
        || name.starts_with("unlink_chunk")
        || name.starts_with("tcache_")
        || name.starts_with("arena_get")
        || name.starts_with("rust_alloc")
        || name.starts_with("rust_dealloc")
        || name.starts_with("rust_realloc")
        || name.starts_with("rust_no_alloc")
}

/// Whether time in a function of the runtime is time of a lock.
#[must_use]
pub fn is_lock(name: &str) -> bool {
    let name = plain(name);
    [
        "pthread_mutex_",
        "pthread_rwlock_",
        "pthread_spin_",
        "lll_lock",
        "lll_unlock",
        "lll_mutex",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
        || (name.contains("Mutex") || name.contains("RwLock"))
            && ["contended", "lock_slow", "unlock_slow", "spin"]
                .iter()
                .any(|part| name.contains(part))
}

/// Whether a function grows a buffer: containers' functions, and `realloc`.
#[must_use]
pub fn is_growth(name: &str) -> bool {
    const PARTS: [&str; 15] = [
        "reserve",
        "_M_realloc_insert",
        "_M_realloc_append",
        "_M_default_append",
        "_M_range_insert",
        "_M_fill_insert",
        "_M_mutate",
        "_M_append",
        "finish_grow",
        "grow_one",
        "grow_amortized",
        "grow_exact",
        "do_reserve_and_handle",
        "shrink_to_fit",
        "_M_allocate_and_copy",
    ];
    matches!(plain(name), "realloc" | "reallocarray" | "_int_realloc")
        || PARTS.iter().any(|part| name.contains(part))
}

/// Whether a function belongs to a language's library, by its name.
#[must_use]
pub fn is_library(name: &str) -> bool {
    is_library_name(name)
        || name.starts_with("__rustc::")
        || name.starts_with("__rust_")
        || name.starts_with("__rdl_")
        || name.starts_with("operator new")
        || name.starts_with("operator delete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_suffixes_are_stripped_from_service_names() {
        assert_eq!(plain("__GI___libc_write"), "write");
        assert_eq!(plain("cfree@GLIBC_2.2.5"), "cfree");
        assert_eq!(plain("_int_free"), "_int_free");
        assert_eq!(plain("__"), "__");
    }

    #[test]
    fn service_is_recognised_by_its_entry_functions() {
        assert_eq!(service("__GI___libc_write"), Some(("write", true)));
        assert_eq!(service("pread64"), Some(("pread", true)));
        assert_eq!(service("cfree@GLIBC_2.2.5"), Some(("free", false)));
        assert_eq!(
            service("__memmove_avx512_unaligned_erms"),
            Some(("copy", false))
        );
        assert_eq!(service("___pthread_mutex_lock"), None);
        assert_eq!(
            service("pthread_mutex_lock@@GLIBC_2.2.5"),
            Some(("lock", false))
        );
        assert_eq!(service("memchr"), None);
        assert_eq!(service("read_record"), None);
    }

    #[test]
    fn allocator_internals_count_as_allocator_time() {
        for name in [
            "_int_malloc",
            "unlink_chunk.constprop.0",
            "operator new",
            "__rustc::__rdl_realloc",
            "malloc_consolidate",
        ] {
            assert!(is_allocator(name), "{name}");
        }
        for name in [
            "memcpy",
            "free_list_add",
            "malloc_stats_of_mine",
            "freeze",
            "std::vector<int>::push_back",
        ] {
            assert!(!is_allocator(name), "{name}");
        }
    }

    #[test]
    fn lock_functions_are_recognised_by_name() {
        assert!(is_lock("__GI___pthread_mutex_unlock_usercnt"));
        assert!(is_lock(
            "std::sys::sync::mutex::futex::Mutex::lock_contended"
        ));
        assert!(!is_lock("BlockMutexTable::insert"));
    }
}
