//! From the text of a plan to the plan. Pure but for [`load_plan`].

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use genba_model::CampaignAxis;
use genba_units::{parse_duration, parse_share};
use toml::Spanned;

use crate::CampaignError;
use crate::block_matrix::{MAX_BLOCKS, MAX_CELLS, MAX_HOSTS, cells_of};
use crate::campaign_plan::{CampaignPlan, MeasurePlan};
use crate::plan_document::{Document, Text};

/// Bytes that the file of a plan may have.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Blocks of a group on a host where the plan says nothing.
const DEFAULT_REPEATS: u32 = 10;
/// Runs of a variant in a block where the plan says nothing.
const DEFAULT_RUNS: u32 = 2;
/// Attempts where the plan says nothing.
const DEFAULT_ATTEMPTS: u32 = 5;
/// Characters of a name at most.
const MAX_NAME_CHARS: usize = 100;

/// Reads the file of a plan.
///
/// # Errors
/// The file cannot be read, or has a mistake.
pub fn load_plan(path: &Path) -> Result<CampaignPlan, CampaignError> {
    let fail = |source| CampaignError::File {
        what: "read the plan",
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    (file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(fail)?;
    let file = path.to_string_lossy();
    let wrong = |message: String| CampaignError::Plan {
        file: file.to_string(),
        line: None,
        message,
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(wrong(format!("more than {MAX_FILE_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    let path = std::path::absolute(path).map_err(fail)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let directory = path.parent().unwrap_or(Path::new("/"));
    parse_plan(&text, &file, &stem, directory)
}

/// Parses a plan. `file` is its name for messages, `stem` the name of a campaign that has none,
/// `directory` what relative paths are relative to.
///
/// # Errors
/// Not TOML, unknown keys, invalid values; the message names line and key.
pub fn parse_plan(
    text: &str,
    file: &str,
    stem: &str,
    directory: &Path,
) -> Result<CampaignPlan, CampaignError> {
    let document: Document = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_at(text, span.start));
        CampaignError::Plan {
            file: file.to_owned(),
            line,
            message: printable(&with_key(error.message(), text, line)),
        }
    })?;
    let reader = Reader {
        text,
        file,
        directory,
    };
    reader.plan(document, stem)
}

/// Control characters escaped, as the message quotes the file.
fn printable(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for character in message.trim_end().chars() {
        match character {
            '\n' => out.push_str("; "),
            other if other.is_control() => out.extend(other.escape_unicode()),
            other => out.push(other),
        }
    }
    out
}

/// The message, with the key of its line in front if it names none.
fn with_key(message: &str, text: &str, line: Option<usize>) -> String {
    let line = line.and_then(|line| text.lines().nth(line - 1));
    let key = line
        .and_then(|line| line.split_once('='))
        .map(|(key, _)| key.trim());
    match key {
        Some(key) if !key.is_empty() && !message.contains('`') => format!("{key}: {message}"),
        _ => message.to_owned(),
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Reads the values of a plan; mistakes are named by their lines.
pub(crate) struct Reader<'a> {
    text: &'a str,
    file: &'a str,
    directory: &'a Path,
}

impl Reader<'_> {
    pub(crate) fn at<T>(&self, place: &Spanned<T>, message: impl Into<String>) -> CampaignError {
        CampaignError::Plan {
            file: self.file.to_owned(),
            line: Some(line_at(self.text, place.span().start)),
            message: printable(&message.into()),
        }
    }

    pub(crate) fn whole(&self, message: String) -> CampaignError {
        CampaignError::Plan {
            file: self.file.to_owned(),
            line: None,
            message,
        }
    }

    fn plan(&self, document: Document, stem: &str) -> Result<CampaignPlan, CampaignError> {
        let head = &document.campaign;
        let name = match &head.name {
            Some(name) => self.name(name, "name")?,
            None => stem.to_owned(),
        };
        if name.is_empty()
            || name.starts_with('.')
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            let message = format!(
                "name = {name:?}: it becomes the name of a directory, so write letters, digits, - and _"
            );
            return Err(match &head.name {
                Some(place) => self.at(place, message),
                None => self.whole(message),
            });
        }
        let revisions = self.revisions(&document)?;
        let builds = self.builds(&document)?;
        let options = self.options(&document)?;
        let compare = head.compare.as_ref().map(|axis| *axis.as_ref());
        let compare = compare.unwrap_or(if revisions.len() > 1 {
            CampaignAxis::Revisions
        } else if builds.len() > 1 {
            CampaignAxis::Builds
        } else {
            CampaignAxis::Options
        });
        let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_ref().clone());
        let share = |key: &str, text: &Option<Text>, usual: f64| match text {
            None => Ok(usual),
            Some(text) => {
                parse_share(text.as_ref()).map_err(|error| self.at(text, format!("{key}: {error}")))
            }
        };
        let measure = MeasurePlan {
            metric: text(&head.metric).unwrap_or_else(|| "wall".to_owned()),
            delta: share("delta", &head.delta, 0.01)?,
            alpha: share("alpha", &head.alpha, 0.05)?,
            warmup: head.warmup.as_ref().map_or(0, |count| *count.as_ref()),
            timeout_seconds: self.seconds("timeout", head.timeout.as_ref())?,
            shell: head.shell.clone(),
            prepare: text(&head.prepare),
            check_output: head.check_output,
        };
        let plan = CampaignPlan {
            name,
            source: self.path(head.source.as_ref().map_or(".", |text| text.as_ref())),
            command: head.command.as_ref().clone(),
            directory: text(&head.directory)
                .unwrap_or_else(|| braces(&self.directory.to_string_lossy())),
            revisions,
            builds,
            options,
            hosts: self.hosts(&document)?,
            compare,
            repeats: self.positive("repeats", head.repeats.as_ref(), DEFAULT_REPEATS)?,
            runs: self.positive("runs", head.runs.as_ref(), DEFAULT_RUNS)?,
            measure,
            metrics: self.metrics(&document)?,
            block_seconds: self.seconds("block_time", head.block_time.as_ref())?,
            build_seconds: self.seconds("build_time", head.build_time.as_ref())?,
            seed: head.seed.unwrap_or(1),
            attempts: self.positive("attempts", head.attempts.as_ref(), DEFAULT_ATTEMPTS)?,
        };
        self.check(&plan, &document)?;
        Ok(plan)
    }

    /// Sizes, and whether every placeholder of the templates is known.
    fn check(&self, plan: &CampaignPlan, document: &Document) -> Result<(), CampaignError> {
        let counts = [plan.revisions.len(), plan.builds.len(), plan.options.len()];
        let cells = counts
            .iter()
            .fold(1_usize, |all, one| all.saturating_mul(*one));
        let groups = cells / axis_length(plan);
        let blocks = (plan.repeats as usize)
            .saturating_mul(plan.hosts.len())
            .saturating_mul(groups);
        if cells > MAX_CELLS {
            return Err(self.whole(format!(
                "revisions × builds × options come to {cells} variants, {MAX_CELLS} at most"
            )));
        }
        if plan.hosts.len() > MAX_HOSTS {
            return Err(self.whole(format!(
                "{} kinds of hosts, {MAX_HOSTS} at most",
                plan.hosts.len()
            )));
        }
        if blocks > MAX_BLOCKS {
            return Err(self.whole(format!(
                "hosts × groups × repeats come to {blocks} blocks, {MAX_BLOCKS} at most"
            )));
        }
        let head = &document.campaign;
        let Some(cell) = cells_of(plan).into_iter().next() else {
            return Ok(());
        };
        let variables = cell.variables(plan, Path::new("/tree"));
        let mut templates = vec![("command", &head.command)];
        templates.extend(head.directory.as_ref().map(|text| ("directory", text)));
        templates.extend(head.prepare.as_ref().map(|text| ("prepare", text)));
        for (key, text) in templates {
            genba_suite::expand(text.as_ref(), &variables)
                .map_err(|error| self.at(text, format!("{key}: {error}")))?;
        }
        if head.command.as_ref().trim().is_empty() {
            return Err(self.at(&head.command, "command: the command is empty"));
        }
        for (count, what, placeholder) in [
            (plan.revisions.len(), "revisions", "revision"),
            (plan.builds.len(), "builds", "build"),
        ] {
            let texts = [
                Some(&plan.command),
                Some(&plan.directory),
                plan.measure.prepare.as_ref(),
            ];
            let mut named = texts.into_iter().flatten().flat_map(|text| {
                ["tree", placeholder].map(|name| text.contains(&format!("{{{name}}}")))
            });
            if count > 1 && !named.any(|is_there| is_there) {
                return Err(self.at(
                    &head.command,
                    format!(
                        "command: all {count} {what} would run the same program, since nothing names the tree of each: \
                         write {{tree}}/PROGRAM, or directory = \"{{tree}}\""
                    ),
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn name(&self, text: &Text, key: &str) -> Result<String, CampaignError> {
        let name = text.as_ref();
        if name.trim().is_empty()
            || name.chars().count() > MAX_NAME_CHARS
            || name.chars().any(char::is_control)
        {
            return Err(self.at(
                text,
                format!(
                    "{key}: a name has 1 to {MAX_NAME_CHARS} characters, and no control characters"
                ),
            ));
        }
        Ok(name.clone())
    }

    pub(crate) fn unique<'t>(
        &self,
        names: impl IntoIterator<Item = &'t Text>,
        what: &str,
    ) -> Result<(), CampaignError> {
        let mut seen = BTreeSet::new();
        for name in names {
            self.name(name, "name")?;
            if !seen.insert(name.as_ref()) {
                return Err(self.at(name, format!("{what} {:?} is there twice", name.as_ref())));
            }
        }
        Ok(())
    }

    pub(crate) fn path(&self, text: &str) -> PathBuf {
        // Without `.` and empty parts, so that it is the same text each time.
        self.directory.join(text).components().collect()
    }

    pub(crate) fn positive(
        &self,
        key: &str,
        count: Option<&Spanned<u32>>,
        usual: u32,
    ) -> Result<u32, CampaignError> {
        match count {
            Some(count) if *count.as_ref() == 0 => {
                Err(self.at(count, format!("{key} is 0, but must be 1 or more")))
            }
            Some(count) => Ok(*count.as_ref()),
            None => Ok(usual),
        }
    }

    pub(crate) fn seconds(
        &self,
        key: &str,
        text: Option<&Text>,
    ) -> Result<Option<f64>, CampaignError> {
        let parse = |text: &Text| {
            let time = parse_duration(text.as_ref())
                .map_err(|error| self.at(text, format!("{key}: {error}")))?;
            Ok(time.as_secs_f64())
        };
        text.map(parse).transpose()
    }
}

/// Number of variants of a group.
fn axis_length(plan: &CampaignPlan) -> usize {
    match plan.compare {
        CampaignAxis::Revisions => plan.revisions.len(),
        CampaignAxis::Builds => plan.builds.len(),
        CampaignAxis::Options => plan.options.len(),
    }
    .max(1)
}

/// A text without placeholders as a template.
pub(crate) fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        let parsed = parse_plan(text, "plan.toml", "plan", Path::new("/work"));
        parsed.expect_err("refused").to_string()
    }

    #[test]
    fn mistakes_are_named_by_line_and_key() {
        let head = "[campaign]\ncommand = \"p\"\n";
        for (more, line, key) in [
            ("repeat = 3", 3, "`repeat`"),
            ("repeats = 0", 3, "repeats"),
            ("repeats = \"many\"", 3, "repeats"),
            ("delta = \"x\"", 3, "delta"),
            ("timeout = \"x\"", 3, "timeout"),
            ("prepare = \"{tre}\"", 3, "prepare"),
            ("compare = \"hosts\"", 3, "`hosts`"),
            ("name = \"../up\"", 3, "name"),
            (
                "revisions = [\"a\"]\n[[revision]]\nname = \"b\"",
                3,
                "revisions",
            ),
            (
                "[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"",
                6,
                "the host",
            ),
            ("[[host]]\nname = \"a\"\nsbatch = [\"a\\nb\"]", 5, "sbatch"),
        ] {
            let said = error(&format!("{head}{more}\n"));
            assert!(said.starts_with(&format!("plan.toml:{line}: ")), "{said}");
            assert!(said.contains(key), "{said}");
        }
    }

    #[test]
    fn command_that_is_the_same_for_all_revisions_or_builds_is_refused() {
        let head = "[campaign]\nrevisions = [\"a\", \"b\"]\ncommand = ";
        let said = error(&format!("{head}\"./p\"\n"));
        assert!(
            said.starts_with("plan.toml:3: command: all 2 revisions would run the same"),
            "{said}"
        );
        let builds = "[[build]]\nname = \"x\"\ncommand = \"make\"\n[[build]]\nname = \"y\"\ncommand = \"cc\"\n";
        assert!(error(&format!("{head}\"p {{revision}}\"\n{builds}")).contains("all 2 builds"));
        for good in [
            "\"{tree}/p\"\n",
            "\"./p\"\ndirectory = \"{tree}/b\"\n",
            "\"./p\"\nprepare = \"cp {tree}/p .\"\n",
            "\"./p-{revision}\"\n",
        ] {
            let text = format!("{head}{good}");
            let parsed = parse_plan(&text, "plan.toml", "plan", Path::new("/work"));
            assert!(parsed.is_ok(), "{text}");
        }
    }

    #[test]
    fn matrix_without_end_is_refused() {
        let many: Vec<String> = (0..3_000).map(|number| format!("r{number}")).collect();
        let text = format!("[campaign]\ncommand = \"p\"\nrevisions = {many:?}\n");
        assert!(error(&text).contains("at most"), "{}", error(&text));
        let text = "[campaign]\ncommand = \"p\"\nrepeats = 4000000000\n";
        assert!(error(text).contains("at most"), "{}", error(text));
    }

    proptest! {
        #[test]
        fn any_text_is_a_plan_or_an_error(text in "(\\[campaign\\]\n)?([a-z_]{1,8} = [\"0-9a-z{}\\[\\]]{0,12}\n){0,6}") {
            let _ = parse_plan(&text, "plan.toml", "plan", Path::new("/work"));
        }
    }
}
