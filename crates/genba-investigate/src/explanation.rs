//! The document of `genba explain`: of an investigation as it is stored, or of its measurements with the
//! detectors of this version.

use genba_attribution::ResolvedProfile;
use genba_case::{Case, Error as CaseError};
use genba_code::SourceCache;
use genba_explain::{AnalysisInput, Limits};
use genba_model::{Explanation, Investigation, MIN_GAIN, ModuleRow, NoiseFloor};
use genba_run::join_words;
use genba_runtime::script::may_be_interpreter;

use crate::explanation_inputs::{EXPLANATION_INPUTS, ExplanationInputs};
use crate::findings::findings;
use crate::observations::OBSERVATIONS;

/// Returns what an investigation found.
///
/// # Errors
/// It has no samples; its notes, which say why.
pub fn stored_explanation(all: Investigation) -> Result<Explanation, Vec<String>> {
    let mut notes = all.notes;
    let Some(profile) = all.profile else {
        return Err(notes);
    };
    if profile.counted.is_none() {
        notes.push(uncounted(""));
    }
    if all.script.is_none() {
        notes.extend(unsampled_script(&profile.modules, &all.workload.command));
    }
    Ok(Explanation {
        case: Some(all.case),
        command: all.workload.command,
        event: profile.event,
        findings: all.findings,
        places: all.places,
        waits: all.waits,
        input_bytes: all.input_bytes,
        min_gain: MIN_GAIN,
        noise_floor: all.noise_floor,
        notes,
    })
}

/// Explains a recording, with what its case knows beside samples and counts.
///
/// # Errors
/// The case cannot be read.
pub fn explain_recording(
    resolved: &ResolvedProfile,
    case: Option<&Case>,
) -> Result<Explanation, CaseError> {
    let (inputs, noise_floor): (Option<ExplanationInputs>, Option<Vec<NoiseFloor>>) = match case {
        Some(case) => (
            case.get_document(EXPLANATION_INPUTS)?,
            case.get_document("noise_floor")?,
        ),
        None => (None, None),
    };
    let inputs = inputs.unwrap_or_default();
    let profile = resolved.profile(&Default::default());
    let limits = Limits {
        min_gain: MIN_GAIN,
        samples: profile.samples,
    };
    let mut input = AnalysisInput::of(resolved, &inputs.runs);
    input.program.follow_up = inputs.follow_up;
    if let Some(case) = case {
        input.observed = case.get_document(OBSERVATIONS)?;
    }
    let (findings, places) = findings(&input, limits, &mut SourceCache::new());
    let mut notes = profile.notes;
    if profile.counted.is_none() {
        notes.push(uncounted(" (--counts joins them)"));
    }
    Ok(Explanation {
        case: case.map(|case| case.id().to_owned()),
        command: profile.command,
        event: profile.event,
        findings,
        places,
        waits: case.map_or(Ok(None), Case::waits)?,
        input_bytes: inputs.runs.input_bytes,
        min_gain: limits.min_gain,
        noise_floor: noise_floor.unwrap_or_default(),
        notes,
    })
}

/// The note on executions that were not counted.
fn uncounted(remedy: &str) -> String {
    format!(
        "executions were not counted{remedy}: only causes that samples alone show were searched"
    )
}

/// Share of the time in an interpreter from which its script is worth asking about. Chosen.
const MIN_SHARE_OF_INTERPRETER: f64 = 0.5;

/// The note on a script of which nothing is said, as only the interpreter's own code was sampled.
fn unsampled_script(modules: &[ModuleRow], command: &[String]) -> Option<String> {
    let interpreters = (modules.iter()).filter(|one| may_be_interpreter(&one.module));
    let share: f64 = interpreters.map(|one| one.self_share.value).sum();
    (share >= MIN_SHARE_OF_INTERPRETER).then(|| {
        format!(
            "{:.0} % of the time is in the interpreter, and the findings are about its own code; for the script's lines: \
             genba investigate -- {}",
            100.0 * share,
            join_words(command)
        )
    })
}

#[cfg(test)]
mod tests {
    use genba_model::Estimate;

    use super::*;

    #[test]
    fn script_of_an_interpreter_that_has_the_time_is_pointed_to() {
        let note = |module: &str, share: f64| {
            let row = ModuleRow {
                module: module.to_owned(),
                build_id: None,
                self_share: Estimate::exact(share),
                symbols: "symtab".to_owned(),
            };
            let command = ["python3".to_owned(), "my script.py".to_owned()];
            unsampled_script(&[row], &command)
        };
        let found = note("/usr/bin/python3.11", 0.8).expect("a note");
        assert!(
            found.contains("80 %") && found.ends_with("-- python3 'my script.py'"),
            "{found}"
        );
        assert_eq!(note("/usr/bin/python3.11", 0.2), None);
        assert_eq!(note("/usr/bin/mawk", 0.9), None);
    }
}
