//! `overhead N COMMAND…`: N runs; what one costs beside the wall time that it reports.

use std::time::Instant;

fn main() -> Result<(), genba_run::RunError> {
    let mut arguments = std::env::args_os().skip(1);
    let runs = arguments
        .next()
        .and_then(|text| text.to_str()?.parse().ok())
        .unwrap_or(1000_u32);
    let spec = genba_run::CommandSpec::direct(arguments);
    let cancel = genba_run::Cancel::new()?;
    let mut launcher = genba_run::Launcher::new()?;
    let mut walls = Vec::new();
    let start = Instant::now();
    for _ in 0..runs {
        walls.push(launcher.run(&spec, &cancel)?.record.wall_seconds);
    }
    let each = start.elapsed().as_secs_f64() / f64::from(runs);
    walls.sort_by(f64::total_cmp);
    let mean = walls.iter().sum::<f64>() / f64::from(runs);
    let median = walls.get(walls.len() / 2).copied().unwrap_or(f64::NAN);
    println!(
        "a run: {:.1} µs in all; reported wall: mean {:.1} µs, median {:.1} µs",
        each * 1e6,
        mean * 1e6,
        median * 1e6
    );
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = memory
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap_or_default();
    println!("descriptors: {descriptors}; {memory}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", launcher.pid().unwrap_or(0)));
    let status = status.unwrap_or_default();
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
    {
        println!("launcher {line}");
    }
    Ok(())
}
