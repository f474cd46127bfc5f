//! Where jumps are recorded, as the engine is told: stretches of files.

use std::collections::BTreeSet;
use std::path::Path;

use genba_engine::layout::{
    STRETCH_CAPACITY, Stretch, TRANSFERS_ALL, TRANSFERS_ENTRIES, TRANSFERS_NONE, TRANSFERS_WITHIN,
    path_hash,
};
use genba_model::CodeSpan;

use super::inject::Wanted;
use crate::image::Image;
use crate::x86_64::{self, Flow};
use crate::{CountRequest, Transfers};

/// Length of a PLT stub at most (the x86-64 psABI).
const STUB: u64 = 16;

/// What the engine is to do.
///
/// # Errors
/// A sentence when there are more stretches than the engine has room for.
pub fn wanted(request: &CountRequest) -> Result<Wanted, String> {
    let (transfers, stretches) = match &request.transfers {
        Transfers::None => (TRANSFERS_NONE, Vec::new()),
        Transfers::Entries => (TRANSFERS_ENTRIES, Vec::new()),
        Transfers::Within(spans) => (TRANSFERS_WITHIN, stretches(spans)),
        Transfers::Everywhere => (TRANSFERS_ALL, Vec::new()),
    };
    if stretches.len() > STRETCH_CAPACITY as usize {
        return Err(format!(
            "jumps are to be recorded in {} stretches of code, more than the {STRETCH_CAPACITY} it \
             has room for: ask for fewer functions",
            stretches.len()
        ));
    }
    Ok(Wanted {
        children: request.children,
        transfers,
        stretches,
    })
}

/// The stretches, and the PLT stubs that code in them calls: where those lead says whom it calls.
fn stretches(spans: &[CodeSpan]) -> Vec<Stretch> {
    let mut found = BTreeSet::new();
    let paths: BTreeSet<&str> = spans.iter().map(|span| span.path.as_str()).collect();
    for path in paths {
        let Some(image) = Image::read(Path::new(path)) else {
            continue;
        };
        let hash = path_hash(path.as_bytes());
        let mut add = |begin: u64, end: u64| {
            if let Some(offset) = image.offset_of(begin) {
                found.insert(Stretch {
                    path: hash,
                    begin: offset,
                    end: offset.saturating_add(end.saturating_sub(begin)),
                });
            }
        };
        for span in spans.iter().filter(|span| span.path == path) {
            add(span.begin, span.end);
            for stub in called_stubs(&image, span) {
                add(stub, stub + STUB);
            }
        }
    }
    found.into_iter().collect()
}

/// Stubs that are called or jumped to from code.
fn called_stubs(image: &Image, span: &CodeSpan) -> BTreeSet<u64> {
    let mut stubs = BTreeSet::new();
    let mut at = span.begin;
    while at < span.end {
        let Some(code) = image.code_at(at) else {
            break;
        };
        let Some(decoded) = x86_64::decode(code, at) else {
            // Data between code.
            at += 1;
            continue;
        };
        if let Flow::Call(Some(to)) | Flow::Jump(Some(to)) | Flow::Branch(to) = decoded.flow
            && image.is_stub(to)
        {
            stubs.insert(to);
        }
        at = decoded.next;
    }
    stubs
}
