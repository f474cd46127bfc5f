//! Facts about page faults and system calls.

use genba_model::{HostOperation, KernelFact};
use genba_units::format;

use super::{count, percent};

pub(super) fn sentence(fact: &KernelFact) -> String {
    match fact {
        KernelFact::PageFaults {
            faults,
            bytes,
            peak_bytes,
        } => format!(
            "{} page faults per run: {} of pages, {:.0} times the peak resident set ({})",
            count(*faults),
            format::bytes(*bytes),
            bytes / peak_bytes.max(1.0),
            format::bytes(*peak_bytes)
        ),
        KernelFact::MemoryManagement { share, faults } => format!(
            "{} of the time is in the kernel's memory management, {} of that in page faults and \
             clearing of pages",
            percent(*share),
            percent(*faults)
        ),
        KernelFact::Mappings { calls } => format!(
            "{} calls of mmap by the program itself: each new mapping is faulted in again",
            count(*calls)
        ),
        KernelFact::FaultsHere { share } => {
            format!("{} of the page faults occur here", percent(*share))
        }
        KernelFact::HostCost { operation, seconds } => {
            let operation = match operation {
                HostOperation::PageFault => "a page fault",
                HostOperation::EmptySystemCall => "an empty system call",
            };
            format!(
                "{operation} takes {} on this host",
                format::seconds(*seconds)
            )
        }
        KernelFact::SystemCalls { calls, name, here } => format!(
            "{} system calls per run, {} of them `{name}` from here",
            count(*calls),
            percent(*here)
        ),
        KernelFact::SystemCallTime { share, seconds } => format!(
            "{} of the time is in system calls, {} each",
            percent(*share),
            format::seconds(*seconds)
        ),
        KernelFact::SystemCallCopies { share } => {
            format!("{} of their time copies data", percent(*share))
        }
        KernelFact::SystemCallBytes { bytes, stays } => format!(
            "each transfers {}: {} of its time is work for these bytes, which larger calls do not \
             spare",
            format::bytes(*bytes as f64),
            percent(*stays)
        ),
        KernelFact::SameFiles {
            opened,
            calls,
            different,
            most,
            share,
        } => {
            let done = if *opened { "open" } else { "ask about" };
            let most = most.as_ref().map_or(String::new(), |(name, calls)| {
                format!(", {name} {} times", count(*calls))
            });
            format!(
                "{} calls {done} {} {} that stay as they are{most}; what is done for each takes {} \
                 of the time",
                count(*calls),
                count(*different),
                if *different == 1 { "file" } else { "files" },
                percent(*share)
            )
        }
    }
}
