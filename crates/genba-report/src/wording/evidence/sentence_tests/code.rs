//! Facts about loops, loads, divisions, calls, builds, conversions and paths.

use genba_model::{
    AddressPattern, BuildFact, ByteOperation, CallFact, CallKind, ConversionFact, ConversionKind,
    DivisionFact, EvidenceSource, Fact, LoadFact, LoopFact, LoopVerdict, MemoryLevel, ModelCase,
    PathFact,
};

use super::{lines, range, s};

#[test]
fn facts_about_loops() {
    let model = |case| LoopFact::Model {
        cycles: 12.0,
        modelled: range(3.0, 4.0, 6.0),
        case,
    };
    let mispredictions = |source| LoopFact::Mispredictions {
        per_iteration: 0.35,
        majority: 0.5,
        penalty_cycles: 16.2,
        source,
    };
    let facts = [
        LoopFact::Time {
            share: Some(0.64),
            iterations: 10_000_000,
            cycles: 12.3,
            trip_count: None,
        },
        LoopFact::Time {
            share: None,
            iterations: 1000,
            cycles: 3.04,
            trip_count: Some(99.7),
        },
        model(ModelCase::Fixed),
        model(ModelCase::Vectors { elements: 4.0 }),
        model(ModelCase::LoadsHitL1d),
        model(ModelCase::Bound),
        model(ModelCase::Throughput),
        LoopFact::Verdict(LoopVerdict::InnerLoops { share: 0.8 }),
        LoopFact::Chain {
            instructions: vec![s("load"), s("imul"), s("add"), s("add"), s("add")],
            cycles: 9.0,
            throughput_cycles: 2.25,
        },
        LoopFact::TimeAfterBranches { share: 0.85 },
        LoopFact::ScalarElements { bytes: 8 },
        LoopFact::RepeatedLoads { loads: 2 },
        LoopFact::SumsInMemory {
            sums: 1,
            cycles: 6.0,
        },
        LoopFact::StoredSums { sums: 3 },
        LoopFact::BitsOneByOne {
            numbers: 1_000_000,
            bits: 5.7,
        },
        LoopFact::QuotientBits {
            divisions: 8_000_000,
            bits: 64.0,
        },
        LoopFact::HalvingSteps {
            searches: 65_600_000,
            steps: 9,
        },
        LoopFact::BitsCounted {
            numbers: 1_000_000,
            bits: 31.4,
        },
        LoopFact::CopiesForChanges {
            copies: 40_000,
            elements: 15_000.0,
            copied_bytes: 1.4e10,
            stored_bytes: 2.1e6,
        },
        LoopFact::ByteRuns {
            operation: ByteOperation::Copy,
            bytes: 12_000_000,
            mean_run: 45.2,
        },
        LoopFact::ByteTests {
            bytes: 244_000_000,
            mean_run: 12_200_000.0,
        },
        LoopFact::SkipsInText {
            positions: 648_000_000,
            mean_run: 18_000.0,
        },
        LoopFact::AppendedBytes {
            bytes: 45_000_000,
            mean_run: Some(150.0),
            reloads: 3,
        },
        LoopFact::BytesThroughMemory {
            bytes: 362_000_000,
            mean_run: 15.5,
            reloads: 4,
        },
        LoopFact::BytesThroughMemory {
            bytes: 2_000_000_000,
            mean_run: 47.4,
            reloads: 0,
        },
        LoopFact::WideByteCost {
            operation: ByteOperation::Classify,
        },
        LoopFact::WideByteCost {
            operation: ByteOperation::Test,
        },
        LoopFact::ByteRuns {
            operation: ByteOperation::Compare,
            bytes: 12_000_000,
            mean_run: 45.2,
        },
        LoopFact::ByteTime {
            share: 0.34,
            cycles: 3.2,
        },
        LoopFact::WideByteCost {
            operation: ByteOperation::Copy,
        },
        LoopFact::WideByteCost {
            operation: ByteOperation::Compare,
        },
        LoopFact::BranchOutcomes {
            line: Some(12),
            taken: 0.65,
            executions: 10_000_000,
        },
        mispredictions(EvidenceSource::Measured),
        mispredictions(EvidenceSource::Model),
    ];
    insta::assert_snapshot!(lines(facts.map(Fact::from)));
}

#[test]
fn facts_about_loads_and_divisions() {
    let address = |pattern| LoadFact::Address { pattern, bytes: 8 };
    let loads = [
        LoadFact::Wait {
            instruction: s("mov rax,[rax+8]"),
            share: 0.8,
            cycles: 72.0,
            executions: 10_000_000,
            l1d_cycles: 5.0,
            levels: vec![
                MemoryLevel {
                    name: s("L2"),
                    cycles: 14.0,
                },
                MemoryLevel {
                    name: s("memory"),
                    cycles: 310.0,
                },
            ],
        },
        LoadFact::L1dMisses {
            share: 0.62,
            source: EvidenceSource::Simulated,
        },
        address(AddressPattern::Computed),
        address(AddressPattern::PreviousLoad),
        address(AddressPattern::Stride { bytes: 4096 }),
        address(AddressPattern::InvariantStride),
        address(AddressPattern::ColumnOfRows { bytes: 8 }),
        LoadFact::PartialOverlap {
            load: s("mov rax,[rsp+16]"),
            store: s("mov [rsp+20],edx"),
        },
    ];
    let divisions = [
        DivisionFact::Time {
            share: 0.34,
            cycles: Some(18.2),
            form: s("div r64"),
            host_cycles: Some(range(7.0, 12.0, 18.0)),
        },
        DivisionFact::Time {
            share: 0.34,
            cycles: None,
            form: s("div r64"),
            host_cycles: None,
        },
        DivisionFact::SameOperands {
            form: s("div r64"),
            executions: 1_000_000,
        },
        DivisionFact::OperandReloaded,
        DivisionFact::OnlyCompared {
            form: s("div r64"),
            executions: 1_000_000,
            one_way: 0.98,
        },
        DivisionFact::SameMultiplier {
            instruction: s("imul rbx,rcx"),
        },
        DivisionFact::WrappedCounter {
            instruction: s("div rcx"),
            executions: 1_000_000,
        },
        DivisionFact::InvariantDivisor {
            instruction: s("div rcx"),
            executions: 1_000_000,
            entries: 12,
        },
        DivisionFact::AllNeeded {
            executions: 1_000_000,
            share: 0.8,
            both_results: Some(s("div")),
        },
        DivisionFact::WordByWord {
            divisor: 10,
            word_bits: 32,
            digits: 9,
        },
        DivisionFact::DigitByDigit {
            base: 10,
            digits: 9.4,
        },
        DivisionFact::Reciprocal {
            multiplication: s("mul r9"),
            remainder: s("imul rdx,r8"),
            executions: 1_000_000,
        },
        DivisionFact::CalledFrom {
            caller: s("big2str"),
            calls: 1000,
        },
    ];
    let facts = loads.map(Fact::from).into_iter();
    insta::assert_snapshot!(lines(facts.chain(divisions.map(Fact::from))));
}

#[test]
fn facts_about_calls_and_builds() {
    let inlined = |kind| CallFact::InlinedCost {
        kind,
        call_cycles: 4.2,
        inlined_cycles: range(1.0, 2.0, 4.0),
    };
    let calls = [
        CallFact::ShortLengths {
            function: s("memmove"),
            calls: 40_000_000,
            bytes: 5.1,
            limit: 16,
            short: genba_model::Estimate {
                value: 0.98,
                low: 0.97,
                high: 0.99,
            },
        },
        CallFact::Pieces {
            function: s("put"),
            calls: 23_600_000,
            bytes: 1.8,
            continued: range(0.95, 0.97, 0.99),
            appended: false,
        },
        CallFact::Pieces {
            function: s("append"),
            calls: 78_000_000,
            bytes: 1.0,
            continued: range(0.95, 0.97, 0.99),
            appended: true,
        },
        CallFact::SmallCallee {
            function: s("at"),
            others: 2,
            calls: 10_000_000,
            instructions: 3.0,
            caller: Some(s("blur")),
            plt: false,
        },
        CallFact::SmallCallee {
            function: s("step"),
            others: 0,
            calls: 10_000_000,
            instructions: 3.0,
            caller: None,
            plt: true,
        },
        CallFact::SeparateUnits {
            callee: Some(s("image.c")),
            caller: None,
        },
        CallFact::Interposable {
            module: s("libcsv.so"),
        },
        CallFact::OtherModule,
        CallFact::Time {
            function: None,
            share: 0.5,
            cycles: 20.0,
        },
        CallFact::Time {
            function: Some(s("strlen")),
            share: 0.5,
            cycles: 20.0,
        },
        inlined(CallKind::Direct),
        inlined(CallKind::Plt),
        inlined(CallKind::Indirect),
        CallFact::DominantTarget {
            function: s("equal_integer"),
            share: 0.97,
            calls: 10_000_000,
            instructions: 5.0,
        },
        CallFact::Comparator {
            routine: s("msort_with_tmp"),
            function: s("compare"),
            calls: 10_000_000,
            instructions: 5.0,
        },
        CallFact::InvariantCall {
            function: s("strlen"),
            calls: 10_000_000,
            per_entry: 1000.0,
        },
        CallFact::OfOneByte {
            function: s("pow"),
            calls: 12_000_000,
        },
        CallFact::InvariantArgument,
        CallFact::ThreadLocalLookups {
            function: s("pthread_getspecific"),
            calls: 10_000_000,
        },
        CallFact::ThreadLocalLoad,
    ];
    let builds = [
        BuildFact::UnoptimisedTime {
            share: 0.9,
            functions: 1,
        },
        BuildFact::InstructionsPerCall { instructions: 12.0 },
        BuildFact::StackAccesses,
        BuildFact::Producer {
            text: s("GNU C17 12.2.0 -g"),
        },
        BuildFact::CopiesOfLine {
            copies: 3,
            share: 0.21,
        },
        BuildFact::NoSymbols {
            share: 0.4,
            module: s("/usr/bin/x"),
        },
    ];
    let facts = calls.map(Fact::from).into_iter();
    insta::assert_snapshot!(lines(facts.chain(builds.map(Fact::from))));
}

#[test]
fn facts_about_conversions_and_paths() {
    let kinds = [
        ConversionKind::FormatFloat,
        ConversionKind::FormatInteger,
        ConversionKind::FormatWhole,
        ConversionKind::FormatCharacter,
        ConversionKind::FormatText,
        ConversionKind::ParseFloat,
        ConversionKind::ParseInteger,
        ConversionKind::Scan,
        ConversionKind::LocalTime,
        ConversionKind::Account,
        ConversionKind::CompilePattern,
        ConversionKind::MatchPattern,
        ConversionKind::Exception,
        ConversionKind::TypeTest,
        ConversionKind::KeyHash,
    ];
    let calls = |format, places| ConversionFact::Calls {
        routine: s("snprintf"),
        format,
        calls: 2_000_000,
        places,
    };
    let conversions = [
        calls(Some(s("%.17g")), 1),
        calls(None, 4),
        ConversionFact::WholeNumbers { calls: 900_000 },
    ];
    let costs = kinds.map(|kind| ConversionFact::DirectCost {
        kind,
        cycles: range(30.0, 100.0, 250.0),
    });
    let chain = |strings, values| PathFact::TestChain {
        tests: 6,
        strings,
        values,
        executions: 40_000_000,
        common: 0.93,
        after: 6,
    };
    let rare = |rare| PathFact::RarePath {
        function: s("put"),
        calls: 40_000_000,
        rare,
    };
    let paths = [
        chain(false, 1),
        chain(false, 2),
        chain(true, 1),
        PathFact::MeanTests {
            mean: 5.61,
            best: 1.2,
        },
        PathFact::TestTime {
            share: 0.21,
            cycles: 1.4,
        },
        PathFact::RareFind {
            searches: 40_000_000,
            elements: 3.0,
            found: 0.004,
        },
        PathFact::RareFind {
            searches: 40_000_000,
            elements: 3.0,
            found: 0.0,
        },
        PathFact::UnequalComparisons {
            function: s("strcasecmp"),
            calls: 167_000_000,
            unequal: 0.84,
        },
        PathFact::DecisionTime {
            share: 0.6,
            cycles: 21.3,
        },
        rare(0.0123),
        rare(0.0),
        PathFact::FrameInstructions {
            instructions: 21.3,
            saving: 9.0,
        },
        PathFact::FunctionTime { share: 0.3 },
    ];
    let trips = [
        LoopFact::ShortTrips {
            entries: 40_000_000,
            elements: 2.6,
            element_bytes: 4,
            vector_iterations: 0.02,
        },
        LoopFact::TripInstructions {
            instructions: 61.2,
            plain: 14.0,
        },
    ];
    let conversions = conversions.into_iter().chain(costs).map(Fact::from);
    let paths = paths.map(Fact::from).into_iter();
    insta::assert_snapshot!(lines(conversions.chain(paths).chain(trips.map(Fact::from))));
}
