//! Files that perf recorded, and damaged files.

use std::process::Command;

use crate::support::{FIXTURE, compile, load, record};
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, RecordOptions};
use genba_profile::{ReadError, ReadOptions, Recording};
use proptest::prelude::*;

/// The number of samples, or `None` where reading fails. Must not panic whatever the bytes.
fn read(bytes: Vec<u8>) -> Option<u64> {
    let recording = Recording::from_bytes(bytes, "test").ok()?;
    let loaded = recording.load(&ReadOptions::default()).ok()?;
    for s in &loaded.samples {
        assert!(loaded.tables.stack(s.stack).count() > 0);
    }
    Some(loaded.tables.totals.samples)
}

fn small_recording(call_graph: CallGraph) -> Option<Vec<u8>> {
    let directory = tempfile::tempdir().ok()?;
    let out = directory.path().join("out.data");
    let options = RecordOptions {
        event: EventSpec::parse("cpu-clock").ok(),
        call_graph,
        ..RecordOptions::default()
    };
    record(
        &[
            "sh",
            "-c",
            "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done",
        ],
        &options,
        &out,
    )
    .ok()?;
    std::fs::read(out).ok()
}

#[test]
fn truncated_files_give_the_samples_before_the_end() {
    let Some(whole) = small_recording(CallGraph::FramePointer) else {
        return genba_testing::skip(
            "truncated_files_give_the_samples_before_the_end",
            genba_testing::PERF_EVENT,
            "nothing can be recorded here",
        );
    };
    let all = read(whole.clone()).expect("readable");
    assert!(all > 0);
    let mut last = 0;
    for cut in (0..whole.len()).step_by(97) {
        let some = read(whole[..cut].to_vec());
        if let Some(n) = some {
            assert!(n >= last && n <= all, "{n} samples of {all} at {cut}");
            last = n;
        }
    }
    // As after kill -9: no data size, no feature sections.
    let mut killed = whole.clone();
    killed[48..56].fill(0);
    killed[72..104].fill(0);
    let recording = Recording::from_bytes(killed.clone(), "killed").expect("readable");
    assert!(
        recording
            .info()
            .cut_short
            .as_deref()
            .is_some_and(|why| why.contains("killed"))
    );
    let event = &recording.info().events[0].name;
    // Of user code only where the kernel permits no more.
    assert_eq!(event.trim_end_matches(":u"), "cpu-clock");
    assert_eq!(read(killed), Some(all));
}

#[test]
fn randomly_changed_files_are_read_without_panic() {
    for call_graph in [CallGraph::FramePointer, CallGraph::Dwarf(1024)] {
        let Some(whole) = small_recording(call_graph) else {
            return genba_testing::skip(
                "randomly_changed_files_are_read_without_panic",
                genba_testing::PERF_EVENT,
                "nothing can be recorded here",
            );
        };
        let mut state = 1u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize
        };
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random() % 8 {
                // Half of the changes in the header and the first records.
                let most = if random() % 2 == 0 {
                    2048.min(bytes.len())
                } else {
                    bytes.len()
                };
                let at = random() % most;
                bytes[at] = random() as u8;
            }
            read(bytes);
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600), pipe in any::<bool>()) {
        read(bytes.clone());
        if bytes.len() > 16 {
            bytes[..8].copy_from_slice(b"PERFILE2");
            bytes[8..16].copy_from_slice(&(if pipe { 16u64 } else { 104 }).to_le_bytes());
            read(bytes);
        }
    }
}

#[test]
fn files_that_are_not_recordings_are_errors_of_their_kind() {
    let error = |bytes: &[u8]| Recording::from_bytes(bytes.to_vec(), "x").unwrap_err();
    assert!(matches!(error(b""), ReadError::NotARecording(_)));
    assert!(matches!(
        error(b"\x7fELF............"),
        ReadError::NotARecording(_)
    ));
    assert!(matches!(
        error(b"2ELIFREP........"),
        ReadError::BigEndian(_)
    ));
    assert!(matches!(error(b"PERFILE2"), ReadError::Damaged { .. }));
    assert!(matches!(
        Recording::open("/nonexistent".as_ref()),
        Err(ReadError::Io { .. })
    ));
    assert!(Recording::open("/".as_ref()).is_err());
}

/// Number of samples in a file as `perf script` prints them.
fn samples_by_perf_script(file: &std::path::Path) -> Option<u64> {
    let out = Command::new("perf")
        .args(["script", "-F", "ip", "-i"])
        .arg(file)
        .output()
        .ok()?;
    let lines = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter(|l| !l.trim().is_empty())
        .count();
    out.status.success().then_some(lines as u64)
}

#[test]
fn files_of_perf_are_read_and_perf_reads_files_of_genba() {
    const TEST: &str = "files_of_perf_are_read_and_perf_reads_files_of_genba";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(TEST, directory.path(), FIXTURE, &[]) else {
        return;
    };
    let theirs = directory.path().join("perf.data");
    let recorded = |extra: &[&str]| {
        Command::new("perf")
            .args(["record", "-q", "-e", "cpu-clock:u", "-o"])
            .arg(&theirs)
            .args(extra)
            .arg("--")
            .arg(&program)
            .args(["all", "5000000"])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !recorded(&[]) {
        return genba_testing::skip(TEST, "perf", "perf cannot record here");
    }
    assert_eq!(
        Some(load(&theirs).tables.totals.samples),
        samples_by_perf_script(&theirs)
    );
    if recorded(&["-e", "page-faults:u"]) {
        let recording = Recording::open(&theirs).expect("open");
        let names: Vec<_> = recording
            .info()
            .events
            .iter()
            .map(|e| e.name.clone())
            .collect();
        assert_eq!(names, ["cpu-clock:u", "page-faults:u"]);
        let one = |event: &str| {
            let options = ReadOptions {
                event: Some(event.to_owned()),
                ..ReadOptions::default()
            };
            recording
                .load(&options)
                .expect("samples")
                .tables
                .totals
                .samples
        };
        assert_eq!(
            Some(one("0") + one("page-faults")),
            samples_by_perf_script(&theirs)
        );
        assert!(matches!(
            recording.find_event("cycles"),
            Err(ReadError::NoSuchEvent { .. })
        ));
    }
    let ours = directory.path().join("genba.data");
    let options = RecordOptions {
        event: EventSpec::parse("cpu-clock:u").ok(),
        ..RecordOptions::default()
    };
    let argv = [program.to_str().expect("path"), "all", "5000000"];
    let done = record(&argv, &options, &ours).expect("recorded");
    assert_eq!(samples_by_perf_script(&ours), Some(done.samples));
}
