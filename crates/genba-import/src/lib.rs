//! Profiles that other programs took, as samples of genba's model.
//!
//! **Scope.** [`open`] reads a file, [`read`] its bytes: collapsed stacks, pprof, callgrind, the Firefox
//! Profiler's processed profiles. The format is recognised by the content; gzip is unpacked.
//!
//! **Not here.** Recordings of `perf` and genba, which name addresses instead of functions; tables and
//! graphs.
//!
//! Files are hostile: no length in them is trusted, sizes and the number of frames are bounded, nothing recurses.

mod bounded_file;
mod call_graph;
mod callgrind;
mod collapsed;
mod error;
mod firefox;
mod firefox_tables;
mod pprof;
mod protobuf;
mod stacks;

use genba_model::SampledDetail;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub use bounded_file::open;
pub use error::ImportError;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, ImportError>;

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// A stack a line: `outer;inner weight`.
    Collapsed,
    /// The message `Profile` of pprof.
    Pprof,
    /// callgrind's text.
    Callgrind,
    /// The Firefox Profiler's processed profile, as samply writes it.
    Firefox,
}

impl ImportFormat {
    /// Its name in sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Collapsed => "collapsed stacks",
            Self::Pprof => "pprof",
            Self::Callgrind => "callgrind",
            Self::Firefox => "Firefox Profiler",
        }
    }

    /// The format of a file, by its content.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            b'{' => is_firefox(bytes).then_some(Self::Firefox),
            _ if callgrind::is_callgrind(bytes) => Some(Self::Callgrind),
            _ if collapsed::is_collapsed(bytes) => Some(Self::Collapsed),
            _ if pprof::is_pprof(bytes) => Some(Self::Pprof),
            _ => None,
        }
    }
}

/// A profile of another program.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The format that it had.
    pub format: ImportFormat,
    /// Its samples. A number of samples of 0 is an unknown number.
    pub detail: SampledDetail,
}

/// Reads a profile; `event` selects one of several weights (default: that which the program shows first).
///
/// # Errors
/// The format is unknown, the file is damaged, too large, or has no samples.
pub fn read(bytes: &[u8], event: Option<&str>) -> Result<Imported> {
    let unpacked;
    let bytes = match bytes {
        [0x1f, 0x8b, ..] => {
            unpacked = bounded_file::unpack(bytes)?;
            &unpacked[..]
        }
        plain => plain,
    };
    let format = ImportFormat::of(bytes).ok_or(ImportError::Unknown)?;
    let detail = match format {
        ImportFormat::Collapsed => collapsed::read(bytes, event),
        ImportFormat::Pprof => pprof::read(bytes, event),
        ImportFormat::Callgrind => callgrind::read(bytes, event),
        ImportFormat::Firefox => firefox::read(bytes, event),
    }?;
    if detail.total_weight() == 0 {
        return Err(ImportError::Empty(format));
    }
    Ok(Imported { format, detail })
}

/// Whether JSON is a profile of the Firefox Profiler, also one that cannot be read here.
fn is_firefox(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "preprocessedProfileVersion")]
        processed: Option<IgnoredAny>,
        interval: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Probe {
        meta: Meta,
        threads: IgnoredAny,
    }
    let found: std::result::Result<Probe, _> = serde_json::from_slice(bytes);
    found.is_ok_and(|probe| {
        let IgnoredAny = probe.threads;
        probe.meta.processed.is_some() || probe.meta.interval.is_some()
    })
}

#[cfg(test)]
mod tests;
