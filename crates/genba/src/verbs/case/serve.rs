//! `genba case serve`: the cases in the browser.

use std::sync::{Mutex, PoisonError};

use genba_case::{Case, Store};
use genba_report::Screen;
use genba_serve::{Pages, Server};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::verbs::annotate::AnnotatedCase;
use crate::verbs::diff;

/// The pages that `case export` and `diff` make.
struct StoredPages {
    screen: Screen,
    /// The case whose functions were asked for last: of a large recording, reading is most of an answer's time.
    annotated: Mutex<Option<AnnotatedCase>>,
}

impl Pages for StoredPages {
    fn case(&self, case: &Case) -> Result<String, String> {
        super::page_of(case, self.screen).map_err(|failure| failure.message)
    }

    fn function(&self, case: &Case, function: &str) -> Result<String, String> {
        let sentence = |failure: Failure| failure.message;
        let mut last = self
            .annotated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut annotated = match last.take() {
            Some(one) if one.id() == case.id() => one,
            _ => AnnotatedCase::open(case).map_err(sentence)?,
        };
        let annotation = annotated.annotation(function);
        *last = Some(annotated);
        drop(last);
        let annotation = annotation.map_err(sentence)?;
        Ok(genba_report::page::annotation_html(&annotation))
    }

    fn difference(&self, before: &str, after: &str) -> Result<String, String> {
        diff::page_of_cases(before, after).map_err(|failure| failure.message)
    }
}

/// Serves until a signal ends it. The link is the first line of standard output.
pub fn run(port: u16, store: Store, output: &Output) -> VerbResult {
    let server = Server::listen(port).map_err(Failure::usage)?;
    output.result(&format!("{}\n", server.link()))?;
    output.note("open this link in a browser on this machine; Ctrl-C ends the server");
    let pages = StoredPages {
        screen: output.screen(),
        annotated: Mutex::new(None),
    };
    server.run(store, pages).map_err(Failure::usage)?;
    Ok(Exit::Done)
}
