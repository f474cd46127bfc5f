//! A recording as a file: what is kept of a measurement whose store cannot be reached. Pure.

use serde::{Deserialize, Serialize};

use crate::Recording;
use crate::import::MAX_BYTES;

#[derive(Serialize, Deserialize)]
struct File {
    genba_recording: Recording,
}

/// The text of a recording's file.
#[must_use]
pub fn recording_text(recording: &Recording) -> String {
    let file = File {
        genba_recording: recording.clone(),
    };
    // Maps of strings and structures without maps always convert.
    serde_json::to_string_pretty(&file).unwrap_or_default()
}

/// The recording of such a file; `None` if the bytes are of something else.
#[must_use]
pub fn recording_of_text(bytes: &[u8]) -> Option<Recording> {
    if bytes.len() > MAX_BYTES {
        return None;
    }
    let file: File = serde_json::from_slice(bytes).ok()?;
    Some(file.genba_recording)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, Measurement, Revision, Role};
    use genba_model::HostFingerprint;

    #[test]
    fn recording_is_the_same_after_its_file() {
        let recording = Recording {
            key: "k".to_owned(),
            project: "p".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            tool: "genba".to_owned(),
            host: HostFingerprint {
                id: "h".to_owned(),
                cpu: String::new(),
                microarchitecture: String::new(),
                cpus: 2,
                memory_bytes: 1,
                kernel: String::new(),
                os: String::new(),
                virtualisation: None,
                hardware_counters: false,
            },
            environment: [("LANG".to_owned(), "C".to_owned())].into(),
            measurements: vec![Measurement {
                benchmark: "b".to_owned(),
                variant: String::new(),
                metric: "wall".to_owned(),
                unit: "seconds".to_owned(),
                direction: Default::default(),
                role: Role::Anchor,
                revision: Some(Revision {
                    commit: "c".to_owned(),
                    position: Some(3),
                    dirty: true,
                    ..Revision::default()
                }),
                build: Build::default(),
                values: vec![Some(0.1 + 0.2), None],
            }],
        };
        let text = recording_text(&recording);
        assert_eq!(recording_of_text(text.as_bytes()), Some(recording));
        assert_eq!(recording_of_text(b"{\"results\": []}"), None);
    }
}
