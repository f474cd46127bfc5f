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
    // Readers need a time. Samples without one are laid one behind the other, as long as their weight.
    let mut laid = 0u64;
    for sample in &detail.samples {
        let thread = &detail.threads[sample.thread as usize];
        let comm = thread_name(&thread.name);
        write!(out, "{comm} {:>7}/{:<7} ", thread.pid, thread.tid)?;
        let time = sample.time_ns.unwrap_or(laid);
        laid = laid.saturating_add(sample.weight);
        write!(
            out,
            "{}.{:06}: ",
            time / 1_000_000_000,
            time / 1000 % 1_000_000
        )?;
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

/// The name of a thread as perf writes it: as it is. Readers take the first number behind a blank for the thread's id and the
/// first colon behind that for the end of the time, so a name that has both gets `_` for its colons.
fn thread_name(name: &str) -> String {
    let name = one_line(name);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = name.split(' ');
    let is_ambiguous = words.any(is_number) && words.any(|word| word.contains(':'));
    match name.is_empty() {
        true => "[unknown]".to_owned(),
        false if is_ambiguous => name.replace(':', "_"),
        false => name,
    }
}

/// A name that stays on its line and does not end the frame.
fn one_line(name: &str) -> String {
    safe_text::sanitise(name).trim().replace(['\n', '\r'], " ")
}
