//! Converts callgrind's costs and valgrind's messages to executions by module.

use std::collections::{HashMap, HashSet};

use genba_model::{CodePoint, TransferKind};

use super::callgrind_file::{CallgrindCounts, Position, UNKNOWN_OBJECT};
use super::valgrind_log::Loaded;
use crate::process_counts_builder::{GENERATED, ProcessCountsBuilder};
use crate::x86_64::Flow;

/// Address of the vsyscall page, which valgrind emulates.
const VSYSCALL: u64 = 0xffff_ffff_ff60_0000;

/// Whether a library is valgrind's own, which it loads into every target.
fn is_valgrinds(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("vgpreload_") && path.contains("/valgrind/")
}

/// Converts the files of a process. `transfers`: whether jumps and calls are requested.
pub fn convert(dump: &CallgrindCounts, loaded: &[Loaded], transfers: bool) -> ProcessCountsBuilder {
    let mut builder = ProcessCountsBuilder::default();
    let mut places = AddressLookup::new(dump, loaded, &mut builder);
    // The same instruction may be under its object and, if callgrind met it before it had read the
    // object, under none.
    let mut own = 0u64;
    for (place, count) in &dump.counts {
        match places.find(*place, &mut builder) {
            Some(at) => builder.count(at, *count),
            None => own = own.saturating_add(*count),
        }
    }
    repair_repeats(dump, &mut places, &mut builder);
    if own > 0 {
        builder.notes.push(format!(
            "valgrind loads a library of its own (vgpreload_core): its {own} instructions are \
             left out, those that ld.so spends on loading it are not"
        ));
    }
    if places.ambiguous > 0 {
        builder.notes.push(format!(
            "{} instruction addresses outside of .text belong to more than one library, loaded \
             one after another at the same place; they are under {GENERATED}",
            places.ambiguous
        ));
    }
    if transfers {
        add_edges(dump, &mut places, &mut builder);
    }
    builder
}

/// Corrects the counts of repeated string instructions: callgrind counts their iterations, and its
/// jumps from them to themselves are the number of repetitions.
fn repair_repeats(
    dump: &CallgrindCounts,
    places: &mut AddressLookup,
    builder: &mut ProcessCountsBuilder,
) {
    for ((from, to), count) in &dump.jumps {
        if from != to {
            continue;
        }
        let Some(at) = places.find(*from, builder) else {
            continue;
        };
        let decoded = builder.decode(at);
        if decoded.is_some_and(|decoded| decoded.flow == Flow::Repeat)
            && let Some(module) = builder.modules.get_mut(at.module as usize)
            && let Some(sum) = module.counts.get_mut(&at.address)
        {
            *sum = sum.saturating_sub(*count);
        }
    }
}

fn add_edges(
    dump: &CallgrindCounts,
    places: &mut AddressLookup,
    builder: &mut ProcessCountsBuilder,
) {
    let both = (dump.jumps.iter().map(|edge| (edge, TransferKind::Jump)))
        .chain(dump.calls.iter().map(|edge| (edge, TransferKind::Call)));
    for (((from, to), count), kind) in both {
        let (Some(from), Some(to)) = (places.find(*from, builder), places.find(*to, builder))
        else {
            continue;
        };
        builder.edge(from, to, *count);
        if builder.code(from.module).is_none() {
            builder.kinds.insert(from, kind);
        }
    }
    for (stub, to) in dump.stubs.keys() {
        if let (Some(stub), Some(to)) =
            (places.in_memory(*stub, builder), places.find(*to, builder))
        {
            builder.stubs.entry(stub).or_default().insert(to);
        }
    }
}

/// Finds modules for callgrind's addresses.
struct AddressLookup {
    /// Module of each object; `None` for code of no known object.
    modules: Vec<Option<u32>>,
    /// Valgrind's own modules.
    own: HashSet<u32>,
    /// Modules with their load bias.
    loaded: Vec<(u32, u64)>,
    /// Addresses in memory that were looked up before.
    known: HashMap<u64, Option<CodePoint>>,
    ambiguous: usize,
}

impl AddressLookup {
    fn new(dump: &CallgrindCounts, objects: &[Loaded], builder: &mut ProcessCountsBuilder) -> Self {
        let modules = (dump.objects.iter())
            .map(|path| (path != UNKNOWN_OBJECT).then(|| builder.module(path)))
            .collect();
        let mut loaded: Vec<(u32, u64)> = Vec::new();
        for object in objects {
            // Valgrind itself, which is far from the target's code.
            if object.path.contains("/callgrind-") {
                continue;
            }
            let entry = (builder.module(&object.path), object.bias);
            if !loaded.contains(&entry) {
                loaded.push(entry);
            }
        }
        let own = (builder.modules.iter().enumerate())
            .filter(|(_, module)| is_valgrinds(&module.path))
            .map(|(index, _)| index as u32)
            .collect();
        Self {
            modules,
            own,
            loaded,
            known: HashMap::new(),
            ambiguous: 0,
        }
    }

    /// Returns module and address; `None` for valgrind's own code.
    fn find(&mut self, place: Position, builder: &mut ProcessCountsBuilder) -> Option<CodePoint> {
        let point = match self.modules.get(place.object as usize) {
            Some(Some(module)) => CodePoint {
                module: *module,
                address: place.address,
            },
            _ => return self.in_memory(place.address, builder),
        };
        (!self.own.contains(&point.module)).then_some(point)
    }

    /// Looks up an address in memory. Callgrind names an object only for its `.text`; for stubs and
    /// initialisers it gives addresses in memory.
    fn in_memory(&mut self, address: u64, builder: &mut ProcessCountsBuilder) -> Option<CodePoint> {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let mut found = (self.loaded.iter()).filter_map(|(module, bias)| {
            let address = address.checked_sub(*bias)?;
            (builder.code(*module)?.has_code(address)).then_some(CodePoint {
                module: *module,
                address,
            })
        });
        let first = found.next();
        let point = match (first, found.next()) {
            (Some(point), None) => point,
            (first, second) => {
                if first.is_some() && second.is_some() {
                    self.ambiguous += 1;
                }
                let name = if address >= VSYSCALL {
                    "[vsyscall]"
                } else {
                    GENERATED
                };
                CodePoint {
                    module: builder.module(name),
                    address,
                }
            }
        };
        let point = (!self.own.contains(&point.module)).then_some(point);
        self.known.insert(address, point);
        point
    }
}
