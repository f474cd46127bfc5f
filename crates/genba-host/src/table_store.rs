//! Stores host tables: `$XDG_CACHE_HOME/genba/host-tables/ID.json`, else under `~/.cache`.
//!
//! A stored table may be hostile: its size is bounded, and a table that is damaged, of another
//! schema or of another host is not used.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use genba_model::{Estimate, HostFingerprint, HostTable};
use serde::{Deserialize, Serialize};

use crate::{CalibrateError, CalibrateOptions, CalibrateWatch, calibrate};

/// Changes with the kernels, the forms or their meaning, so that older tables are remeasured.
const SCHEMA: u32 = 2;
/// Maximum size of a file, bytes; a table has some 100 kB.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of forms in a table.
const MAX_ENTRIES: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct StoredTable<T> {
    host_table_schema: u32,
    table: T,
}

/// Why a table could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No directory is known.
    #[error("cannot store the host table: set XDG_CACHE_HOME or HOME to a directory")]
    Nowhere,
    /// The directory cannot be written.
    #[error("cannot store the host table in {}: {source}; it is remeasured each time", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The host's id is not a valid file name.
    #[error("invalid host id {0:?}: not a file name")]
    Id(String),
}

/// Origin of a table.
#[derive(Debug)]
pub enum Origin {
    /// It was stored, in this file.
    Stored(PathBuf),
    /// It was measured now, and stored in this file.
    Measured(PathBuf),
    /// It was measured now, and could not be stored.
    NotStored(StoreError),
}

/// A table with its origin.
#[derive(Debug)]
pub struct Loaded {
    /// The table.
    pub table: HostTable,
    /// Its origin.
    pub origin: Origin,
}

/// The directory of stored tables: `$XDG_CACHE_HOME` (which must be absolute,
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

/// The stored table of this host id, if there is a usable one.
#[must_use]
pub fn load(id: &str) -> Option<HostTable> {
    load_from(&table_directory()?, id)
}

/// The stored table of this host id in that directory.
#[must_use]
pub fn load_from(directory: &Path, id: &str) -> Option<HostTable> {
    let file = File::open(file_of(directory, id)?).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > MAX_BYTES {
        return None;
    }
    let kept: StoredTable<HostTable> = serde_json::from_slice(&text).ok()?;
    let usable = kept.host_table_schema == SCHEMA && kept.table.host.id == id;
    (usable && plausible(&kept.table)).then_some(kept.table)
}

/// Stores a table under its host's id; returns the path.
///
/// # Errors
///
/// No directory is known or it cannot be written.
pub fn store(table: &HostTable) -> Result<PathBuf, StoreError> {
    store_in(&table_directory().ok_or(StoreError::Nowhere)?, table)
}

/// Stores a table in that directory, which is created if necessary. Readers see the old or the new
/// table, never a partial one.
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
    let kept = StoredTable {
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

/// The stored table of this host, or one measured now and stored.
///
/// # Errors
///
/// As [`calibrate`]; [`Loaded::origin`] says if it could not be stored.
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
            origin: Origin::Stored(path),
        });
    }
    let table = calibrate(host, options, watch)?;
    let origin = match store(&table) {
        Ok(path) => Origin::Measured(path),
        Err(error) => Origin::NotStored(error),
    };
    Ok(Loaded { table, origin })
}

/// Whether an id is safe as a file name: it may come from an imported case.
fn file_of(directory: &Path, id: &str) -> Option<PathBuf> {
    let fit = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fit.then(|| directory.join(format!("{id}.json")))
}

/// Whether all values are finite and ordered.
fn plausible(table: &HostTable) -> bool {
    let figure = |estimate: &Option<Estimate>| {
        estimate.is_none_or(|it| {
            let ordered = 0.0 <= it.low && it.low <= it.value && it.value <= it.high;
            ordered && it.high.is_finite()
        })
    };
    let clock = |hertz: f64| hertz.is_finite() && hertz >= 0.0;
    table.entries.len() <= MAX_ENTRIES
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
