//! Prints what the crate finds in a binary, for comparison with `nm`, `addr2line`, `objdump`.
//!
//! `inspect symbols FILE` · `inspect lines FILE < addresses` · `inspect frames FILE < addresses`
//! · `inspect time FILE < addresses` · `inspect code FILE SECTION` · `inspect flow FILE`

use std::io::{BufRead, Write};

use genba_code::{ControlFlow, Disassembler, Syntax, disassemble};
use genba_symbols::{Binary, DebugSearch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(what), Some(path)) = (arguments.first(), arguments.get(1)) else {
        return Err("usage: inspect symbols|lines|frames|time|code|flow FILE [SECTION]".into());
    };
    let started = std::time::Instant::now();
    let search = match std::env::var_os("INSPECT_DEBUG_ROOT") {
        Some(root) => DebugSearch {
            roots: vec![root.into()],
            caches: Vec::new(),
        },
        None => DebugSearch::default(),
    };
    let binary = Binary::open_with(path, search)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let addresses = || {
        std::io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).ok())
    };
    match what.as_str() {
        "symbols" => {
            for s in binary.symbols() {
                writeln!(out, "{:016x} {:x} {}", s.address, s.size, s.name)?;
            }
            eprintln!("{}", binary.symbols_source());
        }
        "lines" => {
            for address in addresses() {
                let line = binary.line_at(address);
                let file = line
                    .as_ref()
                    .and_then(|l| l.file.as_deref())
                    .unwrap_or("??");
                let number = line.as_ref().and_then(|l| l.line).unwrap_or(0);
                writeln!(out, "{address:#x} {file}:{number}")?;
            }
        }
        "frames" => {
            for address in addresses() {
                writeln!(out, "{address:#x}")?;
                for frame in binary.frames_at(address) {
                    writeln!(out, "{}", frame.function.as_deref().unwrap_or("??"))?;
                    let file = frame.file.as_deref().unwrap_or("??");
                    writeln!(out, "{file}:{}", frame.line.unwrap_or(0))?;
                }
            }
            binary.check_debug_info()?;
        }
        "time" => {
            let addresses: Vec<u64> = addresses().collect();
            let at = |what: &str| eprintln!("{what}: {:.3} s", started.elapsed().as_secs_f64());
            at("open and read");
            let lines = addresses
                .iter()
                .filter(|&&a| binary.line_at(a).is_some())
                .count();
            at("lines");
            let frames: usize = addresses.iter().map(|&a| binary.frames_at(a).len()).sum();
            at("frames");
            let again: usize = addresses.iter().map(|&a| binary.frames_at(a).len()).sum();
            at("frames again");
            let symbols = addresses
                .iter()
                .filter(|&&a| binary.symbol_at(a).is_some())
                .count();
            at("symbols");
            writeln!(
                out,
                "{} addresses, {lines} lines, {frames}={again} frames, {symbols} symbols",
                addresses.len()
            )?;
        }
        "code" => {
            let name = arguments.get(2).map_or(".text", String::as_str);
            let section = binary
                .sections()
                .iter()
                .find(|s| s.name == name)
                .ok_or("no such section")?;
            let bytes = binary
                .bytes_at(section.address, section.size)
                .unwrap_or(&[]);
            let disassembler = Disassembler::new(binary.architecture(), Syntax::Intel)?;
            for i in disassembler.disassemble(bytes, section.address, &|_| None) {
                writeln!(
                    out,
                    "{:x} {} {:?} {:?} {}",
                    i.address, i.length, i.flow, i.class, i.text
                )?;
            }
        }
        "flow" => {
            for s in binary.symbols() {
                let code = disassemble(&binary, s.address, s.end(), Syntax::Intel)?;
                let flow = ControlFlow::build(&code);
                let odd = flow.loops().iter().filter(|l| l.irreducible).count();
                writeln!(
                    out,
                    "{} instructions={} blocks={} loops={} irreducible={odd}",
                    s.name,
                    code.len(),
                    flow.blocks().len(),
                    flow.loops().len()
                )?;
            }
            eprintln!("{:.3} s", started.elapsed().as_secs_f64());
        }
        other => return Err(format!("unknown: {other}").into()),
    }
    Ok(())
}
