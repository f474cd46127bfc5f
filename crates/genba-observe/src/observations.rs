//! All results of the bursts of one counting run.

use std::collections::HashMap;

use genba_model::{Burst, CodePoint, Observation, Observed};
use serde::{Deserialize, Serialize};

use crate::advancing_calls::{self, AdvancingCall};
use crate::allocation_paths::{self, AllocationPath};
use crate::argument_values::{self, ArgumentValue};
use crate::branches::{self, BranchSite, OneWayBranch};
use crate::cache_geometry::CacheGeometry;
use crate::call_formats::{self, CallFormats};
use crate::call_lengths::{self, CallLength};
use crate::call_work::{self, CallWork};
use crate::code_knowledge::CodeKnowledge;
use crate::copied_again::{self, CopiedAgain};
use crate::data_places::{self, AddressSpace, DataSite};
use crate::dead_stores::{self, DeadStore};
use crate::fast_hash::FastMap;
use crate::line_use::{self, LineUse};
use crate::load_levels::{self, LoadSite};
use crate::long_products::{self, LongProduct};
use crate::long_ranges::{self, LongRange};
use crate::loops_again::{self, LoopAgain};
use crate::number_texts::{self, NumberText};
use crate::operand_values::{self, OperandValues};
use crate::overwritten_buffers::{self, OverwrittenBuffer};
use crate::partly_stored_loads::{self, PartlyStoredLoad};
use crate::piecewise_calls::{self, PiecewiseCall};
use crate::redundant_calls::{self, RedundantCall};
use crate::repeated_copies::{self, RepeatedCopy};
use crate::repeated_loops::{self, RepeatedLoop};
use crate::same_loads::{self, SameLoad};
use crate::sharing::{self, SharedLine};
use crate::silent_stores::{self, SilentStore};
use crate::unasked_results::{self, UnaskedResult};
use crate::unread_results::{UnreadResult, UnreadResults};
use crate::{burst_limits, burst_weights};

/// What the bursts of a run showed, by place. Shares are of what bursts saw; exact counts scale
/// them to the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// Paths of the modules that [`CodePoint::module`] numbers.
    pub modules: Vec<String>,
    /// Names of regions of memory that [`crate::MemoryPlace::Region`] numbers.
    pub regions: Vec<String>,
    /// Number of bursts.
    pub bursts: u32,
    /// Instructions executed in them.
    pub instructions: u64,
    /// Threads with a burst.
    pub threads: u32,
    /// The caches that levels refer to.
    pub geometry: CacheGeometry,
    /// Levels that serve loads.
    pub loads: Vec<LoadSite>,
    /// Outcomes of branches.
    pub branches: Vec<BranchSite>,
    /// Branches that go one way while their function runs.
    pub one_way_branches: Vec<OneWayBranch>,
    /// Cache lines that threads share.
    pub shared_lines: Vec<SharedLine>,
    /// Stores that are overwritten unread.
    pub dead_stores: Vec<DeadStore>,
    /// Stores of what is there already.
    pub silent_stores: Vec<SilentStore>,
    /// Loads of bytes that were only partly stored just before.
    #[serde(default)]
    pub partly_stored_loads: Vec<PartlyStoredLoad>,
    /// Loads that bring the same again.
    pub same_loads: Vec<SameLoad>,
    /// Values of operands.
    pub operand_values: Vec<OperandValues>,
    /// Calls that repeat earlier ones.
    pub redundant_calls: Vec<RedundantCall>,
    /// Calls whose result is not always asked for.
    #[serde(default)]
    pub unasked_results: Vec<UnaskedResult>,
    /// Calls whose results are given back unread.
    #[serde(default)]
    pub unread_results: Vec<UnreadResult>,
    /// Loops whose runs repeat earlier ones.
    #[serde(default)]
    pub repeated_loops: Vec<RepeatedLoop>,
    /// Loops that go over what another one has just gone over.
    #[serde(default)]
    pub loops_again: Vec<LoopAgain>,
    /// Arguments that are one value in most calls.
    #[serde(default)]
    pub argument_values: Vec<ArgumentValue>,
    /// Third arguments of calls, in order of their place.
    #[serde(default)]
    pub call_lengths: Vec<CallLength>,
    /// Calls that fill long ranges of memory, those with most bytes first.
    #[serde(default)]
    pub long_ranges: Vec<LongRange>,
    /// Formats of calls that take one, in order of their place.
    #[serde(default)]
    pub call_formats: Vec<CallFormats>,
    /// Functions that take floating-point numbers and write whole ones, those with most calls first.
    #[serde(default)]
    pub number_texts: Vec<NumberText>,
    /// Calls that lead to allocations, most first.
    #[serde(default)]
    pub allocation_paths: Vec<AllocationPath>,
    /// Instructions of calls, in order of their place.
    #[serde(default)]
    pub call_work: Vec<CallWork>,
    /// Calls that hand on memory in consecutive pieces.
    #[serde(default)]
    pub piecewise_calls: Vec<PiecewiseCall>,
    /// Calls that go through the memory that they read.
    #[serde(default)]
    pub advancing_calls: Vec<AdvancingCall>,
    /// Words of long numbers that are multiplied by a small factor.
    #[serde(default)]
    pub long_products: Vec<LongProduct>,
    /// Buffers that are filled and overwritten unread.
    pub overwritten_buffers: Vec<OverwrittenBuffer>,
    /// Copies of copies.
    pub repeated_copies: Vec<RepeatedCopy>,
    /// Copies of what was copied before and has not changed.
    #[serde(default)]
    pub copied_again: Vec<CopiedAgain>,
    /// What instructions work on.
    pub data: Vec<DataSite>,
    /// How much of fetched lines is used.
    pub line_use: Vec<LineUse>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

impl Observations {
    /// Path of the module of a place.
    #[must_use]
    pub fn path(&self, at: CodePoint) -> &str {
        (self.modules.get(at.module as usize)).map_or("", String::as_str)
    }

    /// Number of the module with this path.
    #[must_use]
    pub fn module(&self, path: &str) -> Option<u32> {
        let index = self.modules.iter().position(|one| one == path)?;
        u32::try_from(index).ok()
    }
}

/// The bursts of all processes of a run, with modules numbered alike.
pub struct Watched {
    /// Paths of the modules.
    pub modules: Vec<String>,
    regions: Vec<String>,
    spaces: FastMap<i32, AddressSpace>,
    bursts: Vec<Burst>,
    notes: Vec<String>,
}

impl Watched {
    /// Takes the observations of all processes of a run, each with its process id.
    #[must_use]
    pub fn new(observations: Vec<(i32, Observation)>) -> Self {
        let mut all = Self {
            modules: Vec::new(),
            regions: Vec::new(),
            spaces: FastMap::default(),
            bursts: Vec::new(),
            notes: Vec::new(),
        };
        for (pid, one) in observations {
            all.add(pid, one);
        }
        let order = |burst: &Burst| (burst.pid, burst.thread);
        all.bursts.sort_by(|a, b| {
            let time = a.began_wall_seconds.total_cmp(&b.began_wall_seconds);
            time.then_with(|| order(a).cmp(&order(b)))
        });
        burst_weights::set_weights(&mut all.bursts);
        all
    }

    /// Whether nothing was watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bursts.is_empty()
    }

    /// The number of bursts.
    #[must_use]
    pub fn bursts(&self) -> usize {
        self.bursts.len()
    }

    /// Returns the burst in the middle of the run alone: to see how long one takes.
    #[must_use]
    pub fn middle_burst(&self) -> Self {
        Self {
            modules: self.modules.clone(),
            regions: self.regions.clone(),
            spaces: self.spaces.clone(),
            bursts: self
                .bursts
                .get(self.bursts.len() / 2)
                .cloned()
                .into_iter()
                .collect(),
            notes: Vec::new(),
        }
    }

    /// Keeps so many bursts, evenly over the run; each then stands for more of it.
    pub fn keep(&mut self, number: usize) {
        let all = self.bursts.len();
        let mut index = 0;
        self.bursts.retain(|_| {
            // The bursts at which a multiple of `number ÷ all` is passed.
            let kept = (index + 1) * number / all > index * number / all;
            index += 1;
            kept
        });
        burst_weights::set_weights(&mut self.bursts);
    }

    /// Where blocks of code began in bursts, each once.
    #[must_use]
    pub fn blocks(&self) -> Vec<CodePoint> {
        let mut met = crate::fast_hash::FastSet::default();
        let events = self.bursts.iter().flat_map(|burst| &burst.events);
        for event in events.filter(|one| matches!(one.what, Observed::Block { .. })) {
            met.insert(event.at);
        }
        let mut list: Vec<CodePoint> = met.into_iter().collect();
        list.sort_unstable();
        list
    }

    /// Where indirect jumps went in bursts, each way once.
    #[must_use]
    pub fn jumps(&self) -> HashMap<CodePoint, Vec<u64>> {
        let mut found: HashMap<CodePoint, Vec<u64>> = HashMap::new();
        let mut met = crate::fast_hash::FastSet::default();
        for event in self.bursts.iter().flat_map(|burst| &burst.events) {
            if let Observed::Jump { target } = event.what
                && target.module == event.at.module
                && met.insert((event.at, target.address))
            {
                found.entry(event.at).or_default().push(target.address);
            }
        }
        found
    }

    /// Entries of the functions that were called in bursts, each once.
    #[must_use]
    pub fn call_targets(&self) -> Vec<CodePoint> {
        let mut list: Vec<CodePoint> = Vec::new();
        let mut met = crate::fast_hash::FastSet::default();
        for event in self.bursts.iter().flat_map(|burst| &burst.events) {
            if let Observed::Call { target, .. } | Observed::Jump { target } = event.what
                && met.insert(target)
            {
                list.push(target);
            }
        }
        list
    }

    fn add(&mut self, pid: i32, one: Observation) {
        let mut numbers: Vec<u32> = Vec::new();
        let mut bias: FastMap<u32, u64> = FastMap::default();
        for module in &one.modules {
            let known = self.modules.iter().position(|path| *path == module.path);
            let number = known.unwrap_or_else(|| {
                self.modules.push(module.path.clone());
                self.modules.len() - 1
            }) as u32;
            numbers.push(number);
            bias.insert(number, module.bias);
        }
        let modules = &self.modules;
        let module_of = |path: &str| {
            let index = modules.iter().position(|one| one == path)?;
            u32::try_from(index).ok()
        };
        let regions = &mut self.regions;
        let region_of = |name: &str| {
            let known = regions.iter().position(|one| one == name);
            known.unwrap_or_else(|| {
                regions.push(name.to_owned());
                regions.len() - 1
            }) as u32
        };
        let space = AddressSpace::new(&one.regions, bias, module_of, region_of);
        self.spaces.insert(pid, space);
        // Numbers beyond the list name no module.
        let renumber = |at: &mut CodePoint| {
            at.module = (numbers.get(at.module as usize))
                .copied()
                .unwrap_or(u32::MAX);
        };
        for mut burst in one.bursts {
            burst.pid = pid;
            for event in &mut burst.events {
                renumber(&mut event.at);
                if let Observed::Call { target, .. } | Observed::Jump { target } = &mut event.what {
                    renumber(target);
                }
            }
            burst_limits::limit(&mut burst);
            self.bursts.push(burst);
        }
        for note in one.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// Analyses all bursts of a run.
#[must_use]
pub fn observe(
    watched: &Watched,
    geometry: &CacheGeometry,
    code: &dyn CodeKnowledge,
) -> Observations {
    let bursts = &watched.bursts;
    let geometry = geometry.checked();
    let kernel = |module: u32| {
        (watched.modules.get(module as usize)).is_none_or(|path| path.starts_with('['))
    };
    let mut threads: Vec<(i32, u32)> = bursts.iter().map(|one| (one.pid, one.thread)).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut unread = UnreadResults::new();
    let redundant = redundant_calls::redundant_calls(bursts, code, &kernel, &mut unread);
    Observations {
        modules: watched.modules.clone(),
        regions: watched.regions.clone(),
        bursts: bursts.len() as u32,
        instructions: bursts.iter().map(|one| one.instructions).sum(),
        threads: threads.len() as u32,
        geometry,
        loads: load_levels::load_levels(bursts, &geometry),
        branches: branches::branches(bursts),
        one_way_branches: branches::one_way_branches(bursts),
        shared_lines: sharing::shared_lines(bursts),
        dead_stores: dead_stores::dead_stores(bursts, code),
        silent_stores: silent_stores::silent_stores(bursts),
        partly_stored_loads: partly_stored_loads::partly_stored_loads(bursts),
        same_loads: same_loads::same_loads(bursts),
        operand_values: operand_values::operand_values(bursts),
        redundant_calls: redundant,
        unread_results: unread.list(),
        unasked_results: unasked_results::unasked_results(bursts, code, &kernel),
        repeated_loops: repeated_loops::repeated_loops(bursts, code),
        loops_again: loops_again::loops_again(bursts, code),
        argument_values: argument_values::argument_values(bursts),
        call_lengths: call_lengths::call_lengths(bursts),
        long_ranges: long_ranges::long_ranges(bursts),
        call_formats: call_formats::call_formats(bursts, code),
        number_texts: number_texts::number_texts(bursts, code),
        allocation_paths: allocation_paths::allocation_paths(bursts, code),
        call_work: call_work::call_work(bursts),
        piecewise_calls: piecewise_calls::piecewise_calls(bursts),
        advancing_calls: advancing_calls::advancing_calls(bursts),
        long_products: long_products::long_products(bursts),
        overwritten_buffers: overwritten_buffers::overwritten_buffers(bursts, code),
        repeated_copies: repeated_copies::repeated_copies(bursts, code),
        copied_again: copied_again::copied_again(bursts, code),
        data: data_places::data_places(bursts, &watched.spaces, code),
        line_use: line_use::line_use(bursts, geometry.line_bytes),
        notes: watched.notes.clone(),
    }
}
