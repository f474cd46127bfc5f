//! Characters read from or written to a stream of C one by one. `getc` and `putc` are calls of the C library that
//! test or take the stream's lock each time (POSIX.1-2017, 2.5.1: "as if they call flockfile()"); their unlocked forms are
//! inlined down to a compare and a load.
//!
//! **Signature.** The user's own code calls such a function through the PLT often, and a call executes few
//! instructions: its work is the call and the lock, not the reading of the next block.
//!
//! **Near misses.** The unlocked functions; functions of lines or blocks (`fgets`, `fwrite`); functions of these names
//! that are the user's own; streams without a buffer, whose calls go into the library further.
//!
//! **Gain.** As for other small functions that would be inlined; a test of the buffer's end stays.

use std::collections::BTreeMap;

use genba_model::Fix;

use super::through_plt::inlined_calls;
use crate::candidate::Candidate;
use crate::constants::counts::MAX_INSTRUCTIONS_OF_TINY_CALLEE;
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::plain;
use crate::patterns::calls::{Call, all_calls};

/// Hot calls of the C library's functions for one character: a candidate for each of them.
pub(super) fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<&str, Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), true) = (call.callee, call.site.plt && !call.site.indirect) else {
            continue;
        };
        let own = input.functions[callee].own || !input.functions[call.caller].own;
        let Some(name) = character_function(&call.target.function).filter(|_| !own) else {
            continue;
        };
        if call.target.instructions_per_call <= MAX_INSTRUCTIONS_OF_TINY_CALLEE {
            groups.entry(name).or_default().push(call);
        }
    }
    let found = groups.into_iter().filter_map(|(name, calls)| {
        let function = name.to_owned();
        inlined_calls(input, &calls, Fix::UnlockStream { function })
    });
    found
        .filter(|one| one.share_of_time(input) >= MIN_SHARE_OF_CALLEE)
        .collect()
}

/// The function of C for one character of a stream that the library's name stands for.
fn character_function(name: &str) -> Option<&'static str> {
    let bare = plain(name).trim_start_matches('_');
    match bare.strip_prefix("IO_").unwrap_or(bare) {
        "getc" | "fgetc" => Some("getc"),
        "putc" | "fputc" => Some("putc"),
        "getchar" => Some("getchar"),
        "putchar" => Some("putchar"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_characters_have_unlocked_forms_and_others_have_not() {
        for (name, known) in [
            ("_IO_getc", Some("getc")),
            ("fgetc@GLIBC_2.2.5", Some("getc")),
            ("_IO_putc", Some("putc")),
            ("putchar", Some("putchar")),
            ("getc_unlocked", None),
            ("_IO_fgets", None),
            ("fwrite", None),
            ("ungetc", None),
        ] {
            assert_eq!(character_function(name), known, "{name}");
        }
    }
}
