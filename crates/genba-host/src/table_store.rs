//! Keeping host tables: `$XDG_CACHE_HOME/genba/host-tables/ID.json`, else below `~/.cache`.
//!
//! A kept table is a file from elsewhere: its size is bounded, and one that is damaged, of
//! another schema or of another host is not used.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use genba_model::{Estimate, HostFingerprint, HostTable};
use serde::{Deserialize, Serialize};

use crate::{CalibrateError, CalibrateOptions, CalibrateWatch, calibrate};

/// Changes whenever kernels, forms or their meaning change, so that older tables are measured
/// anew.
const SCHEMA: u32 = 1;
/// A table has some 100 kB.
const LARGEST: u64 = 4 << 20;
/// Forms in a table at most.
const MOST_ENTRIES: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    host_table_schema: u32,
    table: T,
}

/// Why a table could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No place is known.
    #[error("nowhere to keep the host table: set XDG_CACHE_HOME or HOME to a directory")]
    Nowhere,
    /// The place refuses.
    #[error("cannot keep the host table in {}: {source}; it is measured anew each time", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The id in the fingerprint could not be a file's name.
    #[error("the host's id {0:?} is no name for a file")]
    Id(String),
}

/// Where a table came from.
#[derive(Debug)]
pub enum Origin {
    /// It was kept, in this file.
    Kept(PathBuf),
    /// It was measured now, and kept in this file.
    Measured(PathBuf),
    /// It was measured now, and could not be kept.
    NotKept(StoreError),
}

/// A table and where it came from.
#[derive(Debug)]
pub struct Loaded {
    /// The table.
    pub table: HostTable,
    /// Its origin.
    pub origin: Origin,
}

/// Where tables are kept, if the environment says so: `$XDG_CACHE_HOME` (which must be absolute,
/// XDG Base Directory Specification) or `$HOME/.cache`, and `genba/host-tables` below.
#[must_use]
pub fn table_directory() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join("genba/host-tables"))
}

/// The table kept for this host id, if there is one that can be used.
#[must_use]
pub fn load(id: &str) -> Option<HostTable> {
    load_from(&table_directory()?, id)
}

/// The table kept for this host id in that directory.
#[must_use]
pub fn load_from(directory: &Path, id: &str) -> Option<HostTable> {
    let file = File::open(file_of(directory, id)?).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > LARGEST {
        return None;
    }
    let kept: Kept<HostTable> = serde_json::from_slice(&text).ok()?;
    let usable = kept.host_table_schema == SCHEMA && kept.table.host.id == id;
    (usable && plausible(&kept.table)).then_some(kept.table)
}

/// Keeps a table under its host's id; gives the file.
///
/// # Errors
///
/// No directory is known or it cannot be written.
pub fn store(table: &HostTable) -> Result<PathBuf, StoreError> {
    store_in(&table_directory().ok_or(StoreError::Nowhere)?, table)
}

/// Keeps a table in that directory, which is made if need be. Readers see the old table or the
/// new one, never half of one.
///
/// # Errors
///
/// The directory cannot be written.
pub fn store_in(directory: &Path, table: &HostTable) -> Result<PathBuf, StoreError> {
    let path =
        file_of(directory, &table.host.id).ok_or_else(|| StoreError::Id(table.host.id.clone()))?;
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Refused { path, source }
    };
    fs::create_dir_all(directory).map_err(refused(directory))?;
    let kept = Kept {
        host_table_schema: SCHEMA,
        table,
    };
    let text = serde_json::to_vec(&kept).map_err(|error| refused(&path)(error.into()))?;
    let part = directory.join(format!(".{}.{}.part", table.host.id, std::process::id()));
    let written = File::create(&part)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.map_err(refused(&path))?;
    Ok(path)
}

/// The kept table of this host, or one measured now and then kept.
///
/// # Errors
///
/// As [`calibrate`]; that it could not be kept is said in [`Loaded::origin`].
pub fn load_or_calibrate(
    host: HostFingerprint,
    options: &CalibrateOptions,
    watch: CalibrateWatch<'_>,
) -> Result<Loaded, CalibrateError> {
    let directory = table_directory();
    if let Some(directory) = &directory
        && let Some(table) = load_from(directory, &host.id)
    {
        let path = file_of(directory, &host.id).unwrap_or_default();
        return Ok(Loaded {
            table,
            origin: Origin::Kept(path),
        });
    }
    let table = calibrate(host, options, watch)?;
    let origin = match store(&table) {
        Ok(path) => Origin::Measured(path),
        Err(error) => Origin::NotKept(error),
    };
    Ok(Loaded { table, origin })
}

/// The id comes from a fingerprint, which may come from a case file of elsewhere.
fn file_of(directory: &Path, id: &str) -> Option<PathBuf> {
    let fit = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fit.then(|| directory.join(format!("{id}.json")))
}

/// Whether the figures are such as can be computed with.
fn plausible(table: &HostTable) -> bool {
    let figure = |estimate: &Option<Estimate>| {
        estimate.is_none_or(|it| {
            let ordered = 0.0 <= it.low && it.low <= it.value && it.value <= it.high;
            ordered && it.high.is_finite()
        })
    };
    let clock = |hertz: f64| hertz.is_finite() && hertz >= 0.0;
    table.entries.len() <= MOST_ENTRIES
        && table.frequency_hz > 0.0
        && clock(table.frequency_hz)
        && clock(table.frequency_range_hz.0)
        && clock(table.frequency_range_hz.1)
        && table.entries.iter().all(|entry| {
            figure(&entry.latency_cycles)
                && figure(&entry.reciprocal_throughput_cycles)
                && figure(&entry.seconds)
                && figure(&entry.bytes_per_second)
        })
}

#[cfg(test)]
#[path = "table_store_tests.rs"]
mod tests;
