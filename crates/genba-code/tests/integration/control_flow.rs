//! Properties of blocks, dominators and loops on random graphs and random bytes.

use std::collections::BTreeSet;

use genba_code::{BlockId, ControlFlow, Disassembler, Flow, Syntax};
use proptest::prelude::*;

fn graph() -> impl Strategy<Value = (u32, Vec<(BlockId, BlockId)>)> {
    (1u32..40).prop_flat_map(|n| {
        let edges = proptest::collection::vec((0..n, 0..n), 0..(n as usize * 3));
        (Just(n), edges)
    })
}

/// Blocks reached from the entries without passing `avoid`.
fn reached(flow: &ControlFlow, entries: &[BlockId], avoid: Option<BlockId>) -> BTreeSet<BlockId> {
    let mut seen = BTreeSet::new();
    let mut stack: Vec<BlockId> = entries.to_vec();
    while let Some(block) = stack.pop() {
        if Some(block) != avoid && seen.insert(block) {
            stack.extend(&flow.blocks()[block as usize].successors);
        }
    }
    seen
}

/// The entry, and the blocks that the library says are entered from elsewhere.
fn entries(flow: &ControlFlow) -> Vec<BlockId> {
    (0..flow.blocks().len() as BlockId)
        .filter(|&b| b == 0 || !flow.blocks()[b as usize].known_entry)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_block_is_reached_from_an_entry((n, edges) in graph()) {
        let flow = ControlFlow::from_edges(n, &edges);
        prop_assert_eq!(reached(&flow, &entries(&flow), None).len(), n as usize);
        let from_first = reached(&flow, &[0], None);
        for (i, block) in flow.blocks().iter().enumerate() {
            prop_assert_eq!(block.reachable, from_first.contains(&(i as u32)));
            for &p in &block.predecessors {
                prop_assert!(flow.blocks()[p as usize].successors.contains(&(i as u32)));
            }
        }
    }

    #[test]
    fn dominators_equal_the_definition((n, edges) in graph()) {
        let flow = ControlFlow::from_edges(n, &edges);
        let entries = entries(&flow);
        for a in 0..n {
            let without = reached(&flow, &entries, Some(a));
            for b in 0..n {
                prop_assert_eq!(flow.dominates(a, b), a == b || !without.contains(&b),
                    "{} dominates {}", a, b);
            }
        }
    }

    #[test]
    fn loops_are_a_forest_of_strongly_connected_bodies((n, edges) in graph()) {
        let flow = ControlFlow::from_edges(n, &edges);
        for (i, l) in flow.loops().iter().enumerate() {
            let blocks: BTreeSet<_> = flow.loop_blocks(i as u32).iter().copied().collect();
            prop_assert_eq!(blocks.len(), flow.loop_blocks(i as u32).len());
            prop_assert!(blocks.contains(&l.head));
            prop_assert_eq!(l.last, *blocks.iter().max().unwrap());
            match l.parent {
                None => prop_assert_eq!(l.depth, 1),
                Some(parent) => {
                    let outer = &flow.loops()[parent as usize];
                    prop_assert!(parent < i as u32);
                    prop_assert_eq!(l.depth, outer.depth + 1);
                    prop_assert!(!blocks.contains(&outer.head));
                    let around: BTreeSet<_> = flow.loop_blocks(parent).iter().copied().collect();
                    prop_assert!(blocks.is_subset(&around));
                }
            }
            // From the head to every block and back, inside the loop.
            let inside = |from: BlockId, backward: bool| {
                let mut seen = BTreeSet::from([from]);
                let mut stack = vec![from];
                while let Some(b) = stack.pop() {
                    let block = &flow.blocks()[b as usize];
                    let next = if backward { &block.predecessors } else { &block.successors };
                    stack.extend(next.iter().filter(|x| blocks.contains(x) && seen.insert(**x)));
                }
                seen
            };
            prop_assert_eq!(&inside(l.head, false), &blocks);
            prop_assert_eq!(&inside(l.head, true), &blocks);
            let natural = blocks.iter().all(|&b| flow.dominates(l.head, b));
            prop_assert_eq!(natural, !l.irreducible, "loop at {}", l.head);
            for &b in &blocks {
                // The innermost loop of each block is this one or one inside.
                let mut at = flow.innermost_loop(b);
                while at.is_some() && at != Some(i as u32) {
                    at = flow.loops()[at.unwrap() as usize].parent;
                }
                prop_assert_eq!(at, Some(i as u32));
            }
        }
    }

    #[test]
    fn every_natural_back_edge_has_its_loop((n, edges) in graph()) {
        let flow = ControlFlow::from_edges(n, &edges);
        for (from, block) in flow.blocks().iter().enumerate() {
            for &head in &block.successors {
                if flow.dominates(head, from as u32) {
                    let found = flow.loops().iter().enumerate().any(|(i, l)| {
                        l.head == head && flow.loop_blocks(i as u32).contains(&(from as u32))
                    });
                    prop_assert!(found, "{} -> {}", from, head);
                }
            }
        }
        // And whatever can come back to itself is in some loop.
        for b in 0..n {
            let cyclic = reached(&flow, &flow.blocks()[b as usize].successors, None).contains(&b);
            prop_assert_eq!(flow.innermost_loop(b).is_some(), cyclic);
        }
    }

    #[test]
    fn control_flow_of_arbitrary_bytes_is_consistent(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for syntax in [Syntax::Intel, Syntax::Att] {
            let code = Disassembler::x86_64(syntax).disassemble(&bytes, 0x1000, &|_| None);
            // Every byte belongs to exactly one instruction.
            let mut at = 0x1000;
            for i in &code {
                prop_assert_eq!(i.address, at);
                prop_assert!(i.length >= 1 && i.length <= 15 && !i.text.is_empty());
                prop_assert_eq!(i.flow == Flow::Invalid, i.text == "(bad)");
                at = i.end();
            }
            prop_assert_eq!(at, 0x1000 + bytes.len() as u64);
            let flow = ControlFlow::build(&code);
            let mut next = 0;
            for (id, block) in flow.blocks().iter().enumerate() {
                prop_assert_eq!(block.instructions.start, next);
                prop_assert!(block.instructions.end > next);
                next = block.instructions.end;
                for i in block.instructions.clone() {
                    prop_assert_eq!(flow.block_of(i as usize), Some(id as u32));
                    for p in flow.predecessors(i as usize) {
                        let before = &code[p as usize];
                        let follows = before.flow.falls_through() && p + 1 == i;
                        let jumps = before.flow.jump_target() == Some(code[i as usize].address);
                        prop_assert!(follows || jumps);
                    }
                }
            }
            prop_assert_eq!(next as usize, code.len());
        }
    }
}

/// Graphs that make quadratic methods slow; no clock is looked at: were they quadratic, the
/// test would run for minutes.
#[test]
fn large_pathological_graphs_are_analysed() {
    let n = 200_000u32;
    let chain = |k: u32| (k, k + 1);
    let nested: Vec<_> = (0..n - 1)
        .map(chain)
        .chain((1..n / 2).map(|k| (n - 1 - k, k)))
        .collect();
    let flow = ControlFlow::from_edges(n, &nested);
    assert_eq!(flow.loops().len() as u32, n / 2 - 1);
    assert_eq!(flow.loops().iter().map(|l| l.depth).max(), Some(n / 2 - 1));
    let ladder: Vec<_> = (0..n - 2)
        .flat_map(|k| [(k, k + 1), (k + 1, k), (k, k + 2)])
        .collect();
    assert!(ControlFlow::from_edges(n, &ladder).loops().len() > 1);
    let one_head: Vec<_> = (0..n - 1)
        .map(chain)
        .chain((1..n).map(|k| (k, 0)))
        .collect();
    assert_eq!(ControlFlow::from_edges(n, &one_head).loops().len(), 1);
}

#[test]
fn jump_to_itself_is_a_loop() {
    // 0: xor eax,eax; 2: jmp 2; 4: ret
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[0x31, 0xc0, 0xeb, 0xfe, 0xc3],
        0,
        &|_| None,
    );
    let flow = ControlFlow::build(&code);
    assert_eq!(flow.loops().len(), 1);
    let only = &flow.loops()[0];
    assert_eq!((only.depth, only.last, only.irreducible), (1, 1, false));
    assert_eq!(flow.predecessors(1).as_slice(), [0, 1]);
    assert!(!flow.blocks()[2].reachable && !flow.blocks()[2].known_entry);
    assert!(flow.predecessors(2).is_empty() && flow.predecessors(0).is_empty());
}

#[test]
fn instruction_after_a_call_is_in_its_block() {
    // 0: call 0x100; 5: test eax,eax; 7: je 0xb; 9: ud2; b: ret
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[
            0xe8, 0xfb, 0, 0, 0, 0x85, 0xc0, 0x74, 0x02, 0x0f, 0x0b, 0xc3,
        ],
        0,
        &|a| (a == 0x100).then(|| "f".to_owned()),
    );
    assert_eq!(code[0].text, "call <f>");
    let flow = ControlFlow::build(&code);
    assert_eq!(flow.predecessors(1).as_slice(), [0]);
    assert_eq!(flow.predecessors(4).as_slice(), [2]);
    assert_eq!(flow.blocks().len(), 3);
}

#[test]
fn padding_is_not_an_entry_of_a_loop() {
    // 0: jmp 6; 2: nop; 3: inc eax; 5: nop; 6: dec edi; 8: jne 3; a: ret — a loop entered at
    // its test, its body aligned by a nop that never runs.
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[
            0xeb, 0x04, 0x90, 0xff, 0xc0, 0x90, 0xff, 0xcf, 0x75, 0xf9, 0xc3,
        ],
        0,
        &|_| None,
    );
    let flow = ControlFlow::build(&code);
    assert_eq!(flow.predecessors(2).as_slice(), [5]);
    assert_eq!(flow.loops().len(), 1);
    assert!(!flow.loops()[0].irreducible);
    assert_eq!(flow.loops()[0].head, flow.block_of(4).unwrap());
    // A nop that is run is not padding.
    assert_eq!(flow.predecessors(4).as_slice(), [0, 3]);
}

#[test]
fn observed_indirect_targets_close_a_dispatch_loop() {
    // 0: jmp rax; 2: inc eax; 4: jmp rax; 6: dec edi; 8: jmp rax; a: ret
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[
            0xff, 0xe0, 0xff, 0xc0, 0xff, 0xe0, 0xff, 0xcf, 0xff, 0xe0, 0xc3,
        ],
        0,
        &|_| None,
    );
    let blind = ControlFlow::build(&code);
    assert!(blind.has_indirect_jumps() && blind.loops().is_empty());
    let seen = |jump: &genba_code::Instruction| match jump.address {
        0 => vec![2],
        4 => vec![6, 0x1000],
        // An address inside an instruction is none.
        8 => vec![2, 3, 0xa],
        _ => Vec::new(),
    };
    let flow = ControlFlow::build_with(&code, seen, |_| false, |_| false);
    assert!(!flow.has_indirect_jumps());
    assert_eq!(flow.loops().len(), 1);
    assert_eq!(flow.predecessors(1).as_slice(), [0, 4]);
    assert!(flow.blocks().iter().all(|block| block.known_entry));
}

#[test]
fn call_that_was_skipped_does_not_enter_the_loop_behind_it() {
    // A loop from b to f, entered at d by a jump, and at b behind a call.
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[
            0x85, 0xff, // 0: test edi,edi
            0x79, 0x09, // 2: jns 0xd
            0x90, 0x90, // 4: nop; nop
            0xe8, 0xf5, 0x00, 0x00, 0x00, // 6: call 0x100
            0xff, 0xc0, // b: inc eax
            0xff, 0xcf, // d: dec edi
            0x75, 0xfa, // f: jne 0xb
            0xc3, // 11: ret
        ],
        0,
        &|_| None,
    );
    let returns = ControlFlow::build(&code);
    assert_eq!(returns.loops().len(), 1);
    assert!(returns.loops()[0].irreducible);
    let skipped = |call: &genba_code::Instruction| call.address == 6;
    let flow = ControlFlow::build_with(&code, |_| Vec::new(), skipped, |_| false);
    assert_eq!(flow.loops().len(), 1);
    assert!(!flow.loops()[0].irreducible);
}

#[test]
fn cases_that_never_ran_do_not_enter_the_loop_that_they_go_back_to() {
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(
        &[
            0xff, 0xe0, // 0: jmp rax
            0xff, 0xc0, // 2: inc eax
            0xff, 0xcf, // 4: dec edi
            0x75, 0xfa, // 6: jne 2
            0xc3, // 8: ret
            0x74, 0x01, // 9: je 0xc
            0x90, // b: nop
            0x74, 0xfb, // c: je 9
            0xeb, 0xf4, // e: jmp 4
        ],
        0,
        &|_| None,
    );
    let seen = |_: &genba_code::Instruction| vec![2];
    let unknown = ControlFlow::build_with(&code, seen, |_| false, |_| false);
    assert!(unknown.loops()[0].irreducible);
    let flow = |ran_last: bool| {
        let never_ran =
            |one: &genba_code::Instruction| one.address >= 9 && !(ran_last && one.address == 0xe);
        ControlFlow::build_with(&code, seen, |_| false, never_ran)
    };
    assert_eq!(flow(false).loops().len(), 1);
    assert!(!flow(false).loops()[0].irreducible);
    // What ran came from somewhere.
    assert!(flow(true).loops()[0].irreducible);
}
