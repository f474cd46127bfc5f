//! The text of `perf script`, which stackcollapse-perf, speedscope, and the Firefox Profiler read.

use std::io::{self, Write};

use genba_model::SampledDetail;

use crate::safe_text;

pub(super) fn write(detail: &SampledDetail, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = (detail.functions.iter())
        .map(|function| one_line(&function.name))
        .collect();
    let modules: Vec<String> = (detail.modules.iter())
        .map(|module| one_line(&module.path).replace([' ', '(', ')'], "_"))
        .collect();
    let event = one_line(&detail.event.name).replace(' ', "_");
    for sample in &detail.samples {
        let thread = &detail.threads[sample.thread as usize];
        let comm = match one_line(&thread.name) {
            name if name.is_empty() => "[unknown]".to_owned(),
            name => name,
        };
        write!(out, "{comm} {:>7}/{:<7} ", thread.pid, thread.tid)?;
        if let Some(time) = sample.time_ns {
            write!(
                out,
                "{}.{:06}: ",
                time / 1_000_000_000,
                time / 1000 % 1_000_000
            )?;
        }
        writeln!(out, "{:>10} {event}: ", sample.weight)?;
        for frame in detail.frames_of(sample.stack) {
            let function = detail.function(frame);
            let module = match (frame.inlined, function.module) {
                (true, _) => "inlined",
                (false, Some(module)) => modules.get(module as usize).map_or("", String::as_str),
                (false, None) => "[unknown]",
            };
            let address = frame.address.unwrap_or(0);
            let name = &names[frame.function as usize];
            writeln!(out, "\t{address:16x} {name} ({module})")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A name that stays on its line and does not end the frame.
fn one_line(name: &str) -> String {
    safe_text::sanitise(name).trim().replace(['\n', '\r'], " ")
}
