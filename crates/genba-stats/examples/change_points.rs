//! Change points of series on standard input; `bench/bench-history` uses it.
//!
//! `change_points points < BLOCKS`: a line is a measurement, "anchor value anchor value …", a pair for
//! each block; the output has its "log_value error".
//!
//! `change_points changes|reported anchored|alone < POINTS`: a line is a point, "log_value error"; an
//! empty line ends a series. A line of output is a change, "series first_seen at low high
//! probability", or the noise of a series, "series noise SHARE visible SHARE". With `changes` the
//! series is analysed once, at its end. With `reported` it is analysed after every point, and a
//! change is every place that was ever reported, once; `first_seen` is the number of points then.

use std::error::Error;
use std::io::{BufRead as _, Write};

use genba_stats::{LevelPoint, MIN_POINTS_OF_LEVEL, level_changes, level_point};

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match words.as_slice() {
        ["points"] => points(&mut out)?,
        ["changes", kind] => each_series(|series, all| {
            report(&mut out, series, all, *kind == "anchored", all.len())
        })?,
        ["reported", kind] => each_series(|series, all| {
            report(
                &mut out,
                series,
                all,
                *kind == "anchored",
                2 * MIN_POINTS_OF_LEVEL,
            )
        })?,
        _ => return Err("change_points points | changes|reported anchored|alone".into()),
    }
    Ok(out.flush()?)
}

fn points(out: &mut impl Write) -> Done {
    for line in std::io::stdin().lock().lines() {
        let numbers = numbers(&line?)?;
        let (anchor, values): (Vec<_>, Vec<_>) = numbers
            .chunks_exact(2)
            .map(|pair| (Some(pair[0]), Some(pair[1])))
            .unzip();
        let point = level_point(&values, Some(&anchor)).ok_or("a measurement without values")?;
        writeln!(out, "{} {}", point.log_value, point.error)?;
    }
    Ok(())
}

fn each_series(mut body: impl FnMut(usize, &[LevelPoint]) -> Done) -> Done {
    let (mut series, mut all) = (0, Vec::new());
    for line in std::io::stdin().lock().lines().chain([Ok(String::new())]) {
        let line = line?;
        match numbers(&line)?.as_slice() {
            [] if all.is_empty() => {}
            [] => {
                body(series, &all)?;
                series += 1;
                all.clear();
            }
            [log_value, error] => all.push(LevelPoint {
                log_value: *log_value,
                error: *error,
            }),
            _ => return Err("a point has two numbers".into()),
        }
    }
    Ok(())
}

/// Analyses the first `from` points, then one more each time, and writes each change once.
fn report(
    out: &mut impl Write,
    series: usize,
    all: &[LevelPoint],
    anchored: bool,
    from: usize,
) -> Done {
    let mut known: Vec<usize> = Vec::new();
    for end in from.min(all.len())..=all.len() {
        let found = level_changes(&all[..end], anchored)?;
        for one in &found.changes {
            if known
                .iter()
                .all(|at| at.abs_diff(one.at) > MIN_POINTS_OF_LEVEL)
            {
                writeln!(
                    out,
                    "{series} {end} {} {:.5} {:.5} {:.4}",
                    one.at, one.ratio.low, one.ratio.high, one.probability
                )?;
                known.push(one.at);
            }
        }
        if end == all.len() {
            let (noise, visible) = (found.noise, found.visible_step);
            writeln!(out, "{series} noise {noise:.6} visible {visible:.6}")?;
        }
    }
    Ok(())
}

fn numbers(line: &str) -> Result<Vec<f64>, std::num::ParseFloatError> {
    line.split_whitespace().map(str::parse).collect()
}
