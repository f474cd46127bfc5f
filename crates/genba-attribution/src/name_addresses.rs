//! Names for the functions of samples that another program took without them: samply writes addresses and names them when
//! it serves the profile.

use std::collections::HashMap;

use genba_model::{CodeKind, SampledDetail, SampledFunction};
use genba_symbols::{Binary, FunctionSymbol, Module, ModuleCode, ModuleKind, build_id_from_hex};

/// Names the functions whose name is their address (`0x11a1`) from the files of their modules, if these are those that were
/// sampled, by their build id. Returns the number of functions that still have an address for a name.
pub fn name_addresses(detail: &mut SampledDetail) -> usize {
    let mut binaries: HashMap<u32, Option<Box<Binary>>> = HashMap::new();
    let mut named: HashMap<SampledFunction, u32> = HashMap::new();
    for index in 0..detail.frames.len() {
        let frame = detail.frames[index];
        let function = &detail.functions[frame.function as usize];
        let (Some(module), Some(address)) = (function.module, frame.address) else {
            continue;
        };
        if !is_address(&function.name) || function.kind != CodeKind::User {
            continue;
        }
        let binary = (binaries.entry(module)).or_insert_with(|| open(detail, module));
        let Some(binary) = binary.as_deref() else {
            continue;
        };
        // Addresses count from the first byte of the module's memory.
        let base = binary
            .segments()
            .iter()
            .map(|segment| segment.address)
            .min();
        let address = address.saturating_add(base.unwrap_or(0));
        let Some(symbol) = binary.symbol_at(address) else {
            continue;
        };
        let line = (binary.frames_at(address).into_iter()).next_back();
        let line = line.filter(|frame| !frame.inlined);
        let file = line.as_ref().and_then(|frame| frame.file.as_deref());
        let file = file.map(|path| file_index(&mut detail.files, path));
        let function = SampledFunction {
            name: FunctionSymbol::from(&symbol).name,
            module: Some(module),
            file,
            line: None,
            kind: CodeKind::User,
        };
        let known = *named.entry(function).or_insert_with_key(|function| {
            detail.functions.push(function.clone());
            detail.functions.len() as u32 - 1
        });
        let frame = &mut detail.frames[index];
        frame.function = known;
        frame.address = Some(address);
        frame.file = file;
        frame.line = line.and_then(|frame| frame.line);
    }
    let mut unnamed: Vec<u32> = (detail.frames.iter())
        .map(|frame| frame.function)
        .filter(|&function| is_address(&detail.functions[function as usize].name))
        .collect();
    unnamed.sort_unstable();
    unnamed.dedup();
    unnamed.len()
}

/// Whether a name is an address.
fn is_address(name: &str) -> bool {
    let digits = name.strip_prefix("0x");
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The file of a module, if its build id is that of the samples.
fn open(detail: &SampledDetail, module: u32) -> Option<Box<Binary>> {
    let module = detail.modules.get(module as usize)?;
    let module = Module {
        path: module.path.clone(),
        build_id: Some(build_id_from_hex(module.build_id.as_deref()?)?),
        kind: ModuleKind::File,
        pid: None,
    };
    match ModuleCode::open_file(&module) {
        ModuleCode::Binary(binary) if binary.build_id().is_some() => Some(binary),
        _ => None,
    }
}

fn file_index(files: &mut Vec<String>, path: &str) -> u32 {
    let known = files.iter().position(|file| file == path);
    let index = known.unwrap_or_else(|| {
        files.push(path.to_owned());
        files.len() - 1
    });
    index as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{Event, Precision, SampleUnit, SampledDetailBuilder, SampledFrame};

    /// Samples at addresses of this test program: in `marker`, and where nothing is.
    fn detail(build_id: Option<String>) -> SampledDetail {
        let event = Event {
            name: "samples".to_owned(),
            hardware: true,
            frequency_hz: 0,
            kernel: false,
            precision: Precision::Skid,
        };
        let mut b = SampledDetailBuilder::new(event, SampleUnit::Count, Vec::new());
        let program = std::env::current_exe().expect("a path");
        let binary = Binary::open(&program).expect("it is read");
        let build_id = build_id.or_else(|| binary.build_id());
        let module = b.module(program.to_str().expect("UTF-8"), build_id);
        let base = (binary.segments().iter().map(|one| one.address).min()).expect("segments");
        for address in [binary.entry_point() - base, u64::MAX - 1] {
            let function = b.function(SampledFunction {
                name: format!("{address:#x}"),
                module: Some(module),
                ..SampledFunction::default()
            });
            b.frame(SampledFrame {
                function,
                address: Some(address),
                ..SampledFrame::default()
            });
        }
        b.detail
    }

    #[test]
    fn addresses_get_the_names_of_the_file_that_was_sampled() {
        let mut known = detail(None);
        if known.modules[0].build_id.is_none() {
            genba_testing::skip("name_addresses", genba_testing::MACHINE, "no build id");
            return;
        }
        assert_eq!(name_addresses(&mut known), 1);
        let frame = known.frames[0];
        assert_eq!(known.function(&frame).name, "_start");
        // Another build: addresses stay.
        assert_eq!(name_addresses(&mut detail(Some("ab".repeat(20)))), 2);
    }

    #[test]
    fn only_names_that_are_addresses_are_replaced() {
        assert!(is_address("0x11a1") && is_address("0xFF"));
        assert!(!is_address("0x") && !is_address("0xyz") && !is_address("main"));
    }
}
