//! `genba case serve`: the cases of a directory in the browser.
//!
//! **Scope.** The server listens on loopback, answers requests that have its token in the path and its own address
//! in `Host`, and only reads. Requests are hostile: any web page may send them.
//!
//! **Not here.** What a page looks like (`genba-report`); pages that need more than the store, which [`Pages`] makes;
//! anything that changes a case.

mod answer_content;
mod request_access;
mod route;
mod server;

use genba_case::Case;

pub use request_access::{Access, Head, Refused};
pub use route::Route;
pub use server::{ServeError, Server};

/// Makes the pages of cases.
pub trait Pages: Send + Sync + 'static {
    /// The page of a case; an error, as a sentence, where it has none yet.
    ///
    /// # Errors
    /// The case has no result.
    fn case(&self, case: &Case) -> Result<String, String>;

    /// The page of a function of a case: source and instructions with their time.
    ///
    /// # Errors
    /// The function has no code that can be shown.
    fn function(&self, case: &Case, function: &str) -> Result<String, String>;

    /// The page that compares two cases.
    ///
    /// # Errors
    /// They cannot be compared.
    fn difference(&self, before: &str, after: &str) -> Result<String, String>;
}
