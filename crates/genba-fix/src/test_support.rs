//! For tests: a rewrite of one small file.

use genba_model::Fix;

use crate::edit;
use crate::rewrites::{Place, Sources, rewrites};
use crate::source_file::{Dialect, SourceFile};

/// The files after each proposed rewrite.
fn outcomes(
    cause: &str,
    change: Option<&Fix>,
    files: &[(&str, &str)],
    line: u32,
) -> Result<Vec<Vec<String>>, String> {
    let parsed = files.iter().map(|(name, text)| {
        let cpp = files.iter().any(|(name, _)| name.ends_with(".cc"));
        let headers = if cpp { Dialect::Cpp } else { Dialect::C };
        let dialect = Dialect::of_name(name, headers).expect("a source file");
        SourceFile::new(name, text.as_bytes().to_vec(), dialect).expect("text")
    });
    let sources = Sources {
        files: parsed.collect(),
    };
    let place = Place {
        file: 0,
        function: "f",
        line,
        end_line: line,
    };
    let found = rewrites(cause, change, &sources, &place)?;
    let after = found.iter().map(|rewrite| {
        let mut texts: Vec<String> = files.iter().map(|(_, text)| (*text).to_owned()).collect();
        for (file, edits) in &rewrite.edits {
            texts[*file] = edit::apply(files[*file].1, edits).expect("edits that fit");
        }
        texts
    });
    Ok(after.collect())
}

/// The file after the first rewrite.
pub(crate) fn rewritten(cause: &str, name: &str, text: &str, line: u32) -> String {
    all_rewritten(cause, &[(name, text)], line)[0][0].clone()
}

/// All files after each rewrite.
pub(crate) fn all_rewritten(cause: &str, files: &[(&str, &str)], line: u32) -> Vec<Vec<String>> {
    outcomes(cause, None, files, line).expect("a rewrite")
}

/// That there is no rewrite; returns the reason.
pub(crate) fn refused(cause: &str, name: &str, text: &str, line: u32) -> String {
    match outcomes(cause, None, &[(name, text)], line) {
        Err(reason) => reason,
        Ok(after) => panic!("rewritten to {}", after[0][0]),
    }
}

/// The file after the first rewrite for this change.
pub(crate) fn rewritten_with(
    cause: &str,
    change: &Fix,
    name: &str,
    text: &str,
    line: u32,
) -> Result<String, String> {
    Ok(outcomes(cause, Some(change), &[(name, text)], line)?[0][0].clone())
}

/// All files after each rewrite, or why there is none.
pub(crate) fn try_rewritten(
    cause: &str,
    files: &[(&str, &str)],
    line: u32,
) -> Result<Vec<Vec<String>>, String> {
    outcomes(cause, None, files, line)
}
