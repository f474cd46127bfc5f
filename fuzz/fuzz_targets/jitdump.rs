//! A jitdump, and the ELF file that is made of it.
#![no_main]

use genba_profile::jit::{code_index, elf_image, jitdump};
use genba_symbols::Binary;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(functions) = jitdump::parse(bytes) else {
        let _ = code_index::parse(&String::from_utf8_lossy(bytes));
        return;
    };
    // Sizes are those of code that is in the file, so that the image is bounded by it.
    let (file, placed) = elf_image::write(&functions);
    let entries = code_index::entries(&functions, &placed);
    assert_eq!(code_index::parse(&code_index::write(&entries)), entries);
    let binary = Binary::from_bytes(file.clone(), "image").expect("an ELF file");
    for one in &placed {
        let function = &functions[one.function];
        let at = one.offset as usize;
        let code = &function.code[..];
        assert_eq!(&file[at..at + code.len()], code);
        if let Some(address) = binary.file_offset_to_svma(one.offset) {
            let _ = binary.frames_at(address);
        }
    }
});
