//! Split DWARF: units whose functions are in a file of their own, `.dwo`, or in a package of
//! those, `.dwp` (DWARF 5, section 7.3.2, and GCC's form of it before DWARF 5).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, DwoId, UnitType};

use super::load::{DwarfFile, Package};
use super::units::{Shared, Unit, root};
use crate::file_bytes::FileBytes;

/// Units of a `.dwo` file that are looked at for the one of the id.
const MAX_UNITS: usize = 64;

/// Where the skeleton of a unit says that the unit is.
pub(super) struct SplitReference {
    /// `DW_AT_dwo_name`.
    pub(super) name: AttributeValue<super::Slice>,
    /// What the unit must have as its id.
    pub(super) id: DwoId,
}

/// Where the split units of a file are looked for.
#[derive(Default)]
pub(super) struct SplitFiles {
    /// The file that has the skeletons.
    path: Option<PathBuf>,
    package: OnceLock<Option<Package>>,
    missing: AtomicUsize,
    first_missing: OnceLock<PathBuf>,
}

impl SplitFiles {
    pub(super) fn beside(path: Option<&Path>) -> Self {
        Self {
            path: path.map(Path::to_owned),
            ..Self::default()
        }
    }

    /// Number of units whose file was not found, and the first such file.
    pub(super) fn missing(&self) -> Option<(usize, &Path)> {
        let first = self.first_missing.get()?;
        Some((self.missing.load(Ordering::Relaxed), first))
    }

    /// `program.dwp` beside `program`.
    fn package(&self) -> Option<&Package> {
        let load = || {
            let mut name = self.path.as_deref()?.file_name()?.to_owned();
            name.push(".dwp");
            let data = FileBytes::open(&self.path.as_deref()?.with_file_name(name)).ok()?;
            Package::load(&data).ok()
        };
        self.package.get_or_init(load).as_ref()
    }

    /// Paths at which the file of a unit may be, the recorded one first.
    fn candidates(&self, directory: Option<&str>, name: &str) -> Vec<PathBuf> {
        let recorded = Path::new(directory.unwrap_or("")).join(name);
        let mut paths = vec![recorded];
        // A build tree that was moved as a whole: beside the program.
        if let Some(beside) = self.path.as_deref().and_then(Path::parent) {
            paths.push(beside.join(name));
            paths.extend(Path::new(name).file_name().map(|name| beside.join(name)));
        }
        paths
    }
}

/// The unit with the functions of a skeleton; `None` if it is not found.
pub(super) fn find(skeleton: &Unit, reference: &SplitReference) -> Option<Unit> {
    let files = &skeleton.shared.split_files;
    let main = &skeleton.shared.file;
    if let Some(package) = files.package()
        && let Some(file) = main.find_in_package(package, reference.id)
        && let Some(unit) = unit_of(skeleton, file, reference.id)
    {
        return Some(unit);
    }
    let name = super::attributes::string(skeleton, reference.name)?;
    let candidates = files.candidates(skeleton.comp_dir().as_deref(), &name);
    let open = |path: &PathBuf| {
        let file = main.load_split(&FileBytes::open(path).ok()?).ok()?;
        unit_of(skeleton, file, reference.id)
    };
    let found = candidates.iter().find_map(open);
    if found.is_none() {
        files.missing.fetch_add(1, Ordering::Relaxed);
        let first = candidates.into_iter().next()?;
        let _ = files.first_missing.set(first);
    }
    found
}

/// The unit of this id in a split file.
fn unit_of(skeleton: &Unit, file: DwarfFile, id: DwoId) -> Option<Unit> {
    let code = skeleton.shared.code.clone();
    let shared = Arc::new(Shared::new(file, None, code, SplitFiles::default()));
    let mut headers = shared.file.dwarf.units();
    for _ in 0..MAX_UNITS {
        let header = headers.next().ok()??;
        let known = match header.type_() {
            UnitType::SplitCompilation(found) => Some(found),
            UnitType::Compilation => None,
            _ => continue,
        };
        if known.is_some_and(|found| found != id) {
            continue;
        }
        let (mut unit, _) = root(&shared, header)?;
        if known.is_some() || unit.dwo_id == Some(id) {
            unit.gimli.copy_relocated_attributes(&skeleton.gimli);
            unit.line_offset = skeleton.line_offset;
            unit.directory = skeleton.comp_dir();
            return Some(unit);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_file_is_sought_where_recorded_then_beside_the_program() {
        let files = SplitFiles::beside(Some(Path::new("/opt/bin/program")));
        assert_eq!(
            files.candidates(Some("/build"), "obj/a.dwo"),
            ["/build/obj/a.dwo", "/opt/bin/obj/a.dwo", "/opt/bin/a.dwo"].map(PathBuf::from)
        );
        assert_eq!(
            SplitFiles::default().candidates(Some("/build"), "/tmp/a.dwo"),
            [PathBuf::from("/tmp/a.dwo")]
        );
    }
}
