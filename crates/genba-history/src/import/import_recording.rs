//! From an imported file to a recording. Pure.

use std::collections::BTreeMap;

use genba_model::HostFingerprint;

use super::Imported;
use crate::{Build, Measurement, Recording, Revision, Role};

/// What a file may not say, or what the user says instead.
#[derive(Clone, Debug)]
pub struct ImportContext {
    /// Name of the project.
    pub project: String,
    /// The commit that was measured, where the repository has it.
    pub revision: Option<Revision>,
    /// The branch, in place of the file's.
    pub branch: Option<String>,
    /// Name of the machine, in place of the file's.
    pub machine: Option<String>,
    /// Name of this machine.
    pub this_machine: String,
    /// This machine, where a file names no other.
    pub this_host: HostFingerprint,
    /// Time of the import, RFC 3339 in UTC, where the file has none of the measurement.
    pub now: String,
}

/// The recording of a file with these bytes. Its key is the content, with what the user and the file's place say of it, so that a file
/// is imported once and again with another machine, and equal samples of two benchmarks are two.
#[must_use]
pub fn import_recording(imported: Imported, bytes: &[u8], context: ImportContext) -> Recording {
    let of_file = imported.commit.map(|commit| Revision {
        commit,
        ..Revision::default()
    });
    let mut revision = context.revision.or(of_file);
    if let Some(revision) = &mut revision {
        if let Some(branch) = context.branch.or(imported.branch) {
            revision.branch = branch;
        }
        revision.dirty |= imported.dirty;
    }
    let mut key = format!(
        "import {} {:016x}",
        (revision.as_ref()).map_or("", |one| one.commit.as_str()),
        content_hash(bytes)
    );
    for more in [&context.machine, &imported.named_by_place]
        .into_iter()
        .flatten()
    {
        key.push_str(&format!(" {:016x}", content_hash(more.as_bytes())));
    }
    let host = match context.machine.or(imported.machine) {
        Some(name) if name != context.this_machine => host_of_name(name),
        _ => context.this_host,
    };
    Recording {
        key,
        project: context.project,
        started: imported.started.unwrap_or(context.now),
        tool: imported.tool,
        host,
        environment: BTreeMap::new(),
        measurements: (imported.benchmarks.into_iter())
            .map(|one| Measurement {
                benchmark: one.name,
                variant: one.variant,
                metric: one.metric,
                unit: one.unit,
                direction: one.direction,
                role: Role::Measured,
                revision: revision.clone(),
                build: Build::default(),
                values: one.values.into_iter().map(Some).collect(),
            })
            .collect(),
    }
}

/// A host of which only the name is known.
fn host_of_name(name: String) -> HostFingerprint {
    HostFingerprint {
        id: format!("name:{name}"),
        cpu: name,
        microarchitecture: String::new(),
        cpus: 0,
        memory_bytes: 0,
        kernel: String::new(),
        os: String::new(),
        virtualisation: None,
        hardware_counters: false,
    }
}

/// FNV-1a: a key must mean the same in every version.
fn content_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ImportedBenchmark;

    fn imported(machine: Option<&str>) -> Imported {
        Imported {
            tool: "a tool".to_owned(),
            benchmarks: vec![ImportedBenchmark::seconds("b", "wall", vec![1.0, 2.0])],
            commit: Some("c1".to_owned()),
            branch: Some("of-file".to_owned()),
            dirty: true,
            machine: machine.map(str::to_owned),
            ..Imported::default()
        }
    }

    fn context() -> ImportContext {
        ImportContext {
            project: "p".to_owned(),
            revision: None,
            branch: None,
            machine: None,
            this_machine: "here".to_owned(),
            this_host: host_of_name("fingerprint".to_owned()),
            now: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn commit_of_a_file_is_kept_where_the_repository_does_not_have_it() {
        let one = import_recording(imported(None), b"x", context());
        let revision = one.measurements[0].revision.clone().expect("a commit");
        assert_eq!((&*revision.commit, &*revision.branch), ("c1", "of-file"));
        assert!(revision.dirty);
        assert_eq!(one.measurements[0].values, [Some(1.0), Some(2.0)]);
        assert_eq!(one.started, "2026-01-01T00:00:00Z");
    }

    #[test]
    fn what_the_user_names_is_used_in_place_of_what_the_file_has() {
        let context = ImportContext {
            revision: Some(Revision {
                commit: "of-user".to_owned(),
                ..Revision::default()
            }),
            branch: Some("mine".to_owned()),
            machine: Some("there".to_owned()),
            ..context()
        };
        let one = import_recording(imported(Some("here")), b"x", context);
        let revision = one.measurements[0].revision.clone().expect("a commit");
        assert_eq!((&*revision.commit, &*revision.branch), ("of-user", "mine"));
        assert_eq!(one.host.id, "name:there");
    }

    #[test]
    fn another_machine_is_a_host_of_its_own() {
        let host = |machine| import_recording(imported(machine), b"x", context()).host.id;
        assert_eq!(host(None), "name:fingerprint");
        assert_eq!(host(Some("here")), "name:fingerprint");
        assert_eq!(host(Some("there")), "name:there");
    }

    #[test]
    fn key_is_that_of_the_content_and_the_commit() {
        let key = |bytes: &[u8]| import_recording(imported(None), bytes, context()).key;
        assert_eq!(key(b"x"), key(b"x"));
        assert_ne!(key(b"x"), key(b"y"));
        assert_eq!(key(b""), "import c1 cbf29ce484222325");
        let of_machine = ImportContext {
            machine: Some("ci2".to_owned()),
            ..context()
        };
        let corrected = import_recording(imported(None), b"x", of_machine).key;
        assert_ne!(corrected, key(b"x"));
        let named = |name: &str| {
            let named_by_place = Some(name.to_owned());
            let imported = Imported {
                named_by_place,
                ..imported(None)
            };
            import_recording(imported, b"x", context()).key
        };
        assert_ne!(named("a"), named("b"));
    }
}
