use genba_model::HostTableEntry;
use proptest::prelude::*;

use super::*;

fn table() -> HostTable {
    HostTable {
        host: crate::fingerprint(false),
        measured: "2026-01-02T03:04:05Z".to_owned(),
        frequency_hz: 4e9,
        frequency_range_hz: (3.9e9, 4.1e9),
        seconds: 1.0,
        entries: vec![HostTableEntry {
            form: "div r64 [small]".to_owned(),
            group: "division".to_owned(),
            latency_cycles: Some(Estimate::exact(9.0)),
            ..HostTableEntry::default()
        }],
        notes: vec!["a note".to_owned()],
    }
}

fn kept() -> (tempfile::TempDir, HostTable, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let table = table();
    let path = store_in(&directory.path().join("a/b"), &table).expect("kept");
    (directory, table, path)
}

fn again(path: &Path, id: &str) -> Option<HostTable> {
    load_from(path.parent().expect("a directory"), id)
}

#[test]
fn stored_table_is_read_again() {
    let (_directory, table, path) = kept();
    assert_eq!(again(&path, &table.host.id), Some(table));
    let left: Vec<_> = fs::read_dir(path.parent().expect("a directory"))
        .expect("a directory")
        .collect();
    assert_eq!(left.len(), 1, "no part is left behind");
}

#[test]
fn tables_of_other_hosts_and_schemas_are_not_used() {
    let (_directory, table, path) = kept();
    let text = fs::read_to_string(&path).expect("text");
    let id = &table.host.id;
    fs::write(path.with_file_name("0123456789ab.json"), &text).expect("written");
    assert_eq!(again(&path, "0123456789ab"), None);
    let schema = format!("\"host_table_schema\":{SCHEMA}");
    assert!(text.contains(&schema));
    for (from, to) in [
        (schema.as_str(), "\"host_table_schema\":0"),
        ("4000000000.0", "-1.0"),
        ("4000000000.0", "0.0"),
        ("\"value\":9.0", "\"value\":1e300"),
        ("\"value\":9.0", "\"value\":null"),
        ("\"low\":9.0", "\"low\":-9.0"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).expect("written");
        assert_eq!(again(&path, id), None, "{to}");
    }
    fs::write(&path, &text).expect("written");
    assert!(again(&path, id).is_some());
}

#[test]
fn ids_with_path_separators_are_refused() {
    let (directory, mut table, _) = kept();
    for id in ["", "../x", "a/b", "a.b", "ä", &"a".repeat(65)] {
        assert_eq!(load_from(directory.path(), id), None);
        table.host.id = id.to_owned();
        assert!(matches!(
            store_in(directory.path(), &table),
            Err(StoreError::Id(_))
        ));
    }
}

#[test]
fn endless_files_and_directories_are_refused() {
    let (_directory, table, path) = kept();
    fs::remove_file(&path).expect("removed");
    let file = File::create(&path).expect("a file");
    file.set_len(1 << 40).expect("a sparse file");
    assert_eq!(again(&path, &table.host.id), None);
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
    assert_eq!(again(&path, &table.host.id), None);
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a directory");
    assert_eq!(again(&path, &table.host.id), None);
    assert!(matches!(
        store_in(path.parent().expect("a directory"), &table),
        Err(StoreError::Refused { .. })
    ));
}

proptest! {
    /// Damage is noticed or does not matter; it never makes figures that cannot be computed with.
    #[test]
    fn damaged_files(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
                     cut in any::<prop::sample::Index>(), truncate in any::<bool>()) {
        let (_directory, table, path) = kept();
        let mut bytes = fs::read(&path).expect("bytes");
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if truncate {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, bytes).expect("written");
        if let Some(read) = again(&path, &table.host.id) {
            prop_assert!(plausible(&read));
            prop_assert_eq!(read.host.id, table.host.id);
        }
    }
}
