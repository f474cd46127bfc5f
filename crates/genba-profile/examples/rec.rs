//! Records or counts a command, as `genba record` and `genba stat` do:
//! `rec OUT [-e EVENT] [-g|-d] [-t] [-s] [-p PID] [-- CMD…]`.

use std::path::Path;

use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, RecordOptions};
use genba_run::{Cancel, CommandSpec, Launcher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let out = args
        .next()
        .ok_or("usage: rec OUT [-e EVENT] [-g|-d] [-t] [-s] -- CMD")?;
    let mut options = RecordOptions::default();
    let (mut pid, mut stat) = (None, false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-e" => options.event = Some(EventSpec::parse(&args.next().ok_or("-e")?)?),
            "-g" => options.call_graph = CallGraph::FramePointer,
            "-d" => options.call_graph = CallGraph::Dwarf(CallGraph::DWARF_BYTES),
            "-t" => options.force_timer = true,
            "-s" => stat = true,
            "-p" => pid = Some(args.next().ok_or("-p")?.parse()?),
            _ => break,
        }
    }
    options.command_line = std::env::args().collect();
    let cancel = Cancel::new()?;
    let path = Path::new(&out);
    if let Some(pid) = pid {
        println!(
            "{:#?}",
            genba_profile::attach(pid, &options, path, &cancel)?
        );
        return Ok(());
    }
    let mut spec = CommandSpec::direct(args);
    spec.stdout = genba_run::Output::Null;
    let mut launcher = Launcher::new()?;
    if stat {
        let events = genba_profile::count::detailed();
        let counted = genba_profile::count::count(&mut launcher, &spec, &events, 3, &cancel)?;
        for c in &counted.stat.counters {
            let note = c
                .note
                .as_ref()
                .map(|n| format!("{:.3} {}", n.value, n.text));
            let value = c.value.map(|v| v.value);
            println!(
                "{:28} {:?} {value:?} {} {note:?} {:.2}",
                c.event, c.state, c.unit, c.running_share
            );
        }
        println!("{:?}", counted.stat.notes);
        return Ok(());
    }
    let done = genba_profile::record(&mut launcher, &spec, &options, path, &cancel)?;
    let run = done.finished.as_ref().map(|f| &f.record);
    let cpu = run.map_or(0.0, |r| r.cpu().total());
    println!(
        "{:?} because {}\nnotes {:?}",
        done.event, done.reason, done.notes
    );
    println!(
        "samples {} lost {} throttled {} cpu {cpu:.3} s: {:.1} Hz",
        done.samples,
        done.lost,
        done.throttled,
        done.samples as f64 / cpu
    );
    let usage = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = usage.rsplit(')').next().unwrap_or("").split(' ').collect();
    println!("recorder user {} sys {} ticks", fields[12], fields[13]);
    Ok(())
}
