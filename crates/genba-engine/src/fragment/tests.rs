//! Properties of fragments of random code: at every offset, the program's state can be recovered.

use std::collections::BTreeSet;

use iced_x86::InstructionInfoFactory;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::liveness::tests::Bytes;
use crate::state_recovery::{BlockView, FragmentView, SavedRegisters, recover};

const PC: u64 = 0x7F00_0000;
const BASE: u64 = 0x7E00_0000;

/// A build context that knows only some code.
struct FakeContext<'a> {
    code: Bytes<'a>,
    counters: u32,
    /// Lengths of the instructions that a counter counts.
    lengths: Vec<Vec<u8>>,
    transfers: bool,
}

impl ProgramCode for FakeContext<'_> {
    fn bytes(&self, pc: u64) -> &[u8] {
        self.code.bytes(pc)
    }
}

impl BuildContext for FakeContext<'_> {
    fn known(&self, pc: u64) -> Option<u64> {
        pc.is_multiple_of(5).then_some(BASE + 0x10_0000)
    }

    fn call_site(&self, returns_to: u64) -> Option<u64> {
        returns_to.is_multiple_of(7).then_some(BASE + 0x20_0000)
    }

    fn counter(&mut self, block: &Block, _: bool) -> Result<u32, Error> {
        self.counters += 1;
        let lengths = block.instructions.iter().map(|one| one.len() as u8);
        self.lengths.push(lengths.collect());
        Ok(self.counters - 1)
    }

    fn records(&self, from: u64, _: Option<u64>) -> bool {
        self.transfers && !from.is_multiple_of(3)
    }

    fn enters(&mut self, _: u64) {}

    fn transfer(&mut self, _: u64, _: u64) -> Result<u32, Error> {
        self.counters += 1;
        self.lengths.push(Vec::new());
        Ok(self.counters - 1)
    }

    fn site(&mut self, _: u64) -> u32 {
        3
    }

    fn table(&self) -> u32 {
        0x7000_0000
    }
}

impl ObserveContext for FakeContext<'_> {
    fn describe(&mut self, _: &[u32]) -> Result<u32, Error> {
        Ok(77)
    }
}

/// Instructions that make blocks of every kind; operands are random.
fn instructions() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(vec![0x48, 0x01, 0xC8]),
        Just(vec![0x8B, 0x07]),
        Just(vec![0x50]),
        Just(vec![0x01, 0x07]),
        Just(vec![0x0F, 0x11, 0x44, 0x97, 0x08]),
        Just(vec![0xF3, 0xA5]),
        Just(vec![0x64, 0x48, 0x8B, 0x04, 0x25, 0x28, 0, 0, 0]),
        Just(vec![0xFF, 0xD0]),
        Just(vec![0xFF, 0xE1]),
        Just(vec![0xC3]),
        Just(vec![0x0F, 0x05]),
        Just(vec![0x0F, 0x0B]),
        (0u8..120).prop_map(|to| vec![0x75, to]),
        (130u8..=253).prop_map(|to| vec![0x74, to]),
        (0u8..100).prop_map(|to| vec![0xE3, to]),
        (0u8..100).prop_map(|to| vec![0xEB, to]),
        (0u8..200).prop_map(|to| vec![0xE8, to, 0, 0, 0]),
        (0u8..200).prop_map(|at| vec![0x48, 0x8B, 0x05, at, 0, 0, 0]),
        any::<[u8; 6]>().prop_map(|bytes| bytes.to_vec()),
    ];
    prop::collection::vec(piece, 1..60).prop_map(|pieces| pieces.concat())
}

/// Jumps and calls in all their forms, before and among the rest: with 8 and 32 bits, forwards and
/// backwards, and with prefixes that make them as long as each other.
fn branches_and_instructions() -> impl Strategy<Value = Vec<u8>> {
    let displacement = any::<[u8; 2]>().prop_map(|[low, high]| match high % 3 {
        0 => [low, 0, 0, 0],
        1 => [low, 0xFF, 0xFF, 0xFF],
        _ => [low, high, 0, 0],
    });
    let prefixes = prop::collection::vec(
        prop::sample::select(&[0x26, 0x2E, 0x3E, 0x36, 0xF2][..]),
        0..6,
    );
    let branch = (0u8..8, any::<u8>(), displacement, prefixes).prop_map(
        |(kind, number, displacement, prefixes)| {
            let branch = match kind {
                0..=2 => [&[0x0F, 0x80 | number & 15], &displacement[..]].concat(),
                3 | 4 => vec![0x70 | number & 15, displacement[0]],
                5 => vec![0xE0 | number & 3, displacement[0]],
                6 => [&[0xE8], &displacement[..]].concat(),
                _ => [&[0xE9], &displacement[..]].concat(),
            };
            [prefixes, branch].concat()
        },
    );
    (prop::collection::vec(branch, 0..4), instructions())
        .prop_map(|(branches, pieces)| [branches.concat(), pieces].concat())
}

/// Guards the property below, which would not test a mark that its code never has.
#[test]
fn random_code_has_every_mark() {
    let mut runner = TestRunner::deterministic();
    let mut marks = BTreeSet::new();
    for _ in 0..100 {
        let tree = branches_and_instructions().new_tree(&mut runner);
        let code = tree.expect("code").current();
        let landing_pads = [None, Some(LandingPad::Jump), Some(LandingPad::Return)];
        // Return addresses above 2 GiB do not fit an immediate: calls push them in another way.
        let places = [(PC, BASE), (0x5555_5555_4000, 0x5555_5000_0000)];
        for (landing, (pc, base)) in landing_pads
            .into_iter()
            .flat_map(|landing| places.map(|place| (landing, place)))
        {
            let mut context = FakeContext {
                code: Bytes(pc, &code),
                counters: 0,
                lengths: Vec::new(),
                transfers: true,
            };
            let mut factory = InstructionInfoFactory::new();
            let counting = build(&mut context, &mut factory, pc, landing, base, 1);
            let observing = build_observing(&mut context, &mut factory, pc, base, 1);
            for fragment in counting.ok().into_iter().chain(observing.ok().flatten()) {
                marks.extend(fragment.marks.iter().map(|marked| marked.mark as u8));
            }
        }
    }
    assert!(
        marks.iter().copied().eq(0..=Mark::ExitStub as u8),
        "{marks:?}"
    );
}

/// Disassembles a fragment; for each instruction, the recovered program counter relative to the
/// code.
fn recovered_addresses(code: &[u8], rcx: u64) -> Vec<(String, u64)> {
    use iced_x86::{Decoder, Formatter, IntelFormatter};
    let mut context = FakeContext {
        code: Bytes(PC, code),
        counters: 0,
        lengths: Vec::new(),
        transfers: false,
    };
    let mut factory = InstructionInfoFactory::new();
    let fragment = build(&mut context, &mut factory, PC, None, BASE, 1).expect("a fragment");
    let view = FragmentView {
        marks: &fragment.marks,
        block: |index: usize| {
            let block = &fragment.blocks[index];
            BlockView {
                pc: block.pc,
                target: block.target,
                lengths: (context.lengths.get(block.counter as usize)).map_or(&[], Vec::as_slice),
            }
        },
        stub: |_| Some(0),
    };
    let mut registers = [0u64; 16];
    registers[1] = rcx;
    let mut formatter = IntelFormatter::new();
    Decoder::with_ip(64, &fragment.emitter.code, BASE, 0)
        .into_iter()
        .filter_map(|instruction| {
            let offset = (instruction.ip() - BASE) as u16;
            let found = recover(
                &view,
                offset,
                &registers,
                SavedRegisters {
                    rax: 0,
                    rcx,
                    rdx: 0,
                    target: 0,
                },
            )?;
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            Some((text, found.pc.wrapping_sub(PC)))
        })
        .collect()
}

/// `loop` counts down, so recovery after it must not go back to before it, nor to its other path.
/// (Where the fall-through path is a jump, it once did, and a signal there made the loop count down
/// from 0.)
#[test]
fn recovery_after_a_loop_instruction_does_not_repeat_it() {
    // 3: add rax,rcx; loop 3; then a block that is translated already, so that a jump leads there.
    let code = [
        0x90, 0x90, 0x90, 0x48, 0x01, 0xC8, 0xE2, 0xFB, 0x90, 0x90, 0xC3,
    ];
    let mut jumps = 0;
    for skipped in 0..8 {
        let from = 3;
        let code = [&code[..from], &vec![0x90; skipped], &code[from..]].concat();
        let looping = (from + skipped + 3) as u64;
        let places = recovered_addresses(&code, 0);
        let at = places
            .iter()
            .position(|(text, _)| text.starts_with("loop"))
            .expect("a loop");
        assert_eq!(places[at].1, looping);
        assert_eq!(places[at + 1].1, looping + 2, "{places:?}");
        assert_eq!(places[at + 2].1, looping - 3, "{places:?}");
        for (text, place) in &places[at + 3..] {
            if text.starts_with("jmp near") || text.starts_with("nop") {
                assert!(*place >= looping + 2, "{text} {place} {places:?}");
                jumps += 1;
                break;
            }
        }
    }
    assert!(jumps > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn every_offset_of_a_fragment_recovers_to_an_instruction_of_the_program(
        code in branches_and_instructions(),
        landing in 0..3,
        transfers: bool,
        observing: bool,
    ) {
        let landing = [None, Some(LandingPad::Jump), Some(LandingPad::Return)][landing as usize];
        let mut context = FakeContext { code: Bytes(PC, &code), counters: 0, lengths: Vec::new(), transfers };
        let mut factory = InstructionInfoFactory::new();
        let built = match observing {
            true => build_observing(&mut context, &mut factory, PC, BASE, 1).unwrap_or(None),
            false => build(&mut context, &mut factory, PC, landing, BASE, 1).ok(),
        };
        let Some(fragment) = built else { return Ok(()) };
        let marks = &fragment.marks;
        prop_assert!(marks.windows(2).all(|two| two[0].offset <= two[1].offset));
        prop_assert_eq!(marks.first().map(|first| first.offset), Some(0));
        for marked in marks {
            prop_assert!(usize::from(marked.block) < fragment.blocks.len(), "{:?}", marked);
        }
        for exit in &fragment.exits {
            let site = BASE + u64::from(exit.site);
            prop_assert_eq!(site / 64, (site + 3) / 64, "a displacement crosses a line");
        }
        // A landing pad is for the block that follows it.
        for &(pc, offset) in fragment.landing_pads.iter().chain(&fragment.returns) {
            let at = marks.iter().find(|marked| marked.offset == offset).expect("a mark");
            prop_assert_eq!(fragment.blocks[usize::from(at.block)].pc, pc);
        }
        let view = FragmentView {
            marks,
            block: |index: usize| {
                let block = &fragment.blocks[index];
                let lengths = context.lengths.get(block.counter as usize);
                BlockView { pc: block.pc, target: block.target, lengths: lengths.map_or(&[], Vec::as_slice) }
            },
            stub: |_| Some(PC),
        };
        let aside = SavedRegisters { rax: 11, rcx: 12, rdx: 13, target: PC };
        let mut registers = [0u64; 16];
        registers[1] = PC;
        let starts: BTreeSet<u64> = (0..fragment.blocks.len())
            .map(|index| (view.block)(index))
            .flat_map(|block| (0..=block.lengths.len()).map(move |index| block.address(index)))
            .collect();
        for offset in 0..fragment.emitter.offset() {
            let found = recover(&view, offset as u16, &registers, aside);
            if let Some(found) = found {
                if let Some(correction) = found.correction {
                    let block = &fragment.blocks[correction.block];
                    prop_assert!(correction.from < usize::from(block.instructions));
                }
                // A taken jump goes wherever its random displacement says.
                let mut before = marks.iter().rev();
                let last = before.find(|marked| usize::from(marked.offset) <= offset);
                let near = !matches!(
                    last.map(|marked| marked.mark),
                    Some(
                        Mark::Taken
                            | Mark::TakenRaxSaved
                            | Mark::TakenUnrecorded
                            | Mark::TakenUnrecordedRaxSaved
                    )
                );
                if near && found.next_at.is_none() {
                    let from_block = starts.contains(&found.pc) || found.pc == PC;
                    prop_assert!(from_block, "{:#x}: {:?}", found.pc, last);
                }
            }
        }
    }
}
