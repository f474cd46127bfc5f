//! Slurm as a scheduler: job arrays by `sbatch`, the queue by `squeue`.
//!
//! A job's name says which submission of which campaign it is, and is decided before `sbatch` is called.
//! So a genba that was killed right after it finds its jobs again. Accounting (`sacct`) is not needed: a
//! task whose element is gone from the queue without a result has been lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use genba_run::Cancel;

use crate::CampaignError;
use crate::campaign_plan::HostPlan;
use crate::content_key::content_key;
use crate::scheduler::Scheduler;
use crate::slurm_text::{
    QUEUE_FORMAT, QueuedTask, host_behind_error, is_held, is_live, job_script, parse_queue,
    waiting_reasons,
};
use crate::task_board::Task;
use crate::{CampaignDirectory, CampaignError as Error};

/// Elements of one job array: Slurm's default `MaxArraySize` is 1001.
const MAX_ARRAY: usize = 1000;
/// Time between looks at the queue.
const POLL: Duration = Duration::from_secs(2);
/// Time between looks at whether it was interrupted.
const CANCEL_POLL: Duration = Duration::from_millis(50);
/// Time for which a controller that does not accept jobs is asked again.
const MAX_SILENCE: Duration = Duration::from_secs(300);

/// Runs workers by Slurm.
pub struct SlurmScheduler {
    directory: CampaignDirectory,
    hosts: Vec<HostPlan>,
    worker: Vec<OsString>,
    /// Names of all jobs of this campaign begin so.
    prefix: String,
    /// Keys of the tasks of a job, in the order of its elements.
    submitted: BTreeMap<String, Vec<String>>,
    /// Tasks that could not be submitted yet, because the controller does not answer.
    pending: Vec<Task>,
    silent_since: Option<Instant>,
    remarks: Vec<String>,
    waiting: BTreeSet<String>,
}

impl SlurmScheduler {
    /// A scheduler for the campaign in this directory, with the jobs of its earlier sessions.
    ///
    /// # Errors
    /// Slurm's programs are missing, or the directory cannot be read.
    pub fn new(
        directory: &CampaignDirectory,
        hosts: &[HostPlan],
        worker: Vec<OsString>,
    ) -> Result<Self, CampaignError> {
        for program in ["sbatch", "squeue", "scancel"] {
            let found = Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if found.is_err() {
                return Err(Error::NoSlurm { program });
            }
        }
        let place = content_key(&directory.path().to_string_lossy());
        let mut scheduler = Self {
            directory: directory.clone(),
            hosts: hosts.to_vec(),
            worker,
            prefix: format!("genba-{}-", &place[..8]),
            submitted: BTreeMap::new(),
            pending: Vec::new(),
            silent_since: None,
            remarks: Vec::new(),
            waiting: BTreeSet::new(),
        };
        scheduler.read_submissions()?;
        Ok(scheduler)
    }

    fn submissions(&self) -> PathBuf {
        self.directory.path().join("submissions")
    }

    fn read_submissions(&mut self) -> Result<(), CampaignError> {
        let place = self.submissions();
        let entries = fs::read_dir(&place).map_err(Error::file("read", &place))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.extension().is_some_and(|end| end == "tasks") && name.starts_with(&self.prefix)
            {
                let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
                self.submitted
                    .insert(name, text.lines().map(str::to_owned).collect());
            }
        }
        Ok(())
    }

    /// Submits tasks of one kind of host as one array. The list is written before, so that jobs are
    /// known whatever happens; returns whether Slurm accepted them.
    fn submit_array(&mut self, host: usize, keys: Vec<String>) -> Result<bool, CampaignError> {
        let name = (self.submitted.len()..)
            .map(|number| format!("{}{number}", self.prefix))
            .find(|name| !self.submitted.contains_key(name))
            .unwrap_or_default();
        let place = self.submissions();
        let tasks = place.join(format!("{name}.tasks"));
        fs::write(&tasks, keys.join("\n") + "\n").map_err(Error::file("write", &tasks))?;
        let logs = self.directory.path().join("logs");
        let script = job_script(
            &name,
            &self.hosts[host],
            keys.len(),
            &tasks,
            &logs,
            &self.worker,
        );
        let path = place.join(format!("{name}.sh"));
        fs::write(&path, script).map_err(Error::file("write", &path))?;
        self.submitted.insert(name, keys);
        let mut command = Command::new("sbatch");
        command.arg("--parsable").arg(&path);
        match run(&mut command, "sbatch") {
            Ok(_) => Ok(true),
            Err(Error::Slurm { message, .. }) if is_not_an_answer(&message) => Ok(false),
            Err(Error::Slurm { program, message }) => Err(Error::Slurm {
                program,
                message: message + &host_behind_error(&self.hosts[host]),
            }),
            Err(error) => Err(error),
        }
    }

    fn queue(&self) -> Result<Vec<QueuedTask>, CampaignError> {
        let mut command = Command::new("squeue");
        let user = rustix::process::getuid().as_raw().to_string();
        command.args(["--noheader", "--array", "--user", &user]);
        command.arg(format!("--format={QUEUE_FORMAT}"));
        Ok(parse_queue(&run(&mut command, "squeue")?, &self.prefix))
    }

    /// Notes that the controller does not answer; an error when that has lasted too long.
    fn silence(&mut self, message: String) -> Result<(), CampaignError> {
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        if since.elapsed() > MAX_SILENCE {
            return Err(Error::Slurm {
                program: "squeue",
                message,
            });
        }
        Ok(())
    }
}

impl Scheduler for SlurmScheduler {
    fn submit(&mut self, tasks: &[Task]) -> Result<(), CampaignError> {
        let mut by_host: BTreeMap<usize, Vec<Task>> = BTreeMap::new();
        for task in tasks {
            by_host.entry(task.host).or_default().push(task.clone());
        }
        for (host, tasks) in by_host {
            for part in tasks.chunks(MAX_ARRAY) {
                let keys = part.iter().map(|task| task.key.clone()).collect();
                if !self.submit_array(host, keys)? {
                    self.pending.extend(part.iter().cloned());
                }
            }
        }
        Ok(())
    }

    fn live(&mut self) -> Result<Option<BTreeSet<String>>, CampaignError> {
        let queue = match self.queue() {
            Ok(queue) => queue,
            Err(Error::Slurm { message, .. }) => {
                self.waiting = BTreeSet::from(["Slurm's controller does not answer".to_owned()]);
                self.silence(message)?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.silent_since = None;
        self.waiting = waiting_reasons(&queue);
        for held in queue.iter().filter(|task| is_held(task)) {
            self.remarks.push(format!(
                "Slurm held a job and it was cancelled: {}",
                held.reason
            ));
            let _ = run(Command::new("scancel").arg(&held.id), "scancel");
        }
        let key = |task: &QueuedTask| self.submitted.get(&task.job)?.get(task.index).cloned();
        let live = queue.iter().filter(|task| is_live(task)).filter_map(key);
        let mut live: BTreeSet<String> = live.collect();
        // Accepted although sbatch heard no answer: not to be submitted again.
        self.pending.retain(|task| !live.contains(&task.key));
        live.extend(self.pending.iter().map(|task| task.key.clone()));
        Ok(Some(live))
    }

    fn advance(&mut self, cancel: &Cancel) -> Result<(), CampaignError> {
        let until = Instant::now() + POLL;
        while Instant::now() < until && !cancel.is_triggered() {
            std::thread::sleep(CANCEL_POLL);
        }
        if self.silent_since.is_none() && !self.pending.is_empty() && !cancel.is_triggered() {
            let pending = std::mem::take(&mut self.pending);
            self.submit(&pending)?;
        }
        Ok(())
    }

    fn cancel(&mut self) {
        self.pending.clear();
        let Ok(queue) = self.queue() else { return };
        for part in queue.chunks(MAX_ARRAY) {
            let mut command = Command::new("scancel");
            let _ = run(command.args(part.iter().map(|task| &task.id)), "scancel");
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn obstacle(&self) -> Option<String> {
        let waiting: Vec<&str> = self.waiting.iter().map(String::as_str).collect();
        (!waiting.is_empty()).then(|| format!("jobs wait: {}", waiting.join("; ")))
    }
}

/// Whether a program of Slurm failed because the controller cannot be reached now, rather than because it
/// refused.
fn is_not_an_answer(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "unable to contact",
        "connection refused",
        "timed out",
        "socket",
        "zero bytes",
        "communication",
    ]
    .iter()
    .any(|part| message.contains(part))
}

fn run(command: &mut Command, program: &'static str) -> Result<String, CampaignError> {
    let output = (command.stdin(Stdio::null()).output()).map_err(|_| Error::NoSlurm { program })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let message = message.join("; ");
    Err(match has_no_cluster(&message) {
        true => Error::NoCluster { program, message },
        false => Error::Slurm { program, message },
    })
}

/// Whether a client of Slurm found no configuration: no cluster is near, however long one waits.
fn has_no_cluster(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("configuration source") || message.contains("fetch config")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_that_is_nowhere_is_distinguished_from_one_that_is_silent() {
        let nowhere = "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host; \
                       squeue: fatal: Could not establish a configuration source";
        let silent = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
        assert!(has_no_cluster(nowhere) && !is_not_an_answer(nowhere));
        assert!(is_not_an_answer(silent) && !has_no_cluster(silent));
    }
}
