//! `bytewise-copy`: long stretches copied a byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte, stores it unchanged and goes on to the
//! next, in runs of 16 bytes and more; comparing the byte to find the run's end is no other use.
//!
//! **Confirmation.** The counted length of runs.
//!
//! **Gain.** `memcpy` moves 16 to 64 bytes an instruction and takes a dozen cycles to begin; to
//! find the end first (`memchr`) takes as much again.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};
use crate::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "bytewise-copy";

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    all.iter()
        .filter(|one| !one.stores.is_empty())
        .map(candidate)
        .collect()
}

fn candidate(found: &ByteLoop) -> Candidate {
    let mut site = found.stores.clone();
    site.extend(&found.loads);
    let mut one = Candidate::new(ID, Some(found.function), site);
    one.affected = found.path.clone();
    one.residual_fraction =
        found.residual_fraction([14.0, 5.0, 40.0], [1.0 / 16.0, 1.0 / 48.0, 1.0 / 6.0]);
    one.executions = Some(found.rounds);
    one.cycles = Some(genba_model::Estimate::exact(found.each));
    one.fix = "Find the end of the run first (memchr, strcspn, or a known length) and copy it as a whole with memcpy \
               (copy_from_slice, extend_from_slice in Rust)."
        .to_owned();
    one.example = Some((
        "while (*in && *in != '{')\n    *out++ = *in++;",
        "size_t n = strcspn(in, \"{\");\nmemcpy(out, in, n);\nin += n; out += n;",
    ));
    one.confirm = "change it, then: genba bench ./old ./new".to_owned();
    one.counted(format!(
        "{} bytes are copied one at a time, in runs of {:.0} bytes on average",
        count(found.rounds),
        found.run
    ))
    .measured(format!(
        "{} of the time, {} cycles a byte",
        percent(found.share),
        cycles(found.each)
    ))
    .model(
        "a copy of whole runs moves 16 bytes and more a cycle, and takes a dozen cycles to begin",
    )
}
