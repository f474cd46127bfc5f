//! Rewrites of a finding as patches, each built in a copy, checked and raced against the baseline.

use std::fs;
use std::path::Path;
use std::time::Duration;

use genba_fix::{Place, Rewrite, apply, rewrites, unified_diff};
use genba_model::{
    Estimate, Finding, FindingSite, FixVerdict, SourceLine, Tried, TriedOutcome, TriedRewrite,
};
use genba_run::{CommandSpec, Shell};

use super::SourceTree;
use crate::output_check::varying_output_note;
use crate::try_variants::{self, TryOptions, VariantBuilder, VariantChange};
use crate::{Comparer, ExperimentError, Plan};

/// Most rewrites of a finding that are tried.
const MAX_REWRITES: usize = 4;
/// Time-out of the project's own tests.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1800);

/// A rewrite as a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What it does, and what it assumes.
    pub rewrite: Rewrite,
    /// The change, as a unified diff.
    pub diff: String,
}

impl Proposal {
    /// The proposal, not tried.
    #[must_use]
    pub fn untried(&self) -> TriedRewrite {
        TriedRewrite {
            title: self.rewrite.title.clone(),
            assumes: self.rewrite.assumes.clone(),
            diff: self.diff.clone(),
            compiles: None,
            check_passed: None,
            output_identical: None,
            speedup: None,
            pairs: 0,
            verdict: FixVerdict::NotTried,
            reason: None,
        }
    }
}

/// How proposals are tried.
pub struct FixOptions {
    /// Time limit for measuring, seconds.
    pub budget: f64,
    /// Whether nobody chose it: then measuring may take as long as the builds did.
    pub is_default_budget: bool,
    /// Builds that show the layout effect.
    pub layouts: usize,
    /// The project's own tests: a shell command, run in the copy.
    pub check: Option<String>,
}

/// The rewrites for a finding in these sources: at its own place, else at the place in the user's code that
/// it is called from.
///
/// # Errors
/// Why there is none, as a clause.
pub fn proposals(finding: &Finding, tree: &SourceTree) -> Result<Vec<Proposal>, String> {
    let sites = std::iter::successors(Some(&finding.site), |site| site.called_from.as_deref());
    let mut reasons: Vec<String> = Vec::new();
    for site in sites {
        match at_site(finding, site, tree) {
            Ok(found) => return Ok(found),
            Err(reason) if !reasons.contains(&reason) => reasons.push(reason),
            Err(_) => {}
        }
    }
    Err(reasons.join("; "))
}

fn at_site(
    finding: &Finding,
    site: &FindingSite,
    tree: &SourceTree,
) -> Result<Vec<Proposal>, String> {
    let (Some(file), Some(line)) = (&site.file, site.line) else {
        return Err("it has no source lines; build the program with -g".to_owned());
    };
    let index = tree
        .find(file)
        .ok_or_else(|| format!("{file} is not in the source tree {}", tree.root.display()))?;
    let source = &tree.sources.files[index];
    if source.is_elsewhere(&site.function, line) {
        return Err(format!(
            "{file} is another than when it was measured ({} is not at line {line}): measure again (genba explain)",
            site.function
        ));
    }
    if let Some(was) = changed_line(finding, file, source.source()) {
        return Err(format!(
            "{file} is another than when it was measured (line {} was `{}`): measure again (genba explain)",
            was.line,
            was.text.trim()
        ));
    }
    let place = Place {
        file: index,
        function: &site.function,
        line,
        end_line: site.end_line.unwrap_or(line).max(line),
    };
    let found = rewrites(
        &finding.cause,
        finding.change.as_ref(),
        &tree.sources,
        &place,
    )?;
    let proposals: Vec<Proposal> = found
        .into_iter()
        .take(MAX_REWRITES)
        .filter_map(|rewrite| {
            let diff = diff_of(&rewrite, tree)?;
            (!diff.is_empty()).then_some(Proposal { rewrite, diff })
        })
        .collect();
    match proposals.is_empty() {
        true => Err("the rewrite changes nothing".to_owned()),
        false => Ok(proposals),
    }
}

/// The first line that a finding shows of a file and that is not there any more.
fn changed_line<'f>(finding: &'f Finding, file: &str, text: &str) -> Option<&'f SourceLine> {
    let mut shown = finding.source.iter().filter(|one| one.file == file);
    shown.find(|one| {
        let now = text.lines().nth((one.line as usize).saturating_sub(1));
        now.is_none_or(|now| now.trim() != one.text.trim())
    })
}

/// The diff of a rewrite; `None` if its edits do not fit.
fn diff_of(rewrite: &Rewrite, tree: &SourceTree) -> Option<String> {
    let mut diff = String::new();
    for (file, edits) in &rewrite.edits {
        let file = tree.sources.files.get(*file)?;
        let after = apply(file.source(), edits)?;
        diff.push_str(&unified_diff(&file.path, file.source(), &after));
    }
    Some(diff)
}

/// Writes a proposal into the user's sources, if these are still what was read.
///
/// # Errors
/// A file has changed since, or cannot be written.
pub fn apply_to_sources(proposal: &Proposal, tree: &SourceTree, root: &Path) -> Result<(), String> {
    let mut texts = Vec::new();
    for (file, edits) in &proposal.rewrite.edits {
        let file = (tree.sources.files.get(*file)).ok_or("a file is gone")?;
        let path = root.join(&file.path);
        let now =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if now != file.source().as_bytes() {
            return Err(format!(
                "{} has changed while the patch was tried; nothing is applied",
                path.display()
            ));
        }
        let after = apply(file.source(), edits).ok_or("the edits do not fit")?;
        texts.push((path, after));
    }
    for (path, text) in texts {
        fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Tries proposals, and returns each with what came of it, the best first, and notes on the result.
///
/// # Errors
/// The baseline does not build or run, or an interruption before anything was measured.
pub fn try_proposals(
    comparer: &mut Comparer<'_>,
    template: &Plan,
    builder: &mut VariantBuilder,
    proposals: &[Proposal],
    options: &FixOptions,
) -> Result<(Vec<TriedRewrite>, Vec<String>), ExperimentError> {
    let unwritable = |error: std::io::Error| ExperimentError::Plan {
        what: format!("cannot write the patches to a temporary directory: {error}"),
    };
    let directory = tempfile::tempdir().map_err(unwritable)?;
    let mut changes = Vec::new();
    for (number, proposal) in proposals.iter().enumerate() {
        let path = directory.path().join(format!("{}.patch", name_of(number)));
        fs::write(&path, &proposal.diff).map_err(unwritable)?;
        changes.push(VariantChange {
            name: name_of(number),
            ..VariantChange::patch(path)
        });
    }
    let mut template = template.clone();
    template.check_output = true;
    let try_options = TryOptions {
        auto: false,
        budget: options.budget,
        builds_count: false,
        as_long_as_builds: options.is_default_budget,
        layouts: options.layouts,
        causes: Some(Vec::new()),
        cpus: Vec::new(),
    };
    let mut no_causes = |_: &crate::VariantPlan, _: f64| Ok(Vec::new());
    let result = try_variants::run(
        comparer,
        &template,
        builder,
        changes.clone(),
        &try_options,
        &mut no_causes,
    )?;
    let varies = result
        .notes
        .contains(&varying_output_note(&result.baseline.name));
    let mut all: Vec<TriedRewrite> = Vec::new();
    for (number, proposal) in proposals.iter().enumerate() {
        let tried = result.tried.iter().find(|one| one.name == name_of(number));
        let mut one = outcome(proposal, tried, varies);
        if let (Some(check), FixVerdict::Gain) = (&options.check, one.verdict) {
            let passed = check_passes(comparer, builder, &changes[number], check)?;
            one.check_passed = Some(passed.is_ok());
            if let Err(reason) = passed {
                one.verdict = FixVerdict::CheckFailed;
                one.reason = Some(reason);
            }
        }
        all.push(one);
    }
    let gain = |one: &TriedRewrite| one.speedup.map_or(0.0, |speedup| speedup.value);
    all.sort_by(|one, two| {
        (rank(one.verdict).cmp(&rank(two.verdict))).then(gain(two).total_cmp(&gain(one)))
    });
    let mut notes = result.notes;
    if varies {
        notes.push("the output was not compared: the baseline's varies".to_owned());
    }
    Ok((all, notes))
}

fn name_of(number: usize) -> String {
    format!("fix-{}", number + 1)
}

/// What the race says of a proposal.
fn outcome(proposal: &Proposal, tried: Option<&Tried>, varies: bool) -> TriedRewrite {
    let mut one = proposal.untried();
    let Some(tried) = tried else { return one };
    let built = tried.build_seconds.is_some();
    one.pairs = tried.pairs;
    one.speedup = tried.ratio.map(|ratio| Estimate {
        value: 1.0 / ratio.value,
        low: 1.0 / ratio.high,
        high: 1.0 / ratio.low,
    });
    one.reason.clone_from(&tried.reason);
    one.verdict = match tried.outcome {
        TriedOutcome::Gain => FixVerdict::Gain,
        TriedOutcome::Slight
        | TriedOutcome::Slower
        | TriedOutcome::Same
        | TriedOutcome::Identical => FixVerdict::NoGain,
        TriedOutcome::Undecided => FixVerdict::Undecided,
        TriedOutcome::Failed if built => FixVerdict::OutputDiffers,
        TriedOutcome::Failed => FixVerdict::DoesNotCompile,
        TriedOutcome::Unavailable | TriedOutcome::NotTried => FixVerdict::NotTried,
    };
    one.compiles = match one.verdict {
        FixVerdict::DoesNotCompile => Some(false),
        _ => built.then_some(true),
    };
    one.output_identical = match one.verdict {
        FixVerdict::OutputDiffers => Some(false),
        _ => (one.pairs > 0 && !varies).then_some(true),
    };
    one
}

fn rank(verdict: FixVerdict) -> u8 {
    match verdict {
        FixVerdict::Gain => 0,
        FixVerdict::CheckFailed => 1,
        FixVerdict::NoGain => 2,
        FixVerdict::Undecided => 3,
        FixVerdict::OutputDiffers => 4,
        FixVerdict::DoesNotCompile => 5,
        FixVerdict::NoRewrite | FixVerdict::NotTried => 6,
    }
}

/// Runs the project's tests in the copy of a change, and in the baseline's where they fail there; the error
/// is the reason.
fn check_passes(
    comparer: &mut Comparer<'_>,
    builder: &VariantBuilder,
    change: &VariantChange,
    check: &str,
) -> Result<Result<(), String>, ExperimentError> {
    let Some(patched) = builder.copy_of(&change.patches) else {
        return Ok(Err("its copy is gone".to_owned()));
    };
    let run = |comparer: &mut Comparer<'_>, tree: &Path| -> Result<bool, ExperimentError> {
        let mut spec = CommandSpec::from_line(check, &Shell::default())?;
        spec.directory = Some(tree.to_owned());
        spec.timeout = Some(CHECK_TIMEOUT);
        Ok(comparer.command(&spec)?.record.exit.success())
    };
    comparer.say("the project's tests with the patch", None);
    if run(comparer, patched)? {
        return Ok(Ok(()));
    }
    comparer.say("the project's tests without the patch", None);
    let unpatched = match builder.copy_of(&[]) {
        Some(tree) => run(comparer, tree)?,
        None => true,
    };
    Ok(Err(match unpatched {
        true => format!("`{check}` fails with the patch, and passes without it"),
        false => format!("`{check}` fails, with the patch and without it"),
    }))
}
