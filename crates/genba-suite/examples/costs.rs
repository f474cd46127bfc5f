//! Costs per iteration of a suite's snippets, a few runs of each in turn: a look at what the
//! generated scripts report, without a schedule or statistics.
//!
//!     cargo run -p genba-suite --example costs -- FILE.yml [RUNS] [EXECUTABLE…]

use std::error::Error;
use std::path::Path;
use std::process::Command;

use genba_run::{Cancel, Launcher};
use genba_suite::{DEFAULT_LOOP_SECONDS, Session, Work, parse_executables};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("FILE.yml is missing")?;
    let runs: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let mut executables = Vec::new();
    for text in arguments {
        executables.extend(parse_executables(&text)?);
    }
    let mut session = Session::open(Path::new(&file), &executables)?;
    let (mut launcher, cancel) = (Launcher::new()?, Cancel::new()?);
    let mut progress = |line: &str| eprintln!("{line}");
    session.build(&mut launcher, &cancel, &mut progress)?;
    session.prepare(&mut launcher, &cancel, DEFAULT_LOOP_SECONDS, &mut progress)?;
    for out in session.excluded() {
        println!("{}: {}: {}", out.benchmark, out.variant, out.reason);
    }
    for benchmark in &session.suite().benchmarks {
        println!("{}", benchmark.name);
        let mut costs = vec![Vec::new(); benchmark.variants.len()];
        for _ in 0..runs {
            for (variant, costs) in benchmark.variants.iter().zip(&mut costs) {
                let Work::Direct(words) = &variant.work else {
                    return Err("no snippet".into());
                };
                let output = Command::new(&words[0]).args(&words[1..]).output()?;
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let mut values = [f64::NAN; 5];
                for (value, line) in values.iter_mut().zip(text.lines()) {
                    let word = line.split_whitespace().nth(1).ok_or("no value")?;
                    *value = word.parse()?;
                }
                costs.push(values);
            }
        }
        for (variant, costs) in benchmark.variants.iter().zip(&costs) {
            print!("  {:24}", variant.name);
            for (index, name) in ["net", "user", "system", "gross", "empty"]
                .iter()
                .enumerate()
            {
                let mut values: Vec<_> = costs.iter().map(|values| values[index] * 1e9).collect();
                values.sort_by(f64::total_cmp);
                print!("  {name} {:7.2} ns", values[values.len() / 2]);
            }
            println!();
        }
    }
    Ok(())
}
