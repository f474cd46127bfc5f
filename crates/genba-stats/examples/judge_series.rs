//! Judges recorded pairs as a comparison would while they come in; `bench/bench-stats` uses it.
//!
//! `judge_series ALPHA DELTA BUDGET [chain] < PAIRS`: a line of input is a pair, "baseline
//! variant seconds", the last being the time that measuring it took; an empty line ends a
//! series. A trial takes pairs until there is a verdict or its time (BUDGET seconds) is spent.
//! With `chain` the next trial of a series begins where the one before ended, else a series is
//! one trial. A line of output is a trial: "series pairs seconds verdict ratio low high"; a
//! trial whose series ended too early has the verdict "cut". Pairs with a value of zero cannot
//! be compared and are counted as "unusable" in the last column.

use std::error::Error;
use std::io::{BufRead as _, Write as _};

use genba_stats::{Judge, Verdict};

struct Trial {
    judge: Judge,
    seconds: f64,
    unusable: usize,
}

struct Rule {
    alpha: f64,
    delta: f64,
    budget: f64,
    chain: bool,
}

impl Rule {
    fn begin(&self) -> Result<Trial, Box<dyn Error>> {
        Ok(Trial {
            judge: Judge::new(self.alpha, self.delta)?,
            seconds: 0.0,
            unusable: 0,
        })
    }
}

fn tell(
    out: &mut impl std::io::Write,
    series: usize,
    trial: &Trial,
    verdict: &str,
) -> std::io::Result<()> {
    let ratio = trial.judge.ratio();
    let [value, low, high] = ratio.map_or([f64::NAN; 3], |r| [r.value, r.low, r.high]);
    let pairs = trial.judge.sequence().count();
    writeln!(
        out,
        "{series} {pairs} {:.3} {verdict} {value:.6} {low:.6} {high:.6} {}",
        trial.seconds, trial.unusable
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [alpha, delta, budget, rest @ ..] = &arguments[..] else {
        return Err("judge_series ALPHA DELTA BUDGET [chain] < PAIRS".into());
    };
    let rule = Rule {
        alpha: alpha.parse()?,
        delta: delta.parse()?,
        budget: budget.parse()?,
        chain: rest.iter().any(|word| word == "chain"),
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut series = 0;
    let mut trial = Some(rule.begin()?);
    // An empty line is put behind the last series as well.
    for line in std::io::stdin().lock().lines().chain([Ok(String::new())]) {
        let line = line?;
        if line.trim().is_empty() {
            if let Some(open) = trial.take()
                && open.judge.sequence().count() > 0
            {
                let verdict = if rule.chain { "cut" } else { "undecided" };
                tell(&mut out, series, &open, verdict)?;
            }
            series += 1;
            trial = Some(rule.begin()?);
            continue;
        }
        let Some(open) = trial.as_mut() else {
            continue;
        };
        let mut fields = line.split_whitespace().map(str::parse::<f64>);
        let mut next = || fields.next().ok_or("a pair has three numbers");
        let (baseline, variant, seconds) = (next()??, next()??, next()??);
        open.seconds += seconds;
        if open.judge.push(baseline, variant).is_err() {
            open.unusable += 1;
            continue;
        }
        let verdict = open.judge.verdict();
        if verdict != Verdict::Undecided || open.seconds >= rule.budget {
            tell(&mut out, series, open, verdict.name())?;
            trial = if rule.chain {
                Some(rule.begin()?)
            } else {
                None
            };
        }
    }
    Ok(out.flush()?)
}
