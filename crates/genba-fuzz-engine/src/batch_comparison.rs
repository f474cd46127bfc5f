//! Runs batches natively and translated, and compares the results.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use genba_count::{BurstPlan, CountRequest, Engine, Transfers, native::Native};
use genba_model::{ExitKind, RawCounts, TransferKind};
use genba_run::{Cancel, CommandSpec, Launcher, Output};

use crate::fault_observer::EXIT_STACK_OVERWRITTEN;
use crate::stuck_batch_watchdog::Watchdog;
use crate::test_memory::{self, CODE_SIZE};
use crate::{form_survey, instruction_forms};

/// Number of sequences in a batch.
const SEQUENCES_PER_BATCH: u64 = 6000;
/// Maximum output of a native run, bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// Number of sequences in a batch; `FUZZ_CASES` sets another, to narrow a difference down.
fn cases() -> u64 {
    let given = std::env::var("FUZZ_CASES").ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(SEQUENCES_PER_BATCH)
}

/// Which jumps are recorded in a batch.
fn transfers(seed: u64) -> Transfers {
    match seed % 3 {
        0 => Transfers::None,
        1 => Transfers::Everywhere,
        _ => Transfers::Entries,
    }
}

/// Totals over all batches.
#[derive(Default)]
pub struct Totals {
    batches: u64,
    sequences: u64,
    runs_stepped: u64,
    instructions: u64,
    skipped: u64,
    /// Batches that overwrote their own stack.
    lost: u64,
    /// By form: mode often it was executed, and retired without a fault.
    forms: BTreeMap<u64, (u64, u64)>,
}

/// The fuzzer: what all batches need.
pub struct Fuzz {
    program: PathBuf,
    launcher: Launcher,
    cancel: Cancel,
    directory: tempfile::TempDir,
    bursts: bool,
}

impl Fuzz {
    /// Creates a fuzzer, with bursts at random moments or not; probes which forms the processor has.
    pub fn new(bursts: bool) -> Self {
        let mut fuzz = Self {
            program: std::env::current_exe().expect("our own path"),
            launcher: Launcher::new().expect("a launcher"),
            cancel: Cancel::new().expect("a token"),
            directory: tempfile::tempdir().expect("a directory"),
            bursts,
        };
        let list = fuzz.natively(&["probe".into()]).expect("it ends well");
        std::fs::write(fuzz.path("forms"), list).expect("the list of forms");
        fuzz
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the output of `probe`.
    pub fn forms(&self) -> String {
        std::fs::read_to_string(self.path("forms")).expect("the list of forms")
    }

    fn words(&self, seed: u64, mode: &str, only: Option<&str>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![
            "batch".into(),
            seed.to_string().into(),
            cases().to_string().into(),
            self.path("forms").into(),
            self.path("skipped").into(),
            mode.into(),
        ];
        words.extend(only.map(OsString::from));
        words
    }

    fn spec(&self, words: &[OsString]) -> CommandSpec {
        let program = [self.program.clone().into()];
        let mut spec = CommandSpec::direct(program.into_iter().chain(words.iter().cloned()));
        // A batch takes seconds. A sequence that does not end is an error, too.
        spec.timeout = Some(Duration::from_secs(1800));
        spec
    }

    /// Runs a batch natively; its output, or `None` if a sequence overwrote the stack.
    fn natively(&mut self, words: &[OsString]) -> Option<String> {
        let mut spec = self.spec(words);
        spec.stdout = Output::Capture {
            limit: MAX_OUTPUT_BYTES,
        };
        spec.stderr = Output::Inherit;
        let _watch = Watchdog::start(&self.program, &self.path("skipped").to_string_lossy());
        let finished = (self.launcher.run(&spec, &self.cancel)).expect("it runs natively");
        if finished.record.exit == ExitKind::Code(EXIT_STACK_OVERWRITTEN) {
            return None;
        }
        let text = String::from_utf8_lossy(&finished.stdout.captured).into_owned();
        assert!(
            finished.record.exit == ExitKind::Code(0),
            "natively {words:?} ends with {:?}",
            finished.record.exit
        );
        Some(text)
    }

    fn translated(&mut self, words: &[OsString], transfers: Transfers) -> (String, RawCounts) {
        let output = self.path("output");
        let mut spec = self.spec(words);
        spec.stdout = Output::File(output.clone());
        spec.stderr = Output::Inherit;
        let _watch = Watchdog::start(&self.program, &self.path("skipped").to_string_lossy());
        let request = CountRequest {
            spec,
            transfers,
            children: false,
            // Whenever the kernel's clock ticks.
            observe: self.bursts.then(|| BurstPlan {
                words: 20_000,
                interval: Duration::from_micros(100),
                ..BurstPlan::default()
            }),
            native_exit: None,
        };
        match Native.count(&request, &mut self.launcher, &self.cancel) {
            Ok(counts) => {
                let text = std::fs::read_to_string(&output).expect("its output");
                assert_eq!(
                    counts.exit, 0,
                    "{words:?}: the exit status differs when it is counted"
                );
                (text, counts)
            }
            Err(error) => panic!("{words:?}: {error}"),
        }
    }

    /// Runs one batch, and compares it.
    pub fn run_batch(&mut self, seed: u64, totals: &mut Totals) {
        let stepped = seed % 8 == 3;
        let mode = if stepped { "plain" } else { "all" };
        std::fs::write(self.path("skipped"), "").expect("the list of cases");
        let Some(native) = self.natively(&self.words(seed, &format!("{mode},counts_forms"), None))
        else {
            totals.lost += 1;
            return;
        };
        let dangerous: Vec<&str> = (native.lines())
            .filter_map(|line| line.strip_suffix(" dangerous"))
            .filter_map(|line| line.split(' ').next())
            .collect();
        let skipped = dangerous.join("\n");
        std::fs::write(self.path("skipped"), skipped).expect("the list of cases");
        let (translated, counts) = self.translated(&self.words(seed, mode, None), transfers(seed));
        self.compare(seed, mode, &native, &translated);
        if stepped {
            let stepped_counts = self.natively(&self.words(seed, "steps", None));
            let stepped_counts = stepped_counts.expect("it ended well before");
            totals.instructions += check_counts(seed, &stepped_counts, &counts);
            totals.runs_stepped += cases();
        }
        totals.batches += 1;
        totals.sequences += cases() - dangerous.len() as u64;
        totals.skipped += dangerous.len() as u64;
        for line in native.lines().filter_map(|line| line.strip_prefix("form ")) {
            let mut numbers = line.split(' ').filter_map(|word| word.parse::<u64>().ok());
            if let (Some(form), Some(tried), Some(retired)) =
                (numbers.next(), numbers.next(), numbers.next())
            {
                let entry = totals.forms.entry(form).or_default();
                entry.0 += tried;
                entry.1 += retired;
            }
        }
    }

    fn compare(&mut self, seed: u64, mode: &str, native: &str, translated: &str) {
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("form "));
            lines.map(str::to_owned).collect()
        };
        let (native, translated) = (lines(native), lines(translated));
        let mut differ = (native.iter().zip(&translated))
            .filter(|(a, b)| a != b && !a.ends_with(" dangerous"))
            .peekable();
        if differ.peek().is_none() && native.len() == translated.len() {
            return;
        }
        let cases: Vec<(&String, &String)> = differ.collect();
        eprintln!(
            "seed {seed}: {} cases differ, of {} lines natively and {} translated",
            cases.len(),
            native.len(),
            translated.len()
        );
        for (native, translated) in cases.iter().take(20) {
            eprintln!("natively   {native}\ntranslated {translated}");
        }
        // Reruns, to see whether the difference is reproducible.
        for _ in 0..3 {
            let (again, _) = self.translated(&self.words(seed, mode, None), transfers(seed));
            let again = lines(&again);
            let differ = native
                .iter()
                .zip(&again)
                .filter(|(a, b)| a != b && !a.ends_with(" dangerous"));
            eprintln!("again: {:?}", differ.take(5).collect::<Vec<_>>());
        }
        for (line, _) in cases.iter().take(3) {
            let case = line.split(' ').next();
            eprintln!("natively:");
            let words = self.words(seed, mode, case);
            let _ = self.natively(&words);
            eprintln!("translated:");
            self.translated(&words, transfers(seed));
        }
        panic!("seed {seed}: the states differ");
    }
}

/// Compares counts with single-stepped executions; the number of executions.
fn check_counts(seed: u64, stepped_counts: &str, counts: &RawCounts) -> u64 {
    let base = test_memory::base_of(seed);
    let code = base..base + CODE_SIZE as u64;
    let process = &counts.processes[0];
    let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
    for module in &process.modules {
        for one in &module.instructions {
            if module.path == "[generated]" && code.contains(&one.address) {
                counted.insert(one.address - base, one.count);
            }
        }
    }
    let rows = |kind: &'static str| {
        stepped_counts.lines().filter_map(move |line| {
            let rest = line.strip_prefix(kind)?;
            let words: Vec<&str> = rest.trim().split(' ').collect();
            let count = words.last()?.parse::<u64>().ok()?;
            let address = |index: usize| u64::from_str_radix(words.get(index)?, 16).ok();
            Some((address(0)?, address(1), count))
        })
    };
    let executed: BTreeMap<u64, u64> = (rows("executed "))
        .map(|(at, _, count)| (at, count))
        .collect();
    let mut wrong = Vec::new();
    for at in executed.keys().chain(counted.keys()) {
        let of = |map: &BTreeMap<u64, u64>| map.get(at).copied().unwrap_or(0);
        if of(&executed) != of(&counted) {
            wrong.push(format!(
                "{at:x}: {} executed, {} counted",
                of(&executed),
                of(&counted)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "seed {seed}: {} counts are wrong: {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(10)]
    );
    if transfers(seed) == Transfers::Everywhere {
        check_branches(seed, rows("branch "), counts, base);
    }
    executed.values().sum()
}

/// Compares recorded jumps and calls within the sequences. Returns are not recorded.
fn check_branches(
    seed: u64,
    rows: impl Iterator<Item = (u64, Option<u64>, u64)>,
    counts: &RawCounts,
    base: u64,
) {
    let code = base..base + CODE_SIZE as u64;
    let branches: BTreeMap<(u64, u64), u64> = rows
        .filter_map(|(from, to, count)| Some(((from, to?.checked_sub(base)?), count)))
        .collect();
    let mut wrong = Vec::new();
    for transfer in &counts.processes[0].transfers {
        let _: TransferKind = transfer.kind;
        let (from, to) = (transfer.from.address, transfer.to.address);
        if !code.contains(&from) || !code.contains(&to) {
            continue;
        }
        // A branch to the next instruction cannot be seen from addresses alone.
        let Some(count) = branches.get(&(from - base, to - base)) else {
            continue;
        };
        if *count != transfer.count {
            wrong.push(format!(
                "{:x} to {:x}: {count} times, {} counted",
                from - base,
                to - base,
                transfer.count
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "seed {seed}: {} branches are wrong: {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(10)]
    );
}

impl Totals {
    /// Prints the totals.
    pub fn print(&self, probed: &str) {
        println!(
            "{} batches, {} sequences, each from two states: all equal; of {} sequences {} \
             executions were counted as by the trap flag; {} sequences were skipped, because they \
             access memory where the engine is, and {} batches, as natively they wrote over \
             their own stack",
            self.batches,
            self.sequences,
            self.runs_stepped,
            self.instructions,
            self.skipped,
            self.lost
        );
        let known = instruction_forms::known().count();
        let excluded = form_survey::excluded();
        let not_tried: usize = excluded.values().map(Vec::len).sum();
        let word = |wanted: &'static str| {
            let lines = probed.lines().filter(move |line| line.ends_with(wanted));
            lines.filter_map(|line| line.split(' ').next()?.parse::<u64>().ok())
        };
        let tried = |form: u64| self.forms.get(&form).is_some_and(|counts| counts.0 > 0);
        let retired = |form: u64| self.forms.get(&form).is_some_and(|counts| counts.1 > 0);
        let missing = word(" missing").count();
        println!(
            "{known} forms of instructions are known in 64-bit mode. The processor has {} of \
             those that are made: {} were run, {} of them without a fault. {missing} it has not: \
             {} were run.",
            word(" has").count(),
            word(" has").filter(|form| tried(*form)).count(),
            word(" has").filter(|form| retired(*form)).count(),
            word(" missing").filter(|form| tried(*form)).count(),
        );
        println!(
            "{} cannot be made; {not_tried} are skipped:",
            word(" cannot").count()
        );
        for (reason, codes) in excluded {
            let ran = codes.iter().filter(|code| tried(**code as u64)).count();
            println!(
                "    {:4} {reason}{}",
                codes.len(),
                match ran {
                    0 => String::new(),
                    ran => format!(" ({ran} run)"),
                }
            );
        }
    }
}
