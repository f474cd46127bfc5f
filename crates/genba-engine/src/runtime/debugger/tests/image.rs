//! The image has room for all zones, and a reader finds the rules in it for every address of them.

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};

use super::laid::LISTS;
use crate::runtime::debugger::image::{BYTES, Image, ZONES};
use crate::runtime::debugger::rules::{NUMBERS, Want};
use crate::state::register;

/// Contents of the section with this name, as the image's own headers say.
fn section<'a>(image: &'a [u8], wanted: &str) -> &'a [u8] {
    let number = |at: usize, size: usize| {
        let bytes = image[at..at + size].iter().rev();
        bytes.fold(0, |value, &byte| value << 8 | usize::from(byte))
    };
    let (headers, count, names) = (number(40, 8), number(60, 2), number(62, 2));
    let header = |index: usize| headers + index * 64;
    let contents = |at: usize| &image[number(at + 24, 8)..][..number(at + 32, 8)];
    let names = contents(header(names));
    let mut found = (0..count).map(header).filter(|&at| {
        let name = &names[number(at, 4)..];
        name.starts_with(wanted.as_bytes()) && name[wanted.len()] == 0
    });
    contents(found.next().expect("the section"))
}

#[test]
fn every_zone_has_the_rules() {
    let mut words = vec![0u64; BYTES / 8];
    let base = words.as_mut_ptr() as usize;
    // SAFETY: zeros, and ours until the end of the test.
    let mut image = unsafe { Image::new(base, &LISTS) }.expect("room");
    let zone = |index: usize| (index as u64 + 1) << 32;
    for index in 0..ZONES {
        image.zone(zone(index), zone(index) + 0x1000, index == 3);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let frames = DebugFrame::new(section(&bytes, ".debug_frame"), LittleEndian);
    let mut context = UnwindContext::new();
    for index in 0..ZONES {
        for address in [zone(index), zone(index) + 0xFFF] {
            let engine = index == 3;
            let rule = |want| match engine {
                true => LISTS.in_engine(want),
                false => LISTS.in_copy(want),
            };
            let row = frames
                .unwind_info_for_address(
                    &BaseAddresses::default(),
                    &mut context,
                    address,
                    DebugFrame::cie_from_offset,
                )
                .expect("a frame");
            let CfaRule::Expression(cfa) = row.cfa() else {
                panic!("{:?}", row.cfa());
            };
            let text = cfa.get(&frames).expect("an expression");
            assert_eq!(text.0.slice(), rule(Want::Stack));
            let pc = row.register(Register(16));
            let mut rules = vec![(Want::Pc, pc)];
            for (number, &own) in (0..).zip(&NUMBERS) {
                let found = row.register(Register(u16::from(own)));
                match number {
                    register::RSP => assert_eq!(found, Some(RegisterRule::ValOffset(0))),
                    register::RAX | register::RCX => rules.push((Want::Register(number), found)),
                    _ if engine => rules.push((Want::Register(number), found)),
                    _ => assert_eq!(found, Some(RegisterRule::SameValue)),
                }
            }
            for (want, found) in rules {
                let Some(RegisterRule::ValExpression(found)) = found else {
                    panic!("{found:?}");
                };
                let text = found.get(&frames).expect("an expression");
                assert_eq!(text.0.slice(), rule(want));
            }
        }
    }
    let beyond = frames.fde_for_address(
        &BaseAddresses::default(),
        zone(0) - 1,
        DebugFrame::cie_from_offset,
    );
    assert!(beyond.is_err());
}
