//! Fifty writers at a time, killed at random, lose and double nothing.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::support::{measurement, recording, revision, with_each_store};
use genba_history::{History, Location};

const WRITERS: usize = 50;
const RECORDINGS: usize = 20;
const LOCATION: &str = "GENBA_TEST_LOCATION";
const WRITER: &str = "GENBA_TEST_WRITER";
const FIRST: &str = "GENBA_TEST_FIRST";

/// The writer's process: the test below starts it as this test.
#[test]
fn writer_process() {
    let (Ok(location), Ok(writer), Ok(first)) = (
        std::env::var(LOCATION),
        std::env::var(WRITER),
        std::env::var(FIRST),
    ) else {
        return;
    };
    let location = Location::parse(&location, ".".as_ref()).unwrap();
    let mut history = History::open(&location).unwrap();
    for index in first.parse().unwrap()..RECORDINGS {
        let measurements = (0..3)
            .map(|benchmark| {
                let commit = revision(&format!("c{index}"), index as i64);
                measurement(&format!("b{benchmark}"), commit, &[index as f64])
            })
            .collect();
        history
            .record(&recording(&format!("{writer}-{index}"), measurements))
            .unwrap();
        println!("\nstored {index}");
    }
}

#[test]
fn killed_writers_lose_and_double_nothing() {
    with_each_store("killed_writers_lose_and_double_nothing", |location| {
        let text = match location {
            Location::Sqlite(path) => format!("sqlite:{}", path.display()),
            Location::Postgres(url) => url.clone(),
        };
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let text = &text;
                scope.spawn(move || write_and_kill(text, writer));
            }
        });
        let mut history = History::open(location).unwrap();
        let mut keys = history.keys("").unwrap();
        assert_eq!(keys.len(), WRITERS * RECORDINGS);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), WRITERS * RECORDINGS);
        for key in keys.iter().step_by(7) {
            let read = history.recording(key).unwrap().unwrap();
            assert_eq!(read.measurements.len(), 3, "{key}");
        }
        let series = history.series(&Default::default()).unwrap();
        let counts: Vec<u64> = series.iter().map(|one| one.measurements).collect();
        assert_eq!(counts, [(WRITERS * RECORDINGS) as u64; 3]);
    });
}

/// Starts a writer again and again until it has written everything, and kills it after a number
/// of recordings that depends on the writer. What it reported as stored is not written again, so
/// that a loss would be seen.
fn write_and_kill(location: &str, writer: usize) {
    let mut first = 0;
    let mut starts = 0;
    while first < RECORDINGS {
        assert!(starts <= RECORDINGS, "writer {writer} does not get on");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_writers::writer_process", "--nocapture"])
            .env(LOCATION, location)
            .env(WRITER, format!("w{writer}"))
            .env(FIRST, first.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Each start lives longer, so that all of them end.
        let lives = starts * 2 + (writer * 7 + starts * 3) % 5;
        starts += 1;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for (seen, line) in lines
            .map_while(Result::ok)
            .filter(|line| line.starts_with("stored "))
            .enumerate()
        {
            first = line["stored ".len()..].parse::<usize>().unwrap() + 1;
            if seen == lives {
                // In the middle of the next recording, or of the one after it.
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
    }
}
