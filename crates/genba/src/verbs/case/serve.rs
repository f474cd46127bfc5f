//! `genba case serve`: the cases in the browser.

use genba_case::{Case, Store};
use genba_report::Screen;
use genba_serve::{Pages, Server};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::verbs::{annotate, diff};

/// The pages that `case export` and `diff` make.
struct StoredPages {
    screen: Screen,
}

impl Pages for StoredPages {
    fn case(&self, case: &Case) -> Result<String, String> {
        super::page_of(case, self.screen).map_err(|failure| failure.message)
    }

    fn function(&self, case: &Case, function: &str) -> Result<String, String> {
        let annotation = annotate::of_case(case, function).map_err(|failure| failure.message)?;
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
    };
    server.run(store, pages).map_err(Failure::usage)?;
    Ok(Exit::Done)
}
