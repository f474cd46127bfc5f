//! What holds for any code.

use proptest::prelude::*;

use super::{Costs, Function, Table};
use genba_model::Estimate;

/// A loop of random instructions that do not leave it.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![
        (0u8..4, 0u8..8, 0u8..8).prop_map(|(op, a, b)| {
            let op = [0x01, 0x29, 0x31, 0x89][op as usize];
            vec![0x48, op, 0xc0 | a << 3 | b]
        }),
        (0u8..8, 0u8..8).prop_map(|(a, b)| vec![0x48, 0x0f, 0xaf, 0xc0 | a << 3 | b]),
        // mov r, [rbp + d8]; mov [rbp + d8], r; add [rbp + d8], r
        (0u8..3, 0u8..8, 0u8..4).prop_map(|(op, a, d)| {
            let op = [0x8b, 0x89, 0x01][op as usize];
            vec![0x48, op, 0x45 | a << 3, 0x80 + 8 * d]
        }),
        (0u8..8, 0u8..8).prop_map(|(a, b)| vec![0xf2, 0x0f, 0x58, 0xc0 | a << 3 | b]),
        (0u8..8).prop_map(|a| vec![0x48, 0x83, 0xc0 | a, 0x01]),
        Just(vec![0x31, 0xc0]),
        Just(vec![0x48, 0xf7, 0xf1]),
    ];
    prop::collection::vec(one, 1..14).prop_map(|list| list.concat())
}

/// The body closed by a backward `jne`.
fn looped(body: &[u8]) -> Function {
    let mut bytes = body.to_vec();
    let back = -(body.len() as i64 + 6);
    bytes.extend([0x0f, 0x85]);
    bytes.extend((back as i32).to_le_bytes());
    bytes.push(0xc3);
    Function::of(&bytes).iterations(1_000_000, 1000)
}

struct Slower<'a>(&'a Table, &'a str, f64);

impl Costs for Slower<'_> {
    fn latency(&self, form: &str) -> Option<Estimate> {
        let more = if form.starts_with(self.1) {
            self.2
        } else {
            0.0
        };
        let cost = self.0.latency(form)?;
        Some(Estimate::exact(cost.value + more))
    }

    fn throughput(&self, form: &str) -> Option<Estimate> {
        self.0.throughput(form)
    }
}

fn chain(function: &Function, table: &dyn Costs) -> f64 {
    let costs = function.costs(table);
    let cost = costs[0].as_ref().expect("executed");
    cost.chain_cycles.expect("modelled").value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_chain_is_longer_than_all_instructions(body in bodies()) {
        let function = looped(&body);
        let table = Table::default();
        let found = chain(&function, &table);
        let most: f64 = function.data_flow.iter().map(|flow| {
            let timing = crate::costs::Timing::of(flow, &table);
            timing.op.value + timing.load.value.max(timing.forward.value)
        }).sum();
        prop_assert!(found <= most + 1e-6, "{found} of {most}");
        prop_assert!(found >= 0.0);
    }

    #[test]
    fn a_slower_instruction_shortens_no_chain(
        body in bodies(),
        name in prop::sample::select(vec!["add", "imul", "mov r64, m64", "div", "addsd", "store"]),
        more in 0.5..20.0f64,
    ) {
        let function = looped(&body);
        let table = Table::default();
        let before = chain(&function, &table);
        let after = chain(&function, &Slower(&table, name, more));
        prop_assert!(after >= before - 1e-6, "{before} → {after}");
    }

    /// The same iterations from another place of the loop: the chain is the same.
    #[test]
    fn where_a_round_begins_does_not_matter(bodies in (bodies(), bodies())) {
        let (one, two) = bodies;
        let table = Table::default();
        let first = looped(&[one.clone(), two.clone()].concat());
        let second = looped(&[two, one].concat());
        // The jump reads flags only, wherever it stands.
        let (first, second) = (chain(&first, &table), chain(&second, &table));
        prop_assert!((first - second).abs() < 1e-6, "{first} {second}");
    }

    #[test]
    fn any_bytes_with_any_counts_are_data(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        counts in prop::collection::vec(prop::option::of(any::<u64>()), 300),
        taken in prop::collection::vec(prop::option::of(any::<u64>()), 300),
        samples in prop::collection::vec(0.0..1e6f64, 300),
        each in prop::option::of(0.0..1e12f64),
    ) {
        let mut function = Function::of(&bytes);
        let n = function.instructions.len();
        function.counts = counts[..n].to_vec();
        function.taken = taken[..n].to_vec();
        function.samples = samples[..n].to_vec();
        function.cycles_per_sample = each;
        for cost in function.costs(&Table::default()).into_iter().flatten() {
            prop_assert!(cost.chain.iter().all(|&i| (i as usize) < n));
            if let Some(chain) = cost.chain_cycles {
                prop_assert!(chain.low <= chain.value && chain.value <= chain.high);
            }
            if let Some(entries) = cost.entries {
                prop_assert!(entries <= cost.iterations);
            }
        }
    }

    /// Jumps back and forth inside, so that there are loops of every kind.
    #[test]
    fn any_tangle_of_jumps_is_data(
        parts in prop::collection::vec((bodies(), 0u8..4, 0usize..12), 1..12),
        counts in prop::collection::vec(prop::option::of(0u64..1000), 200),
        taken in prop::collection::vec(prop::option::of(0u64..1000), 200),
        samples in prop::collection::vec(0.0..1e3f64, 200),
    ) {
        let mut starts = Vec::new();
        let mut at = 0usize;
        for part in &parts {
            starts.push(at);
            at += part.0.len() + 6;
        }
        let mut bytes = Vec::new();
        for (body, kind, target) in &parts {
            bytes.extend(body);
            let target = starts[target % starts.len()] as i64;
            let from = bytes.len() as i64 + 6;
            match kind {
                0 => bytes.extend([0x90, 0xe9]),
                1 => bytes.extend([0x0f, 0x84]),
                _ => bytes.extend([0x0f, 0x85]),
            }
            bytes.extend(((target - from) as i32).to_le_bytes());
        }
        bytes.push(0xc3);
        let mut function = Function::of(&bytes);
        let n = function.instructions.len();
        let cycle = |list: &[Option<u64>]| (0..n).map(|i| list[i % 200]).collect::<Vec<_>>();
        function.counts = cycle(&counts);
        function.taken = cycle(&taken);
        function.samples = (0..n).map(|i| samples[i % 200]).collect();
        function.cycles_per_sample = Some(3.0);
        let costs = function.costs(&Table::default());
        prop_assert_eq!(costs.len(), function.flow.loops().len());
    }
}
