//! What genba says to Slurm and reads from it, as text. Pure.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use genba_run::quote_word;

use crate::campaign_plan::HostPlan;

/// The script of a job array whose elements are the lines of `tasks`, the keys of tasks.
///
/// A node is taken alone (`--exclusive`), as others' work would disturb the measurement; a job whose node
/// fails is queued again.
#[must_use]
pub fn job_script(
    name: &str,
    host: &HostPlan,
    count: usize,
    tasks: &Path,
    logs: &Path,
    worker: &[OsString],
) -> String {
    let mut script = format!(
        "#!/bin/sh\n#SBATCH --job-name={name}\n#SBATCH --array=0-{}\n#SBATCH --nodes=1\n\
         #SBATCH --ntasks=1\n#SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH --output={}\n",
        count.saturating_sub(1),
        quoted_for_sbatch(&format!("{}/{name}-%a.log", logs.display()))
    );
    for (option, value) in options(host) {
        let _ = writeln!(script, "#SBATCH --{option}={}", quoted_for_sbatch(value));
    }
    for option in &host.sbatch {
        let _ = writeln!(script, "#SBATCH {}", quoted_for_sbatch(option));
    }
    let words: Vec<String> = worker
        .iter()
        .map(|word| quote_word(&word.to_string_lossy()))
        .collect();
    let _ = write!(
        script,
        "task=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {})\nexec {} \"$task\"\n",
        quote_word(&tasks.to_string_lossy()),
        words.join(" ")
    );
    script
}

/// The options of `sbatch` that a kind of host has keys for.
fn options(host: &HostPlan) -> impl Iterator<Item = (&'static str, &str)> {
    [
        ("constraint", &host.constraint),
        ("partition", &host.partition),
        ("nodelist", &host.nodes),
        ("time", &host.time),
    ]
    .into_iter()
    .filter_map(|(option, value)| Some((option, value.as_deref()?)))
}

/// Names a kind of host behind an error of `sbatch`: ` ([[host]] "zen": --constraint=zen3)`; empty for one without options.
#[must_use]
pub fn host_behind_error(host: &HostPlan) -> String {
    let own = host.sbatch.iter().cloned();
    let words = options(host).map(|(option, value)| format!("--{option}={value}"));
    let words: Vec<String> = words.chain(own).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(" ([[host]] {:?}: {})", host.name, words.join(" ")),
    }
}

/// A value quoted for a line of `#SBATCH`, which knows double quotes and backslashes.
fn quoted_for_sbatch(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%&|*[]".contains(&byte);
    match value.bytes().all(plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// An element of a job array in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedTask {
    /// Name of the job.
    pub job: String,
    /// Index in the array.
    pub index: usize,
    /// Id of the element, for `scancel`.
    pub id: String,
    /// State: `PENDING`, `RUNNING`, …
    pub state: String,
    /// Node, or why it waits.
    pub reason: String,
}

/// The format of `squeue` that [`parse_queue`] reads.
pub const QUEUE_FORMAT: &str = "%j|%K|%A|%F|%T|%R";

/// Parses the output of `squeue --array --noheader --format` [`QUEUE_FORMAT`]; other lines and other jobs
/// than those whose names have this prefix are skipped.
#[must_use]
pub fn parse_queue(text: &str, prefix: &str) -> Vec<QueuedTask> {
    let task = |line: &str| {
        let mut fields = line.splitn(6, '|');
        let job = fields.next()?.to_owned();
        let index = fields.next()?.trim().parse().ok()?;
        let _ = fields.next()?;
        let id = format!("{}_{index}", fields.next()?);
        Some(QueuedTask {
            job,
            index,
            id,
            state: fields.next()?.to_owned(),
            reason: fields.next()?.to_owned(),
        })
    };
    (text
        .lines()
        .filter(|line| line.starts_with(prefix))
        .filter_map(task))
    .collect()
}

/// Whether the element will end by itself: it waits, runs or is being cleaned up after.
#[must_use]
pub fn is_live(task: &QueuedTask) -> bool {
    // A job whose launch failed is held until an administrator releases it.
    !is_held(task)
        && !matches!(
            task.state.as_str(),
            "COMPLETED"
                | "CANCELLED"
                | "FAILED"
                | "TIMEOUT"
                | "NODE_FAIL"
                | "OUT_OF_MEMORY"
                | "PREEMPTED"
                | "BOOT_FAIL"
                | "DEADLINE"
        )
}

/// Whether the element is held and will never run.
#[must_use]
pub fn is_held(task: &QueuedTask) -> bool {
    let reason = task.reason.to_ascii_lowercase();
    task.state == "PENDING"
        && (reason.contains("held") || reason.contains("dependencyneversatisfied"))
}

/// Why elements wait, each reason once.
#[must_use]
pub fn waiting_reasons(tasks: &[QueuedTask]) -> BTreeSet<String> {
    (tasks.iter())
        .filter(|task| task.state == "PENDING")
        .map(|task| task.reason.trim_matches(['(', ')']).to_owned())
        // Ordinary waiting.
        .filter(|reason| {
            !matches!(
                reason.as_str(),
                "" | "Resources" | "Priority" | "None" | "JobArrayTaskLimit"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn script_takes_a_node_alone_and_quotes_what_it_is_given() {
        let host = HostPlan {
            name: "zen".to_owned(),
            constraint: Some("zen4&bigmem".to_owned()),
            sbatch: vec!["--comment=a \"b\"".to_owned()],
            ..HostPlan::default()
        };
        let worker = ["/opt/my genba/genba".into(), "--task".into()];
        let script = job_script(
            "genba-x-1",
            &host,
            200,
            Path::new("/c d/t"),
            Path::new("/c d/logs"),
            &worker,
        );
        for line in [
            "#SBATCH --array=0-199",
            "#SBATCH --exclusive",
            "#SBATCH --requeue",
            "#SBATCH --constraint=zen4&bigmem",
            "#SBATCH --output=\"/c d/logs/genba-x-1-%a.log\"",
            r#"#SBATCH "--comment=a \"b\"""#,
            "exec '/opt/my genba/genba' '--task' \"$task\"",
        ] {
            assert!(script.lines().any(|one| one == line), "{line} in\n{script}");
        }
        assert_eq!(
            host_behind_error(&host),
            " ([[host]] \"zen\": --constraint=zen4&bigmem --comment=a \"b\")"
        );
    }

    #[test]
    fn queue_is_parsed_and_jobs_of_others_are_skipped() {
        let text = "genba-x-1|0|12|12|RUNNING|n1\ngenba-x-1|7|19|12|PENDING|(Resources)\n\
                    other|1|3|3|RUNNING|n2\ngenba-x-2|N/A|20|20|RUNNING|n1\n\
                    genba-x-2|3|21|20|PENDING|(launch failed requeued held)\n";
        let tasks = parse_queue(text, "genba-x-");
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["12_0", "12_7", "20_3"]);
        assert!(is_live(&tasks[0]) && is_live(&tasks[1]));
        assert!(is_held(&tasks[2]) && !is_live(&tasks[2]));
        assert_eq!(waiting_reasons(&tasks).len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_of_a_queue_is_read(text in "[a-z|0-9\n/(): ]{0,200}") {
            let _ = parse_queue(&text, "");
        }
    }
}
