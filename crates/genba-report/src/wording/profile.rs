//! Sentences on samples: how they were taken, where they concentrate.

use genba_model::{Annotation, Concentration, Investigation, ModuleRow, Precision, Profile};
use genba_units::format;

use crate::safe_text;

use super::counts;

/// Returns what the investigation measured with: counters, samples, counts.
pub(crate) fn observed(all: &Investigation) -> String {
    let sampled = all.profile.as_ref().map(|p| p.event.name.as_str());
    let mut text = match (all.host.hardware_counters, sampled) {
        (true, Some(event)) => format!("hardware counters, {event} samples"),
        (true, None) => "hardware counters".to_owned(),
        (false, Some(event)) => format!("no hardware counters: {event} samples"),
        (false, None) => "no hardware counters".to_owned(),
    };
    if let Some(counted) = all.profile.as_ref().and_then(|p| p.counted.as_ref()) {
        text.push_str(", exact counts");
        if let Some(source) = counts::clock_source(counted) {
            text.push_str(&format!(", {source}"));
        }
    }
    text
}

/// Returns how samples were taken: `12,345 samples in 2.47 s, cpu-clock at 4,999 Hz, user and
/// kernel`.
pub(crate) fn sampling(profile: &Profile) -> String {
    let event = &profile.event;
    if let Some(format) = &profile.imported_from {
        return imported(profile, format);
    }
    let mut text = format!(
        "{} in {}, {}{}",
        format::plural(profile.samples, "sample"),
        format::seconds(profile.duration_seconds),
        event.name,
        if event.frequency_hz > 0 {
            format!(" at {} Hz", format::grouped(event.frequency_hz as f64))
        } else {
            String::new()
        }
    );
    text.push_str(if event.kernel {
        ", user and kernel"
    } else {
        ", user mode only"
    });
    text.push_str(&losses(profile));
    text
}

/// Returns the same of samples that another program took: `1,234 samples of cpu in 2.47 s, imported from pprof`.
fn imported(profile: &Profile, format: &str) -> String {
    let mut text = match (profile.samples, profile.event.name.as_str()) {
        (0, name) => name.to_owned(),
        (samples, "samples") => format::plural(samples, "sample"),
        (samples, name) => format!("{} of {name}", format::plural(samples, "sample")),
    };
    if profile.duration_seconds > 0.0 {
        text.push_str(&format!(
            " in {}",
            format::seconds(profile.duration_seconds)
        ));
    }
    text.push_str(&format!(", imported from {format}"));
    text.push_str(&losses(profile));
    text
}

/// Returns lost samples and throttling; empty where there were none.
pub(crate) fn losses(profile: &Profile) -> String {
    let mut text = String::new();
    if profile.lost > 0 {
        let all = (profile.samples + profile.lost).max(1) as f64;
        text.push_str(&format!(
            ", {} lost ({})",
            format::grouped(profile.lost as f64),
            format::share(profile.lost as f64 / all)
        ));
    }
    if profile.throttled > 0 {
        text.push_str(&format!(
            ", throttled {}",
            format::plural(profile.throttled, "time")
        ));
    }
    text
}

/// Returns the warning about truncated stacks; `None` where nearly all are complete.
pub(crate) fn truncated_stacks(profile: &Profile) -> Option<String> {
    let share = profile.truncated_stacks;
    (profile.stacks && share >= MIN_SHARE_OF_TRUNCATED_STACKS).then(|| {
        format!(
            "{} of the stacks are truncated: totals of callers may be too small by that share",
            format::share(share)
        )
    })
}

/// Module of code that a program has generated and no file describes.
const GENERATED_CODE: &str = "[anonymous]";

/// Minimum share of the time in unnamed generated code for a hint.
const MIN_SHARE_OF_GENERATED_CODE: f64 = 0.1;

/// What [`ModuleRow::symbols`] begins with where a module is a PE file.
const PE_FILE: &str = "none: PE file";

/// Minimum share of the time in PE files for a hint: their functions are listed by address, which needs a reason sooner
/// than one row `[anonymous]`.
const MIN_SHARE_OF_PE_FILES: f64 = 0.01;

/// Runtimes that name the code that they generate when they run with these flags: module, program, flags, and what these need.
const NAMING_FLAGS: [(&str, &str, &[&str], &str); 3] = [
    ("node", "node", &["--perf-basic-prof"], ""),
    (
        "libjvm",
        "java",
        &["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"],
        " (JDK 17 or newer)",
    ),
    ("php", "php", &["-d", "opcache.jit_debug=16"], ""),
];

fn has_module(profile: &Profile, name: &str) -> bool {
    let mut modules = profile.modules.iter();
    modules.any(|row| safe_text::file_name(&row.module).starts_with(name))
}

fn share_of_modules(profile: &Profile, is_meant: impl Fn(&ModuleRow) -> bool) -> f64 {
    let rows = profile.modules.iter().filter(|row| is_meant(row));
    rows.map(|row| row.self_share.value).sum()
}

/// Returns the share of the time in code generated at run time whose functions have no names.
pub(crate) fn unnamed_generated_share(profile: &Profile) -> f64 {
    share_of_modules(profile, |row| {
        row.module == GENERATED_CODE && row.symbols.starts_with("none")
    })
}

/// Returns the command with the flags that make its runtime name the code that it generates; `None` where it is not a
/// runtime's with such flags.
pub(crate) fn naming_command(command: &[String]) -> Option<Vec<String>> {
    let (program, arguments) = command.split_first()?;
    let is_run = |name: &str| safe_text::file_name(program).starts_with(name);
    let (_, _, flags, _) = NAMING_FLAGS.iter().find(|(_, name, ..)| is_run(name))?;
    let flags = flags.iter().map(|flag| (*flag).to_owned());
    let words = std::iter::once(program.clone()).chain(flags);
    Some(words.chain(arguments.iter().cloned()).collect())
}

/// Returns how to name the functions of code that was generated at run time, and of .NET's modules; `None` where there is
/// little of it.
pub(crate) fn unnamed_code(profile: &Profile) -> Option<String> {
    let compiled = share_of_modules(profile, |row| row.symbols.starts_with(PE_FILE));
    let generated = unnamed_generated_share(profile);
    let has = |name: &str| has_module(profile, name);
    let with_flags = NAMING_FLAGS.iter().find(|(module, ..)| has(module));
    let how = match with_flags {
        Some((_, program, flags, needs)) => {
            format!("run {program} with {}{needs}", flags.join(" "))
        }
        None if has("libcoreclr") => {
            "set DOTNET_PerfMapEnabled=1 (before .NET 6: COMPlus_PerfMapEnabled=1)".to_owned()
        }
        None if has("luajit") || has("libluajit") => {
            "build luajit with XCFLAGS=-DLUAJIT_USE_PERFTOOLS".to_owned()
        }
        None => "let its runtime write a perf map (/tmp/perf-PID.map)".to_owned(),
    };
    let mut hints = Vec::new();
    if generated >= MIN_SHARE_OF_GENERATED_CODE {
        hints.push(format!(
            "{} of the time is in code generated at run time whose functions have no names: {how}",
            format::share(generated)
        ));
    }
    if compiled >= MIN_SHARE_OF_PE_FILES {
        let share = format::share(compiled);
        hints.push(match has("libcoreclr") || has("System.") {
            true => format!(
                "{share} of the time is in .NET methods that were compiled beforehand and have no names: with \
                 DOTNET_ReadyToRun=0 as well (before .NET 6: COMPlus_ReadyToRun=0) the runtime compiles and names them"
            ),
            false => format!(
                "{share} of the time is in PE files (of Windows), whose symbols genba does not read"
            ),
        });
    }
    (!hints.is_empty()).then(|| hints.join("; "))
}

/// Minimum share of the user's code without line information for a warning beside source lines.
const MIN_SHARE_WITHOUT_LINES: f64 = 0.05;

/// Returns the warning that source lines are not all of the time; `None` where they nearly are.
pub(crate) fn without_lines(profile: &Profile) -> Option<String> {
    let has_lines = |row: &&ModuleRow| row.symbols.contains(", lines");
    let is_file = |row: &&ModuleRow| !row.module.starts_with('[');
    let rows = (profile.modules.iter()).filter(|row| is_file(row) && !has_lines(row));
    let share: f64 = rows.clone().map(|row| row.self_share.value).sum();
    let most = rows.max_by(|a, b| a.self_share.value.total_cmp(&b.self_share.value))?;
    (share >= MIN_SHARE_WITHOUT_LINES).then(|| {
        format!(
            "{} of the time is in code without line information, most of it in {}: build with -g, or install its debug symbols",
            format::share(share),
            safe_text::file_name(&most.module)
        )
    })
}

/// Minimum share of truncated stacks for a warning.
const MIN_SHARE_OF_TRUNCATED_STACKS: f64 = 0.005;

/// Samples below which the functions that take most of the time are not counted: a share of a half is then
/// known to ±10 points (95 %).
const MIN_SAMPLES_OF_CONCENTRATION: u64 = 100;

/// Returns `80 % of the time: 2 functions, 14 source lines, 0.02 % of the code`.
pub(crate) fn concentration(c: &Concentration, samples: u64) -> String {
    if samples < MIN_SAMPLES_OF_CONCENTRATION {
        return format!(
            "{} do not say how many functions take {} of the time; for more, run it longer or sample at a higher -F",
            format::plural(samples, "sample"),
            format::share(c.share)
        );
    }
    let mut text = format!(
        "{} of the time: {}",
        format::share(c.share),
        format::plural(u64::from(c.functions), "function")
    );
    if let Some(lines) = c.lines {
        text.push_str(", ");
        text.push_str(&format::plural(u64::from(lines), "source line"));
    }
    if let Some(share) = c.code_share {
        text.push_str(&format!(", {} of the code", format::share(share)));
    }
    text
}

/// Returns the headline of an annotation: `64.5 % of the time, 12,345 samples of cpu-clock, called
/// 33.0 M times, skid-corrected`.
pub(crate) fn annotation_head(a: &Annotation) -> String {
    let calls = match a.calls {
        Some(calls) => format!(", called {}", format::times(calls)),
        None => String::new(),
    };
    format!(
        "{} of the time, {} of {}{calls}{}",
        format::percent(&a.share),
        format::plural(a.samples, "sample"),
        a.event.name,
        match (a.raw, a.event.precision) {
            (true, Precision::Skid) => ", raw: not skid-corrected",
            (true, Precision::Precise) => ", raw",
            (false, Precision::Skid) => ", skid-corrected",
            (false, Precision::Precise) => "",
        }
    )
}

/// Returns `bignum.c:4551`; empty where the file is unknown.
pub(crate) fn file_line(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", safe_text::file_name(file)),
        (Some(file), None) => safe_text::file_name(file).to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::profile as profile_fixture;
    use genba_model::Estimate;

    #[test]
    fn generated_code_without_names_gets_a_hint_for_its_runtime() {
        let mut profile = profile_fixture();
        let mut row = profile.modules[0].clone();
        row.module = "/usr/bin/node".to_owned();
        profile.modules = vec![row.clone()];
        assert_eq!(unnamed_code(&profile), None);
        row.module = GENERATED_CODE.to_owned();
        row.symbols = "none: memory without a file".to_owned();
        row.self_share = Estimate::exact(0.6);
        profile.modules.push(row);
        let hint = unnamed_code(&profile).expect("a hint");
        assert!(
            hint.starts_with("60 % of the time") && hint.ends_with("--perf-basic-prof"),
            "{hint}"
        );
        let java = Profile {
            modules: vec![
                ModuleRow {
                    module: "/usr/lib/jvm/libjvm.so".to_owned(),
                    ..profile.modules[0].clone()
                },
                profile.modules[1].clone(),
            ],
            ..profile.clone()
        };
        let hint = unnamed_code(&java).expect("a hint");
        assert!(
            hint.ends_with(
                "run java with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (JDK 17 or newer)"
            ),
            "{hint}"
        );
        profile.modules[1].symbols = "perf map".to_owned();
        assert_eq!(unnamed_code(&profile), None);
        profile.modules[1].module = "/opt/dotnet/System.Private.CoreLib.dll".to_owned();
        profile.modules[1].symbols = format!("{PE_FILE} (.NET, Windows)");
        let hint = unnamed_code(&profile).expect("a hint");
        assert!(hint.contains("DOTNET_ReadyToRun=0"), "{hint}");
    }

    #[test]
    fn samples_of_other_programs_name_their_format() {
        let mut profile = profile_fixture();
        profile.imported_from = Some("pprof".to_owned());
        profile.lost = 0;
        assert_eq!(
            sampling(&profile),
            "9,000 samples of cpu-clock in 1.81 s, imported from pprof"
        );
        profile.samples = 0;
        profile.duration_seconds = 0.0;
        assert_eq!(sampling(&profile), "cpu-clock, imported from pprof");
    }

    #[test]
    fn few_samples_do_not_say_how_concentrated_the_time_is() {
        let all = Concentration {
            share: 0.8,
            functions: 5,
            lines: None,
            code_share: None,
        };
        assert!(concentration(&all, 12).starts_with("12 samples do not say"));
        assert_eq!(concentration(&all, 1000), "80 % of the time: 5 functions");
    }
}
