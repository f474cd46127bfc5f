//! What genba exports is read back with the same totals, and hostile bytes within bounds.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use genba_model::{
    CodeKind, Event, Precision, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder,
    SampledFrame, SampledFunction, SampledThread,
};
use genba_report::export::samples::{SamplesFormat, write_samples};
use proptest::prelude::*;

use super::*;

const FORMATS: [(SamplesFormat, ImportFormat); 4] = [
    (SamplesFormat::Collapsed, ImportFormat::Collapsed),
    (SamplesFormat::Pprof, ImportFormat::Pprof),
    (SamplesFormat::Callgrind, ImportFormat::Callgrind),
    (SamplesFormat::Firefox, ImportFormat::Firefox),
];

/// Function, line, whether it is inlined.
type Frame<'a> = (&'a str, u32, bool);

/// Stacks with weights, of two threads.
fn detail(stacks: &[(&[Frame<'_>], u64)]) -> SampledDetail {
    let event = Event {
        name: "cpu-clock".to_owned(),
        hardware: false,
        frequency_hz: 1000,
        kernel: false,
        precision: Precision::Skid,
    };
    let mut b = SampledDetailBuilder::new(event, SampleUnit::Nanoseconds, vec!["./p".to_owned()]);
    let module = b.module("/bin/prog", Some("ab".repeat(20)));
    let file = b.file("a.c");
    for (index, (frames, weight)) in (0i32..).zip(stacks) {
        let mut node = None;
        for &(name, line, inlined) in *frames {
            let function = b.function(SampledFunction {
                name: name.to_owned(),
                module: Some(module),
                file: Some(file),
                line: Some(10),
                kind: CodeKind::User,
            });
            let frame = b.frame(SampledFrame {
                function,
                address: Some(0x1000 + u64::from(line)),
                file: Some(file),
                line: Some(line),
                inlined,
            });
            node = Some(b.stack(node, frame));
        }
        let thread = b.thread(SampledThread {
            pid: 7,
            tid: 7 + index % 2,
            name: "worker 1".to_owned(),
        });
        b.detail.samples.push(Sampled {
            thread,
            stack: node.expect("a frame"),
            time_ns: Some(index as u64 * 1_000_000),
            weight: *weight,
            samples: 1,
        });
    }
    b.detail
}

fn plain() -> SampledDetail {
    let main = ("main", 12, false);
    let walk = ("walk", 22, false);
    detail(&[
        (&[main, walk, ("leaf", 3, true)], 2_000_000),
        (&[main, walk, ("leaf", 3, true)], 1_000_000),
        (&[main], 1_500_000),
        (&[main, ("read", 40, false)], 3_000_000),
        (&[main, ("read", 41, false), ("copy", 50, false)], 250_000),
        (&[main, walk, walk], 125_000),
    ])
}

fn exported(format: SamplesFormat, detail: &SampledDetail) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_samples(format, detail, &mut bytes).expect("it is written");
    bytes
}

/// Self weight by the function that the machine is in.
fn self_weights(detail: &SampledDetail) -> BTreeMap<String, u64> {
    let mut weights = BTreeMap::new();
    for one in &detail.samples {
        let mut frames = detail.frames_of(one.stack);
        let outer = frames.find(|frame| !frame.inlined).expect("a function");
        *weights
            .entry(detail.function(outer).name.clone())
            .or_default() += one.weight;
    }
    weights
}

/// Weight of the samples with a function on their stack.
fn total_weights(detail: &SampledDetail) -> BTreeMap<String, u64> {
    let mut weights = BTreeMap::new();
    for one in &detail.samples {
        let frames = detail.frames_of(one.stack).filter(|frame| !frame.inlined);
        let names: std::collections::BTreeSet<String> = frames
            .map(|frame| detail.function(frame).name.clone())
            .collect();
        for name in names {
            *weights.entry(name).or_default() += one.weight;
        }
    }
    weights
}

#[test]
fn own_exports_are_read_with_the_same_weights() {
    let detail = plain();
    for (written, expected) in FORMATS {
        let imported = read(&exported(written, &detail), None).expect("it is read");
        assert_eq!(imported.format, expected);
        let found = &imported.detail;
        assert_eq!(found.total_weight(), detail.total_weight(), "{expected:?}");
        if expected == ImportFormat::Collapsed {
            // Inlined functions are functions there.
            continue;
        }
        assert_eq!(self_weights(found), self_weights(&detail), "{expected:?}");
        assert_eq!(total_weights(found), total_weights(&detail), "{expected:?}");
        assert_eq!(found.total_samples(), 6, "{expected:?}");
        assert_eq!(found.unit, SampleUnit::Nanoseconds, "{expected:?}");
        let lines: Vec<u32> = found.frames.iter().filter_map(|frame| frame.line).collect();
        assert!(
            lines.contains(&3) && lines.contains(&50),
            "{expected:?}: {lines:?}"
        );
    }
}

#[test]
fn threads_and_inlined_functions_survive_where_the_format_has_them() {
    for (written, format) in [FORMATS[1], FORMATS[3]] {
        let found = read(&exported(written, &plain()), None)
            .expect("it is read")
            .detail;
        let mut threads: Vec<(i32, &str)> = found
            .threads
            .iter()
            .map(|one| (one.tid, one.name.as_str()))
            .collect();
        threads.sort_unstable();
        assert_eq!(threads, [(7, "worker 1"), (8, "worker 1")], "{format:?}");
        let inlined = found.frames.iter().find(|frame| frame.inlined);
        let inlined = inlined.expect("an inlined frame");
        assert_eq!(found.function(inlined).name, "leaf");
        assert_eq!(found.modules[0].path, "/bin/prog");
    }
}

#[test]
fn packed_files_are_unpacked() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"main;f 3\n").expect("it is packed");
    let packed = packed.finish().expect("it is packed");
    let imported = read(&packed, None).expect("it is read");
    assert_eq!(imported.detail.total_weight(), 3);
    assert!(matches!(
        read(&packed[..20], None),
        Err(ImportError::Read(_))
    ));
}

#[test]
fn what_is_none_of_the_formats_is_refused() {
    for bytes in [
        &b""[..],
        b"{}",
        b"{\"kind\":\"counts\"}",
        b"hello world\n",
        b"\x7fELF\x02\x01\x01",
        b"\x0a\x02\x08\x01",
    ] {
        assert!(
            matches!(read(bytes, None), Err(ImportError::Unknown)),
            "{bytes:?}"
        );
    }
    let raw = b"{\"meta\":{\"interval\":1,\"version\":30},\"threads\":[]}";
    let error = read(raw, None).expect_err("not processed");
    assert!(
        error.to_string().contains("profiler.firefox.com"),
        "{error}"
    );
    assert!(matches!(read(b"a;b 0\n", None), Err(ImportError::Empty(_))));
}

#[test]
fn events_are_chosen_by_name() {
    let text = b"events: Ir Dr\nfn=main\n1 10 3\n2 5\n";
    let all = read(text, None).expect("it is read").detail;
    assert_eq!((all.total_weight(), all.event.name.as_str()), (15, "Ir"));
    let some = read(text, Some("Dr")).expect("it is read").detail;
    assert_eq!((some.total_weight(), some.event.name.as_str()), (3, "Dr"));
    let error = read(text, Some("Bc")).expect_err("it has none");
    assert!(error.to_string().ends_with("it has Ir, Dr"), "{error}");
    let pprof = exported(SamplesFormat::Pprof, &plain());
    let counted = read(&pprof, Some("samples")).expect("it is read").detail;
    assert_eq!(counted.total_weight(), 6);
}

#[test]
fn callgrind_shares_costs_among_callers_in_proportion() {
    // f costs 30 of 40 for a, 10 for b; f calls g for half of its cost.
    let text = b"# callgrind format\npositions: line\nevents: Ir\n\
        ob=(1) /bin/p\nfl=(1) p.c\nfn=(1) main\n1 10\ncfn=(2) a\ncalls=1 5\n2 40\ncfn=(3) b\ncalls=1 7\n+1 20\n\
        fn=(2)\n5 10\ncfn=(4) f\ncalls=3 9\n6 30\n\nfn=(3)\n7 10\ncfn=(4)\ncalls=1 9\n* 10\n\n\
        fn=(4)\n9 20\ncfn=(5) g\ncalls=4 20\n10 20\n\nfn=(5)\n20 20\ntotals: 70\n";
    let found = read(text, None).expect("it is read").detail;
    assert_eq!(found.total_weight(), 70);
    let expected = [("a", 40), ("b", 20), ("f", 40), ("g", 20), ("main", 70)];
    let expected = expected.map(|(name, weight)| (name.to_owned(), weight));
    assert_eq!(total_weights(&found), BTreeMap::from(expected));
    let stack = |names: &[&str]| -> u64 {
        let is = |one: &&Sampled| {
            let mut found_names: Vec<&str> = (found.frames_of(one.stack))
                .map(|frame| found.function(frame).name.as_str())
                .collect();
            found_names.reverse();
            found_names == names
        };
        found.samples.iter().filter(is).map(|one| one.weight).sum()
    };
    assert_eq!(stack(&["main", "a", "f", "g"]), 15);
    assert_eq!(stack(&["main", "b", "f", "g"]), 5);
    assert_eq!(found.total_samples(), 0);
    assert!(
        !found.notes.iter().any(|note| note.contains("circle")),
        "{:?}",
        found.notes
    );
}

#[test]
fn circles_of_calls_keep_the_self_costs() {
    let text =
        b"events: Ir\nfn=a\n1 5\ncfn=b\ncalls=1 1\n1 95\nfn=b\n2 7\ncfn=a\ncalls=9 1\n2 80\n\
        cfn=b\ncalls=3 1\n2 50\n";
    let found = read(text, None).expect("it is read").detail;
    assert_eq!(
        self_weights(&found),
        BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), 7)])
    );
    assert!(found.notes.iter().any(|note| note.contains("circle")));
}

#[test]
fn small_files_that_name_many_frames_are_bounded() {
    // A place with 1,000 inlined functions, in samples that name it 1,000 times.
    let mut function = vec![0x2a, 4, 0x08, 1, 0x10, 1];
    let line = [0x22, 2, 0x08, 1];
    let mut location = vec![0x08, 1];
    location.extend(std::iter::repeat_n(line, 1000).flatten());
    let mut sample = vec![0x0a];
    sample.extend(length(1000));
    sample.extend([1; 1000]);
    sample.extend([0x12, 1, 1]);
    let mut bytes = vec![0x0a, 4, 0x08, 1, 0x10, 2];
    bytes.append(&mut function);
    bytes.push(0x22);
    bytes.extend(length(location.len()));
    bytes.append(&mut location);
    for _ in 0..2000 {
        bytes.push(0x12);
        bytes.extend(length(sample.len()));
        bytes.extend(&sample);
    }
    for text in ["", "x", "count"] {
        bytes.extend([0x32, text.len() as u8]);
        bytes.extend(text.as_bytes());
    }
    let found = read(&bytes, None).expect("it is read").detail;
    assert_eq!(found.total_weight(), 2000);
    assert!(found.stacks.len() < 2000, "{}", found.stacks.len());
}

fn length(of: usize) -> [u8; 2] {
    [(of & 0x7f) as u8 | 0x80, (of >> 7) as u8]
}

#[test]
fn stacks_that_are_their_own_callers_are_refused() {
    let text = r#"{"meta":{"preprocessedProfileVersion":55},"threads":[{"samples":{"stack":[1],"length":1},
        "stackTable":{"prefix":[1,0],"frame":[0,0]},"frameTable":{"func":[0]},"funcTable":{"name":[0]},
        "stringArray":["f"]}]}"#;
    let error = read(text.as_bytes(), None).expect_err("a circle");
    assert!(error.to_string().contains("its own caller"), "{error}");
}

proptest! {
    #[test]
    fn damaged_exports_are_read_or_refused(
        format in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = exported(FORMATS[format].0, &plain());
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        if let Ok(imported) = read(&bytes, None) {
            let detail = imported.detail;
            for one in &detail.samples {
                prop_assert!(detail.frames_of(one.stack).count() > 0);
                prop_assert!((one.thread as usize) < detail.threads.len());
            }
        }
    }
}
