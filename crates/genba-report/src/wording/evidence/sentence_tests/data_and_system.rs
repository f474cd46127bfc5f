//! Facts about memory, the kernel, threads, growth, and what bursts recorded.

use genba_model::{
    Fact, HostOperation, KernelFact, MemoryFact, ObservedFact, QuadraticFact, ThreadFact,
};

use super::{lines, range, s};

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
        MemoryFact::ReallocSteps {
            calls: 2_400_000,
            grown_bytes: 19.4,
            bytes: 1_100.0,
        },
        MemoryFact::ReserveMoves {
            allocations: 100_000,
            moves: 99_990,
        },
        MemoryFact::CopyAndFree {
            copy_seconds: 800e-9,
            times: 100_000,
        },
        MemoryFact::TableResizes {
            times: 199,
            moves: 100_000.0,
            items: 200_000,
            share: 0.9,
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
        KernelFact::Mappings { calls: 12_000 },
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
        KernelFact::SystemCallBytes {
            bytes: 4096,
            stays: 0.6,
        },
        KernelFact::SameFiles {
            opened: true,
            calls: 1_000,
            different: 1,
            most: Some((s("dyndep"), 1_000)),
            share: 0.97,
        },
        KernelFact::SameFiles {
            opened: false,
            calls: 20_000,
            different: 12,
            most: None,
            share: 0.3,
        },
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
        ThreadFact::UncontendedLock {
            times: 60_000_000,
            iterations: 1_000_000.0,
            share: 0.77,
            cycles: 27.8,
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
        ThreadFact::SchedulerTime {
            share: 0.36,
            thread_waits: 0.75,
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
        QuadraticFact::PredicateSearches {
            searches: 10_000,
            elements: 812.4,
            best: false,
        },
        QuadraticFact::PredicateSearches {
            searches: 10_000,
            elements: 812.4,
            best: true,
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
        QuadraticFact::WindowSums {
            places: 400_000,
            elements: 250.0,
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
        QuadraticFact::Probes {
            look_ups: 156_000,
            slots: 4686.0,
        },
        QuadraticFact::ListWalks {
            walks: 30_000,
            elements: 15_000.0,
            idle: false,
        },
        QuadraticFact::ListWalks {
            walks: 6000,
            elements: 12_000.0,
            idle: true,
        },
        QuadraticFact::IdlePasses {
            passes: 6000,
            elements: 2663.0,
        },
        QuadraticFact::PassTime {
            share: 0.9,
            cycles: 21_000.0,
        },
        QuadraticFact::WalksStoreAgain,
        QuadraticFact::RareChanges { changed: 20_000 },
        QuadraticFact::RecursiveWalks {
            walks: 803,
            elements: 2600.0,
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
        ObservedFact::MadeAgain {
            function: s("parse_table"),
            calls: 40_000,
            share,
            distinct: 1.0,
            bytes: 3_400.0,
            bursts: 30,
        },
        ObservedFact::RepeatedElsewhere {
            function: s("hash_of"),
            calls: 9_000_000,
            share,
            caller: Some(s("table_find")),
            line: Some(41),
            bursts: 30,
        },
        ObservedFact::LoopsAgain {
            copies: 3,
            runs: 2_400_000,
            share,
            bursts: 12,
        },
        ObservedFact::RepeatedLoops {
            runs: 48_000_000,
            share,
            distinct: 24.0,
            bursts: 30,
        },
        ObservedFact::LongProduct {
            factor: 10,
            word_bits: 64,
            share,
            digits: 19,
            bursts: 30,
        },
        ObservedFact::AdvancingCalls {
            function: s("find_raw"),
            calls: 72_000_000,
            share,
            bytes: 4.0,
            bursts: 30,
        },
        ObservedFact::OrderedSort {
            function: s("sort"),
            sorts: 60,
            comparisons: 431_000_000,
            share,
            bursts: 30,
        },
        ObservedFact::RepeatedSearches {
            searches: 40_000_000,
            iterations: 7.9,
            share,
            bursts: 30,
        },
        ObservedFact::KeptLoad {
            instruction: "mov eax,[rbx+rax*4]".to_owned(),
            share,
            executions: 40_000_000,
            bursts: 30,
        },
        ObservedFact::StartsOver {
            runs: 40_000_000,
            iterations: 15.8,
            share,
            stored_again: 0.99,
            bursts: 30,
        },
        ObservedFact::StoredAgain {
            calls: 4_200_000,
            share: range(0.95, 0.96, 0.97),
            bursts: 33,
        },
        ObservedFact::SearchedAgain {
            places: 3,
            searches: 9_000_000,
            share,
            bursts: 30,
            of_time: 0.61,
            cycles: 212.0,
        },
        ObservedFact::SumsAgain {
            runs: 1_247_000,
            share: range(0.93, 0.95, 0.97),
            bursts: 39,
        },
        ObservedFact::WalksAgain {
            function: Some(s("Chars::advance_by")),
            runs: 9_600_000,
            iterations: 16.1,
            share: range(0.93, 0.95, 0.97),
            bursts: 39,
        },
        ObservedFact::SearchesStartAlike {
            searches: 40_000_000,
            iterations: 15.8,
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
        ObservedFact::UnreadClears {
            function: s("memset"),
            calls: 34_680,
            bytes: 1_048_576.0,
            loaded_bytes: genba_model::Estimate {
                value: 5.1e9,
                low: 3.0e9,
                high: 7.2e9,
            },
            bursts: 47,
        },
        ObservedFact::FillTime { share: 0.4 },
        ObservedFact::RepeatedCopies {
            share,
            bytes: 3000.0,
            previous_function: Some(s("receive")),
            previous_line: Some(22),
            bursts: 30,
        },
        ObservedFact::CopiedAgain {
            share,
            bytes: 352.0,
            reads: 0.3,
            bursts: 30,
        },
        ObservedFact::CopyChainTime {
            share: 0.7,
            places: 4,
            again: 0.75,
            readers: 0.0,
        },
        ObservedFact::CopyChainTime {
            share: 0.7,
            places: 1,
            again: 1.0,
            readers: 0.2,
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
        ObservedFact::UnreadFields {
            function: s("entry_at"),
            stores: 3,
            of: 4,
            share,
            bursts: 30,
        },
        ObservedFact::DiscardedResults {
            executions: 1_000_000,
            share,
            bursts: 30,
        },
        ObservedFact::UnreadResults {
            function: s("describe"),
            calls: 1_000_000,
            share,
            handed_on: true,
            bursts: 30,
        },
        ObservedFact::UnaskedResults {
            function: Some(s("measure")),
            calls: 1_000_000,
            share,
            work: share,
            bursts: 30,
        },
        ObservedFact::ExpensiveTest {
            function: "distance".to_owned(),
            tests: 16_000_000,
            passed: 1_200_000,
            share: 0.9,
            cycles: 240.0,
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
