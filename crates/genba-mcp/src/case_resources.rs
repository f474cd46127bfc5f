//! Cases as resources: `genba://case/ID/page` and `genba://case/ID/document`.

use genba_case::{Case, Store};
use genba_model::{CaseKind, CaseState};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::{Refusal, Workspace};

/// Cases on a page of the list.
const CASES_PER_LIST: usize = 50;
/// Largest resource, bytes.
const MAX_RESOURCE_BYTES: u64 = 64 << 20;

/// What of a case is a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Page,
    Document,
}

impl View {
    const ALL: [Self; 2] = [Self::Page, Self::Document];

    fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Document => "document",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Page => "text/html",
            Self::Document => "application/json",
        }
    }
}

fn uri(case: &str, view: View) -> String {
    format!("genba://case/{case}/{}", view.name())
}

/// The templates of all resources.
pub fn templates() -> Vec<ResourceTemplate> {
    View::ALL
        .map(|view| {
            let template =
                ResourceTemplate::new(uri("{id}", view), format!("case {}", view.name()));
            template.with_mime_type(view.media_type())
        })
        .into()
}

/// The resources of the newest cases behind the cursor, and the next cursor.
///
/// # Errors
/// The cases cannot be listed, or the cursor is not one.
pub fn list(
    workspace: &Workspace,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), Refusal> {
    let from: usize = match cursor {
        Some(cursor) => (cursor.parse()).map_err(|_| Refusal("unknown cursor".to_owned()))?,
        None => 0,
    };
    let cases = Store::at(workspace.cases()).list();
    let cases = cases.map_err(|error| Refusal(error.to_string()))?;
    let shown = cases.iter().skip(from).take(CASES_PER_LIST);
    let resources = shown.filter(|case| case.error.is_none()).flat_map(|case| {
        let command: String = genba_report::sanitise(&case.command.join(" "))
            .chars()
            .take(200)
            .collect();
        View::ALL.map(|view| {
            Resource::new(
                uri(&case.id, view),
                format!("case {} {}", case.id, view.name()),
            )
            .with_description(format!("{}: {command}", case.kind.name()))
            .with_mime_type(view.media_type())
        })
    });
    let next = from.saturating_add(CASES_PER_LIST);
    let more = (next < cases.len()).then(|| next.to_string());
    Ok((resources.collect(), more))
}

/// The full id of a case whose files all lie in the workspace.
///
/// # Errors
/// There is no such case, or one of its files lies outside.
pub fn find(workspace: &Workspace, id: &str) -> Result<Case, Refusal> {
    let id = workspace.case(id)?;
    let found = Store::at(workspace.cases()).find(id);
    let case = found.map_err(|error| Refusal(error.to_string()))?;
    workspace.check_case_files(case.directory())?;
    Ok(case)
}

/// The newest investigation.
///
/// # Errors
/// There is none.
pub fn newest_investigation(workspace: &Workspace) -> Result<Case, Refusal> {
    let cases = Store::at(workspace.cases()).list();
    let cases = cases.map_err(|error| Refusal(error.to_string()))?;
    let newest = (cases.iter())
        .find(|case| case.kind == CaseKind::Investigation && case.state == CaseState::Complete);
    match newest {
        Some(case) => find(workspace, &case.id),
        None => Err(Refusal(
            "no investigation yet: investigate a command first".to_owned(),
        )),
    }
}

/// A resource that was read, or how to make it.
pub enum Found {
    Ready(ResourceContents),
    /// The command line of `genba` that prints it, and its media type.
    Printed(Vec<String>, &'static str),
}

/// Reads a resource; `None` where the address names none.
///
/// # Errors
/// There is no such case, or the resource cannot be read.
pub fn read(workspace: &Workspace, address: &str) -> Option<Result<Found, Refusal>> {
    let (id, view) = address.strip_prefix("genba://case/")?.split_once('/')?;
    let view = View::ALL.into_iter().find(|one| one.name() == view)?;
    let found = find(workspace, id).and_then(|case| of_case(&case, view));
    Some(found.map(|text| match text {
        Ok(text) => {
            let contents = ResourceContents::text(text, address);
            Found::Ready(contents.with_mime_type(view.media_type()))
        }
        Err(words) => Found::Printed(words, view.media_type()),
    }))
}

/// The text, or the command line that prints it.
fn of_case(case: &Case, view: View) -> Result<Result<String, Vec<String>>, Refusal> {
    let refused = |error: &dyn std::fmt::Display| Refusal(format!("case {}: {error}", case.id()));
    if view == View::Document {
        return case.export_json().map(Ok).map_err(|error| refused(&error));
    }
    let page = case.page_path();
    match page.metadata() {
        // Not every case keeps its page.
        Err(_) => {
            let words = ["case", "export", "--format=html", "--", case.id()];
            Ok(Err(words.map(str::to_owned).to_vec()))
        }
        Ok(found) if found.len() > MAX_RESOURCE_BYTES => Err(refused(&"its page is too large")),
        Ok(_) => (std::fs::read_to_string(page).map(Ok)).map_err(|error| refused(&error)),
    }
}
