//! The time of threads off a CPU by function.

use std::collections::{HashMap, HashSet};

use genba_model::{OffCpu, OffCpuFunction, OffCpuReason, WaitReason, Waits, WallStack};

/// The function of stacks that are not known.
const NO_STACK: &str = "[no stack]";

#[derive(Default)]
struct Sums {
    own: f64,
    total: f64,
    reasons: HashMap<WaitReason, f64>,
}

/// What threads did off a CPU, by function and by stack.
pub fn off_cpu(all: &Waits) -> OffCpu {
    let stacks: Vec<WallStack> = all
        .stacks
        .iter()
        .filter(|one| one.state != WaitReason::Running)
        .cloned()
        .collect();
    OffCpu {
        command: all.command.clone(),
        pid: all.pid,
        wall_seconds: all.wall_seconds,
        thread_seconds: all.stacks.iter().map(|one| one.seconds).sum(),
        off_cpu_seconds: stacks.iter().map(|one| one.seconds).sum(),
        snapshots: all.snapshots,
        functions: functions(&stacks),
        stacks,
        notes: all.notes.clone(),
    }
}

/// Functions by the time in which they were the innermost of the user's code, then by the time in
/// which they were anywhere on the stack.
fn functions(stacks: &[WallStack]) -> Vec<OffCpuFunction> {
    let mut sums: HashMap<&str, Sums> = HashMap::new();
    for one in stacks {
        let own = (one.own)
            .and_then(|at| one.frames.get(at as usize))
            .or(one.frames.last())
            .map_or(NO_STACK, String::as_str);
        sums.entry(own).or_default().own += one.seconds;
        // Once per stack: a function may call itself.
        let mut inside: HashSet<&str> = one.frames.iter().map(String::as_str).collect();
        inside.insert(own);
        for function in inside {
            let sum = sums.entry(function).or_default();
            sum.total += one.seconds;
            *sum.reasons.entry(one.state).or_default() += one.seconds;
        }
    }
    let mut functions: Vec<OffCpuFunction> = sums
        .into_iter()
        .map(|(function, sum)| {
            let mut reasons: Vec<OffCpuReason> = sum
                .reasons
                .into_iter()
                .map(|(reason, seconds)| OffCpuReason { reason, seconds })
                .collect();
            reasons.sort_by(|a, b| {
                b.seconds
                    .total_cmp(&a.seconds)
                    .then(a.reason.cmp(&b.reason))
            });
            OffCpuFunction {
                function: function.to_owned(),
                self_seconds: sum.own,
                total_seconds: sum.total,
                reasons,
            }
        })
        .collect();
    functions.sort_by(|a, b| {
        b.self_seconds
            .total_cmp(&a.self_seconds)
            .then(b.total_seconds.total_cmp(&a.total_seconds))
            .then_with(|| a.function.cmp(&b.function))
    });
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(state: WaitReason, frames: &[&str], own: Option<u32>, seconds: f64) -> WallStack {
        WallStack {
            thread: "t".to_owned(),
            state,
            object: None,
            frames: frames.iter().map(|name| (*name).to_owned()).collect(),
            own,
            seconds,
            snapshots: 1,
        }
    }

    #[test]
    fn time_belongs_to_the_users_function_and_once_to_each_caller() {
        let found = functions(&[
            stack(
                WaitReason::Lock,
                &["main", "walk", "walk", "lock", "futex_wait"],
                Some(2),
                2.0,
            ),
            stack(WaitReason::File, &["main", "walk", "read"], Some(1), 1.0),
            stack(WaitReason::RunQueue, &[], None, 0.5),
        ]);
        let of = |name: &str| found.iter().find(|one| one.function == name).unwrap();
        assert_eq!(found[0].function, "walk");
        assert_eq!(
            (of("walk").self_seconds, of("walk").total_seconds),
            (3.0, 3.0)
        );
        assert_eq!(
            (of("main").self_seconds, of("main").total_seconds),
            (0.0, 3.0)
        );
        assert_eq!(of("futex_wait").self_seconds, 0.0);
        assert_eq!(of("walk").reasons[0].reason, WaitReason::Lock);
        assert_eq!(of(NO_STACK).self_seconds, 0.5);
    }
}
