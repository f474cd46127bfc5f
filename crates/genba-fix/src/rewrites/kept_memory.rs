//! Memory that the allocator keeps, instead of returning it to the system and having it cleared again.

use super::{Rewrite, Subject};
use crate::edit::Edit;

/// Unused bytes at the heap's end that are kept.
const KEPT_AT_END: &str = "1 << 30";

pub(super) fn rewrites(subject: &Subject<'_>) -> Result<Vec<Rewrite>, String> {
    let all = &subject.sources.files;
    if all.iter().any(|file| file.source().contains("mallopt")) {
        return Err("the sources set malloc's thresholds already".to_owned());
    }
    let file = subject.file;
    let name = file.fresh_name("keep_memory");
    // Behind the last function: no declaration before it can change what is included here.
    let text = format!(
        "\n#ifdef __GLIBC__\n#include <malloc.h>\n/* Freed memory stays with the process: pages are cleared once. */\n\
         static void __attribute__((constructor)) {name}(void)\n{{\n    mallopt(M_MMAP_MAX, 0);\n    \
         mallopt(M_TRIM_THRESHOLD, {KEPT_AT_END});\n    mallopt(M_TOP_PAD, 16 << 20);\n}}\n#endif\n"
    );
    if file.path.ends_with(".h") {
        return Err("its file is a header, whose code several units may have".to_owned());
    }
    let end = file.source().len();
    Ok(vec![Rewrite {
        assumes: vec!["the process may keep memory that it has freed (up to 1 GB)".to_owned()],
        ..subject.rewrite(
            "have malloc keep freed memory",
            vec![Edit::insert(end, text)],
        )
    }])
}

#[cfg(test)]
mod tests {
    use crate::test_support::{refused, rewritten};

    #[test]
    fn thresholds_are_set_once() {
        let text = "void f(int n) {\n    free(malloc(n));\n}\n";
        let after = rewritten("first-touch", "a.c", text, 2);
        assert!(after.contains("mallopt(M_TRIM_THRESHOLD"));
        refused("first-touch", "a.c", &after, 2);
    }
}
