//! `plt-call`: a tiny function called through the procedure linkage table for each item.
//!
//! **Signature.** A hot direct call to a PLT stub whose target is the program's own, tiny, and
//! calls nothing. A shared library that calls its own exported function goes that way too,
//! because another module might replace the function; so the compiler may not inline it either.
//!
//! **Confirmation.** `-fvisibility=hidden` or `-Wl,-Bsymbolic-functions -fno-semantic-interposition`;
//! a static link; `-fno-plt`.
//!
//! **Gain.** Inside one module the callee can be inlined: as `tiny-callee-not-inlined`. Across
//! modules only a definition in the header or a static link with link-time optimisation can.
//!
//! **Source.** U. Drepper, "How To Write Shared Libraries", 2011, section 2.2.

use std::collections::BTreeMap;

use crate::candidate::Candidate;
use crate::causes::tiny_callee_not_inlined::is_tiny;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, inlined};
use crate::words::{count, cycle_range, cycles, percent};

/// Identifier.
pub const ID: &str = "plt-call";

/// Calls that are worth a look.
const LEAST_CALLS: u64 = 100_000;

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut groups: BTreeMap<(usize, bool), Vec<Call<'_>>> = BTreeMap::new();
    for call in all_calls(input) {
        let (Some(callee), true) = (call.callee, call.site.plt && !call.site.indirect) else {
            continue;
        };
        let (from, to) = (&input.functions[call.caller], &input.functions[callee]);
        if from.own && to.own && is_tiny(call.target, to) {
            let same = from.module == to.module;
            groups.entry((call.caller, same)).or_default().push(call);
        }
    }
    let found = groups.iter();
    found
        .filter_map(|((_, same), calls)| candidate(input, calls, *same))
        .collect()
}

fn candidate(input: &AnalysisInput, calls: &[Call<'_>], same_module: bool) -> Option<Candidate> {
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call [PLT] + ret")
        .map_or(5.0, |cost| cost.value);
    let found = inlined(input, calls, overhead, 0.0)?;
    if found.calls < LEAST_CALLS {
        return None;
    }
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let caller = &input.functions[hottest.caller];
    let name = &hottest.target.function;
    let mut one = Candidate::new(ID, Some(hottest.caller), vec![hottest.site.at]);
    one.affected = found.around.iter().map(|one| one.1).collect();
    one.share = Some(found.share);
    one.residual_fraction = found.residual_fraction;
    one.executions = Some(found.calls);
    one.cycles = Some(genba_model::Estimate::exact(found.each));
    let module = caller.module.rsplit('/').next().unwrap_or(&caller.module);
    one = one
        .counted(format!(
            "`{name}` was called through the PLT {} times and executes {:.1} instructions a call",
            count(found.calls),
            hottest.target.instructions_per_call
        ))
        .counted(if same_module {
            format!("caller and callee are both in {module}: exported functions may be replaced by another module's, so the compiler neither calls them directly nor inlines them")
        } else {
            "it is in another shared object, so it cannot be inlined".to_owned()
        })
        .measured(format!(
            "calls and callee take {} of the time, {} cycles a call",
            percent(found.share),
            cycles(found.each)
        ))
        .model(format!(
            "a call through the PLT and its return take {} cycles here; the instructions that stay when it is inlined {}",
            cycles(overhead),
            cycle_range(&found.after)
        ));
    one.fix = if same_module {
        format!(
            "Hide what is only used inside the library: `static`, `__attribute__((visibility(\"hidden\")))`, \
             or build with -fvisibility=hidden (or -fno-semantic-interposition); `{name}` can then be inlined."
        )
    } else {
        format!(
            "Define `{name}` in the header as `static inline`, link the library statically with -flto, \
             or let one call do many items."
        )
    };
    one.example = Some((
        "uint32_t step(uint32_t sum, uint8_t byte);",
        "__attribute__((visibility(\"hidden\")))\nuint32_t step(uint32_t sum, uint8_t byte);",
    ));
    one.confirm =
        "build with -fno-semantic-interposition, then: genba bench ./old ./new".to_owned();
    Some(one)
}
