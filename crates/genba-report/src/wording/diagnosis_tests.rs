//! One title for every cause; one sentence for every fix and confirmation.

use genba_model::{Cause, Confirmation, ConversionKind, Fix, KnownValueKind, Language, Reduction};

use super::{causes, confirmations, fix_examples, fixes};

fn s(text: &str) -> String {
    text.to_owned()
}

#[test]
fn every_cause_has_a_title_of_its_own() {
    let mut titles: Vec<&str> = Cause::ALL
        .iter()
        .map(|&cause| causes::title(cause))
        .collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), Cause::ALL.len());
}

#[test]
fn catalogue_in_the_manual_lists_every_cause_with_its_title() {
    let manual = include_str!("../../../../docs/explain.md");
    let (_, catalogue) = manual.split_once("## Catalogue").expect("a catalogue");
    let rows = catalogue.lines().filter(|line| line.starts_with("| `"));
    assert_eq!(rows.clone().count(), Cause::ALL.len());
    for (row, &cause) in rows.zip(Cause::ALL) {
        let begin = format!("| `{}` | {} |", cause.id(), causes::title(cause));
        assert!(row.starts_with(&begin), "{row}\nshould begin with {begin}");
    }
}

#[test]
fn every_fix_has_a_sentence() {
    let f = || s("at");
    let system_call = |name: &str, language| Fix::FewerSystemCalls {
        name: s(name),
        language,
    };
    let mut all = vec![
        Fix::OneDivision,
        Fix::TestOverflow,
        Fix::Reciprocal,
        Fix::ContiguousElements,
        Fix::TraverseInOrder,
        Fix::SmallerData,
        Fix::Vectorise {
            raise_level: true,
            hoist_loads: false,
        },
        Fix::Vectorise {
            raise_level: false,
            hoist_loads: true,
        },
        Fix::WiderStore,
        Fix::CopyLess,
        Fix::LessWork { divisions: true },
        Fix::LessWork { divisions: false },
        Fix::Optimise,
        Fix::Inline { function: f() },
        Fix::HideSymbol { function: f() },
        Fix::DefineInHeader { function: f() },
        Fix::UnlockStream { function: f() },
        Fix::RoundInline { function: f() },
        Fix::SpreadKeys,
        Fix::TestTarget { function: f() },
        Fix::SpecialisedSort,
        Fix::TestOrder,
        Fix::ThreadLocalVariable,
        Fix::CopyRuns,
        Fix::TurnRoundWords,
        Fix::HandOnRuns,
        Fix::DivideAtOnce,
        Fix::TableByKey,
        Fix::CountTrailingZeros,
        Fix::CountBits { highest: false },
        Fix::CountBits { highest: true },
        Fix::CountLeadingZeros,
        Fix::SeveralDigits {
            divisor: 10,
            digits: 9,
        },
        Fix::SeveralDigitsAtOnce {
            factor: 10,
            digits: 19,
        },
        Fix::PairsOfDigits { base: 10 },
        Fix::ReserveOnce,
        Fix::ScanAhead,
        Fix::WideCompare,
        Fix::LibrarySearch,
        Fix::HoistCalls {
            functions: vec![s("strlen"), s("pow")],
        },
        Fix::SetOfScript,
        Fix::HashLookup { strings: false },
        Fix::HashLookup { strings: true },
        Fix::FindDirectly { best: false },
        Fix::FindDirectly { best: true },
        Fix::ScanOnce,
        Fix::CheckTextOnce,
        Fix::UpdateSum,
        Fix::GoOnFromThere,
        Fix::WideClasses,
        Fix::SearchWord,
        Fix::RememberEnd,
        Fix::RememberPlace,
        Fix::SkipWalk,
        Fix::OnlyWhatChanged,
        Fix::GoOverFewer,
        Fix::WalkOnceForAll,
        Fix::AvoidShifts,
        Fix::LockOnce,
        Fix::WrapByComparison,
        Fix::PlainOperations,
        Fix::Branchless,
        Fix::PartitionWithoutBranches,
        system_call("read", Language::Rust),
        system_call("write", Language::C),
        system_call("lseek", Language::C),
        system_call("fstat", Language::C),
        system_call("sched_yield", Language::C),
        system_call("poll", Language::C),
        system_call("getpid", Language::C),
        Fix::SeparateCacheLines,
        Fix::KeepMemory,
        Fix::KeepMapping,
        Fix::PerThreadData,
        Fix::SplitColdPath { function: f() },
        Fix::CommonCaseFirst { strings: false },
        Fix::CommonCaseFirst { strings: true },
        Fix::RuleOutFirst,
        Fix::CompareFirstLetter,
        Fix::SkipKeptState,
        Fix::PlainShortLoop,
        Fix::FixedSizeInline { fill: false },
        Fix::FixedSizeInline { fill: true },
        Fix::KeepResult { function: f() },
        Fix::KeepMade { function: f() },
        Fix::MemoiseRecursion { function: f() },
        Fix::ReadFileOnce { function: f() },
        Fix::AskFileOnce,
        Fix::RememberFound { few: false },
        Fix::RememberFound { few: true },
        Fix::DropDeadStores { buffer: true },
        Fix::DropDeadStores { buffer: false },
        Fix::ClearUsedPart,
        Fix::CopyOnce,
        Fix::ChangeInPlace,
        Fix::PassByReference,
        Fix::CheckOnce,
        Fix::TestBeforeWork,
        Fix::MakeOnlyWhatIsRead,
        Fix::CheapTestFirst,
        Fix::GroupFields,
        Fix::InstallSymbols,
    ];
    for reduction in [
        Reduction::FloatSum,
        Reduction::FloatProduct,
        Reduction::FloatExtreme,
        Reduction::Polynomial,
        Reduction::Crc32,
        Reduction::Table,
        Reduction::Remainder,
        Reduction::Mixing,
    ] {
        all.push(Fix::Accumulators(reduction));
    }
    for kind in [
        ConversionKind::FormatFloat,
        ConversionKind::FormatInteger,
        ConversionKind::FormatWhole,
        ConversionKind::FormatCharacter,
        ConversionKind::FormatText,
        ConversionKind::ParseFloat,
        ConversionKind::ParseInteger,
        ConversionKind::Scan,
        ConversionKind::LocalTime,
        ConversionKind::TimeText,
        ConversionKind::Account,
        ConversionKind::CompilePattern,
        ConversionKind::MatchPattern,
        ConversionKind::Exception,
        ConversionKind::TypeTest,
        ConversionKind::KeyHash,
    ] {
        all.push(Fix::ConvertDirectly(kind));
    }
    for value in [
        KnownValueKind::ZeroFactor,
        KnownValueKind::Divisor,
        KnownValueKind::Exponent,
        KnownValueKind::Argument,
    ] {
        all.push(Fix::TestForValue { value });
    }
    for language in [Language::C, Language::Cpp, Language::Rust] {
        all.push(Fix::ReuseAllocations(language));
        all.push(Fix::GrowByFactor(language));
    }
    let words: String = all
        .iter()
        .map(|fix| {
            let example = match fix_examples::example(fix) {
                Some(_) => " [example]",
                None => "",
            };
            format!("{fix:?}{example}\n    {}\n", fixes::sentence(fix))
        })
        .collect();
    insta::assert_snapshot!(words);
}

#[test]
fn every_confirmation_has_a_sentence() {
    let all = [
        Confirmation::Compare,
        Confirmation::Annotate,
        Confirmation::VectorisationRemarks,
        Confirmation::NoInterposition,
        Confirmation::LinkTimeOptimisation,
        Confirmation::OptimisedBuild,
        Confirmation::Mispredictions { counted: true },
        Confirmation::Mispredictions { counted: false },
        Confirmation::TraceSystemCalls { name: s("read") },
        Confirmation::KeepMemory,
        Confirmation::ThreadSweep,
        Confirmation::OtherAllocator,
        Confirmation::CopySizes,
        Confirmation::GrowthSizes,
        Confirmation::InputSweep,
        Confirmation::Stripped,
    ];
    let words: String = all
        .iter()
        .map(|one| format!("{one:?}\n    {}\n", confirmations::sentence(one)))
        .collect();
    insta::assert_snapshot!(words);
}
