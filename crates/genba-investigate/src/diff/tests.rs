use std::path::Path;
use std::process::Command;

use genba_model::MovedHow;
use genba_run::{Cancel, CommandSpec, Launcher};

use super::*;
use crate::progress::NoProgress;

const MAIN: &str = "#include <stdio.h>
void step(unsigned long *s, unsigned long i);
int main(void) { unsigned long s = 1;
  for (unsigned long i = 0; i < 60000000; i++) step(&s, i);
  printf(\"%lu\\n\", s); return 0; }
";
const STEP: &str = "void step(unsigned long *s, unsigned long i) {
  *s += i ^ (i >> 3);
}
";

fn build(place: &Path, name: &str, flags: &[&str]) -> bool {
    for (file, text) in [("main.c", MAIN), ("step.c", STEP)] {
        std::fs::write(place.join(file), text).unwrap();
    }
    let mut gcc = Command::new("gcc");
    gcc.current_dir(place)
        .args(["-O2", "main.c", "step.c", "-o", name])
        .args(flags);
    gcc.status().is_ok_and(|status| status.success())
}

fn side(place: &Path, name: &str, launcher: &mut Launcher, counting: f64) -> Side {
    let spec = CommandSpec::direct([place.join(name)]);
    let effort = Effort {
        samples: 300,
        sampling: 20.0,
        counting,
    };
    let cancel = Cancel::new().unwrap();
    Side::measure(
        launcher,
        name,
        &spec,
        Some(0.2),
        &effort,
        &cancel,
        &mut NoProgress,
    )
    .unwrap()
}

/// A callee in another unit is found in its caller after link-time optimisation: by the debug
/// information, and without it as likely.
#[test]
fn inlined_callee_is_found_in_its_caller() {
    let test = "inlined_callee_is_found_in_its_caller";
    let place = tempfile::tempdir().unwrap();
    if !build(place.path(), "plain", &["-g"]) {
        genba_testing::skip(test, "gcc", "gcc cannot be run");
        return;
    }
    assert!(build(place.path(), "lto", &["-g", "-flto"]));
    assert!(build(place.path(), "bare", &["-flto"]));
    let mut launcher = Launcher::new().unwrap();
    let plain = side(place.path(), "plain", &mut launcher, 60.0);
    let lto = side(place.path(), "lto", &mut launcher, 60.0);
    let Some(profile) = plain
        .profile
        .as_ref()
        .filter(|profile| profile.samples >= 50)
    else {
        genba_testing::skip(
            test,
            genba_testing::PERF_EVENT,
            &format!("nothing can be sampled here: {:?}", plain.notes),
        );
        return;
    };
    assert!(profile.functions.iter().any(|one| one.function == "step"));
    let found = diff(&plain, &lto);
    let step = found
        .functions
        .iter()
        .find(|one| one.function == "step")
        .unwrap();
    assert!(step.after.is_none() && step.change.high < 0.0);
    let moved = step.moved.first().expect("it went somewhere");
    assert_eq!(
        (moved.into.as_str(), moved.how),
        ("main", MovedHow::Inlined)
    );
    let main = found
        .functions
        .iter()
        .find(|one| one.function == "main")
        .unwrap();
    assert!(main.inlined_here.contains(&"step".to_owned()), "{main:?}");
    if plain.counts.is_some() && lto.counts.is_some() {
        assert_eq!(step.calls, Some((60_000_000, 0)));
    }
    let line = found
        .lines
        .iter()
        .find(|one| one.line == 2 && one.file.ends_with("step.c"))
        .unwrap();
    assert_eq!(line.inside_after.as_deref(), Some("main"));
    // Without debug information on the other side: by who called it and grew, if that is known.
    let bare = side(place.path(), "bare", &mut launcher, 0.0);
    let found = diff(&plain, &bare);
    let step = found
        .functions
        .iter()
        .find(|one| one.function == "step")
        .unwrap();
    assert!(
        step.moved.iter().all(|moved| moved.how == MovedHow::Likely),
        "{step:?}"
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("no debug information"))
    );
    // Nothing has moved where nothing was changed.
    let same = diff(&plain, &plain);
    assert!(
        same.functions
            .iter()
            .all(|one| one.moved.is_empty() && one.change.value == 0.0)
    );
    assert!(same.lines.is_empty());
}
