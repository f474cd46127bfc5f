//! One function, instruction by instruction, with its source.

use std::collections::{BTreeSet, HashMap};

use genba_code::{Flow, SourceCache, Syntax};
use genba_model::{
    AnnotatedInstruction, Annotation, JumpArrow, LoopCost, LoopInfo, LoopVerdict, NameFit,
    SourceLine, name_fit,
};

use crate::AttributionError;
use crate::constants::{MAX_MISSING_SOURCES, MAX_NAMES_IN_HINT, MAX_NEAREST_LINES};
use crate::function_code::FunctionCode;
use crate::resolved_profile::{Function, FunctionId, ResolvedProfile, share_of};
use crate::sample_sums::{AddressHits, Hits};
use genba_loop_model::{LoopAnalysis, has_iterated};

/// How to annotate.
#[derive(Clone, Copy, Debug)]
pub struct AnnotateOptions {
    /// Leave the samples where the machine put them.
    pub raw: bool,
    /// How instructions are written.
    pub syntax: Syntax,
    /// The sentence of a loop's verdict: wording is not this crate's.
    pub loop_verdict: fn(&LoopVerdict) -> String,
}

impl AnnotateOptions {
    /// Skid-corrected samples and the default syntax.
    #[must_use]
    pub fn new(loop_verdict: fn(&LoopVerdict) -> String) -> Self {
        Self {
            raw: false,
            syntax: Syntax::default(),
            loop_verdict,
        }
    }
}

impl ResolvedProfile {
    /// Annotates the function of this name: as in the profile, as in the symbol table, the end of its path
    /// ([`genba_model::name_fit`]), or an address (`0x1234`) inside. Of several, the one with most samples.
    ///
    /// # Errors
    /// When no such function was sampled, or its code cannot be had.
    pub fn annotate(
        &self,
        name: &str,
        options: &AnnotateOptions,
        sources: &mut SourceCache,
    ) -> Result<Annotation, AttributionError> {
        let hits = self.function_hits();
        let weight = |id: &FunctionId| hits[id].iter().map(|hit| hit.1.weight).sum::<u64>();
        let fits: Vec<(FunctionId, NameFit)> = (hits.keys())
            .filter_map(|id| Some((*id, fit_of(&self.functions[*id as usize], name)?)))
            .collect();
        let best = fits.iter().map(|(_, fit)| *fit).max();
        let mut matching: Vec<FunctionId> = (fits.into_iter())
            .filter(|(_, fit)| Some(*fit) == best)
            .map(|(id, _)| id)
            .collect();
        let inlined = matching.is_empty();
        if inlined {
            matching = self.functions_around(name, &hits);
        }
        matching.sort_by_key(|id| (std::cmp::Reverse(weight(id)), *id));
        let Some(&id) = matching.first() else {
            return Err(match source_line(name) {
                Some((file, line)) => AttributionError::NoSamplesAtLine {
                    place: name.to_owned(),
                    hint: self.nearest_lines(file, line, &hits),
                },
                None => AttributionError::NoSuchFunction {
                    name: name.to_owned(),
                    hint: self.hint(name, &hits),
                },
            });
        };
        let mut annotation = self.annotate_function(id, &hits[&id], options, sources)?;
        if inlined {
            let shown = &self.functions[id as usize].name;
            annotation.notes.push(format!(
                "{name} was sampled within {shown}, which is shown{}",
                match matching.len() {
                    1 => String::new(),
                    2 => "; also within 1 other function".to_owned(),
                    more => format!("; also within {} other functions", more - 1),
                }
            ));
        } else if matching.len() > 1 {
            annotation.notes.push(format!(
                "{} other functions of this name were sampled; this is the one with most samples",
                matching.len() - 1
            ));
        }
        Ok(annotation)
    }

    /// Annotates the functions with most samples, while each has at least `least` of the time;
    /// those whose code cannot be had are left out.
    #[must_use]
    pub fn annotate_hottest(
        &self,
        most: usize,
        least: f64,
        options: &AnnotateOptions,
        sources: &mut SourceCache,
    ) -> Vec<Annotation> {
        let all = self.hits.all.weight as f64;
        let mut functions: Vec<(u64, FunctionId, AddressHits)> = self
            .function_hits()
            .into_iter()
            .map(|(id, hits)| (hits.iter().map(|hit| hit.1.weight).sum(), id, hits))
            .collect();
        functions.sort_by_key(|(weight, id, _)| (std::cmp::Reverse(*weight), *id));
        functions
            .iter()
            .take_while(|(weight, ..)| *weight as f64 >= least * all)
            .filter_map(|(_, id, hits)| self.annotate_function(*id, hits, options, sources).ok())
            .take(most)
            .collect()
    }

    fn annotate_function(
        &self,
        id: FunctionId,
        hits: &[(u64, Hits)],
        options: &AnnotateOptions,
        sources: &mut SourceCache,
    ) -> Result<Annotation, AttributionError> {
        let function = &self.functions[id as usize];
        let module = self.code.module_name(function.module);
        let code = FunctionCode::new(self, function, hits, options.raw, options.syntax).map_err(
            |reason| AttributionError::NoCode {
                function: function.name.clone(),
                module: module.clone(),
                reason,
            },
        )?;
        let samples: u64 = hits.iter().map(|hit| hit.1.samples).sum();
        let weight: u64 = hits.iter().map(|hit| hit.1.weight).sum();
        let mut instructions = self.annotated(function, &code, weight, samples);
        let model = self.model(function, &code, weight as f64);
        for (instruction, latency) in instructions.iter_mut().zip(&model.latencies) {
            instruction.host_latency_cycles = *latency;
        }
        let (source, mut notes) = read_source(&instructions, sources);
        let executed = self.executed(function);
        if executed.is_some_and(|executed| executed.instructions() == 0) {
            notes.push("the function was not executed in the run that was counted".to_owned());
        }
        if code.flow.has_indirect_jumps() && !options.raw {
            notes.push(
                "indirect jump without counted targets: samples at the first instruction of its targets are not skid-corrected"
                    .to_owned(),
            );
        }
        let costs: Vec<Option<LoopCost>> = (model.loops.iter())
            .map(|analysis| Some(loop_cost(analysis.as_ref()?, options.loop_verdict)))
            .collect();
        Ok(Annotation {
            function: function.name.clone(),
            module,
            address: function.address,
            event: self.event.clone(),
            samples,
            share: self.share(weight as f64),
            raw: options.raw,
            loops: self.loops(function, &code, weight as f64, &costs),
            jumps: jumps(&code),
            instructions,
            source,
            notes,
            calls: executed.map(|executed| executed.calls()),
            counted: executed.and(self.joined.as_ref().map(|joined| joined.counted.clone())),
        })
    }

    /// Loops with their share of the function's time; of those that never came round in the run
    /// that was counted, none.
    fn loops(
        &self,
        function: &Function,
        code: &FunctionCode,
        total: f64,
        costs: &[Option<LoopCost>],
    ) -> Vec<LoopInfo> {
        let executed = self.executed(function);
        let counts: Vec<Option<u64>> = executed
            .iter()
            .flat_map(|executed| {
                let addresses = code.instructions.iter().map(|one| one.address);
                addresses.map(|address| Some(executed.count(address)))
            })
            .collect();
        let ran = |index: u32| {
            executed.is_none_or(|executed| {
                let taken = |at: usize| executed.taken(code.instructions[at].address);
                has_iterated(&code.flow, &code.instructions, &counts, &taken, index)
            })
        };
        let block_weight: Vec<f64> = code
            .flow
            .blocks()
            .iter()
            .map(|b| {
                code.weight[b.instructions.start as usize..b.instructions.end as usize]
                    .iter()
                    .sum()
            })
            .collect();
        (0u32..)
            .zip(code.flow.loops())
            .map(|(index, found)| {
                let blocks = code.flow.loop_blocks(index);
                let weight: f64 = blocks
                    .iter()
                    .map(|&block| block_weight[block as usize])
                    .sum();
                let head = code.flow.blocks()[found.head as usize].instructions.start;
                LoopInfo {
                    head: code.instructions[head as usize].address,
                    last: code.instructions[found.last as usize].address,
                    depth: found.depth,
                    parent: found.parent,
                    share: if total > 0.0 && ran(index) {
                        (weight / total).clamp(0.0, 1.0)
                    } else {
                        0.0
                    },
                    irreducible: found.irreducible,
                    cost: costs.get(index as usize).cloned().flatten(),
                }
            })
            .collect()
    }

    fn annotated(
        &self,
        function: &Function,
        code: &FunctionCode,
        weight: u64,
        samples: u64,
    ) -> Vec<AnnotatedInstruction> {
        let total = weight as f64;
        // Within one function weights vary little: the number of samples is the sample size.
        let squares = total * total / (samples.max(1) as f64);
        let executed = self.executed(function);
        let end = code.instructions.last().map_or(0, |last| last.address + 1);
        let mut frames_at = self.code.frames_in(function.module, function.address..end);
        code.instructions
            .iter()
            .enumerate()
            .map(|(index, instruction)| {
                let share = share_of(code.weight[index], total, squares);
                let count = executed.map(|executed| executed.count(instruction.address));
                let (cost_seconds, cost_cycles) = match (&self.joined, count) {
                    (Some(joined), Some(count)) => joined.each(&self.event, share, total, count),
                    _ => (None, None),
                };
                let frames = frames_at(instruction.address);
                let inner = frames.first();
                AnnotatedInstruction {
                    address: instruction.address,
                    text: instruction.text.clone(),
                    file: inner.and_then(|f| f.file.as_ref()).map(ToString::to_string),
                    line: inner.and_then(|f| f.line),
                    inlined: inner
                        .filter(|f| f.inlined)
                        .and_then(|f| f.function.as_ref())
                        .map(ToString::to_string),
                    samples: code.samples[index],
                    share,
                    count,
                    taken: executed
                        .filter(|_| matches!(instruction.flow, Flow::CondJump(_)))
                        .and_then(|executed| executed.taken(instruction.address)),
                    cost_seconds,
                    cost_cycles,
                    host_latency_cycles: None,
                    loop_index: code.flow.loop_of_instruction(index),
                }
            })
            .collect()
    }

    /// The functions with samples at this source line (`file.c:15`), or in a function of this name that
    /// is inlined there.
    fn functions_around(
        &self,
        name: &str,
        hits: &HashMap<FunctionId, AddressHits>,
    ) -> Vec<FunctionId> {
        let line = source_line(name);
        let is_around = |id: FunctionId| {
            let module = self.functions[id as usize].module;
            hits[&id].iter().any(|&(address, _)| {
                let frames = self.code.frames_at(module, address);
                frames.into_iter().any(|frame| match (line, &frame.file) {
                    (Some((file, line)), Some(at)) => {
                        frame.line == Some(line) && ends_in_file(at, file)
                    }
                    (Some(_), None) => false,
                    (None, _) => {
                        frame.inlined
                            && frame
                                .function
                                .is_some_and(|known| name_fit(&known, name).is_some())
                    }
                })
            })
        };
        hits.keys().copied().filter(|&id| is_around(id)).collect()
    }

    /// What to say when a source line has no samples: the nearest lines of its file that have some.
    fn nearest_lines(
        &self,
        file: &str,
        line: u32,
        hits: &HashMap<FunctionId, AddressHits>,
    ) -> String {
        let mut sampled: BTreeSet<u32> = BTreeSet::new();
        for (id, hits) in hits {
            let module = self.functions[*id as usize].module;
            for &(address, _) in hits {
                let frames = self.code.frames_at(module, address).into_iter();
                let of_file = frames.filter(|frame| {
                    (frame.file.as_deref()).is_some_and(|at| ends_in_file(at, file))
                });
                sampled.extend(of_file.filter_map(|frame| frame.line));
            }
        }
        let mut nearest: Vec<u32> = sampled.into_iter().collect();
        nearest.sort_by_key(|near| near.abs_diff(line));
        nearest.truncate(MAX_NEAREST_LINES);
        nearest.sort_unstable();
        let places: Vec<String> = (nearest.iter())
            .map(|near| format!("{file}:{near}"))
            .collect();
        match places.as_slice() {
            [] => format!(
                ", and none in {file}; `genba report --by line` lists the lines that have some"
            ),
            [only] => format!("; the nearest sampled line is {only}"),
            several => format!("; the nearest sampled lines are {}", several.join(", ")),
        }
    }

    /// What to say when no function of this name was sampled.
    fn hint(&self, name: &str, hits: &HashMap<FunctionId, AddressHits>) -> String {
        let lower = name.to_lowercase();
        let mut near: Vec<(u64, &str)> = hits
            .iter()
            .map(|(id, hits)| {
                let weight = hits.iter().map(|hit| hit.1.weight).sum();
                (weight, self.functions[*id as usize].name.as_str())
            })
            .filter(|(_, known)| !lower.is_empty() && known.to_lowercase().contains(&lower))
            .collect();
        near.sort_by_key(|&(weight, known)| (std::cmp::Reverse(weight), known));
        near.truncate(MAX_NAMES_IN_HINT);
        if near.is_empty() {
            return "; `genba report` lists those that were".to_owned();
        }
        let names: Vec<&str> = near.iter().map(|&(_, known)| known).collect();
        format!("; similar names that were sampled: {}", names.join(", "))
    }
}

/// The file and line of `file.c:15`; `None` for names of functions.
pub(crate) fn source_line(name: &str) -> Option<(&str, u32)> {
    let (file, line) = name.rsplit_once(':')?;
    let is_file = !file.is_empty() && !file.ends_with(':');
    is_file.then_some((file, line.parse().ok()?))
}

/// Whether a path is that of the file, given by its name or the last parts of its path.
fn ends_in_file(path: &str, file: &str) -> bool {
    std::path::Path::new(path).ends_with(file)
}

/// How well a name fits a function, or that it holds this address.
fn fit_of(function: &Function, name: &str) -> Option<NameFit> {
    if let Some(address) = name
        .strip_prefix("0x")
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
    {
        let end = function.address.saturating_add(function.size.max(1));
        let is_inside = function.known && (function.address..end).contains(&address);
        return is_inside.then_some(NameFit::Whole);
    }
    symbol_fit(&function.name, function.linkage_name.as_deref(), name)
}

fn loop_cost(analysis: &LoopAnalysis, sentence: fn(&LoopVerdict) -> String) -> LoopCost {
    LoopCost {
        iterations: analysis.iterations,
        entries: analysis.entries,
        cycles: analysis.cycles,
        chain_cycles: analysis.chain_cycles,
        chain: analysis.chain.clone(),
        throughput_cycles: analysis.throughput_cycles,
        bound: analysis.verdict.bound(),
        why: sentence(&analysis.verdict),
    }
}

/// How well a name fits a function that is shown as `shown`; its linkage name is as good.
pub(crate) fn symbol_fit(shown: &str, linkage_name: Option<&str>, name: &str) -> Option<NameFit> {
    match linkage_name == Some(name) {
        true => Some(NameFit::Whole),
        false => name_fit(shown, name),
    }
}

fn jumps(code: &FunctionCode) -> Vec<JumpArrow> {
    let mut jumps = Vec::new();
    for (from, instruction) in (0u32..).zip(&code.instructions) {
        let Some(target) = instruction.flow.jump_target() else {
            continue;
        };
        let found = code
            .instructions
            .binary_search_by_key(&target, |i| i.address);
        let Ok(to) = found else { continue };
        let to = to as u32;
        let back = match (
            code.flow.block_of(from as usize),
            code.flow.block_of(to as usize),
        ) {
            (Some(source), Some(head)) => code.flow.dominates(head, source),
            _ => false,
        };
        jumps.push(JumpArrow { from, to, back });
    }
    jumps
}

/// The source lines that the instructions name, with the lines between those near one another.
fn read_source(
    instructions: &[AnnotatedInstruction],
    sources: &mut SourceCache,
) -> (Vec<SourceLine>, Vec<String>) {
    let mut wanted: BTreeSet<(&str, u32)> = BTreeSet::new();
    for instruction in instructions {
        if let (Some(file), Some(line)) = (&instruction.file, instruction.line) {
            wanted.insert((file, line));
        }
    }
    let mut found = Vec::new();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    for (file, line) in wanted {
        match sources.line(file, line) {
            Some(text) => {
                found.push(SourceLine {
                    file: file.to_owned(),
                    line,
                    text: text.to_owned(),
                });
            }
            None => {
                missing.insert(file);
            }
        }
    }
    let known: BTreeSet<&str> = found.iter().map(|line| line.file.as_str()).collect();
    let notes = missing
        .iter()
        .filter(|file| !known.contains(*file))
        .take(MAX_MISSING_SOURCES)
        .map(|file| {
            format!("source {file} was not found; --source-prefix OLD=NEW says where it is")
        })
        .collect();
    (found, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lines_are_told_from_names_of_functions() {
        assert_eq!(source_line("two.c:15"), Some(("two.c", 15)));
        for name in ["lookup", "std::sort", "a::b::15", "two.c:", ":15"] {
            assert_eq!(source_line(name), None, "{name}");
        }
    }

    #[test]
    fn file_is_whole_parts_of_a_path() {
        assert!(ends_in_file("/src/two.c", "two.c"));
        assert!(ends_in_file("/src/two.c", "src/two.c"));
        assert!(!ends_in_file("/src/two.c", "wo.c"));
    }
}
