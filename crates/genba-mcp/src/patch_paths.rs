//! The files that a patch changes. Pure.

use crate::Refusal;

/// Largest patch, bytes.
pub const MAX_PATCH_BYTES: usize = 4 << 20;

/// The paths that a unified diff names, without the `a/` and `b/` of Git.
///
/// # Errors
/// The patch is too large, makes a symbolic link, or names no file.
pub fn paths(patch: &str) -> Result<Vec<String>, Refusal> {
    if patch.len() > MAX_PATCH_BYTES {
        return Err(Refusal(format!(
            "the patch is larger than {} MB",
            MAX_PATCH_BYTES >> 20
        )));
    }
    let mut paths = Vec::new();
    // Lines of the old and of the new file that the hunk still has.
    let mut hunk = (0_u64, 0_u64);
    for line in patch.lines() {
        if hunk != (0, 0) {
            let (old, new) = match line.as_bytes().first() {
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') => (0, 0),
                _ => (1, 1),
            };
            hunk = (hunk.0.saturating_sub(old), hunk.1.saturating_sub(new));
            continue;
        }
        if let Some(sizes) = line.strip_prefix("@@ ") {
            hunk = hunk_sizes(sizes);
        } else if line.contains(" mode 120000") || line.contains("mode 160000") {
            return Err(Refusal(
                "the patch makes a symbolic link or a submodule: only files can be changed"
                    .to_owned(),
            ));
        } else if let Some(path) = changed_path(line) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Err(Refusal(
            "the patch names no file: give a unified diff (diff -u, git diff)".to_owned(),
        ));
    }
    Ok(paths)
}

/// Lines of the old and the new file in `-12,5 +12,7 @@`.
fn hunk_sizes(header: &str) -> (u64, u64) {
    let mut sizes = header.split(' ').map(|range| match range.split_once(',') {
        Some((_, size)) => size.parse().unwrap_or(0),
        None => 1,
    });
    (sizes.next().unwrap_or(0), sizes.next().unwrap_or(0))
}

/// The path that a line of a header names.
fn changed_path(line: &str) -> Option<String> {
    let named = ["--- ", "+++ "]
        .iter()
        .find_map(|start| line.strip_prefix(start));
    if let Some(named) = named {
        // diff writes a tab and the time behind the name.
        let path = named.split('\t').next().unwrap_or(named).trim_matches('"');
        if path == "/dev/null" {
            return None;
        }
        let stripped = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
        return Some(stripped.unwrap_or(path).to_owned());
    }
    ["rename from ", "rename to ", "copy from ", "copy to "]
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .map(|path| path.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_headers_are_named_and_lines_of_hunks_are_not() {
        let patch = "diff --git a/x.c b/x.c\n--- a/x.c\t2024-01-01\n+++ b/x.c\n@@ -1,2 +1,2 @@\n--- ../../no\n+++ /no\n context\n\
                     --- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+x\nrename to ../evil\n";
        assert_eq!(paths(patch).expect("valid"), ["../evil", "new.c", "x.c"]);
    }

    #[test]
    fn links_and_texts_that_are_not_patches_are_refused() {
        assert!(
            paths("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n").is_err()
        );
        assert!(paths("int main(void) { return 0; }\n").is_err());
        assert!(paths("").is_err());
    }
}
