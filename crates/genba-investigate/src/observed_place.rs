//! What bursts showed of a function or line, with names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use genba_attribution::merged;
use genba_code::{Syntax, disassemble};
use genba_model::{
    AnnotatedInstruction, Annotation, CodePoint, Estimate, ObservedBranch, ObservedData,
    ObservedInstruction, ObservedLoads, ObservedPlace, ObservedRedundancy, ObservedValue,
    RawCounts,
};
use genba_observe::{MemoryPlace, Observations, Seen};
use genba_symbols::Binary;

/// A place that a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceQuery {
    /// A line of a file whose path ends like this; of any file of the user's own code if `None`.
    Line(Option<String>, u32),
    /// A function.
    Function(String),
}

impl PlaceQuery {
    /// Reads `FUNCTION`, `LINE` or `FILE:LINE`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(line) = text.parse() {
            return Self::Line(None, line);
        }
        match text.rsplit_once(':') {
            Some((file, line)) if !file.is_empty() && !file.ends_with(':') => match line.parse() {
                Ok(line) => Self::Line(Some(file.to_owned()), line),
                Err(_) => Self::Function(text.to_owned()),
            },
            _ => Self::Function(text.to_owned()),
        }
    }
}

/// Fewest steps of an address, as a share, that make one its stride.
const MIN_SHARE_OF_STRIDE: f64 = 0.5;

/// Returns what bursts showed of a place; no instructions if they showed nothing.
#[must_use]
pub fn observed_place(
    observations: &Observations,
    raw: Option<&RawCounts>,
    command: &[String],
    place: &str,
) -> ObservedPlace {
    let query = PlaceQuery::parse(place);
    let is_asked_for = |names: &Names, at: CodePoint| names.is_asked_for(at, &query);
    let mut found = observed(observations, raw, command, &is_asked_for);
    place.clone_into(&mut found.place);
    found
}

fn observed(
    observations: &Observations,
    raw: Option<&RawCounts>,
    command: &[String],
    is_asked_for: &dyn Fn(&Names, CodePoint) -> bool,
) -> ObservedPlace {
    let facts = SiteFacts::of(observations);
    let names = Names::of(observations);
    let mut executions: HashMap<(&str, u64), u64> = HashMap::new();
    let modules = raw.map(merged).unwrap_or_default();
    for module in &modules {
        let counts = module.instructions.iter();
        executions.extend(counts.map(|one| ((module.path.as_str(), one.address), one.count)));
    }
    let instructions = (facts.sites.iter())
        .filter(|&&at| is_asked_for(&names, at))
        .map(|&at| {
            let mut one = facts.instruction(at, observations, &names);
            let key = (observations.path(at), at.address);
            one.executions = executions.get(&key).copied();
            one
        })
        .collect();
    let mut notes = observations.notes.clone();
    notes.push(
        "shares are observed in bursts; levels beyond L1d are rough, mispredictions those of a \
         model of a TAGE predictor"
            .to_owned(),
    );
    ObservedPlace {
        command: command.to_vec(),
        place: String::new(),
        bursts: observations.bursts,
        observed_instructions: observations.instructions,
        threads: observations.threads,
        instructions,
        notes,
    }
}

/// Places of each kind that [`most_notable`] takes.
const NOTABLE_OF_KIND: usize = 5;

/// Returns the places where bursts saw most mispredictions, most loads that miss L1d, and most
/// work that was done before, by their rate times their executions.
#[must_use]
pub fn most_notable(observations: &Observations, raw: &RawCounts) -> ObservedPlace {
    let mut all = observed(observations, Some(raw), &raw.command, &|_, _| true);
    let mut retained: BTreeSet<usize> = BTreeSet::new();
    type ShareOf = dyn Fn(&ObservedInstruction) -> Option<Estimate>;
    let kinds: [&ShareOf; 6] = [
        &|one| one.branch?.mispredicted,
        &|one| {
            let l1 = one.loads?.l1;
            Some(Estimate {
                value: 1.0 - l1.value,
                low: 1.0 - l1.high,
                high: 1.0 - l1.low,
            })
        },
        &|one| one.redundant.dead_store,
        &|one| one.redundant.repeated_call,
        &|one| one.redundant.overwritten_buffer,
        &|one| one.redundant.copied_again,
    ];
    for rate in kinds {
        // By the interval's lower end: what was seen once is not notable.
        let times = |one: &ObservedInstruction| {
            let rate = rate(one).map_or(0.0, |rate| rate.low);
            rate * one.executions.unwrap_or(one.seen) as f64
        };
        let list = all.instructions.iter().enumerate();
        let mut list: Vec<(usize, f64)> = list.map(|(at, one)| (at, times(one))).collect();
        list.retain(|one| one.1 > 0.0);
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        retained.extend(list.iter().take(NOTABLE_OF_KIND).map(|one| one.0));
    }
    let mut index = 0;
    all.instructions.retain(|_| {
        index += 1;
        retained.contains(&(index - 1))
    });
    all
}

/// Source lines that [`hottest_lines`] takes.
const MAX_HOT_LINES: usize = 12;

/// Least share of all time of such a line.
const MIN_SHARE_OF_HOT_LINE: f64 = 0.02;

/// Returns what bursts showed of the source lines with most time, the hottest first, of instructions without
/// lines of the functions with most time. Executions are those of the annotations.
#[must_use]
pub(crate) fn hottest_lines(
    observations: &Observations,
    annotations: &[Annotation],
    command: &[String],
) -> ObservedPlace {
    let mut lines: HashMap<LineOfAnnotation<'_>, f64> = HashMap::new();
    for annotation in annotations {
        for one in &annotation.instructions {
            let share = annotation.share.value * one.share.value;
            *lines.entry(line_of(annotation, one)).or_default() += share;
        }
    }
    let mut hottest: Vec<(LineOfAnnotation<'_>, f64)> = lines.into_iter().collect();
    hottest.retain(|one| one.1 >= MIN_SHARE_OF_HOT_LINE);
    hottest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    hottest.truncate(MAX_HOT_LINES);
    // Rank of the line and executions of each instruction.
    let mut wanted: HashMap<(&str, u64), (usize, Option<u64>)> = HashMap::new();
    for annotation in annotations {
        for one in &annotation.instructions {
            let line = line_of(annotation, one);
            if let Some(rank) = hottest.iter().position(|hot| hot.0 == line) {
                let key = (annotation.module.as_str(), one.address);
                wanted.insert(key, (rank, one.count));
            }
        }
    }
    let key = |at: CodePoint| (observations.path(at), at.address);
    let is_wanted = |_: &Names, at: CodePoint| wanted.contains_key(&key(at));
    let mut found = observed(observations, None, command, &is_wanted);
    let of = |one: &ObservedInstruction| wanted.get(&(one.module.as_str(), one.address)).copied();
    for one in &mut found.instructions {
        one.executions = of(one).and_then(|found| found.1);
    }
    (found.instructions).sort_by_key(|one| (of(one).map(|found| found.0), one.address));
    found
}

type LineOfAnnotation<'a> = (&'a str, Option<&'a str>, Option<u32>);

/// The line of an instruction; of those without one, the function.
fn line_of<'a>(annotation: &'a Annotation, one: &'a AnnotatedInstruction) -> LineOfAnnotation<'a> {
    (&annotation.function, one.file.as_deref(), one.line)
}

/// Binaries of the modules, opened once.
struct Names {
    binaries: Vec<Option<Binary>>,
    own: Vec<bool>,
}

impl Names {
    fn of(observations: &Observations) -> Self {
        let open = |path: &String| match path.starts_with('/') {
            true => Binary::open(path).ok(),
            false => None,
        };
        let modules = &observations.modules;
        Self {
            binaries: modules.iter().map(open).collect(),
            own: modules
                .iter()
                .map(|path| genba_explain::is_own(path))
                .collect(),
        }
    }

    fn binary(&self, at: CodePoint) -> Option<&Binary> {
        self.binaries.get(at.module as usize)?.as_ref()
    }

    fn function(&self, at: CodePoint) -> Option<String> {
        let symbol = self.binary(at)?.symbol_at(at.address)?;
        Some(symbol.display_name().into_owned())
    }

    /// The innermost line of the user's own, else the innermost.
    fn line(&self, at: CodePoint) -> Option<(String, u32)> {
        let frames = self.binary(at)?.frames_at(at.address);
        frames
            .iter()
            .find_map(|frame| Some((frame.file.as_ref()?.to_string(), frame.line?)))
    }

    fn is_asked_for(&self, at: CodePoint, query: &PlaceQuery) -> bool {
        let Some(binary) = self.binary(at) else {
            return false;
        };
        match query {
            PlaceQuery::Function(name) => {
                let is = |function: &str| {
                    function == name || genba_symbols::without_parameters(function) == name
                };
                let symbol = binary.symbol_at(at.address);
                symbol.is_some_and(|symbol| symbol.name == *name || is(&symbol.display_name()))
                    || binary
                        .frames_at(at.address)
                        .iter()
                        .any(|frame| frame.function.as_ref().is_some_and(|function| is(function)))
            }
            PlaceQuery::Line(file, line) => {
                let own = self.own.get(at.module as usize).copied().unwrap_or(false);
                (file.is_some() || own)
                    && binary.frames_at(at.address).iter().any(|frame| {
                        let path = frame.file.as_deref().unwrap_or_default();
                        frame.line == Some(*line)
                            && file
                                .as_deref()
                                .is_none_or(|file| ends_with_path(path, file))
                    })
            }
        }
    }

    fn place(&self, place: MemoryPlace, observations: &Observations) -> String {
        let module = |module: u32| {
            let path = (observations.modules.get(module as usize)).map_or("", String::as_str);
            path.rsplit('/').next().unwrap_or(path).to_owned()
        };
        match place {
            MemoryPlace::Variable(at) => {
                let binary = self.binary(at);
                let variable = binary.and_then(|binary| binary.variable_at(at.address));
                variable.map_or_else(
                    || format!("data of {}", module(at.module)),
                    |variable| variable.name.clone(),
                )
            }
            MemoryPlace::Module(number) => format!("data of {}", module(number)),
            MemoryPlace::Stack => "stack".to_owned(),
            MemoryPlace::Heap => "heap".to_owned(),
            MemoryPlace::Allocated(at) => {
                let place = self.line(at).map(|(file, line)| {
                    format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file))
                });
                let place = place.unwrap_or_else(|| format!("{:#x}", at.address));
                format!("allocated at {place}")
            }
            MemoryPlace::Region(number) => {
                let name = observations.regions.get(number as usize);
                name.cloned().unwrap_or_else(|| "unknown memory".to_owned())
            }
            MemoryPlace::Unknown => "unknown memory".to_owned(),
        }
    }
}

/// Whether a path ends with these components.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || end.starts_with('/'))
}

/// Results of all analyses by instruction.
struct SiteFacts {
    sites: BTreeSet<CodePoint>,
    seen: BTreeMap<CodePoint, u64>,
    loads: HashMap<CodePoint, ObservedLoads>,
    branches: HashMap<CodePoint, ObservedBranch>,
    values: HashMap<CodePoint, Vec<ObservedValue>>,
    redundant: HashMap<CodePoint, ObservedRedundancy>,
    data: HashMap<CodePoint, Vec<(MemoryPlace, Estimate)>>,
}

impl SiteFacts {
    fn of(all: &Observations) -> Self {
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

    fn instruction(
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

/// The longest instruction of x86-64, bytes.
const MAX_INSTRUCTION_BYTES: u64 = 15;

fn text(names: &Names, at: CodePoint) -> String {
    let code = names.binary(at).and_then(|binary| {
        let end = at.address.saturating_add(MAX_INSTRUCTION_BYTES);
        disassemble(binary, at.address, end, Syntax::Intel).ok()
    });
    let first = code.and_then(|code| code.into_iter().next());
    first.map_or_else(String::new, |first| first.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_functions_lines_or_lines_of_files() {
        let function = |name: &str| PlaceQuery::Function(name.to_owned());
        assert_eq!(PlaceQuery::parse("12"), PlaceQuery::Line(None, 12));
        let line = PlaceQuery::Line(Some("src/a.c".to_owned()), 12);
        assert_eq!(PlaceQuery::parse("src/a.c:12"), line);
        assert_eq!(PlaceQuery::parse("std::sort"), function("std::sort"));
        assert_eq!(PlaceQuery::parse("a::12"), function("a::12"));
    }

    #[test]
    fn lines_with_most_time_come_first_and_cold_ones_not_at_all() {
        let share = |value| Estimate::exact(value);
        let instruction = |address, line, of_function| AnnotatedInstruction {
            address,
            text: String::new(),
            file: Some("/src/a.c".to_owned()),
            line: Some(line),
            inlined: None,
            samples: 0.0,
            share: share(of_function),
            count: Some(1000 * address),
            taken: None,
            cost_seconds: None,
            cost_cycles: None,
            host_latency_cycles: None,
            loop_index: None,
        };
        let annotation = Annotation {
            function: "f".to_owned(),
            module: "[synthetic]".to_owned(),
            address: 0x10,
            event: genba_model::Event {
                name: "cpu-clock".to_owned(),
                hardware: false,
                frequency_hz: 4999,
                kernel: false,
                precision: genba_model::Precision::Skid,
            },
            samples: 100,
            share: share(0.9),
            raw: false,
            instructions: vec![
                instruction(0x10, 5, 0.2),
                instruction(0x14, 6, 0.6),
                instruction(0x18, 7, 0.01),
                instruction(0x1c, 5, 0.19),
            ],
            loops: Vec::new(),
            jumps: Vec::new(),
            source: Vec::new(),
            calls: None,
            counted: None,
            notes: Vec::new(),
        };
        let seen = Seen {
            share: share(0.5),
            executions: 100,
            bursts: 9,
        };
        let branch = |address| genba_observe::BranchSite {
            at: CodePoint { module: 0, address },
            taken: seen,
            mispredicted: None,
            repeated: None,
        };
        let observations = Observations {
            modules: vec!["[synthetic]".to_owned()],
            branches: [0x10, 0x14, 0x18, 0x1c, 0x20].map(branch).to_vec(),
            ..Observations::default()
        };
        let found = hottest_lines(&observations, &[annotation], &[]);
        let order: Vec<(u64, Option<u64>)> = (found.instructions.iter())
            .map(|one| (one.address, one.executions))
            .collect();
        let expected = [0x14, 0x10, 0x1c].map(|at| (at, Some(1000 * at)));
        assert_eq!(order, expected);
    }

    #[test]
    fn files_are_matched_by_whole_components() {
        assert!(ends_with_path("/home/x/src/a.c", "a.c"));
        assert!(ends_with_path("/home/x/src/a.c", "src/a.c"));
        assert!(!ends_with_path("/home/x/src/ba.c", "a.c"));
    }
}
