//! The vocabulary of genba as plain types with units, and the JSON documents built of them.
//!
//! **Scope.** What one stage hands to the next, and what `--json` prints: quantities with
//! their uncertainty, runs, hosts, profiles, annotations, counters, investigations. Times are
//! seconds, sizes bytes, shares 0…1, unless a name says otherwise.
//!
//! **Not here.** Any I/O, any statistics, any text for users.

mod ablation;
mod annotation;
mod bisection;
mod burst;
mod calibration;
mod campaign;
mod case;
mod cause;
mod comparison;
mod counts;
mod data_profile;
mod diagnosis;
mod doctor;
mod document;
mod dry_run;
mod explanation;
mod fact;
mod fix;
mod function_name;
mod growth;
mod history;
mod host;
mod host_table;
mod instruction_change;
mod investigation;
mod min_gain;
mod observed_place;
mod profile;
mod profile_diff;
mod proof;
mod quantity;
mod requests;
mod revision;
mod run;
mod sampled_addresses;
mod sampled_detail;
mod script;
mod source_fix;
mod stack_tree;
mod stat;
mod sweep;
mod time_place;
mod trial;
mod waits;

pub use ablation::{Ablation, AblationComponent, AblationCost, AblationSum};
pub use annotation::{
    AnnotatedInstruction, Annotation, JumpArrow, LoopBound, LoopCost, LoopInfo, SourceLine,
};
pub use bisection::{
    Bisection, BisectionKind, BisectionOutcome, BisectionTest, Culprit, RankedEffect, Skipped,
};
pub use burst::{Burst, BurstEvent, MemoryRegion, Observation, Observed, ObservedModule};
pub use calibration::{Calibration, Trial};
pub use campaign::{
    Campaign, CampaignAxis, CampaignBlocks, CampaignBuild, CampaignDryRun, CampaignResult,
    CampaignRevision, HostDisagreement, HostEffect, PlannedBlock,
};
pub use case::{CaseKind, CaseList, CaseState, CaseSummary};
pub use cause::Cause;
pub use comparison::{
    Comparison, ComparisonReport, Correction, Direction, EXACT_INSTRUCTIONS, IterationCost,
    Variant, VariantMetric, VerdictName,
};
pub use counts::{
    CodePoint, CodeSpan, CountEngine, Counted, CountedCall, CountedDetail, CountedFunction,
    CountedModule, Counts, DetailCall, DetailFunction, DetailModule, DetailSite, GeneratedFunction,
    InstructionCount, Per, ProcessCounts, RawCounts, Transfer, TransferKind,
};
pub use data_profile::{DataAccesses, DataFunction, DataLevelRow, DataProfile};
pub use diagnosis::Diagnosis;
pub use doctor::{Doctor, DoctorMetric};
pub use document::{Document, SCHEMA};
pub use dry_run::{ExperimentDryRun, PlannedVariant};
pub use explanation::{Evidence, EvidenceSource, Example, Explanation, Finding, FindingSite};
pub use fact::{
    AddressPattern, BranchOutcome, BuildFact, ByteOperation, CallFact, CallKind, ChainPaths,
    ConversionFact, ConversionKind, DivisionFact, Fact, HostOperation, InstructionPlace,
    KernelFact, LoadFact, LoopChain, LoopFact, LoopModelFigures, LoopThroughput, LoopVerdict,
    MemoryFact, MemoryLevel, ModelCase, NoLoopChain, ObservedFact, OpaqueReason, PathFact,
    QuadraticFact, ThreadFact, ThroughputLimit,
};
pub use fix::{Confirmation, Fix, KnownValueKind, Language, Reduction};
pub use function_name::{NameFit, best_fits, managed_method, name_fit, without_parameters};
pub use growth::{FittedLaw, FunctionGrowth, Growth, SizedCount};
pub use history::{
    ChangeOrigin, HistoryChange, HistoryComparison, HistoryMeasurement, HistoryReport,
    HistorySeries, SeriesList, SeriesSummary,
};
pub use host::{Hazard, HostFingerprint};
pub use host_table::{HostTable, HostTableEntry};
pub use instruction_change::{FunctionChange, InstructionChange};
pub use investigation::{
    AttachedProcesses, Concentration, Investigation, MetricSummary, NoiseFloor, RunSummary,
    Workload,
};
pub use min_gain::MIN_GAIN;
pub use observed_place::{
    ObservedBranch, ObservedData, ObservedInstruction, ObservedLoads, ObservedPlace,
    ObservedRedundancy, ObservedValue,
};
pub use profile::{
    CallEdge, Event, FunctionRow, LineRow, ModuleRow, Precision, Profile, StackRow, ThreadRow,
};
pub use profile_diff::{
    DiffSide, FunctionDiff, InstructionDiff, LineDiff, Moved, MovedHow, ProfileDiff,
};
pub use proof::{CodeChange, Proof, ProofKind, Proven};
pub use quantity::{Estimate, Unit};
pub use requests::{RequestPart, Requests, SlowRequest};
pub use revision::Revision;
pub use run::{CpuTime, ExitKind, Metric, RunRecord};
pub use sampled_addresses::{AddressWeight, SampledAddresses, SampledRegion, SampledRegionKind};
pub use sampled_detail::{
    CodeKind, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder, SampledFrame,
    SampledFunction, SampledSpan, SampledStack, SampledThread, SampledWakeUp,
};
pub use script::{NativeShare, OpcodeRow, ScriptFunction, ScriptLine, ScriptProfile};
pub use source_fix::{FixVerdict, SourceFix, TriedRewrite};
pub use stack_tree::{StackNode, StackTree};
pub use stat::{
    Counter, CounterNote, CounterState, Stat, StatInterval, StatThread, Topdown, TopdownCategory,
    TopdownPart,
};
pub use sweep::{
    KneeKind, ParameterScale, ParameterValue, Sweep, SweepKnee, SweepParameter, SweepPoint,
    SweepScalingLaw, SweepSegment,
};
pub use time_place::{PlaceCaller, PlaceFunction, TimePlace, TimePlaceKind};
pub use trial::{ChangeKind, Keep, LayoutEffect, TrialReport, Tried, TriedOutcome};
pub use waits::{
    OffCpu, OffCpuFunction, OffCpuReason, PathStep, ThreadSpan, ThreadTime, ThreadTotals, Wait,
    WaitCause, WaitEnd, WaitFigures, WaitFinding, WaitPlace, WaitReason, Waits, WakeUp, WallStack,
};
