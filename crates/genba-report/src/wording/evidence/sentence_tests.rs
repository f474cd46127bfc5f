//! One sentence for every fact.

use genba_model::{
    AddressPattern, BuildFact, ByteOperation, CallFact, CallKind, ConversionFact, ConversionKind,
    DivisionFact, Estimate, EvidenceSource, Fact, HostOperation, KernelFact, LoadFact, LoopFact,
    LoopVerdict, MemoryFact, MemoryLevel, ModelCase, ObservedFact, PathFact, QuadraticFact,
    ThreadFact,
};

use super::sentence;

fn s(text: &str) -> String {
    text.to_owned()
}

fn range(low: f64, value: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

fn lines(facts: impl IntoIterator<Item = Fact>) -> String {
    let lines = facts.into_iter().map(|fact| {
        let source = format!("{:?}", fact.source()).to_lowercase();
        format!("{source:9} {}\n", sentence(&fact))
    });
    lines.collect()
}

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
        LoopFact::ByteRuns {
            operation: ByteOperation::Copy,
            bytes: 12_000_000,
            mean_run: 45.2,
        },
        LoopFact::ByteTests {
            bytes: 244_000_000,
            mean_run: 12_200_000.0,
        },
        LoopFact::AppendedBytes {
            bytes: 45_000_000,
            mean_run: Some(150.0),
            reloads: 3,
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
        CallFact::Pieces {
            function: s("put"),
            calls: 23_600_000,
            bytes: 1.8,
            continued: range(0.95, 0.97, 0.99),
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
        ConversionKind::ParseFloat,
        ConversionKind::Scan,
        ConversionKind::LocalTime,
        ConversionKind::Account,
        ConversionKind::CompilePattern,
    ];
    let calls = |format| ConversionFact::Calls {
        routine: s("snprintf"),
        format,
        calls: 2_000_000,
    };
    let conversions = [calls(Some(s("%.17g"))), calls(None)];
    let costs = kinds.map(|kind| ConversionFact::DirectCost {
        kind,
        cycles: range(30.0, 100.0, 250.0),
    });
    let chain = |strings| PathFact::TestChain {
        tests: 6,
        strings,
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
        chain(false),
        chain(true),
        PathFact::MeanTests {
            mean: 5.61,
            best: 1.2,
        },
        PathFact::TestTime {
            share: 0.21,
            cycles: 1.4,
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

#[test]
fn facts_about_memory_and_the_kernel() {
    let memory = [
        MemoryFact::AllocatorTime { share: 0.4 },
        MemoryFact::ContainerTime { share: 0.05 },
        MemoryFact::Allocations {
            allocations: 10_000_000,
            frees: 9_999_000,
            here: 0.8,
        },
        MemoryFact::AllocationSizes {
            share: 0.9,
            allocations: 10_000_000,
            low: 16,
            high: 31,
            bytes: 240_000_000,
        },
        MemoryFact::AllocationSizes {
            share: 0.9,
            allocations: 10_000_000,
            low: 1,
            high: 1,
            bytes: 10_000_000,
        },
        MemoryFact::AllocationSizes {
            share: 0.9,
            allocations: 10,
            low: 0,
            high: 65_535,
            bytes: 240_000,
        },
        MemoryFact::PeakMemory { bytes: 4.2e6 },
        MemoryFact::OtherLine {
            share: 0.2,
            file: Some(s("src/parse.c")),
            line: Some(12),
            function: s("parse"),
        },
        MemoryFact::OtherLine {
            share: 0.2,
            file: None,
            line: None,
            function: s("parse"),
        },
        MemoryFact::CopyTime {
            share: 0.6,
            function: s("__memmove_avx_unaligned_erms"),
        },
        MemoryFact::Copies {
            copies: 1000,
            here: 0.9,
            of_time: true,
        },
        MemoryFact::Copies {
            copies: 1000,
            here: 0.9,
            of_time: false,
        },
        MemoryFact::LargeCopies {
            large: 1000,
            copies: 10_000_000,
            from_bytes: 8192,
            bytes: 3_000_000_000,
        },
        MemoryFact::CopyCost {
            seconds: 12e-6,
            host_bytes_per_second: Some(9e9),
        },
        MemoryFact::CopyCost {
            seconds: 12e-6,
            host_bytes_per_second: None,
        },
        MemoryFact::ReallocCalls {
            calls: 1_000_000,
            buffers: 10,
        },
        MemoryFact::ReserveMoves {
            allocations: 100_000,
            moves: 99_990,
        },
        MemoryFact::CopyAndFree {
            copy_seconds: 800e-9,
            times: 100_000,
        },
        MemoryFact::ReallocMoves {
            moves: 1000,
            bytes: 8_000_000_000,
            grown_bytes: 16_000_000,
        },
        MemoryFact::CopyAndAllocatorTime {
            copies: 0.5,
            allocator: 0.1,
        },
        MemoryFact::GrowthCost { seconds: 900e-9 },
    ];
    let kernel = [
        KernelFact::PageFaults {
            faults: 410_000,
            bytes: 1.68e9,
            peak_bytes: 42e6,
        },
        KernelFact::MemoryManagement {
            share: 0.4,
            faults: 0.8,
        },
        KernelFact::FaultsHere { share: 0.9 },
        KernelFact::HostCost {
            operation: HostOperation::PageFault,
            seconds: 510e-9,
        },
        KernelFact::HostCost {
            operation: HostOperation::EmptySystemCall,
            seconds: 95e-9,
        },
        KernelFact::SystemCalls {
            calls: 1_000_000,
            name: s("read"),
            here: 0.99,
        },
        KernelFact::SystemCallTime {
            share: 0.7,
            seconds: 310e-9,
        },
        KernelFact::SystemCallCopies { share: 0.06 },
    ];
    let facts = memory.map(Fact::from).into_iter();
    insta::assert_snapshot!(lines(facts.chain(kernel.map(Fact::from))));
}

#[test]
fn facts_about_threads_and_growth() {
    let threads = [
        ThreadFact::SingleThread,
        ThreadFact::LockedOperations {
            form: s("lock add m64, r64"),
            executions: 10_000_000,
        },
        ThreadFact::LockedTime {
            share: 0.4,
            cycles: 19.0,
        },
        ThreadFact::LockedCost {
            form: s("lock add m64, r64"),
            cycles: 18.0,
        },
        ThreadFact::LockTime {
            share: 0.5,
            futex_share: 0.2,
            threads: 4,
        },
        ThreadFact::LockAcquisitions { times: 10_000_000 },
        ThreadFact::LockCost { seconds: 120e-9 },
        ThreadFact::OneCpu { ratio: 3.24 },
        ThreadFact::SharedCacheLine {
            threads: 4,
            distance_bytes: 8,
            samples: 1234,
        },
        ThreadFact::ObservedSharedLine {
            threads: 4,
            writers: 4,
            distance_bytes: 8,
            lines: 1,
            accesses: 12_345,
            bursts: 30,
        },
        ThreadFact::FixedStore {
            executions: 10_000_000,
        },
    ];
    let growth = [
        QuadraticFact::LinearSearches {
            searches: 10_000,
            elements: 812.4,
            compared_by: None,
        },
        QuadraticFact::LinearSearches {
            searches: 10_000,
            elements: 812.4,
            compared_by: Some(s("strcmp")),
        },
        QuadraticFact::SearchTime {
            share: 0.9,
            cycles: 2100.0,
        },
        QuadraticFact::HashLookup,
        QuadraticFact::Scans {
            scans: 40_000,
            bytes: 60_001.0,
        },
        QuadraticFact::ScannedAgain {
            bytes: 2.4e9,
            input_bytes: 160_000,
            memory_bytes: 3e6,
        },
        QuadraticFact::ElementMoves {
            function: s("std::vector<int>::_M_erase"),
            times: 10_000,
        },
        QuadraticFact::ArrayShift {
            function: s("memmove"),
            times: 10_000,
            bytes: Some(8),
            removed: true,
        },
        QuadraticFact::MoveTime {
            share: 0.9,
            cycles: 4000.0,
        },
        QuadraticFact::Appends {
            function: s("strcat"),
            calls: 10_000,
        },
        QuadraticFact::AppendTime {
            share: 0.9,
            cycles: 4000.0,
        },
    ];
    let facts = threads.map(Fact::from).into_iter();
    insta::assert_snapshot!(lines(facts.chain(growth.map(Fact::from))));
}

#[test]
fn facts_about_what_bursts_recorded() {
    let share = range(0.93, 0.96, 0.98);
    let facts = [
        ObservedFact::RepeatedCalls {
            function: s("fingerprint"),
            calls: 48_000_000,
            share,
            distinct: 24.0,
            bursts: 30,
        },
        ObservedFact::RepeatedLoops {
            runs: 48_000_000,
            share,
            distinct: 24.0,
            bursts: 30,
        },
        ObservedFact::RepeatedSearches {
            searches: 40_000_000,
            iterations: 7.9,
            share,
            bursts: 30,
        },
        ObservedFact::FewSearches {
            share,
            distinct: 4.0,
        },
        ObservedFact::DeadStores {
            executions: 1_000_000,
            share,
            overwritten_line: Some(7),
            bursts: 30,
        },
        ObservedFact::OverwrittenBuffer {
            function: s("memset"),
            bytes: 65_536.0,
            share,
            overwritten_line: None,
            bursts: 30,
        },
        ObservedFact::FillTime { share: 0.4 },
        ObservedFact::RepeatedCopies {
            share,
            bytes: 3000.0,
            previous_function: Some(s("receive")),
            previous_line: Some(22),
            bursts: 30,
        },
        ObservedFact::CopyChainTime {
            share: 0.7,
            places: 4,
            again: 0.75,
        },
        ObservedFact::CopyChainTime {
            share: 0.7,
            places: 1,
            again: 1.0,
        },
        ObservedFact::KnownValue {
            instruction: s("movss xmm1, dword ptr [rsi]"),
            value: s("0"),
            share,
            executions: 1_000_000,
            bursts: 30,
        },
        ObservedFact::KnownArgument {
            function: s("__divti3"),
            value: s("1 as its third argument"),
            share,
            calls: 1_000_000,
            bursts: 30,
        },
        ObservedFact::NeedlessTime {
            share: 0.5,
            cycles: 40.0,
        },
        ObservedFact::InvariantChecks {
            checks: 3,
            executions: 300_000_000,
            rare: 0.0001,
            bursts: 30,
        },
        ObservedFact::InvariantChecks {
            checks: 1,
            executions: 300_000_000,
            rare: 0.0,
            bursts: 30,
        },
        ObservedFact::CheckInstructions {
            checks: 9.0,
            all: 20.5,
        },
        ObservedFact::DiscardedResults {
            executions: 1_000_000,
            share,
            bursts: 30,
        },
        ObservedFact::DiscardingTest {
            executions: 1_000_000,
            share: 0.95,
            line: Some(41),
        },
        ObservedFact::FieldsApart {
            fields: 4,
            bytes: 24,
            lines: 4.0,
            packed: 1.2,
            span: 264,
        },
        ObservedFact::UsedOfLines { share, lines: 9000 },
    ];
    insta::assert_snapshot!(lines(facts.map(Fact::from)));
}
