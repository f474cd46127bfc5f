//! However the records are cut into pieces, and by however many threads these are gone over, it
//! is as if one went over all of them; and what the whole reading finds.

use std::io::Write as _;

use proptest::prelude::*;

use super::crew::{Plan, Source};
use super::sieve_tests::{Written, file_of, seen, wanted, written};
use super::{Location, Module, ReadOptions, Recording, Sample, Tally, Thread, Totals};
use crate::perfdata::file::HEADER_SIZE;
use crate::perfdata::record::{Raw, kind};

/// Where the records of a generated file begin.
const BEGIN: usize = HEADER_SIZE + 80;

const OPTIONS: ReadOptions = ReadOptions {
    event: None,
    stacks: false,
};

/// All that a reading gives.
type Read = (
    Vec<Sample>,
    Totals,
    Tally,
    (Vec<Module>, Vec<Location>, Vec<Thread>),
);

fn read(recording: &Recording, source: Source<'_>, plan: Plan) -> Result<Read, String> {
    let mut samples = Vec::new();
    let read = recording.scan_planned(
        source,
        plan,
        &OPTIONS,
        &mut |module| wanted(module),
        &mut |sample, _| samples.push(*sample),
    );
    let (tables, tally) = read.map_err(|e| e.to_string())?;
    let known = (tables.modules, tables.locations, tables.threads);
    Ok((samples, tables.totals, tally, known))
}

/// What the whole reading finds in the wanted code, and its sums.
fn whole(
    recording: &Recording,
) -> Result<(Vec<impl PartialEq + std::fmt::Debug>, Tally, Totals), String> {
    let (mut found, mut tally) = (Vec::new(), Tally::default());
    let tables = recording.scan(&OPTIONS, &mut |sample, tables| {
        found.extend(seen(sample, tables));
        tally.add(1, sample.weight);
    });
    let totals = tables.map_err(|e| e.to_string())?.totals;
    Ok((found, tally, totals))
}

fn only(
    recording: &Recording,
) -> Result<(Vec<impl PartialEq + std::fmt::Debug>, Tally, Totals), String> {
    let mut found = Vec::new();
    let read = recording.scan_only(
        &OPTIONS,
        &mut |module| wanted(module),
        &mut |sample, tables| found.extend(seen(sample, tables)),
    );
    let (tables, tally) = read.map_err(|e| e.to_string())?;
    Ok((found, tally, tables.totals))
}

/// Something that happens to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte is another one.
    Byte(prop::sample::Index, u8),
    /// A record says that it is of another kind or length.
    Header(prop::sample::Index, u32, u16),
    /// Bytes that are no records, but that the record before them jumps over.
    Jump(prop::sample::Index, u64, Vec<u64>),
    /// It is shorter.
    Cut(prop::sample::Index),
    /// A part of it is there a second time.
    Twice(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    let kinds = prop_oneof![0u32..16, 64u32..84];
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (place(), kinds, 0u16..100).prop_map(|(at, kind, size)| Damage::Header(at, kind, size)),
        (
            place(),
            0u64..600,
            prop::collection::vec(any::<u64>(), 0..40)
        )
            .prop_map(|(at, jump, words)| Damage::Jump(at, jump, words)),
        place().prop_map(Damage::Cut),
        (place(), 0usize..200).prop_map(|(at, n)| Damage::Twice(at, n)),
    ]
}

/// Where records begin.
fn starts(file: &[u8]) -> Vec<usize> {
    let mut at = BEGIN;
    let mut starts = Vec::new();
    while let Some((_, size)) = file.get(at..).and_then(Raw::parse) {
        starts.push(at);
        at += size;
    }
    starts
}

fn inflict(file: &mut Vec<u8>, damage: &Damage) {
    let starts = starts(file);
    if starts.is_empty() {
        return;
    }
    match damage {
        Damage::Byte(at, byte) => {
            let at = BEGIN + at.index(file.len() - BEGIN);
            file[at] = *byte;
        }
        Damage::Header(at, kind, size) => {
            let at = *at.get(&starts);
            file[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            file[at + 6..at + 8].copy_from_slice(&size.to_le_bytes());
        }
        Damage::Jump(at, jump, words) => {
            let at = *at.get(&starts);
            let mut bytes = kind::AUXTRACE.to_le_bytes().to_vec();
            bytes.extend([0, 0, 16, 0]);
            bytes.extend(jump.to_le_bytes());
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            file.splice(at..at, bytes);
        }
        Damage::Cut(at) => file.truncate(BEGIN + at.index(file.len() - BEGIN)),
        Damage::Twice(at, n) => {
            let at = *at.get(&starts);
            let again = file[at..file.len().min(at + n)].to_vec();
            file.splice(at..at, again);
        }
    }
}

/// Tells the header how much there is.
fn seal(mut file: Vec<u8>) -> Vec<u8> {
    let len = (file.len() - BEGIN) as u64;
    file[48..56].copy_from_slice(&len.to_le_bytes());
    file
}

fn plans() -> impl Strategy<Value = Plan> {
    let piece = prop_oneof![Just(1usize), Just(8), 9usize..100, 100usize..2000];
    (piece, 0usize..4).prop_map(|(piece, helpers)| Plan { piece, helpers })
}

const ALL: Plan = Plan {
    piece: usize::MAX,
    helpers: 0,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_cuts_do_not_matter(
        events in written(150),
        damages in prop::collection::vec(damage(), 0..4),
        plans in prop::collection::vec(plans(), 1..4),
    ) {
        let mut file = file_of(&events);
        for damage in &damages {
            inflict(&mut file, damage);
        }
        let file = seal(file);
        let recording = Recording::from_bytes(file.clone(), "generated").unwrap();
        let source = Source::Memory(&file[BEGIN..]);
        let at_once = read(&recording, source, ALL);
        for plan in plans {
            prop_assert_eq!(&read(&recording, source, plan), &at_once, "{:?}", plan);
        }

        let (whole, only) = (whole(&recording), only(&recording));
        match (whole, only) {
            (Ok((all, tally, totals)), Ok((some, of_all, part))) => {
                prop_assert_eq!(format!("{some:?}"), format!("{all:?}"));
                prop_assert_eq!(of_all, tally);
                prop_assert_eq!(of_all.samples, totals.samples);
                prop_assert_eq!(
                    (part.damaged, part.lost, part.throttled, part.cut_short),
                    (totals.damaged, totals.lost, totals.throttled, totals.cut_short)
                );
            }
            (Err(whole), Err(only)) => prop_assert_eq!(whole, only),
            (whole, only) => prop_assert!(false, "{:?} but {:?}", whole.err(), only.err()),
        }
    }
}

/// A file of many records, all of one kind of event after the other.
fn long() -> Vec<u8> {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut events = Written::new();
    while events.len() < 4000 {
        events.extend(written(150).new_tree(&mut runner).unwrap().current());
    }
    file_of(&events)
}

#[test]
fn a_file_gives_what_memory_gives() {
    let bytes = long();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let recording = Recording::from_bytes(bytes.clone(), "generated").unwrap();
    let len = bytes.len() - BEGIN;
    let at_once = read(&recording, Source::Memory(&bytes[BEGIN..]), ALL).unwrap();
    assert!(at_once.0.len() > 500 && at_once.2.samples > 2000);
    let source = Source::File {
        file: &file,
        begins: BEGIN as u64,
        len,
    };
    for (piece, helpers) in [(4096, 0), (4096, 3), (5000, 1), (1 << 20, 2)] {
        let plan = Plan { piece, helpers };
        assert_eq!(read(&recording, source, plan).unwrap(), at_once, "{plan:?}");
    }

    // Cut while it is read: as if it had been shorter, and known to have been longer.
    let left = (len / 2 + 12) as u64;
    file.set_len(BEGIN as u64 + left).unwrap();
    let half = seal(bytes[..BEGIN + len / 2 + 12].to_vec());
    let shorter = read(&recording, Source::Memory(&half[BEGIN..]), ALL).unwrap();
    for (piece, helpers) in [(4096, 0), (4096, 3)] {
        let plan = Plan { piece, helpers };
        let cut = read(&recording, source, plan).unwrap();
        assert!(cut.1.cut_short);
        assert_eq!(
            (cut.0, cut.2, cut.3),
            (shorter.0.clone(), shorter.2, shorter.3.clone())
        );
    }
}

#[test]
fn a_helper_that_cannot_read_is_told_of() {
    // Opened for writing alone.
    let directory = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(directory.path().join("file")).unwrap();
    file.set_len(1 << 16).unwrap();
    let recording = Recording::from_bytes(long(), "generated").unwrap();
    let source = Source::File {
        file: &file,
        begins: 0,
        len: 1 << 16,
    };
    for helpers in [0, 2] {
        let plan = Plan {
            piece: 4096,
            helpers,
        };
        let message = read(&recording, source, plan).unwrap_err();
        assert!(message.contains("cannot read generated"), "{message}");
    }
}
