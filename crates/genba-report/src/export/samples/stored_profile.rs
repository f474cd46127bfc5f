//! The stacks that a case stores by name, for exports.

use std::collections::HashMap;

use genba_model::{
    CodeKind, FunctionRow, Profile, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder,
    SampledFrame, SampledFunction, SampledThread,
};

/// Returns the stacks of a stored profile. They have neither times nor threads nor lines; functions
/// have module and declaration where their name occurs once.
#[must_use]
pub fn stacks_of_stored_profile(profile: &Profile) -> SampledDetail {
    let unit = match profile.event.hardware {
        true => SampleUnit::Count,
        false => SampleUnit::Nanoseconds,
    };
    let mut builder =
        SampledDetailBuilder::new(profile.event.clone(), unit, profile.command.clone());
    let mut rows: HashMap<&str, Option<&FunctionRow>> = HashMap::new();
    for row in &profile.functions {
        rows.entry(&row.function)
            .and_modify(|known| *known = None)
            .or_insert(Some(row));
    }
    let program = profile.command.first().map_or("program", String::as_str);
    let thread = builder.thread(SampledThread {
        name: crate::safe_text::file_name(program).to_owned(),
        ..SampledThread::default()
    });
    let mut frames: HashMap<&str, u32> = HashMap::new();
    for row in &profile.collapsed {
        let mut stack = None;
        for name in &row.frames {
            let frame = *frames.entry(name).or_insert_with(|| {
                let known = rows.get(name.as_str()).copied().flatten();
                named(&mut builder, name, known)
            });
            stack = Some(builder.stack(stack, frame));
        }
        if let Some(stack) = stack {
            builder.detail.samples.push(Sampled {
                thread,
                stack,
                time_ns: None,
                weight: row.weight,
                samples: 1,
            });
        }
    }
    builder.detail.lost = profile.lost;
    builder.detail.notes.clone_from(&profile.notes);
    builder.detail.notes.push(
        "stacks as the case stores them, from runs of their own: without times, threads and lines; a \
         stack counts as one sample"
            .to_owned(),
    );
    builder.detail
}

fn named(builder: &mut SampledDetailBuilder, name: &str, row: Option<&FunctionRow>) -> u32 {
    let module = row.map(|row| builder.module(&row.module, None));
    let file = row.and_then(|row| row.file.as_deref());
    let file = file.map(|file| builder.file(file));
    let function = builder.function(SampledFunction {
        name: name.to_owned(),
        module,
        file,
        line: row.and_then(|row| row.line),
        kind: match row {
            Some(row) if row.kernel => CodeKind::Kernel,
            _ => CodeKind::User,
        },
    });
    builder.frame(SampledFrame {
        function,
        ..SampledFrame::default()
    })
}
