//! Exports of counts, read back by callgrind_annotate and by small independent readers.

use std::process::Command;

use super::*;
use crate::test_fixtures::counts::{detail, hostile_detail};

#[test]
fn callgrind_file_snapshot() {
    insta::assert_snapshot!("callgrind", callgrind(&detail()));
}

/// Returns the sums of self costs and of call costs of a callgrind file; panics on unknown lines.
fn read_callgrind(file: &str) -> (u64, u64) {
    const KEYS: &str = "version creator pid cmd desc positions events summary totals";
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let (mut own, mut calls) = (0u64, 0u64);
    let mut after_calls = false;
    for line in file.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((key, name)) = line.split_once('=')
            && ["ob", "fl", "fi", "fe", "fn", "cob", "cfi", "cfn"].contains(&key)
        {
            let (id, name) = name.strip_prefix('(').unwrap().split_once(')').unwrap();
            assert!(id.parse::<u32>().unwrap() > 0, "{line}");
            assert!(name.is_empty() || name.len() > 1, "{line}");
        } else if let Some(target) = line.strip_prefix("calls=") {
            let parts: Vec<u64> = target.split(' ').map(number).collect();
            assert_eq!(parts.len(), 3, "{line}");
            after_calls = true;
        } else if let Some((key, _)) = line.split_once(':') {
            assert!(KEYS.split(' ').any(|known| known == key), "{line}");
        } else {
            let parts: Vec<u64> = line.split(' ').map(number).collect();
            assert_eq!(parts.len(), 3, "{line}");
            let sum = if after_calls { &mut calls } else { &mut own };
            *sum = sum.saturating_add(parts[2]);
            after_calls = false;
        }
    }
    (own, calls)
}

#[test]
fn costs_in_callgrind_file_sum_to_the_counts() {
    assert_eq!(read_callgrind(&callgrind(&detail())), (4983, 4973));
    // Nothing that a name holds is taken for a line.
    let (own, _) = read_callgrind(&callgrind(&hostile_detail()));
    assert_eq!(own, 4983);
}

/// callgrind_annotate must show the same totals.
#[test]
fn callgrind_annotate_shows_the_same_totals() {
    let file = std::env::temp_dir().join(format!("genba-callgrind-{}", std::process::id()));
    for (detail, name) in [(detail(), "puts"), (hostile_detail(), "4,9")] {
        std::fs::write(&file, callgrind(&detail)).unwrap();
        let run = Command::new("callgrind_annotate")
            .args([
                "--inclusive=yes",
                "--tree=both",
                "--auto=no",
                "--threshold=100",
            ])
            .arg(&file)
            .output();
        let Ok(run) = run else {
            genba_testing::skip(
                "callgrind_annotate_shows_the_same_totals",
                "valgrind",
                "callgrind_annotate is not installed",
            );
            return;
        };
        let text = String::from_utf8_lossy(&run.stdout);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{errors}");
        assert!(errors.is_empty(), "{errors}");
        let total = text
            .lines()
            .find(|line| line.contains("PROGRAM TOTALS"))
            .expect("totals");
        assert!(total.trim_start().starts_with("4,983 "), "{total}");
        assert!(text.contains(name), "{text}");
    }
    std::fs::write(&file, callgrind(&detail())).unwrap();
    let run = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--auto=no", "--threshold=100"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let of = |function: &str| {
        let line = text.lines().find(|line| line.contains(function));
        line.and_then(|line| line.split_whitespace().next().map(str::to_owned))
    };
    // Inlined code is a row of its own there.
    assert_eq!(of("fib.c:main").as_deref(), Some("4,976"), "{text}");
    assert_eq!(of("namespace)::fib").as_deref(), Some("4,932"), "{text}");
    assert_eq!(of(":puts").as_deref(), Some("41"), "{text}");
    let _ = std::fs::remove_file(&file);
}

/// Fields of a message: number and value, nested messages as bytes.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn read_varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint without an end");
}

fn read_message(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = read_varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(read_varint(&mut bytes)),
            2 => {
                let length = read_varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn numbers(mut packed: &[u8]) -> Vec<u64> {
    let mut list = Vec::new();
    while !packed.is_empty() {
        list.push(read_varint(&mut packed));
    }
    list
}

/// A decoded profile.
#[derive(Default)]
struct Read {
    strings: Vec<String>,
    /// Locations and values.
    samples: Vec<(Vec<u64>, Vec<u64>)>,
    /// By id: mapping, address, function, line.
    locations: std::collections::BTreeMap<u64, [u64; 4]>,
    /// By id: name, file, first line.
    functions: std::collections::BTreeMap<u64, [u64; 3]>,
    mappings: std::collections::BTreeMap<u64, [u64; 4]>,
    types: usize,
}

fn read_pprof(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let number = |fields: &[(u64, Field)], wanted: u64| {
        let found = fields.iter().find(|field| field.0 == wanted);
        match found {
            Some((_, Field::Number(value))) => *value,
            Some((_, Field::Bytes(_))) => panic!("field {wanted} is not a number"),
            None => 0,
        }
    };
    for (field, value) in read_message(bytes) {
        let Field::Bytes(bytes) = value else {
            continue;
        };
        if field == 6 {
            read.strings.push(String::from_utf8(bytes).unwrap());
            continue;
        }
        if field == 13 {
            continue;
        }
        let inner = read_message(&bytes);
        let id = || number(&inner, 1);
        match field {
            1 => read.types += 1,
            2 => {
                let list = |wanted| match inner.iter().find(|field| field.0 == wanted) {
                    Some((_, Field::Bytes(packed))) => numbers(packed),
                    other => panic!("{other:?}"),
                };
                read.samples.push((list(1), list(2)));
            }
            3 => {
                let values = [2, 3, 5, 6].map(|wanted| number(&inner, wanted));
                assert!(read.mappings.insert(id(), values).is_none());
            }
            4 => {
                let Some((_, Field::Bytes(line))) = inner.iter().find(|field| field.0 == 4) else {
                    panic!("a location without a line");
                };
                let line = read_message(line);
                let values = [
                    number(&inner, 2),
                    number(&inner, 3),
                    number(&line, 1),
                    number(&line, 2),
                ];
                assert!(read.locations.insert(id(), values).is_none());
            }
            5 => {
                let values = [2, 4, 5].map(|wanted| number(&inner, wanted));
                assert!(read.functions.insert(id(), values).is_none());
            }
            _ => {}
        }
    }
    assert_eq!(read.strings[0], "");
    read
}

#[test]
fn pprof_has_every_instruction_and_every_call() {
    let read = read_pprof(&pprof(&detail()));
    assert_eq!(read.types, 2);
    let name = |location: u64| {
        let [_, _, function, line] = read.locations[&location];
        let [name, file, _] = read.functions[&function];
        let (name, file) = (&read.strings[name as usize], &read.strings[file as usize]);
        format!("{name} {file}:{line}")
    };
    let mut totals = [0, 0];
    let mut calls = Vec::new();
    for (locations, values) in &read.samples {
        totals[0] += values[0];
        totals[1] += values[1];
        if let [callee, caller] = locations[..] {
            calls.push((name(caller), name(callee), values[1]));
        } else {
            assert_eq!((locations.len(), values[1]), (1, 0));
        }
    }
    assert_eq!(totals, [4983, 1974]);
    let fib = "(anonymous namespace)::fib(int)";
    let expected = [
        (
            format!("{fib} /home/a/fib.c:5"),
            format!("{fib} /home/a/fib.c:3"),
            1972,
        ),
        (
            "main /home/a/fib.c:10".to_owned(),
            format!("{fib} /home/a/fib.c:3"),
            1,
        ),
        // The place of the call has no line of its own.
        ("main /home/a/fib.c:11".to_owned(), "puts :0".to_owned(), 1),
    ];
    assert_eq!(calls[..2], expected[..2]);
    assert_eq!(calls[2].1, expected[2].1);
    assert!(
        read.locations
            .keys()
            .any(|&id| name(id) == "main /usr/include/inline.h:99")
    );
    // The same address of two modules is two places.
    let at: Vec<u64> = read.locations.values().map(|values| values[1]).collect();
    assert!(at.contains(&0x1139) && at.contains(&(1 << 48 | 0x1139)));
    for [mapping, address, ..] in read.locations.values() {
        let [start, limit, ..] = read.mappings[mapping];
        assert!((start..limit).contains(address));
    }
    assert_eq!(read.strings[read.mappings[&1][3] as usize], "3f2a9c0d");
}

#[test]
fn hostile_names_are_sanitised() {
    let read = read_pprof(&pprof(&hostile_detail()));
    for (locations, values) in &read.samples {
        assert_eq!(values.len(), 2);
        for id in locations {
            let [mapping, _, function, _] = read.locations[id];
            assert!(mapping == 0 || read.mappings.contains_key(&mapping));
            let [name, file, _] = read.functions[&function];
            assert!(name.max(file) < read.strings.len() as u64);
        }
    }
    for text in &read.strings {
        assert!(text.chars().all(crate::safe_text::is_harmless), "{text:?}");
        assert!(text.len() < 20_000);
    }
    let file = callgrind(&hostile_detail());
    assert!(
        file.chars()
            .all(|c| c == '\n' || crate::safe_text::is_harmless(c))
    );
}
