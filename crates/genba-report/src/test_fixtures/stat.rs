//! Synthetic event counters of a few runs.

use genba_model::{Counter, CounterNote, CounterState, ExitKind, Stat};

use super::around;

pub fn stat() -> Stat {
    let counter =
        |event: &str, value: f64, unit: &str, note: Option<(f64, &str)>, running: f64| Counter {
            event: event.into(),
            state: CounterState::Counted,
            value: Some(around(value, 0.004)),
            unit: unit.into(),
            running_share: running,
            note: note.map(|(value, text)| CounterNote {
                value,
                text: text.into(),
            }),
        };
    let absent = |event: &str, state| Counter {
        event: event.into(),
        state,
        value: None,
        unit: String::new(),
        running_share: 0.0,
        note: None,
    };
    Stat {
        threads: Vec::new(),
        intervals: Vec::new(),
        topdown: None,
        command: vec!["./tostr".into(), "300".into()],
        runs: 3,
        counters: vec![
            counter(
                "task-clock",
                1808.34,
                "msec",
                Some((0.998, "CPUs utilized")),
                1.0,
            ),
            counter("context-switches", 15.0, "", Some((8.29, "/sec")), 1.0),
            counter("page-faults", 1288.0, "", Some((712.3, "/sec")), 1.0),
            counter("cycles", 6_204_112_334.0, "", Some((3.43, "GHz")), 0.751),
            counter(
                "instructions",
                7_693_099_294.0,
                "",
                Some((1.24, "insn per cycle")),
                0.751,
            ),
            counter(
                "branches",
                1_208_112_334.0,
                "",
                Some((668.1, "M/sec")),
                0.752,
            ),
            counter(
                "branch-misses",
                14_500_000.0,
                "",
                Some((0.012, "of all branches")),
                0.749,
            ),
            absent("LLC-loads", CounterState::NotSupported),
            absent("LLC-load-misses", CounterState::NotSupported),
            absent("stalled-cycles-backend", CounterState::NotCounted),
        ],
        wall: around(1.812, 0.006),
        user: around(1.79, 0.006),
        system: around(0.012, 0.08),
        exit: ExitKind::Code(0),
        notes: vec![],
    }
}
