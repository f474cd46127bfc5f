//! The content of answers, made from the store.

use genba_case::{Case, Phase, Store};
use genba_model::{CaseKind, CaseState};
use genba_report::served::{self, Explored, ExploredProfile, Progress, VariantProgress};

use crate::Pages;
use crate::route::Route;

/// Most runs whose times an event has.
const MAX_TIMES: usize = 400;

/// A status, a media type and a text.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub media_type: &'static str,
    pub text: String,
    /// Whether the page has a policy of its own, stricter than that of the server's pages.
    pub is_case_page: bool,
}

const HTML: &str = "text/html; charset=utf-8";

impl Answer {
    fn new(media_type: &'static str, text: String) -> Self {
        Self {
            status: 200,
            media_type,
            text,
            is_case_page: false,
        }
    }

    /// A page that says what is wrong.
    pub fn failed(status: u16, sentence: &str) -> Self {
        Self {
            status,
            ..Self::new(HTML, served::message(sentence))
        }
    }
}

/// The answer to a request.
pub fn answer(store: &Store, pages: &dyn Pages, route: &Route) -> Answer {
    made(store, pages, route).unwrap_or_else(|sentence| Answer::failed(404, &sentence))
}

fn made(store: &Store, pages: &dyn Pages, route: &Route) -> Result<Answer, String> {
    let find = |id: &str| store.find(id).map_err(|error| error.to_string());
    Ok(match route {
        Route::Script => Answer::new("text/javascript; charset=utf-8", served::SCRIPT.to_owned()),
        Route::List => {
            let cases = store.list().map_err(|error| error.to_string())?;
            let place = store.root().display().to_string();
            Answer::new(HTML, served::case_list(&cases, &place))
        }
        Route::Case(id) => case_page(&find(id)?, pages)?,
        Route::Explorer(id) => {
            let case = find(id)?;
            let summary = case.summary().map_err(|error| error.to_string())?;
            Answer::new(HTML, served::explorer(&summary))
        }
        Route::Profile(id) => {
            let case = find(id)?;
            let text = |error: genba_case::Error| error.to_string();
            let profile = case
                .get_document::<ExploredProfile>("profile")
                .map_err(text)?;
            let stacks = case.stack_tree().map_err(text)?;
            let explored = Explored {
                profile: profile.map(|profile| (profile, stacks)),
                waits: case.waits().map_err(text)?,
            };
            if explored.profile.is_none() && explored.waits.is_none() {
                return Err(format!("case {id} has no profile"));
            }
            Answer::new("application/json", served::profile_json(&explored))
        }
        Route::Function(id, index) => {
            let case = find(id)?;
            let profile = case.get_document::<FunctionNames>("profile");
            let profile = profile.map_err(|error| error.to_string())?;
            let named = profile.and_then(|mut one| {
                let index = *index as usize;
                (index < one.functions.len()).then(|| one.functions.swap_remove(index))
            });
            let named = named.ok_or_else(|| format!("case {id} has no such function"))?;
            if named.kernel {
                return Err(format!(
                    "The code of `{}` cannot be shown: it is the kernel's, and its vmlinux is not read.",
                    named.function
                ));
            }
            let page = pages.function(&case, &named.function)?;
            let explored = Some(case.id());
            let page = served::with_navigation(&page, "../../../", explored);
            let mut answer = Answer::new(HTML, page);
            answer.is_case_page = true;
            answer
        }
        Route::Events(id) => {
            let progress = progress(&find(id)?)?;
            let event = served::event(&progress);
            Answer::new("text/event-stream", event)
        }
        Route::Compare(before, after) => {
            let (before, after) = (find(before)?, find(after)?);
            let page = pages.difference(before.id(), after.id())?;
            let page = served::with_navigation(&page, "./", None);
            let mut answer = Answer::new(HTML, page);
            answer.is_case_page = true;
            answer
        }
    })
}

/// The page of a case: its own where it has a result, else what is known so far.
fn case_page(case: &Case, pages: &dyn Pages) -> Result<Answer, String> {
    let summary = case.summary().map_err(|error| error.to_string())?;
    if summary.state == CaseState::Running {
        return Ok(Answer::new(
            HTML,
            served::in_progress(&summary, &progress(case)?),
        ));
    }
    match pages.case(case) {
        Ok(page) => {
            let has_stacks = matches!(summary.kind, CaseKind::Investigation | CaseKind::Waits);
            let explored = has_stacks.then_some(summary.id.as_str());
            let page = served::with_navigation(&page, "../", explored);
            let mut answer = Answer::new(HTML, page);
            answer.is_case_page = true;
            Ok(answer)
        }
        // An interrupted experiment has runs, but no result.
        Err(_) if summary.runs > 0 => Ok(Answer::new(
            HTML,
            served::in_progress(&summary, &progress(case)?),
        )),
        Err(sentence) => Err(sentence),
    }
}

/// The state of a case and the times of its runs.
fn progress(case: &Case) -> Result<Progress, String> {
    let summary = case.summary().map_err(|error| error.to_string())?;
    let mut variants: Vec<VariantProgress> = Vec::new();
    let mut add = |name: &str, seconds: f64| {
        let index = match variants.iter().position(|one| one.name == name) {
            Some(index) => index,
            None => {
                variants.push(VariantProgress::new(name));
                variants.len() - 1
            }
        };
        variants[index].add(seconds, MAX_TIMES);
    };
    for run in case.variant_runs().unwrap_or_default() {
        add(&run.variant, run.run.wall_seconds);
    }
    for run in case.runs(Phase::Measure).unwrap_or_default() {
        add("", run.wall_seconds);
    }
    for entry in case.journal::<Measured>().unwrap_or_default() {
        add(&entry.variant, entry.record.wall_seconds);
    }
    Ok(Progress {
        state: summary.state,
        runs: summary.runs,
        variants,
    })
}

/// What of a profile names its functions.
#[derive(serde::Deserialize)]
struct FunctionNames {
    functions: Vec<FunctionName>,
}

#[derive(serde::Deserialize)]
struct FunctionName {
    function: String,
    kernel: bool,
}

/// What of an entry of an experiment's journal is shown.
#[derive(serde::Deserialize)]
struct Measured {
    variant: String,
    record: Time,
}

#[derive(serde::Deserialize)]
struct Time {
    wall_seconds: f64,
}
