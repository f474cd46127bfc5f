//! Which data an instruction works on: a variable, the stack, a block of the heap, a mapping.

use genba_model::{Burst, CodePoint, MemoryRegion, Observed};
use serde::{Deserialize, Serialize};

use crate::allocated_blocks::AllocatedBlocks;
use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// Data of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPlace {
    /// A variable of a module: its address there, where a symbol begins.
    Variable(CodePoint),
    /// Static data of a module without a symbol there.
    Module(u32),
    /// The stack.
    Stack,
    /// Memory that was allocated in the same burst: the call in the user's own code.
    Allocated(CodePoint),
    /// The heap, allocated before the burst.
    Heap,
    /// Another file or region: index into [`crate::Observations::regions`].
    Region(u32),
    /// No region is known for the address.
    Unknown,
}

/// What an instruction works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSite {
    /// The instruction.
    pub at: CodePoint,
    /// Places, those with most accesses first.
    pub places: Vec<PlaceShare>,
}

/// A place with its share of an instruction's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceShare {
    /// The place.
    pub place: MemoryPlace,
    /// Its share of the accesses.
    pub seen: Seen,
}

/// Places of one instruction that are told apart; the rest has none.
const MAX_PLACES: usize = 8;

/// Bytes below and above the last known stack pointer that are the stack's.
const STACK_REACH: u64 = 256 << 10;

/// The address space of one process.
#[derive(Clone)]
pub(crate) struct AddressSpace {
    /// Begin, end, place; sorted, apart.
    regions: Vec<(u64, u64, MemoryPlace)>,
    /// Run-time address minus address in the file, by module.
    bias: FastMap<u32, u64>,
}

impl AddressSpace {
    /// `module_of` gives a path's module; `region_of` numbers the names of other regions.
    pub(crate) fn new(
        regions: &[MemoryRegion],
        bias: FastMap<u32, u64>,
        module_of: impl Fn(&str) -> Option<u32>,
        mut region_of: impl FnMut(&str) -> u32,
    ) -> Self {
        let mut list: Vec<(u64, u64, MemoryPlace)> = Vec::new();
        let mut sorted: Vec<&MemoryRegion> = regions.iter().filter(|r| r.begin < r.end).collect();
        sorted.sort_by_key(|region| region.begin);
        for region in sorted {
            let before = list.last();
            let place = match region.name.as_str() {
                "[heap]" => MemoryPlace::Heap,
                name if name.starts_with("[stack") => MemoryPlace::Stack,
                // What follows a module's data without a name is its zeroed data.
                "" => match before {
                    Some(&(_, end, MemoryPlace::Module(module))) if end == region.begin => {
                        MemoryPlace::Module(module)
                    }
                    _ => MemoryPlace::Region(region_of("anonymous memory")),
                },
                name => match module_of(name) {
                    Some(module) => MemoryPlace::Module(module),
                    None => MemoryPlace::Region(region_of(name)),
                },
            };
            list.push((region.begin, region.end, place));
        }
        Self {
            regions: list,
            bias,
        }
    }

    fn place(&self, address: u64, code: &dyn CodeKnowledge) -> MemoryPlace {
        let index = self.regions.partition_point(|region| region.0 <= address);
        let region = index
            .checked_sub(1)
            .and_then(|index| self.regions.get(index));
        match region.filter(|region| address < region.1) {
            Some(&(.., MemoryPlace::Module(module))) => {
                let bias = self.bias.get(&module).copied().unwrap_or(0);
                let address = address.wrapping_sub(bias);
                match code.variable(CodePoint { module, address }) {
                    Some(begin) => MemoryPlace::Variable(CodePoint {
                        module,
                        address: begin,
                    }),
                    None => MemoryPlace::Module(module),
                }
            }
            Some(region) => region.2,
            None => MemoryPlace::Unknown,
        }
    }
}

/// Finds what each instruction works on, by process; instructions with most accesses first.
pub(crate) fn data_places(
    bursts: &[Burst],
    spaces: &FastMap<i32, AddressSpace>,
    code: &dyn CodeKnowledge,
) -> Vec<DataSite> {
    let mut counts: FastMap<CodePoint, FastMap<MemoryPlace, f64>> = FastMap::default();
    let mut tally: Tally<(CodePoint, MemoryPlace)> = Tally::new();
    let mut met: FastMap<CodePoint, (Vec<MemoryPlace>, u64)> = FastMap::default();
    let mut pages: FastMap<u64, MemoryPlace> = FastMap::default();
    for burst in bursts {
        let space = spaces.get(&burst.pid);
        let mut stack = CallStack::default();
        let mut pointer: Option<u64> = None;
        let mut blocks = AllocatedBlocks::default();
        pages.clear();
        for event in &burst.events {
            blocks.event(&mut stack, event, code, |stack, frame| {
                Some(stack.user_site(frame.call, code)?.0)
            });
            pointer = stack
                .frames()
                .last()
                .and_then(|frame| frame.stack)
                .or(pointer);
            let (Observed::Load { address, .. } | Observed::Store { address, .. }) = event.what
            else {
                continue;
            };
            let near = |pointer: u64| address.abs_diff(pointer) <= STACK_REACH;
            let allocated = blocks.mark(address).map(MemoryPlace::Allocated);
            let place = allocated.unwrap_or_else(|| {
                let at = pages.get(&(address >> 3)).copied();
                at.unwrap_or_else(|| {
                    let place = match space.map(|space| space.place(address, code)) {
                        Some(MemoryPlace::Region(_) | MemoryPlace::Unknown) | None
                            if pointer.is_some_and(near) =>
                        {
                            MemoryPlace::Stack
                        }
                        place => place.unwrap_or(MemoryPlace::Unknown),
                    };
                    pages.insert(address >> 3, place);
                    place
                })
            });
            *counts
                .entry(event.at)
                .or_default()
                .entry(place)
                .or_default() += 1.0;
        }
        for (at, places) in counts.drain() {
            let all: f64 = places.values().sum();
            let known = met.entry(at).or_default();
            known.1 += all as u64;
            for &place in places.keys() {
                if !known.0.contains(&place) && known.0.len() < MAX_PLACES {
                    known.0.push(place);
                }
            }
            for &place in &known.0 {
                tally.add((at, place), places.get(&place).copied().unwrap_or(0.0), all);
            }
        }
        tally.end_of_burst(burst.weight);
    }
    let mut sites: Vec<(CodePoint, (Vec<MemoryPlace>, u64))> = met.into_iter().collect();
    sites.sort_by_key(|(at, (_, all))| (std::cmp::Reverse(*all), *at));
    (sites.into_iter())
        .map(|(at, (places, _))| {
            let mut places: Vec<PlaceShare> = (places.into_iter())
                .filter_map(|place| {
                    let seen = tally.seen((at, place))?;
                    Some(PlaceShare { place, seen })
                })
                .collect();
            places.sort_by(|a, b| {
                let share = |one: &PlaceShare| one.seen.share.value;
                share(b).total_cmp(&share(a)).then(a.place.cmp(&b.place))
            });
            DataSite { at, places }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, load, ret};

    fn space() -> FastMap<i32, AddressSpace> {
        let region = |begin, end, name: &str| MemoryRegion {
            begin,
            end,
            name: name.to_owned(),
        };
        let regions = [
            region(0x1000, 0x2000, "/bin/a"),
            region(0x2000, 0x3000, ""),
            region(0x5000, 0x9000, "[heap]"),
            region(0xa000, 0xb000, ""),
            region(0xf000, 0xff00, "[stack]"),
        ];
        let mut bias = FastMap::default();
        bias.insert(0, 0x1000);
        let module_of = |path: &str| (path == "/bin/a").then_some(0);
        let mut spaces = FastMap::default();
        spaces.insert(1, AddressSpace::new(&regions, bias, module_of, |_| 0));
        spaces
    }

    #[test]
    fn addresses_are_named_by_region_and_allocation() {
        let mut events = vec![
            load(0x10, 0x1800, 8, 0),
            load(0x11, 0x2800, 8, 0),
            load(0x12, 0x6000, 8, 0),
            load(0x13, 0xa800, 8, 0),
            load(0x14, 0xf800, 8, 0),
            load(0x15, 0x1_0000_0000, 8, 0),
        ];
        events.extend([
            call(0x20, at(0xa110c), [64, 0, 0, 0, 0, 0]),
            ret(0xa1110, 0x6000),
            block(0x25, 1),
            load(0x26, 0x603f, 1, 0),
            load(0x27, 0x6040, 1, 0),
        ]);
        let found = data_places(&[burst(events)], &space(), &AllOwn);
        let of = |address| {
            let site = found.iter().find(|one| one.at == at(address));
            site.map(|one| one.places[0].place)
        };
        assert_eq!(of(0x10), Some(MemoryPlace::Module(0)));
        assert_eq!(of(0x11), Some(MemoryPlace::Module(0)));
        assert_eq!(of(0x12), Some(MemoryPlace::Heap));
        assert_eq!(of(0x13), Some(MemoryPlace::Region(0)));
        assert_eq!(of(0x14), Some(MemoryPlace::Stack));
        assert_eq!(of(0x15), Some(MemoryPlace::Unknown));
        assert_eq!(of(0x26), Some(MemoryPlace::Allocated(at(0x20))));
        assert_eq!(of(0x27), Some(MemoryPlace::Heap));
    }
}
