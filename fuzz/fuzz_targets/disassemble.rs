//! Machine code from anywhere: disassembly, basic blocks, dominators, loops. Beyond "no
//! panic": instructions without gaps, and a flow graph whose parts fit together.
#![no_main]

use genba_code::{ControlFlow, Disassembler, Syntax};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, bool, &[u8])| {
    let (address, intel, bytes) = input;
    let syntax = if intel { Syntax::Intel } else { Syntax::Att };
    let code = Disassembler::x86_64(syntax).disassemble(bytes, address, &|_| None);
    let length: u64 = code.iter().map(|i| u64::from(i.length)).sum();
    assert_eq!(length, bytes.len() as u64, "bytes without an instruction");

    let flow = ControlFlow::build(&code);
    for index in 0..code.len() {
        let block = flow.block_of(index).expect("every instruction is in a block");
        assert!(flow.blocks()[block as usize].instructions.contains(&(index as u32)));
        for before in flow.predecessors(index) {
            assert!((before as usize) < code.len());
        }
        if let Some(l) = flow.loop_of_instruction(index) {
            assert!(flow.loop_blocks(l).contains(&block));
        }
    }
    for l in flow.loops() {
        std::hint::black_box(l);
    }
});
