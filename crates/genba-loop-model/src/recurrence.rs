//! How many cycles the longest chain of dependent instructions adds per iteration.
//!
//! The data flow of many iterations is laid out as if the processor had no other bound than that an
//! instruction waits for its operands, and a division in a chain for the one before it. What the last result gains from iteration to iteration comes
//! out as the greatest mean of any cycle of dependencies (the eigenvalue of the max-plus
//! matrix of one iteration; Cuninghame-Green, "Minimax Algebra", 1979), and the cycle is read off the
//! path back from the last result. Code is followed as predicted: nothing waits for a branch.
//!
//! A division whose result goes into none of the next iterations' divisions waits for its operands while
//! the divider works for other iterations: there the divider bounds the throughput, not the chain.

use genba_code::{DataFlow, Location, Shortcut, X87_TOP};

use super::addresses::{Addresses, Found};
use super::costs::Timing;
use super::iterations::{Iterations, iteration_of, place_in_iteration};
use crate::constants::{
    MAX_SIMULATED_INSTRUCTIONS, MIN_EXECUTIONS_IN_CHAIN, MIN_SIMULATED_ITERATIONS,
    SIMULATED_ITERATIONS,
};

/// One of the three cases that intervals are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Low,
    Value,
    High,
}

impl Case {
    fn of(self, estimate: &genba_model::Estimate) -> f64 {
        match self {
            Self::Low => estimate.low,
            Self::Value => estimate.value,
            Self::High => estimate.high,
        }
    }
}

/// What is known of the instructions of a function.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    pub flows: &'a [DataFlow],
    pub timings: &'a [Option<Timing>],
}

/// The chain found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recurrence {
    /// Cycles that it adds per iteration.
    pub cycles: f64,
    /// Its instructions in order, each with the cycles that it adds to the chain per iteration.
    pub links: Vec<Link>,
    /// Whether a load somewhere in the iterations overlaps an earlier store in part only.
    pub partial_forward: bool,
}

/// An instruction of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub instruction: u32,
    pub cycles: f64,
}

const NO_NODE: u32 = u32::MAX;

/// The recurrence of a path that repeats; `None` for a path that is too long to follow.
pub(super) fn of_path(code: Code<'_>, path: &[u32], case: Case) -> Option<Recurrence> {
    if path.is_empty() {
        return None;
    }
    let times = SIMULATED_ITERATIONS.min(MAX_SIMULATED_INSTRUCTIONS / path.len());
    if times < MIN_SIMULATED_ITERATIONS {
        return None;
    }
    of_iterations(code, &Iterations::repeated(path, times), case)
}

/// The recurrence of iterations that take different paths.
pub(super) fn of_iterations(
    code: Code<'_>,
    iterations: &Iterations,
    case: Case,
) -> Option<Recurrence> {
    if iterations.sequence.len() > MAX_SIMULATED_INSTRUCTIONS
        || iterations.starts.len() < MIN_SIMULATED_ITERATIONS
    {
        return None;
    }
    let nodes = iterations.sequence.len();
    let mut simulation = Simulation::new(code, case, nodes);
    simulation.run(iterations);
    if simulation.units_without_chain() {
        simulation = Simulation::new(code, case, nodes);
        simulation.in_order_units = false;
        simulation.run(iterations);
    }
    Some(simulation.recurrence(iterations))
}

/// When each instruction's result is there, and what it waited for last.
struct Simulation<'a> {
    code: Code<'a>,
    case: Case,
    done: Vec<f64>,
    waited_for: Vec<u32>,
    ready: [(f64, u32); 128],
    /// When each unit that is not pipelined is free, and who has it until then.
    units: [(f64, u32); 2],
    /// Whether an instruction waits for the one before it in such a unit.
    in_order_units: bool,
    /// Instructions that take such a unit, the first of them by bits of [`Self::depends`].
    dividers: Vec<usize>,
    /// By node, which of them its result depends on.
    depends: Vec<u64>,
    /// Whether one of them depends on its own result of an iteration before.
    chained: bool,
    /// Position of the x87 stack's top.
    top: u8,
    addresses: Addresses,
    partial_forward: bool,
}

impl<'a> Simulation<'a> {
    fn new(code: Code<'a>, case: Case, nodes: usize) -> Self {
        Self {
            code,
            case,
            done: Vec::with_capacity(nodes),
            waited_for: Vec::with_capacity(nodes),
            ready: [(0.0, NO_NODE); 128],
            units: [(0.0, NO_NODE); 2],
            in_order_units: true,
            dividers: Vec::new(),
            depends: Vec::with_capacity(nodes),
            chained: false,
            top: 0,
            addresses: Addresses::new(),
            partial_forward: false,
        }
    }

    fn run(&mut self, iterations: &Iterations) {
        for &instruction in &iterations.sequence {
            self.step(instruction as usize);
        }
    }

    /// Whether units that are not pipelined are taken, but by nothing that depends on itself.
    fn units_without_chain(&self) -> bool {
        !self.dividers.is_empty() && self.dividers.len() <= 64 && !self.chained
    }

    /// The dividers that a node depends on.
    fn depends_of(&self, node: u32) -> u64 {
        self.depends.get(node as usize).copied().unwrap_or(0)
    }

    /// Marks an instruction that takes a unit; returns its bit.
    fn divides(&mut self, instruction: usize, depends: u64) -> u64 {
        let index = match self.dividers.iter().position(|&one| one == instruction) {
            Some(index) => index,
            None => {
                self.dividers.push(instruction);
                self.dividers.len() - 1
            }
        };
        let bit = 1u64.checked_shl(index as u32).unwrap_or(0);
        self.chained |= depends & bit != 0;
        bit
    }

    fn step(&mut self, instruction: usize) {
        let node = self.done.len() as u32;
        let (Some(flow), Some(Some(timing))) = (
            self.code.flows.get(instruction),
            self.code.timings.get(instruction),
        ) else {
            self.push((0.0, NO_NODE), 0);
            return;
        };
        if is_exchange(flow) {
            self.exchange(flow);
            self.push((0.0, NO_NODE), 0);
            return;
        }
        let mut last = self.latest(flow.data_reads, (0.0, NO_NODE));
        let mut depends = self.depends_of_all(flow.data_reads);
        for access in flow.memory.iter().filter(|access| access.reads) {
            let registers = [access.base, access.index].into_iter().flatten();
            let address = registers.fold((0.0, NO_NODE), |latest, register| {
                let one = self.ready[usize::from(register) & 127];
                depends |= self.depends_of(one.1);
                later(latest, one)
            });
            let load = self.case.of(&timing.load);
            last = later(last, (address.0 + load, address.1));
            if let Some((stored, same)) = self.forwarded(access) {
                let forward = match same {
                    true => self.case.of(&timing.forward),
                    false => self.case.of(&timing.forward_other),
                };
                last = later(last, (self.done[stored as usize] + forward, stored));
                depends |= self.depends_of(stored);
            }
        }
        let result = if flow.shortcut == Shortcut::Constant || timing.free {
            depends = 0;
            (0.0, NO_NODE)
        } else {
            if let Some((unit, busy)) = &timing.unit {
                depends |= self.divides(instruction, depends);
                if self.in_order_units {
                    let free = &mut self.units[*unit as usize];
                    last = later(last, *free);
                    *free = (last.0 + self.case.of(busy), node);
                }
            }
            (last.0 + self.case.of(&timing.op), last.1)
        };
        self.push(result, depends);
        for access in flow.memory.iter().filter(|access| access.writes) {
            self.addresses.store(access, node);
        }
        if flow.x87_delta < 0 {
            self.turn(flow.x87_delta);
        }
        self.write(flow.writes, (result.0, node));
        if flow.x87_delta > 0 {
            self.turn(flow.x87_delta);
        }
        self.addresses.step(flow);
    }

    /// The next node: when it is done, what it waited for last, the dividers that it depends on.
    fn push(&mut self, (done, waited_for): (f64, u32), depends: u64) {
        self.done.push(done);
        self.waited_for.push(waited_for);
        self.depends.push(depends);
    }

    fn forwarded(&mut self, access: &genba_code::MemoryAccess) -> Option<(u32, bool)> {
        match self.addresses.find(access) {
            Found::Nothing => None,
            Found::All { node, same } => Some((node, same)),
            Found::Part(node) => {
                self.partial_forward = true;
                Some((node, false))
            }
        }
    }

    fn latest(&self, locations: u128, mut latest: (f64, u32)) -> (f64, u32) {
        let mut left = locations;
        while left != 0 {
            let location = left.trailing_zeros() as u8;
            left &= left - 1;
            latest = later(latest, self.ready[self.physical(location)]);
        }
        latest
    }

    fn depends_of_all(&self, locations: u128) -> u64 {
        let mut left = locations;
        let mut depends = 0;
        while left != 0 {
            let location = left.trailing_zeros() as u8;
            left &= left - 1;
            depends |= self.depends_of(self.ready[self.physical(location)].1);
        }
        depends
    }

    fn write(&mut self, locations: u128, result: (f64, u32)) {
        let mut left = locations;
        while left != 0 {
            let location = left.trailing_zeros() as u8;
            left &= left - 1;
            let physical = self.physical(location);
            self.ready[physical] = result;
        }
    }

    /// `fxch` swaps names and takes no time.
    fn exchange(&mut self, flow: &DataFlow) {
        let mut left = flow.writes & (0xff << X87_TOP);
        let mut both = [0usize; 2];
        for slot in &mut both {
            *slot = self.physical((left.trailing_zeros() as u8).min(127));
            left &= left.wrapping_sub(1);
        }
        self.ready.swap(both[0], both[1]);
    }

    /// Where a location is kept: x87 registers turn with the top of their stack.
    fn physical(&self, location: Location) -> usize {
        if (X87_TOP..X87_TOP + 8).contains(&location) {
            return usize::from(X87_TOP + ((location - X87_TOP + self.top) & 7));
        }
        usize::from(location)
    }

    fn turn(&mut self, delta: i8) {
        self.top = self.top.wrapping_add_signed(delta) & 7;
    }

    fn recurrence(&self, iterations: &Iterations) -> Recurrence {
        let count = iterations.starts.len();
        // The latest result up to the end of each third.
        let end = |iteration: usize| {
            iterations
                .starts
                .get(iteration)
                .copied()
                .unwrap_or(self.done.len())
        };
        let latest = |until: usize| {
            let results = self.done[..until].iter().copied().enumerate();
            results.fold(
                (0, 0.0),
                |best, (node, time)| {
                    if time > best.1 { (node, time) } else { best }
                },
            )
        };
        let third = count / 3;
        let (_, middle) = latest(end(count - third));
        let (last_node, last) = latest(self.done.len());
        let growth = ((last - middle) / third as f64).max(0.0);
        let path = self.path_back(last_node, iterations, third);
        let (cycles, links) = match self.cycle(&path, iterations) {
            Some(found) => found,
            None => (growth, self.frequent(&path, iterations)),
        };
        Recurrence {
            cycles,
            links,
            partial_forward: self.partial_forward,
        }
    }

    /// The nodes that led to a result, latest first, without the last third of the iterations, in
    /// which it may have left the chain, and the first, in which the chain may not be the
    /// longest yet.
    fn path_back(&self, node: usize, iterations: &Iterations, third: usize) -> Vec<u32> {
        let from = iterations.starts[third];
        let until = iterations.starts[iterations.starts.len() - third];
        let mut path = Vec::new();
        let mut at = node as u32;
        while at != NO_NODE && at as usize >= from {
            if (at as usize) < until {
                path.push(at);
            }
            at = self.waited_for[at as usize];
        }
        path
    }

    /// The part of the path between two visits of one instruction: the chain, exactly.
    fn cycle(&self, path: &[u32], iterations: &Iterations) -> Option<(f64, Vec<Link>)> {
        if !iterations.uniform {
            return None;
        }
        let first = *path.first()? as usize;
        let length = path.iter().position(|&node| {
            let node = node as usize;
            node != first && iterations.sequence[node] == iterations.sequence[first]
        })?;
        let start = path[length] as usize;
        let passed =
            iteration_of(first, iterations).checked_sub(iteration_of(start, iterations))?;
        if passed == 0 {
            return None;
        }
        let per_iteration = 1.0 / passed as f64;
        let cycles = (self.done[first] - self.done[start]) * per_iteration;
        let mut links: Vec<Link> = Vec::new();
        for &node in path[..length].iter().rev() {
            let instruction = iterations.sequence[node as usize];
            let before = self.waited_for[node as usize];
            let added = match before {
                NO_NODE => 0.0,
                before => self.done[node as usize] - self.done[before as usize],
            };
            match links.iter_mut().find(|l| l.instruction == instruction) {
                Some(link) => link.cycles += added * per_iteration,
                None => links.push(Link {
                    instruction,
                    cycles: added * per_iteration,
                }),
            }
        }
        // It has no beginning: let it begin where the iteration does.
        let place = |link: &Link| place_in_iteration(link.instruction, iterations);
        let first = (0..links.len()).min_by_key(|&i| place(&links[i]))?;
        links.rotate_left(first);
        Some((cycles, links))
    }

    /// The instructions that the path visits in at least half of its iterations.
    fn frequent(&self, path: &[u32], iterations: &Iterations) -> Vec<Link> {
        let Some((&newest, &oldest)) = path.first().zip(path.last()) else {
            return Vec::new();
        };
        let passed =
            iteration_of(newest as usize, iterations) - iteration_of(oldest as usize, iterations);
        let per_iteration = 1.0 / passed.max(1) as f64;
        let mut sums: Vec<(u32, f64, f64)> = Vec::new();
        for &node in path.iter().rev() {
            let instruction = iterations.sequence[node as usize];
            let before = self.waited_for[node as usize];
            let added = match before {
                NO_NODE => 0.0,
                before => self.done[node as usize] - self.done[before as usize],
            };
            match sums.iter_mut().find(|s| s.0 == instruction) {
                Some(sum) => {
                    sum.1 += 1.0;
                    sum.2 += added;
                }
                None => sums.push((instruction, 1.0, added)),
            }
        }
        let mut links: Vec<Link> = sums
            .into_iter()
            .filter(|sum| sum.1 * per_iteration >= MIN_EXECUTIONS_IN_CHAIN)
            .map(|(instruction, _, added)| Link {
                instruction,
                cycles: added * per_iteration,
            })
            .collect();
        links.sort_by_key(|link| place_in_iteration(link.instruction, iterations));
        links
    }
}

fn later(a: (f64, u32), b: (f64, u32)) -> (f64, u32) {
    // On a tie the one that has a cause, so that the path back does not end early.
    if b.0 > a.0 || (b.0 == a.0 && a.1 == NO_NODE) {
        b
    } else {
        a
    }
}

fn is_exchange(flow: &DataFlow) -> bool {
    flow.form.starts_with("fxch") && (flow.writes >> X87_TOP & 0xff).count_ones() == 2
}
