//! A program or library from anywhere: everything that can be asked of it, at addresses that
//! it names itself and at some that it does not.
#![no_main]

use genba_code::{ControlFlow, Syntax, disassemble};
use genba_symbols::Binary;
use libfuzzer_sys::fuzz_target;

fn ask(binary: &Binary, address: u64) {
    let _ = binary.symbol_at(address);
    let _ = binary.name_address(address);
    let _ = binary.aliases(address);
    let _ = binary.line_at(address);
    let _ = binary.function_at(address);
    if let Some(range) = binary.function_range_at(address) {
        assert!(range.contains(&address));
    }
    let _ = binary.compile_unit_at(address);
    for frame in binary.frames_at(address) {
        std::hint::black_box(frame);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(binary) = Binary::from_bytes(bytes, "fuzz") else {
        return;
    };
    let _ = binary.check_debug_info();
    let _ = binary.build_id();
    let _ = binary.text_size();
    let _ = binary.symbols_source();
    for section in binary.sections().iter().take(64) {
        ask(&binary, section.address);
    }
    for segment in binary.segments().iter().take(64) {
        ask(&binary, segment.address);
        let _ = binary.file_offset_to_svma(segment.file_offset);
        let _ = binary.bytes_at(segment.address, u64::MAX);
    }
    for symbol in binary.symbols().take(50) {
        ask(&binary, symbol.address);
        let end = symbol.address.saturating_add(symbol.size.min(2000));
        ask(&binary, end.wrapping_sub(1));
        if let Ok(code) = disassemble(&binary, symbol.address, end, Syntax::Intel) {
            let flow = ControlFlow::build(&code);
            std::hint::black_box(flow.loops().len());
        }
        let mut frames = binary.frames_in(symbol.address..end);
        for address in [symbol.address, end.wrapping_sub(1), end] {
            std::hint::black_box(frames.at(address));
        }
        // What has a symbol of the name must not be passed over.
        if let Some(word) = genba_symbols::word_of(&symbol.name)
            && symbol.name.contains(word)
        {
            assert!(symbol.is_plt() || binary.may_name(word), "{word}");
            let mut with_word = binary.symbols_with(word);
            assert!(with_word.any(|other| other.address == symbol.address));
        }
        let _ = binary.find(&symbol.display_name());
    }
    for address in [0, 1, 0x1000, 0x40_1000, u64::MAX - 1, u64::MAX] {
        ask(&binary, address);
        let _ = disassemble(&binary, address, address.saturating_add(64), Syntax::Att);
    }
});
