//! Builds the [`AnalysisInput`] of detectors from a resolved profile with counts.

use std::collections::{HashMap, HashSet};

use genba_code::{Flow, Syntax, data_flow_of};
use genba_model::{Transfer, TransferKind};
use genba_profile::jit::code_index::is_generated_code;
use genba_profile::reader::ModuleId;
use serde::{Deserialize, Serialize};

use crate::constants::counts::MAX_PART_THAT_CALLS;
use crate::constants::search_limits::{
    MAX_ANALYSED_FUNCTIONS, MAX_ANALYSED_USERS_OF_SERVICE, MAX_CALLERS,
};
use crate::constants::time_shares::{
    MIN_PART_OF_CALLS_OF_ANALYSED_FUNCTION, MIN_SHARE_OF_ANALYSED_FUNCTION,
    MIN_SHARE_OF_ASKED_FUNCTION, MIN_SHARE_OF_WORKING_THREAD,
};
use crate::input::analysis_input::{
    AnalysisInput, CallSite, CallTarget, CalledFunction, Caller, CostTable, FunctionInput, Place,
    Program, UserCall,
};
use crate::input::call_paths::{CallPaths, Follow};
use crate::input::conversions::{add_formats, conversions};
use crate::input::functions_with_callees::functions_with_callees;
use crate::input::kernel_work::kernel_work;
use crate::input::library_time::{library_time, user_callers};
use crate::input::linked_calls::LinkedPlaces;
use crate::input::place_of_frames::place_of;
use crate::input::runtime_services::is_scan_function;
use crate::input::runtime_use::runtime_use;
use crate::input::values::Values;
use genba_attribution::AddressHits;
use genba_attribution::FunctionCode;
use genba_attribution::counted::{ExecutedFunctions, Joined, inclusive_time};
use genba_attribution::{Function, FunctionId, ResolvedProfile, share_of};
use genba_symbols::is_toolchain_file;

/// What is known of the runs from elsewhere.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunFacts {
    /// CPU time of one run, seconds.
    pub cpu_seconds: f64,
    /// Wall time of one run, seconds.
    pub wall_seconds: f64,
    /// Page faults without I/O in one run.
    pub minor_faults: Option<f64>,
    /// Peak memory, bytes.
    pub max_rss_bytes: Option<f64>,
    /// Size of the files that the command line names, bytes.
    #[serde(default)]
    pub input_bytes: Option<u64>,
    /// Bytes that the reading calls of one run returned, of files and pipes.
    #[serde(default)]
    pub read_bytes: Option<u64>,
}

impl AnalysisInput {
    /// Collects what detectors read from a resolved profile; lists of what was not counted are empty.
    #[must_use]
    pub fn of(resolved: &ResolvedProfile, facts: &RunFacts) -> Self {
        let names = (resolved.joined.as_ref()).map(|joined| ExecutedFunctions::of(&joined.index));
        let all = resolved.hits.all.weight as f64;
        let mut hot: Vec<(u64, FunctionId, AddressHits)> = resolved
            .function_hits()
            .into_iter()
            .map(|(id, hits)| (hits.iter().map(|hit| hit.1.weight).sum(), id, hits))
            .collect();
        hot.sort_by_key(|(weight, id, _)| (std::cmp::Reverse(*weight), *id));
        let mut paths = (resolved.joined.as_ref().zip(names.as_ref()))
            .map(|(joined, names)| CallPaths::new(joined, names));
        let mut program = program(resolved, facts, &hot, names.as_ref(), paths.as_mut());
        // What calls the runtime need take no time of its own to be to blame.
        let calls_runtime = |id: &FunctionId| {
            let function = &resolved.functions[*id as usize];
            let runtime = program
                .runtime
                .iter()
                .flat_map(|one| one.users.iter().take(MAX_ANALYSED_USERS_OF_SERVICE));
            let converting = program.conversions.iter().flat_map(|one| &one.users);
            let mut users = runtime.chain(converting.map(|user| &user.call));
            users.any(|user| {
                user.function == function.name
                    && user.module == resolved.code.module_name(function.module)
            })
        };
        // Nor do those that call what takes much of it.
        let asked: HashSet<(String, String)> = (hot.iter())
            .take_while(|(weight, ..)| *weight as f64 >= MIN_SHARE_OF_ASKED_FUNCTION * all)
            .flat_map(|(_, id, _)| {
                let function = &resolved.functions[*id as usize];
                let names = names.as_ref();
                user_callers(resolved, paths.as_mut(), names, function, Follow::OwnCode)
            })
            .take(MAX_ANALYSED_USERS_OF_SERVICE)
            .map(|user| (user.function, user.module))
            .collect();
        let asks_much = |id: &FunctionId| {
            let function = &resolved.functions[*id as usize];
            let module = resolved.code.module_name(function.module).to_string();
            asked.contains(&(function.name.to_string(), module))
        };
        let works = Counted::of(resolved, &hot);
        let functions: Vec<FunctionInput> = hot
            .iter()
            .filter(|(weight, id, _)| {
                let takes_time = *weight as f64 >= MIN_SHARE_OF_ANALYSED_FUNCTION * all;
                takes_time || works.much(resolved, *id) || calls_runtime(id) || asks_much(id)
            })
            .take(MAX_ANALYSED_FUNCTIONS)
            .filter_map(|(weight, id, hits)| {
                let function = &resolved.functions[*id as usize];
                let names = names.as_ref();
                let mut callers =
                    |follow| user_callers(resolved, paths.as_mut(), names, function, follow);
                let direct = callers(Follow::OwnCode);
                let behind_wrappers = match is_scan_function(&function.name) {
                    true => callers(Follow::Wrappers),
                    false => Vec::new(),
                };
                let callers = (direct, behind_wrappers);
                function_input(resolved, *id, *weight, hits, names, callers)
            })
            .collect();
        add_formats(&mut program.conversions, &functions, resolved);
        let weights: Vec<(u64, FunctionId)> = hot.iter().map(|one| (one.0, one.1)).collect();
        let (names, paths) = (names.as_ref(), paths.as_mut());
        program.library_time = library_time(resolved, &weights, &functions, names, paths);
        Self {
            program,
            functions,
            observed: None,
        }
    }
}

/// Counted work of the functions that were sampled.
struct Counted {
    calls: u64,
    instructions: u64,
}

impl Counted {
    fn of(resolved: &ResolvedProfile, hot: &[(u64, FunctionId, AddressHits)]) -> Self {
        let functions = hot.iter().map(|one| &resolved.functions[one.1 as usize]);
        let counts = functions.filter_map(|function| resolved.executed(function));
        counts.fold(
            Self {
                calls: 0,
                instructions: 0,
            },
            |sum, one| Self {
                calls: sum.calls.saturating_add(one.calls()),
                instructions: sum.instructions.saturating_add(one.instructions()),
            },
        )
    }

    /// Whether a function has part enough of the calls or of the instructions, whatever its samples.
    fn much(&self, resolved: &ResolvedProfile, id: FunctionId) -> bool {
        let function = &resolved.functions[id as usize];
        resolved.executed(function).is_some_and(|one| {
            let part = |some: u64, all: u64| some as f64 / all.max(1) as f64;
            part(one.calls(), self.calls) >= MIN_PART_OF_CALLS_OF_ANALYSED_FUNCTION
                || part(one.instructions(), self.instructions) >= MIN_SHARE_OF_ANALYSED_FUNCTION
        })
    }
}

fn program(
    resolved: &ResolvedProfile,
    facts: &RunFacts,
    hot: &[(u64, FunctionId, AddressHits)],
    names: Option<&ExecutedFunctions>,
    paths: Option<&mut CallPaths<'_>>,
) -> Program {
    let all = (resolved.hits.all.weight as f64).max(1.0);
    let in_kernel = hot.iter().filter_map(|(weight, id, _)| {
        let function = &resolved.functions[*id as usize];
        let kernel = resolved.code.is_kernel(function.module);
        kernel.then(|| (function.name.as_str(), *weight as f64 / all))
    });
    let table = resolved
        .joined
        .as_ref()
        .and_then(|joined| joined.host.clone());
    let host_seconds = table.iter().flat_map(|table| &table.entries);
    let (runtime, conversions, with_callees) =
        (names.zip(paths)).map_or_else(Default::default, |(names, paths)| {
            let inclusive = inclusive_time(resolved, names);
            let conversions = inclusive
                .as_ref()
                .map(|inclusive| conversions(resolved, names, paths, inclusive));
            let runtime = runtime_use(paths, names);
            let with_callees = inclusive.map(|inclusive| {
                functions_with_callees(resolved, names, paths, &inclusive, &runtime)
            });
            (
                runtime,
                conversions.unwrap_or_default(),
                with_callees.unwrap_or_default(),
            )
        });
    Program {
        cpu_seconds: facts.cpu_seconds,
        wall_seconds: facts.wall_seconds,
        clock_hz: (resolved.joined.as_ref())
            .and_then(|joined| joined.counted.clock_hz)
            .map(|hz| hz.value),
        kernel_share: resolved.hits.kernel.weight as f64 / all,
        kernel: kernel_work(in_kernel),
        minor_faults: facts.minor_faults,
        max_rss_bytes: facts.max_rss_bytes,
        processes: resolved.joined.as_ref().map(|joined| joined.processes),
        threads: working_threads(resolved),
        called: names.map_or_else(Vec::new, |names| called(resolved, names)),
        instructions: names.map(|names| {
            let parts = names.list.iter().map(|one| one.instructions);
            let sum = parts.fold(0u64, u64::saturating_add);
            (resolved.joined.as_ref()).map_or(sum, |joined| joined.scaled(sum))
        }),
        part_counted: (resolved.joined.as_ref())
            .is_some_and(|joined| joined.counted.cut_short.is_some()),
        host_seconds: host_seconds
            .filter_map(|entry| Some((entry.form.clone(), entry.seconds?.value)))
            .collect(),
        costs: CostTable { table },
        runtime,
        conversions,
        library_time: Vec::new(),
        with_callees,
        input_bytes: facts.input_bytes,
        read_bytes: facts.read_bytes,
        follow_up: Default::default(),
    }
}

/// Threads that worked at once: of the process that has most of them, since a recording may be
/// of several runs.
fn working_threads(resolved: &ResolvedProfile) -> u32 {
    let mut processes: HashMap<i32, HashMap<i32, f64>> = HashMap::new();
    for (thread, hits) in resolved.tables.threads.iter().zip(&resolved.hits.threads) {
        let process = processes.entry(thread.pid).or_default();
        *process.entry(thread.tid).or_default() += hits.weight as f64;
    }
    let least = MIN_SHARE_OF_WORKING_THREAD * resolved.hits.all.weight as f64
        / processes.len().max(1) as f64;
    let working = processes.values().map(|threads| {
        let all: f64 = threads.values().sum();
        let works =
            |weight: &&f64| **weight >= MIN_SHARE_OF_WORKING_THREAD * all && **weight >= least;
        threads.values().filter(works).count() as u32
    });
    working.max().unwrap_or(0)
}

fn called(resolved: &ResolvedProfile, names: &ExecutedFunctions) -> Vec<CalledFunction> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
    let index = &joined.index;
    let mut list: Vec<CalledFunction> = names
        .list
        .iter()
        .filter(|one| one.known && !one.name.ends_with("@plt"))
        .map(|one| CalledFunction {
            function: bare(&one.name).to_owned(),
            module: index.modules[one.module as usize].path.clone(),
            calls: joined.scaled(index.entered(one.module, one.address, one.end)),
            instructions: joined.scaled(one.instructions),
        })
        .collect();
    list.sort_by_key(|one| std::cmp::Reverse(one.calls));
    list
}

fn function_input(
    resolved: &ResolvedProfile,
    id: FunctionId,
    weight: u64,
    hits: &AddressHits,
    names: Option<&ExecutedFunctions>,
    (user_callers, callers_behind_wrappers): (Vec<UserCall>, Vec<UserCall>),
) -> Option<FunctionInput> {
    let function = &resolved.functions[id as usize];
    let binary = resolved.code.binary(function.module).ok()?;
    let code = FunctionCode::new(resolved, function, hits, false, Syntax::Intel).ok()?;
    let end = code.instructions.last()?.end();
    let data = data_flow_of(binary, function.address, end).ok()?;
    if data.len() != code.instructions.len() {
        return None;
    }
    let executed = resolved.executed(function);
    let total = weight as f64;
    let samples: u64 = hits.iter().map(|hit| hit.1.samples).sum();
    let squares = total * total / samples.max(1) as f64;
    let counts: Vec<u64> = executed.map_or_else(Vec::new, |executed| {
        let addresses = code.instructions.iter().map(|i| i.address);
        addresses.map(|address| executed.count(address)).collect()
    });
    let cycles = counts.iter().enumerate().map(|(index, &count)| {
        let share = share_of(code.weight[index], total, squares);
        let joined = resolved.joined.as_ref()?;
        joined.each(&resolved.event, share, total, count).1
    });
    let cycles = cycles.collect();
    let all = resolved.hits.all.weight as f64;
    let unit = binary.compile_unit_at(function.address);
    let module = resolved.code.module_name(function.module);
    let values = Values::of(&code.flow, &data);
    let (call_sites, callers) = match (&resolved.joined, names) {
        (Some(joined), Some(names)) => calls(resolved, joined, names, function, &code, &values),
        _ => Default::default(),
    };
    Some(FunctionInput {
        function: function.name.clone(),
        own: is_own(&module),
        module,
        address: function.address,
        share: resolved.share(total),
        calls: executed.map(|executed| executed.calls()),
        values,
        heat: code.weight.iter().map(|weight| weight / all).collect(),
        samples: code.samples.clone(),
        taken: (code.instructions.iter())
            .map(|i| match i.flow {
                Flow::CondJump(_) => executed?.taken(i.address),
                _ => None,
            })
            .collect(),
        counts,
        cycles,
        loops: resolved.model(function, &code, total).loops,
        of_library: (code.instructions.iter())
            .map(|i| is_of_library(resolved, function.module, i.address))
            .collect(),
        places: (code.instructions.iter())
            .map(|i| source_place(resolved, function.module, i.address))
            .collect(),
        call_sites,
        callers,
        user_callers,
        callers_behind_wrappers,
        unit: unit.as_ref().and_then(|unit| unit.name.clone()),
        producer: unit.and_then(|unit| unit.producer),
        counted: executed.is_some(),
        data,
        flow: code.flow,
        code: code.instructions,
    })
}

/// Whether the innermost function at an address is in a file of a language's library.
fn is_of_library(resolved: &ResolvedProfile, module: ModuleId, address: u64) -> bool {
    let frames = resolved.code.frames_at(module, address);
    let inner = frames.first().and_then(|frame| frame.file.as_deref());
    inner.is_some_and(is_toolchain_file)
}

fn source_place(resolved: &ResolvedProfile, module: ModuleId, address: u64) -> Place {
    place_of(&resolved.code.frames_at(module, address))
}

fn calls(
    resolved: &ResolvedProfile,
    joined: &Joined,
    names: &ExecutedFunctions,
    function: &Function,
    code: &FunctionCode,
    values: &Values,
) -> (Vec<CallSite>, Vec<Caller>) {
    let path = resolved.code.module_name(function.module);
    let build_id = resolved.code.build_id(function.module);
    let Some(module) = joined.index.module(&path, build_id.as_deref()) else {
        return Default::default();
    };
    let (begin, end) = (function.address, function.address + function.size);
    let leaves = |one: &&Transfer| {
        let inside = one.to.module == module && (begin..end).contains(&one.to.address);
        one.kind == TransferKind::Call || !inside
    };
    let binary = resolved.code.binary(function.module).ok();
    let linked = LinkedPlaces::of(binary.map_or(&[], |binary| binary.sections()));
    let mut sites = Vec::new();
    for (at, instruction) in code.instructions.iter().enumerate() {
        let (indirect, target) = match instruction.flow {
            Flow::Call(target) | Flow::Jump(target) => (false, Some(target)),
            Flow::IndirectCall | Flow::IndirectJump => {
                (!linked.is_linked(&code.instructions, values, at), None)
            }
            _ => continue,
        };
        let list = joined.index.transfers_from(module, instruction.address);
        let mut targets: Vec<CallTarget> = (list.iter().filter(leaves))
            .filter_map(|one| call_target(joined, names, one))
            .collect();
        if targets.is_empty() {
            continue;
        }
        targets.sort_by_key(|one| std::cmp::Reverse(one.count));
        sites.push(CallSite {
            at,
            indirect,
            plt: target
                .and_then(|target| binary?.symbol_at(target))
                .is_some_and(|symbol| symbol.is_plt()),
            targets,
        });
    }
    let arriving = joined.index.transfers_to(module, begin).iter();
    let mut callers: Vec<Caller> = arriving
        .filter(|one| {
            let inside = one.from.module == module && (begin..end).contains(&one.from.address);
            one.kind == TransferKind::Call || !inside
        })
        .filter_map(|one| caller(joined, names, one))
        .collect();
    callers.sort_by_key(|one| std::cmp::Reverse(one.count));
    callers.truncate(MAX_CALLERS);
    (sites, callers)
}

fn call_target(
    joined: &Joined,
    names: &ExecutedFunctions,
    transfer: &Transfer,
) -> Option<CallTarget> {
    let callee = &names.list[names.at(transfer.to)? as usize];
    let index = &joined.index;
    let calls = index
        .entered(callee.module, callee.address, callee.end)
        .max(1);
    let executed = index.executed(callee.module, callee.address, callee.end);
    let unit = (names.code.binary(ModuleId(callee.module)).ok())
        .and_then(|binary| binary.compile_unit_at(callee.address)?.name);
    let onwards = executed.iter().flat_map(|one| {
        let list = index.transfers_from(callee.module, one.address);
        list.iter().filter(|one| one.kind == TransferKind::Call)
    });
    let onwards: u64 = onwards.map(|one| one.count).sum();
    Some(CallTarget {
        function: callee.name.clone(),
        module: index.modules[callee.module as usize].path.clone(),
        count: joined.scaled(transfer.count),
        unit,
        size: executed.len() as u32,
        instructions_per_call: callee.instructions as f64 / calls as f64,
        calls_others: onwards as f64 > MAX_PART_THAT_CALLS * calls as f64,
    })
}

fn caller(joined: &Joined, names: &ExecutedFunctions, transfer: &Transfer) -> Option<Caller> {
    let caller = &names.list[names.at(transfer.from)? as usize];
    let module = joined.index.modules[caller.module as usize].path.clone();
    let frames = names
        .code
        .frames_at(ModuleId(caller.module), transfer.from.address);
    let place = place_of(&frames);
    Some(Caller {
        function: caller.name.clone(),
        own: is_own(&module),
        module,
        address: transfer.from.address,
        place,
        count: joined.scaled(transfer.count),
    })
}

/// A name without the version that a PLT or a dynamic symbol carries.
pub(crate) fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Whether a module is code that the user of genba may change: anything but the C and C++
/// runtime, the dynamic linker, allocators, generated code and the kernel's page of code.
#[must_use]
pub fn is_own(module: &str) -> bool {
    let generated = is_generated_code(std::path::Path::new(module));
    module.starts_with('/') && !generated && !genba_symbols::is_runtime_library(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_libraries_are_not_user_code() {
        assert!(is_own(
            "/usr/lib/x86_64-linux-gnu/libtokyocabinet.so.9.11.0"
        ));
        assert!(is_own("/home/me/libcsv.so"));
        assert!(!is_own("/usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(!is_own("/lib64/ld-linux-x86-64.so.2"));
        assert!(!is_own("[vdso]") && !is_own("[kernel]"));
    }

    #[test]
    fn symbol_versions_are_stripped() {
        assert_eq!(bare("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(bare("main"), "main");
    }
}
