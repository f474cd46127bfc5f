//! Reports put together, compared with earlier ones, and what the runs show of hazards.

use crate::support::{Noise, judged, name_of, noisy, plan, simulate};
use genba_experiment::{
    Measured, NoObserver, Plan, Runner, Stop, compare_with_case, doctor, merge, run_with_clock,
};
use genba_model::{Metric, VerdictName};
use genba_run::{Cancel, CommandSpec, Finished, RunError};

fn fixed(names: &[&str], blocks: u32) -> Plan {
    Plan {
        stop: Stop::Blocks(blocks),
        ..plan(names)
    }
}

/// A report in which every variant takes its factor of 20 ms.
fn report_of(names: &[&str], factors: &[f64], blocks: u32) -> genba_model::ComparisonReport {
    let plan = fixed(names, blocks);
    let mut noise = Noise(9);
    let measurement = simulate(&plan, &mut |spec| {
        let place = names.iter().position(|name| *name == name_of(spec));
        Ok(noisy(&mut noise, factors[place.unwrap()], 0))
    })
    .expect("a measurement");
    judged(&plan, &measurement)
}

#[test]
fn earlier_runs_become_the_baseline_of_a_single_command() {
    let earlier = report_of(&["a"], &[1.0], 20);
    let now = report_of(&["b"], &[2.0], 20);
    let all = compare_with_case(now, &earlier, "7f3a").expect("the same host");
    assert_eq!(all.variants[0].name, "a (case 7f3a)");
    let first = &all.comparisons[0];
    assert_eq!(
        (first.metric.as_str(), first.verdict),
        ("wall", VerdictName::Slower)
    );
    assert!(first.ratio.low < 2.0 && 2.0 < first.ratio.high);
    assert!(
        all.notes
            .iter()
            .any(|note| note.contains("not interleaved"))
    );
}

#[test]
fn change_of_an_earlier_gate_is_taken_before_its_base() {
    let mut earlier = report_of(&["base 1f2e3d", "change"], &[1.0, 3.0], 20);
    for variant in &mut earlier.variants {
        variant.command = "a".to_owned();
    }
    let now = report_of(&["a"], &[3.0], 20);
    let all = compare_with_case(now, &earlier, "x").expect("the same host");
    assert_eq!(all.comparisons[0].baseline, "change (case x)");
}

#[test]
fn earlier_runs_of_the_same_name_are_taken_before_the_earlier_baseline() {
    let earlier = report_of(&["a", "b"], &[1.0, 3.0], 20);
    let now = report_of(&["a", "b"], &[1.0, 3.0], 20);
    let all = compare_with_case(now, &earlier, "x").expect("the same host");
    let found: Vec<(&str, &str, VerdictName)> = (all.comparisons.iter())
        .filter(|one| one.metric == "wall" && one.baseline.contains("case"))
        .map(|one| (one.baseline.as_str(), one.variant.as_str(), one.verdict))
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(old, new, _)| old.starts_with(new)));
    assert!(
        found
            .iter()
            .all(|(_, _, verdict)| matches!(verdict, VerdictName::Same | VerdictName::Undecided))
    );
    assert_eq!(all.variants[0].name, "a");
}

#[test]
fn results_of_another_host_are_refused_with_both_named() {
    let mut earlier = report_of(&["a"], &[1.0], 3);
    earlier.host.id = "other".into();
    let error = compare_with_case(report_of(&["a"], &[1.0], 3), &earlier, "7f3a").unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("other") && text.contains("test") && text.contains("7f3a"),
        "{text}"
    );
}

#[test]
fn merged_reports_keep_their_comparisons_apart() {
    let one = report_of(&["a", "b"], &[1.0, 2.0], 8);
    let two = report_of(&["a", "b"], &[2.0, 1.0], 8);
    assert_eq!(merge(vec![("x".into(), one.clone())]), Some(one.clone()));
    assert_eq!(merge(Vec::new()), None);
    let all = merge(vec![("read".into(), one), ("write".into(), two)]).expect("two");
    let names: Vec<&str> = all.variants.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["read: a", "read: b", "write: a", "write: b"]);
    let mut walls = all.comparisons.iter().filter(|one| one.metric == "wall");
    let (read, write) = (walls.next().unwrap(), walls.next().unwrap());
    assert_eq!(
        (read.baseline.as_str(), read.verdict),
        ("read: a", VerdictName::Slower)
    );
    assert_eq!(
        (write.variant.as_str(), write.verdict),
        ("write: b", VerdictName::Faster)
    );
}

#[test]
fn the_doctor_tells_the_scatter_and_what_it_hides() {
    let spec = CommandSpec::direct(["a"]);
    // A fixed order of the runs: of random ones, one in some 70 is judged to differ.
    let plan = Plan {
        seed: 7,
        ..doctor::plan(&spec, "a", 3.0)
    };
    let mut noise = Noise(5);
    let measurement = simulate(&plan, &mut |_| Ok(noisy(&mut noise, 1.0, 0))).expect("runs");
    let found = doctor::diagnose(&judged(&plan, &measurement));
    let wall = found
        .metrics
        .iter()
        .find(|one| one.metric == "wall")
        .unwrap();
    // ± 3 % evenly: a ratio of two scatters by about 2.5 %.
    assert!((0.015..0.04).contains(&wall.scatter), "{}", wall.scatter);
    let visible = wall.visible.expect("enough pairs");
    assert!(visible > 0.0 && visible < wall.scatter * 2.0, "{visible}");
    assert!(wall.pairs >= 50);
    assert!(matches!(
        wall.verdict,
        VerdictName::Same | VerdictName::Undecided
    ));
    assert!((2.8..3.2).contains(&found.seconds));
}

/// Runs with everything that the real runner adds.
struct Staged {
    preparation: f64,
    steal: f64,
    channel: &'static [u8],
}

impl Runner for Staged {
    fn measure(&mut self, _: &CommandSpec, _: &Cancel) -> Result<Measured, RunError> {
        let mut finished = Finished::mock(0.1);
        finished.record.target.user = 0.05;
        finished.record.target.system = 0.05;
        Ok(Measured {
            counters: vec![None],
            channel: self.channel.to_vec(),
            steal_share: Some(self.steal),
            ..finished.into()
        })
    }

    fn command(&mut self, _: &CommandSpec, _: &Cancel) -> Result<Finished, RunError> {
        Ok(Finished::mock(self.preparation))
    }

    fn notes(&self) -> &[String] {
        &[]
    }
}

#[test]
fn hazards_that_the_runs_show_are_named() {
    let mut plan = fixed(&["a", "b"], 8);
    plan.variants[1].prepare = vec![CommandSpec::direct(["warm"])];
    plan.counters = vec!["cycles".into()];
    let mut runner = Staged {
        preparation: 2.0,
        steal: 0.2,
        channel: b"hits 5 op/s\nbroken\n",
    };
    let cancel = Cancel::new().expect("a token");
    let mut time = 0.0;
    let measurement = run_with_clock(&plan, &mut runner, &cancel, &mut NoObserver, &mut || {
        time += 0.01;
        time
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    let ids: Vec<&str> = found.hazards.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["page-cache", "prepare", "disturbed"]);
    assert!(
        found.hazards[1].text.contains("b (20.0 times"),
        "{}",
        found.hazards[1].text
    );
    assert!(found.hazards[2].text.contains("16 of 16 runs"));
    // The target's own metric is there without having been announced.
    assert_eq!(found.variants[0].metrics["hits"].unit, "op/s");
    let hits = found
        .comparisons
        .iter()
        .find(|one| one.metric == "hits")
        .unwrap();
    assert_eq!(hits.verdict, VerdictName::Same);
    assert!(
        found.notes.iter().any(|note| note.contains("name value")),
        "{:?}",
        found.notes
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("did not count"))
    );
    assert!(!found.variants[0].metrics.contains_key("cycles"));
}

/// User time is a sampled share of the CPU time where a process can have no system time at all.
#[test]
fn user_time_of_short_runs_is_known_to_be_sampled() {
    let said = |metric: Metric, user: f64, system: f64| -> bool {
        let mut plan = fixed(&["a"], 5);
        plan.primary = metric.name().to_owned();
        let measurement = simulate(&plan, &mut |_| {
            let mut finished = Finished::mock(user + system);
            finished.record.target.user = user;
            finished.record.target.system = system;
            Ok(finished)
        })
        .expect("runs");
        let found = judged(&plan, &measurement).hazards;
        found.iter().any(|one| one.id == "ticks")
    };
    assert!(said(Metric::User, 0.02, 0.0) && said(Metric::System, 0.0, 0.02));
    // Split exactly, long enough, or not split at all.
    assert!(!said(Metric::User, 0.02, 0.0003));
    assert!(!said(Metric::User, 0.5, 0.0));
    assert!(!said(Metric::Cpu, 0.02, 0.0));
}

#[test]
fn runs_that_a_case_took_from_an_older_one_are_not_its_own() {
    let oldest = report_of(&["a"], &[1.0], 20);
    let middle = report_of(&["b"], &[2.0], 20);
    let middle = compare_with_case(middle, &oldest, "7f3a").expect("the same host");
    let now = report_of(&["c"], &[2.0], 20);
    let all = compare_with_case(now, &middle, "81c0").expect("the same host");
    assert_eq!(all.variants[0].name, "b (case 81c0)");
}
