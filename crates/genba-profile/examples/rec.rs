//! Records a command without genba's launcher: `rec OUT [-e EVENT] [-g|-d] [-p PID] -- CMD…`.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, RecordOptions, Session, Target, choose};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let out = args.next().ok_or("usage: rec OUT [-e EVENT] [-g|-d] -- CMD")?;
    let mut options = RecordOptions::default();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-e" => options.event = Some(EventSpec::parse(&args.next().ok_or("-e")?)?),
            "-g" => options.call_graph = CallGraph::FramePointer,
            "-d" => options.call_graph = CallGraph::Dwarf(CallGraph::DWARF_BYTES),
            _ => break,
        }
    }
    options.command_line = std::env::args().collect();
    let choice = choose(&options)?;
    eprintln!("{choice:#?}");
    // A shell that waits for a line, then becomes the command.
    let mut child = Command::new("sh")
        .args(["-c", "read _; exec \"$@\"", "sh"])
        .args(args)
        .stdin(Stdio::piped())
        .spawn()?;
    let target = Target::BeforeExec(child.id() as i32);
    let session = Session::open(target, &choice, &options, Path::new(&out))?;
    eprintln!("{:?}", session.notes);
    let (stop, stopper) = std::io::pipe()?;
    let result = std::thread::scope(|scope| {
        let recorder = scope.spawn(|| session.run(stop.as_fd()));
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(b"\n")?;
        }
        child.wait()?;
        drop(stopper);
        recorder.join().map_err(|_| std::io::Error::other("recorder panicked"))
    })?;
    let usage = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = usage.rsplit(')').next().unwrap_or("").split(' ').collect();
    eprintln!("{:?} recorder user {} sys {} ticks; children user {} sys {}", result?, fields[12], fields[13], fields[14], fields[15]);
    Ok(())
}
