//! Lines of scripts as places: what their author can change, where the interpreter's own functions are not.

use genba_model::{PlaceFunction, ScriptProfile, TimePlace, TimePlaceKind};

use crate::constants::time_shares::MIN_SHARE_OF_SCRIPT_LINE;
use crate::finding_site::of_script_line;
use crate::findings::share_interval;

/// Most places.
const MAX_PLACES: usize = 6;
/// Most C functions of a place.
const MAX_NATIVE: usize = 4;

/// The lines of a script with most time, largest share first, with the C functions that their functions call.
#[must_use]
pub fn script_lines(script: &ScriptProfile) -> Vec<TimePlace> {
    let lines = script.functions.iter().flat_map(|function| {
        let known = function.lines.iter().filter(|line| line.line > 0);
        known.map(move |line| (function, *line))
    });
    let mut lines: Vec<_> = lines
        .filter(|(_, line)| line.share >= MIN_SHARE_OF_SCRIPT_LINE)
        .collect();
    lines.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    lines.truncate(MAX_PLACES);
    let place = |(function, line): (&genba_model::ScriptFunction, genba_model::ScriptLine)| {
        // Which of its lines calls a C function is not known.
        let only = function.lines.len() == 1;
        let native = function.native.iter().filter(|_| only).take(MAX_NATIVE);
        let site = of_script_line(script, function, line.line);
        let share = share_interval(line.share.min(1.0), script.samples);
        TimePlace {
            spent_in: native
                .map(|one| PlaceFunction {
                    function: one.function.clone(),
                    module: one.module.clone(),
                    share: one.share,
                    calls: None,
                })
                .collect(),
            ..TimePlace::of(TimePlaceKind::ScriptLine, site, share)
        }
    };
    lines.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use genba_model::{Estimate, NativeShare, ScriptFunction, ScriptLine};

    use super::*;

    #[test]
    fn lines_with_most_time_are_places_with_their_c_functions() {
        let function = |name: &str, lines: &[(u32, f64)]| ScriptFunction {
            function: name.to_owned(),
            file: "a.py".to_owned(),
            line: 1,
            self_samples: 0,
            self_share: Estimate::exact(0.0),
            total: Estimate::exact(0.0),
            interpreted: 0.0,
            native: vec![NativeShare {
                function: "list_contains".to_owned(),
                module: "python3".to_owned(),
                share: 0.3,
            }],
            lines: (lines.iter())
                .map(|&(line, share)| ScriptLine { line, share })
                .collect(),
        };
        let script = ScriptProfile {
            runtimes: vec!["CPython 3.11.2".to_owned()],
            command: Vec::new(),
            samples: 1000,
            cpu_seconds: 1.0,
            outside: Estimate::exact(0.1),
            functions: vec![
                function("f", &[(3, 0.2), (4, 0.001), (0, 0.3)]),
                function("g", &[(9, 0.4)]),
            ],
            opcodes: Vec::new(),
            collapsed: Vec::new(),
            notes: Vec::new(),
        };
        let places = script_lines(&script);
        let found: Vec<(&str, Option<u32>, usize)> = (places.iter())
            .map(|one| {
                (
                    one.site.function.as_str(),
                    one.site.line,
                    one.spent_in.len(),
                )
            })
            .collect();
        assert_eq!(found, [("g", Some(9), 1), ("f", Some(3), 0)]);
    }
}
