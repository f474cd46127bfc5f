//! The sieve lets through all that the whole reading finds in the wanted code, whatever the
//! order in which two rings were written out.

use std::ops::Range;

use proptest::prelude::*;

use super::{Module, ReadOptions, Recording, Sample, Tables, Tally};
use crate::perfdata::attr::{flag, sample};
use crate::perfdata::file::{HEADER_SIZE, MAGIC};
use crate::perfdata::record::{kind, misc};
use crate::perfdata::synthesize::{MapsLine, comm, task, user_map};

#[derive(Clone, Debug)]
pub(super) enum Happens {
    Map { pid: i32, at: u64, module: u8 },
    Fork { parent: i32, child: i32 },
    Exec { pid: i32 },
    Exit { pid: i32 },
    Sample { pid: i32, address: u64, weight: u64 },
}

const PAGES: u64 = 8;
const PAGE: u64 = 0x1000;

fn happens() -> impl Strategy<Value = Happens> {
    let pid = 1..5i32;
    prop_oneof![
        2 => (pid.clone(), 1..PAGES, 0u8..3)
            .prop_map(|(pid, at, module)| Happens::Map { pid, at: at * PAGE, module }),
        1 => (pid.clone(), 5..8i32).prop_map(|(parent, child)| Happens::Fork { parent, child }),
        1 => pid.clone().prop_map(|pid| Happens::Exec { pid }),
        1 => (5..8i32).prop_map(|pid| Happens::Exit { pid }),
        10 => (1..8i32, PAGE..(PAGES + 1) * PAGE, 0u64..3)
            .prop_map(|(pid, address, weight)| Happens::Sample { pid, address, weight: weight << (address % 3 * 20) }),
    ]
}

fn record_of(what: &Happens, time: u64) -> Vec<u8> {
    match *what {
        Happens::Map { pid, at, module } => {
            let line = MapsLine {
                start: at,
                end: at + 2 * PAGE,
                prot: 5,
                shared: false,
                offset: PAGE,
                device: (0, 0),
                inode: 1,
                path: format!("/module{module}"),
            };
            user_map(pid, pid, &line, time)
        }
        Happens::Fork { parent, child } => task(kind::FORK, child, parent, child, parent, time),
        Happens::Exec { pid } => comm(pid, pid, "new", true, time),
        Happens::Exit { pid } => task(kind::EXIT, pid, 1, pid, 1, time),
        Happens::Sample {
            pid,
            address,
            weight,
        } => {
            let mut out = kind::SAMPLE.to_le_bytes().to_vec();
            out.extend(misc::USER.to_le_bytes());
            out.extend(48u16.to_le_bytes());
            out.extend(address.to_le_bytes());
            out.extend(pid.to_le_bytes());
            out.extend(pid.to_le_bytes());
            for word in [time, 0, weight] {
                out.extend(word.to_le_bytes());
            }
            out
        }
    }
}

/// Each event with its ring, whether it is written a round late, and whether a round ends.
pub(super) type Written = Vec<(Happens, bool, bool, bool)>;

pub(super) fn file_of(events: &Written) -> Vec<u8> {
    let mut rounds: Vec<[Vec<u8>; 2]> = vec![Default::default()];
    for pid in 1..8 {
        rounds[0][0].extend(comm(pid, pid, "old", false, 0));
    }
    for (time, (what, ring, late, ends)) in (1u64..).zip(events) {
        let now = rounds.len() - 1;
        let round = now + usize::from(*late);
        if round == rounds.len() {
            rounds.push(Default::default());
        }
        rounds[round][usize::from(*ring)].extend(record_of(what, time));
        // The late ones' round is the next one.
        if *late {
            continue;
        }
        if *ends {
            rounds.push(Default::default());
        }
    }
    let mut data = Vec::new();
    for round in rounds {
        data.extend(round.concat());
        data.extend(kind::FINISHED_ROUND.to_le_bytes());
        data.extend([0, 0, 8, 0]);
    }
    let mut attr = vec![0u8; 80];
    let sampled = sample::IP | sample::TID | sample::TIME | sample::CPU | sample::PERIOD;
    attr[4..8].copy_from_slice(&64u32.to_le_bytes());
    attr[24..32].copy_from_slice(&sampled.to_le_bytes());
    attr[40..48].copy_from_slice(&flag::SAMPLE_ID_ALL.to_le_bytes());
    let mut file = MAGIC.to_vec();
    let header = HEADER_SIZE as u64;
    for word in [header, 80, header, 80, header + 80, data.len() as u64] {
        file.extend(word.to_le_bytes());
    }
    file.resize(HEADER_SIZE, 0);
    file.extend(attr);
    file.extend(data);
    file
}

pub(super) fn wanted(module: &Module) -> Vec<Range<u64>> {
    match module.path.as_str() {
        "/module1" => std::iter::once(PAGE + 100..PAGE + 300).collect(),
        "/module2" => vec![PAGE + 4000..PAGE + 4200, 0..10],
        _ => Vec::new(),
    }
}

/// What is known of a sample, if it is in the wanted code.
pub(super) fn seen(sample: &Sample, tables: &Tables) -> Option<(u64, i32, u64, String, u64)> {
    let place = tables.location(sample.location);
    let module = tables.module(place.module);
    let is_wanted = wanted(module).iter().any(|r| r.contains(&place.offset));
    let path = module.path.clone();
    is_wanted.then_some((sample.time, sample.pid, sample.weight, path, place.offset))
}

/// So many events at most.
pub(super) fn written(most: usize) -> impl Strategy<Value = Written> {
    let late = prop::bool::weighted(0.2);
    let ends = prop::bool::weighted(0.1);
    prop::collection::vec((happens(), any::<bool>(), late, ends), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_wanted_is_kept_back(events in written(150)) {
        let recording = Recording::from_bytes(file_of(&events), "generated").unwrap();
        let options = ReadOptions { event: None, stacks: false };
        let mut all = Vec::new();
        let mut tally = Tally::default();
        let whole = recording.scan(&options, &mut |sample, tables| {
            all.extend(seen(sample, tables));
            tally.add(1, sample.weight);
        }).unwrap();
        let mut some = Vec::new();
        let (part, of_all) = recording.scan_only(
            &options,
            &mut |module| wanted(module),
            &mut |sample, tables| some.extend(seen(sample, tables)),
        ).unwrap();
        prop_assert_eq!(some, all);
        prop_assert_eq!(of_all, tally);
        prop_assert_eq!(of_all.samples, whole.totals.samples);
        prop_assert_eq!(part.totals.damaged, 0);
    }
}
