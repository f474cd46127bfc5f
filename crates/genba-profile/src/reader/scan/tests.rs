//! A scan agrees with a simulation of the address spaces, in whatever order the records of two ring
//! buffers were written.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::perfdata::attr::{flag, sample};
use crate::perfdata::file_header::{HEADER_SIZE, MAGIC};
use crate::perfdata::record::{kind, misc};
use crate::perfdata::synthesize::{comm, task, user_map};
use crate::reader::{ReadOptions, Recording};
use genba_symbols::Mapping;

#[derive(Clone, Debug)]
enum Event {
    Map { pid: i32, at: u64, module: u8 },
    Fork { parent: i32, child: i32 },
    Exec { pid: i32 },
    Exit { pid: i32 },
    Sample { pid: i32, address: u64, weight: u64 },
}

const PAGES: u64 = 8;
const PAGE: u64 = 0x1000;

fn event() -> impl Strategy<Value = Event> {
    let pid = 1..5i32;
    prop_oneof![
        2 => (pid.clone(), 1..PAGES, 0u8..3)
            .prop_map(|(pid, at, module)| Event::Map { pid, at: at * PAGE, module }),
        1 => (pid.clone(), 5..8i32).prop_map(|(parent, child)| Event::Fork { parent, child }),
        1 => pid.clone().prop_map(|pid| Event::Exec { pid }),
        1 => (5..8i32).prop_map(|pid| Event::Exit { pid }),
        10 => (1..8i32, PAGE..(PAGES + 1) * PAGE, 1u64..1 << 40)
            .prop_map(|(pid, address, weight)| Event::Sample { pid, address, weight }),
    ]
}

fn record_of(event: &Event, time: u64) -> Vec<u8> {
    match *event {
        Event::Map { pid, at, module } => {
            let line = Mapping {
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
        Event::Fork { parent, child } => task(kind::FORK, child, parent, child, parent, time),
        Event::Exec { pid } => comm(pid, pid, "new", true, time),
        Event::Exit { pid } => task(kind::EXIT, pid, 1, pid, 1, time),
        Event::Sample {
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

/// Each event with its ring buffer, whether it is written a round late, and whether a round ends.
type Written = Vec<(Event, bool, bool, bool)>;

fn file_of(events: &Written) -> Vec<u8> {
    let mut rounds: Vec<[Vec<u8>; 2]> = vec![Default::default()];
    for pid in 1..8 {
        rounds[0][0].extend(comm(pid, pid, "old", false, 0));
    }
    for (time, (event, ring, late, ends)) in (1u64..).zip(events) {
        let now = rounds.len() - 1;
        let round = now + usize::from(*late);
        if round == rounds.len() {
            rounds.push(Default::default());
        }
        rounds[round][usize::from(*ring)].extend(record_of(event, time));
        // A late record has opened the next round already.
        if *ends && !*late {
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

/// Time, process, weight, module path and offset of a sample.
type Located = (u64, i32, u64, String, u64);

/// The samples located by following the events in time order.
fn simulate(events: &Written) -> Vec<Located> {
    let mut maps: HashMap<i32, Vec<(u64, u8)>> = HashMap::new();
    let mut samples = Vec::new();
    for (time, (event, ..)) in (1u64..).zip(events) {
        match *event {
            Event::Map { pid, at, module } => maps.entry(pid).or_default().push((at, module)),
            Event::Fork { parent, child } => {
                let inherited = maps.get(&parent).cloned();
                maps.insert(child, inherited.unwrap_or_default());
            }
            Event::Exec { pid } | Event::Exit { pid } => drop(maps.remove(&pid)),
            Event::Sample {
                pid,
                address,
                weight,
            } => {
                let mut mapped = maps.get(&pid).into_iter().flatten();
                let last = mapped.rfind(|(at, _)| (*at..at + 2 * PAGE).contains(&address));
                let (path, offset) = match last {
                    Some((at, module)) => (format!("/module{module}"), address - at + PAGE),
                    None => ("[unknown]".to_owned(), address),
                };
                samples.push((time, pid, weight, path, offset));
            }
        }
    }
    samples
}

fn scanned(file: Vec<u8>, stacks: bool) -> Vec<Located> {
    let recording = Recording::from_bytes(file, "synthetic").expect("a recording");
    let options = ReadOptions {
        event: None,
        stacks,
    };
    let mut samples = Vec::new();
    let tables = recording.scan(&options, &mut |sample, tables| {
        let place = tables.location(sample.location);
        let path = tables.module(place.module).path.clone();
        samples.push((sample.time, sample.pid, sample.weight, path, place.offset));
    });
    let totals = tables.expect("readable").totals;
    assert_eq!((totals.damaged, totals.cut_short), (0, false));
    assert_eq!(totals.samples, samples.len() as u64);
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn scan_matches_simulated_address_spaces_in_any_ring_order(
        events in prop::collection::vec(
            (event(), any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.1)),
            0..150,
        ),
    ) {
        let expected = simulate(&events);
        for stacks in [false, true] {
            prop_assert_eq!(&scanned(file_of(&events), stacks), &expected);
        }
    }
}
