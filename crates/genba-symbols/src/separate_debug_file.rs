//! Finding the separate file that holds a stripped program's symbols and debug information,
//! where gdb looks for it ("Debugging Information in Separate Files", gdb manual).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build_id::hex;
use crate::debuginfod::{Debuginfod, debuginfod_cache};
use crate::elf::Layout;
use crate::file_bytes::FileBytes;

/// Where separate debug files are looked for.
#[derive(Clone, Debug)]
pub struct DebugSearch {
    /// Directories that mirror the file system and hold `.build-id` (`/usr/lib/debug`).
    pub roots: Vec<PathBuf>,
    /// Caches of the debuginfod client.
    pub caches: Vec<PathBuf>,
    /// Servers that are asked for what is in neither.
    pub debuginfod: Option<Arc<Debuginfod>>,
}

impl DebugSearch {
    /// No place at all: only the file itself is used.
    #[must_use]
    pub fn none() -> Self {
        Self {
            roots: Vec::new(),
            caches: Vec::new(),
            debuginfod: None,
        }
    }
}

impl Default for DebugSearch {
    /// The system's directory, debuginfod's cache, and its servers if `DEBUGINFOD_URLS` names
    /// some.
    fn default() -> Self {
        let cache = debuginfod_cache();
        let debuginfod = cache.as_deref().and_then(Debuginfod::from_environment);
        Self {
            roots: vec![PathBuf::from("/usr/lib/debug")],
            caches: cache.into_iter().collect(),
            debuginfod,
        }
    }
}

/// How a separate file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    BuildId,
    DebugLink,
    Debuginfod,
}

/// A separate file, and its headers.
pub(crate) struct Separate {
    pub(crate) path: PathBuf,
    pub(crate) data: FileBytes,
    pub(crate) layout: Layout,
    pub(crate) found: Found,
}

/// The separate file of a binary, if any.
#[derive(Default)]
pub(crate) struct Search {
    pub(crate) file: Option<Separate>,
    /// Why debuginfod's servers could not be asked.
    pub(crate) debuginfod_error: Option<String>,
}

/// Looks by build id, then by debug link with its checksum, then asks debuginfod.
pub(crate) fn find(path: Option<&Path>, layout: &Layout, search: &DebugSearch) -> Search {
    let mut result = Search {
        file: find_here(path, layout, search),
        debuginfod_error: None,
    };
    if let (None, Some(id), Some(servers)) = (&result.file, &layout.build_id, &search.debuginfod) {
        match servers.debug_file(id) {
            Ok(downloaded) => {
                result.file = downloaded
                    .and_then(|path| open(path, Found::Debuginfod))
                    .filter(|found| found.layout.build_id.as_ref() == Some(id));
            }
            Err(reason) => result.debuginfod_error = Some(reason),
        }
    }
    result
}

fn find_here(path: Option<&Path>, layout: &Layout, search: &DebugSearch) -> Option<Separate> {
    if let Some(id) = &layout.build_id {
        for candidate in build_id_paths(id, search, "debuginfo") {
            if let Some(found) = open(candidate, Found::BuildId)
                && found.layout.build_id.as_ref() == Some(id)
            {
                return Some(found);
            }
        }
    }
    let (name, checksum) = layout.debug_link.as_ref()?;
    for candidate in link_paths(path?, name, search) {
        if let Some(found) = open(candidate, Found::DebugLink)
            && crc32(&found.data) == *checksum
        {
            return Some(found);
        }
    }
    None
}

/// The supplementary file that dwz made of what several debug files share.
pub(crate) fn find_supplementary(
    path: Option<&Path>,
    layout: &Layout,
    search: &DebugSearch,
) -> Option<FileBytes> {
    let (name, id) = layout.alt_link.as_ref()?;
    let name = Path::new(OsStr::from_bytes(name));
    let mut candidates = Vec::new();
    if name.is_absolute() {
        candidates.push(name.to_owned());
    } else if let Some(directory) = path.and_then(Path::parent) {
        candidates.push(directory.join(name));
    }
    if name.is_absolute() {
        candidates.extend(search.roots.iter().map(|root| join_absolute(root, name)));
    }
    candidates.extend(build_id_paths(id, search, "debuginfo"));
    let checked = |candidate| {
        let found = open(candidate, Found::BuildId)?;
        (found.layout.build_id.as_ref() == Some(id)).then_some(found.data)
    };
    candidates.into_iter().find_map(checked).or_else(|| {
        let servers = search.debuginfod.as_ref()?;
        checked(servers.debug_file(id).ok()??)
    })
}

fn open(path: PathBuf, found: Found) -> Option<Separate> {
    let data = FileBytes::open(&path).ok()?;
    let layout = Layout::parse(&data).ok()?;
    Some(Separate {
        path,
        data,
        layout,
        found,
    })
}

fn build_id_paths(id: &[u8], search: &DebugSearch, file: &str) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_first() else {
        return Vec::new();
    };
    let rest = hex(rest);
    let in_root = |root: &PathBuf| root.join(format!(".build-id/{first:02x}/{rest}.debug"));
    let in_cache = |cache: &PathBuf| cache.join(hex(id)).join(file);
    search
        .roots
        .iter()
        .map(in_root)
        .chain(search.caches.iter().map(in_cache))
        .collect()
}

fn link_paths(path: &Path, name: &[u8], search: &DebugSearch) -> Vec<PathBuf> {
    // A link is a file name; one with a directory in it could lead anywhere.
    let name = Path::new(OsStr::from_bytes(name));
    let Some(name) = name.file_name().filter(|n| *n == name.as_os_str()) else {
        return Vec::new();
    };
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(directory) = real.parent() else {
        return Vec::new();
    };
    let mut paths = vec![directory.join(name), directory.join(".debug").join(name)];
    // A file is not its own debug file, whatever its link says.
    paths.retain(|p| *p != real);
    paths.extend(
        search
            .roots
            .iter()
            .map(|root| join_absolute(root, directory).join(name)),
    );
    paths
}

fn join_absolute(root: &Path, absolute: &Path) -> PathBuf {
    root.join(absolute.strip_prefix("/").unwrap_or(absolute))
}

/// The checksum of debug links: CRC-32 (IEEE 802.3), reflected.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ if value & 1 != 0 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, &byte| {
        (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_equals_the_check_value_of_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn debug_link_with_a_directory_is_refused() {
        let search = DebugSearch::default();
        assert!(link_paths(Path::new("/bin/true"), b"../../etc/passwd", &search).is_empty());
        assert!(link_paths(Path::new("/bin/true"), b"", &search).is_empty());
    }
}
