//! From callgrind's files and messages to counts of modules.

use std::collections::{HashMap, HashSet};

use genba_model::{CodePoint, TransferKind};

use super::log::Loaded;
use super::parse::{Dump, Place, UNKNOWN_OBJECT};
use crate::draft::{Draft, GENERATED};
use crate::x86_64::Flow;

/// Where the kernel maps the system calls of old, which valgrind imitates.
const VSYSCALL: u64 = 0xffff_ffff_ff60_0000;

/// Directories of valgrind's own library, which it loads into every target.
fn is_valgrinds(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("vgpreload_") && path.contains("/valgrind/")
}

/// Makes a draft. `transfers`: whether jumps and calls are wanted.
pub fn draft(dump: &Dump, loaded: &[Loaded], transfers: bool) -> Draft {
    let mut draft = Draft::default();
    let mut places = Places::new(dump, loaded, &mut draft);
    // The same instruction may stand under its object and, if callgrind met it before it had
    // read the object, under none.
    let mut own = 0u64;
    for (place, count) in &dump.counts {
        match places.find(*place, &mut draft) {
            Some(at) => draft.count(at, *count),
            None => own = own.saturating_add(*count),
        }
    }
    repair_repeats(dump, &mut places, &mut draft);
    if own > 0 {
        draft.notes.push(format!(
            "valgrind loads a library of its own (vgpreload_core): its {own} instructions are \
             left out, those that ld.so spends on loading it are not"
        ));
    }
    if places.ambiguous > 0 {
        draft.notes.push(format!(
            "{} instruction addresses outside of .text belong to more than one library, loaded \
             one after another at the same place; they are under {GENERATED}",
            places.ambiguous
        ));
    }
    if transfers {
        add_edges(dump, &mut places, &mut draft);
    }
    draft
}

/// Counts of string instructions with a repeat prefix: callgrind's are of their iterations, and
/// its jumps from them to themselves tell how many there were.
fn repair_repeats(dump: &Dump, places: &mut Places, draft: &mut Draft) {
    for ((from, to), count) in &dump.jumps {
        if from != to {
            continue;
        }
        let Some(at) = places.find(*from, draft) else {
            continue;
        };
        let decoded = draft.decode(at);
        if decoded.is_some_and(|decoded| decoded.flow == Flow::Repeat)
            && let Some(module) = draft.modules.get_mut(at.module as usize)
            && let Some(sum) = module.counts.get_mut(&at.address)
        {
            *sum = sum.saturating_sub(*count);
        }
    }
}

fn add_edges(dump: &Dump, places: &mut Places, draft: &mut Draft) {
    let both = (dump.jumps.iter().map(|edge| (edge, TransferKind::Jump)))
        .chain(dump.calls.iter().map(|edge| (edge, TransferKind::Call)));
    for (((from, to), count), kind) in both {
        let (Some(from), Some(to)) = (places.find(*from, draft), places.find(*to, draft)) else {
            continue;
        };
        draft.edge(from, to, *count);
        if draft.image(from.module).is_none() {
            draft.kinds.insert(from, kind);
        }
    }
    for (stub, to) in dump.stubs.keys() {
        if let (Some(stub), Some(to)) = (places.in_memory(*stub, draft), places.find(*to, draft)) {
            draft.stubs.entry(stub).or_default().insert(to);
        }
    }
}

/// Where callgrind's addresses are.
struct Places {
    /// Module of each object; `None` for code of no known object.
    modules: Vec<Option<u32>>,
    /// Modules that are valgrind's own.
    own: HashSet<u32>,
    /// Modules and what is added to their addresses in memory.
    loaded: Vec<(u32, u64)>,
    /// Answers so far for addresses in memory.
    known: HashMap<u64, Option<CodePoint>>,
    ambiguous: usize,
}

impl Places {
    fn new(dump: &Dump, objects: &[Loaded], draft: &mut Draft) -> Self {
        let modules = (dump.objects.iter())
            .map(|path| (path != UNKNOWN_OBJECT).then(|| draft.module(path)))
            .collect();
        let mut loaded: Vec<(u32, u64)> = Vec::new();
        for object in objects {
            // Valgrind itself, whose text is far from the target's.
            if object.path.contains("/callgrind-") {
                continue;
            }
            let entry = (draft.module(&object.path), object.bias);
            if !loaded.contains(&entry) {
                loaded.push(entry);
            }
        }
        let own = (draft.modules.iter().enumerate())
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

    /// Where it is; `None` for valgrind's own code.
    fn find(&mut self, place: Place, draft: &mut Draft) -> Option<CodePoint> {
        let point = match self.modules.get(place.object as usize) {
            Some(Some(module)) => CodePoint {
                module: *module,
                address: place.address,
            },
            _ => return self.in_memory(place.address, draft),
        };
        (!self.own.contains(&point.module)).then_some(point)
    }

    /// Callgrind names an object for its `.text` only; for its stubs and initialisers, it
    /// gives addresses in memory.
    fn in_memory(&mut self, address: u64, draft: &mut Draft) -> Option<CodePoint> {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let mut found = (self.loaded.iter()).filter_map(|(module, bias)| {
            let address = address.checked_sub(*bias)?;
            (draft.image(*module)?.has_code(address)).then_some(CodePoint {
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
                    module: draft.module(name),
                    address,
                }
            }
        };
        let point = (!self.own.contains(&point.module)).then_some(point);
        self.known.insert(address, point);
        point
    }
}
