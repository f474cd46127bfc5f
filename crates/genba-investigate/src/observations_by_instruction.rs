//! The results of all analyses of bursts, by instruction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use genba_model::{
    CodePoint, Estimate, ObservedBranch, ObservedData, ObservedInstruction, ObservedLoads,
    ObservedRedundancy, ObservedValue,
};
use genba_observe::{MemoryPlace, Observations, Seen};

use crate::observed_names::{Names, text};

/// Fewest steps of an address, as a share, that make one its stride.
const MIN_SHARE_OF_STRIDE: f64 = 0.5;

/// Results of all analyses by instruction.
pub(crate) struct SiteFacts {
    pub(crate) sites: BTreeSet<CodePoint>,
    seen: BTreeMap<CodePoint, u64>,
    loads: HashMap<CodePoint, ObservedLoads>,
    branches: HashMap<CodePoint, ObservedBranch>,
    values: HashMap<CodePoint, Vec<ObservedValue>>,
    redundant: HashMap<CodePoint, ObservedRedundancy>,
    data: HashMap<CodePoint, Vec<(MemoryPlace, Estimate)>>,
}

impl SiteFacts {
    pub(crate) fn of(all: &Observations) -> Self {
        let mut facts = Self {
            sites: BTreeSet::new(),
            seen: BTreeMap::new(),
            loads: HashMap::new(),
            branches: HashMap::new(),
            values: HashMap::new(),
            redundant: HashMap::new(),
            data: HashMap::new(),
        };
        for one in &all.loads {
            facts.met(one.at, one.l1_missed.executions);
            let stride = one
                .stride
                .filter(|stride| stride.share >= MIN_SHARE_OF_STRIDE);
            let loads = ObservedLoads {
                l1: one.l1,
                l2: one.l2,
                l3: one.l3,
                memory: one.memory,
                tlb: one.tlb_missed,
                stride_bytes: stride.map(|stride| stride.bytes),
            };
            facts.loads.insert(one.at, loads);
        }
        for one in &all.branches {
            facts.met(one.at, one.taken.executions);
            let share = |seen: Option<Seen>| seen.map(|seen| seen.share);
            let branch = ObservedBranch {
                taken: one.taken.share,
                mispredicted: share(one.mispredicted),
                repeated: share(one.repeated),
                one_way: None,
            };
            facts.branches.insert(one.at, branch);
        }
        for one in &all.one_way_branches {
            if let Some(branch) = facts.branches.get_mut(&one.at) {
                branch.one_way = Some(one.seen.share);
            }
        }
        for one in &all.operand_values {
            facts.met(one.at, one.executions);
            let values = one.values.iter().map(|value| ObservedValue {
                value: value.value,
                stored: one.stored,
                share: value.share,
            });
            facts.values.entry(one.at).or_default().extend(values);
        }
        for one in &all.data {
            let places = one.places.iter().map(|one| (one.place, one.seen.share));
            facts.data.insert(one.at, places.collect());
        }
        facts.add_redundancy(all);
        facts
    }

    fn add_redundancy(&mut self, all: &Observations) {
        for one in &all.dead_stores {
            let redundancy = self.redundancy(one.at);
            redundancy.dead_store = Some(one.seen.share);
            redundancy.dead_store_unknown = Some(one.unknown);
        }
        for one in &all.silent_stores {
            self.redundancy(one.at).silent_store = Some(one.seen.share);
        }
        for one in (all.same_loads.iter()).filter(|one| one.seen.share.value > 0.0) {
            self.redundancy(one.at).same_load = Some(one.seen.share);
        }
        for one in &all.redundant_calls {
            self.met(one.at, one.seen.executions);
            self.redundancy(one.at).repeated_call = Some(one.seen.share);
        }
        for one in &all.overwritten_buffers {
            let redundancy = self.redundancy(one.at);
            redundancy.overwritten_buffer = Some(one.seen.share);
            redundancy.overwritten_buffer_unknown = Some(one.unknown);
        }
        for one in &all.repeated_copies {
            self.redundancy(one.at).copied_again = Some(one.seen.share);
        }
    }

    fn met(&mut self, at: CodePoint, executions: u64) {
        self.sites.insert(at);
        let seen = self.seen.entry(at).or_default();
        *seen = (*seen).max(executions);
    }

    fn redundancy(&mut self, at: CodePoint) -> &mut ObservedRedundancy {
        self.sites.insert(at);
        self.redundant.entry(at).or_default()
    }

    pub(crate) fn instruction(
        &self,
        at: CodePoint,
        observations: &Observations,
        names: &Names,
    ) -> ObservedInstruction {
        let line = names.line(at);
        let data = self.data.get(&at).into_iter().flatten();
        ObservedInstruction {
            address: at.address,
            module: observations.path(at).to_owned(),
            function: names.function(at),
            text: text(names, at),
            file: line.as_ref().map(|line| line.0.clone()),
            line: line.map(|line| line.1),
            executions: None,
            seen: self.seen.get(&at).copied().unwrap_or(0),
            loads: self.loads.get(&at).copied(),
            branch: self.branches.get(&at).copied(),
            values: self.values.get(&at).cloned().unwrap_or_default(),
            redundant: self.redundant.get(&at).copied().unwrap_or_default(),
            data: data
                .map(|&(place, share)| ObservedData {
                    name: names.place(place, observations),
                    share,
                })
                .collect(),
        }
    }
}
