//! Counts a command with an engine and prints sums: for those who work on engines.
//!
//! `native ENGINE COMMAND…`; with `T` in the environment jumps are recorded (`T=PATH:BEGIN-END,…`
//! only there), with `C` children followed; `SITES` and `EDGES` name files for all counts of the first process.
use genba_count::{CountRequest, Transfers, choose_of};
use genba_model::CodeSpan;
use genba_run::{Cancel, CommandSpec, Launcher, Output, Stdin};

/// `PATH:BEGIN-END,…`; anything else is everywhere.
fn within(text: &str) -> Transfers {
    let span = |one: &str| {
        let (path, range) = one.split_once(':')?;
        let (begin, end) = range.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some(CodeSpan {
            path: path.to_owned(),
            begin: number(begin)?,
            end: number(end)?,
        })
    };
    let spans: Option<Vec<CodeSpan>> = text.split(',').map(span).collect();
    spans.map_or(Transfers::Everywhere, Transfers::Within)
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments
        .next()
        .expect("engine")
        .into_string()
        .expect("text");
    let mut spec = CommandSpec::direct(arguments);
    spec.stdin = Stdin::Inherit;
    spec.stdout = Output::Inherit;
    spec.stderr = Output::Inherit;
    let request = CountRequest {
        spec,
        transfers: match std::env::var_os("T") {
            None => Transfers::Entries,
            Some(text) => within(&text.to_string_lossy()),
        },
        children: std::env::var_os("C").is_some(),
    };
    let engines: Vec<Box<dyn genba_count::Engine>> = vec![
        Box::new(genba_count::native::Native),
        Box::new(genba_count::callgrind::Callgrind),
        Box::new(genba_count::qemu::Qemu),
    ];
    let choice = match choose_of(engines, Some(&name), &request) {
        Ok(c) => c,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(125)
        }
    };
    let mut launcher = Launcher::new().expect("launcher");
    let counts = match choice
        .engine
        .count(&request, &mut launcher, &Cancel::new().expect("cancel"))
    {
        Ok(c) => c,
        Err(e) => {
            eprintln!("ERROR {e}");
            std::process::exit(125)
        }
    };
    if std::env::var_os("Q").is_none() {
        for note in &counts.notes {
            eprintln!("note: {note}");
        }
        for process in &counts.processes {
            let mut total = 0u64;
            for module in &process.modules {
                let sum: u64 = module.instructions.iter().map(|i| i.count).sum();
                total += sum;
                eprintln!("{:>14} {}", sum, module.path);
            }
            eprintln!(
                "{total:>14} total pid {} {:?} cpu {:.3} wall {:.3} exit {} notes {:?}",
                process.pid,
                process.cut_short,
                counts.cpu_seconds,
                counts.wall_seconds,
                counts.exit,
                process.notes
            );
        }
    }
    if let Some(path) = std::env::var_os("SITES") {
        let mut text = String::new();
        for module in counts.processes.iter().take(1).flat_map(|p| &p.modules) {
            for i in &module.instructions {
                text.push_str(&format!("{},{:x},{}\n", module.path, i.address, i.count));
            }
        }
        std::fs::write(path, text).expect("write");
    }
    if let Some(path) = std::env::var_os("EDGES") {
        let mut text = String::new();
        for p in counts.processes.iter().take(1) {
            for t in &p.transfers {
                let n = |m: u32| p.modules.get(m as usize).map_or("?", |m| m.path.as_str());
                text.push_str(&format!(
                    "{:?} {} {:x} {} {:x} {}\n",
                    t.kind,
                    n(t.from.module),
                    t.from.address,
                    n(t.to.module),
                    t.to.address,
                    t.count
                ));
            }
        }
        std::fs::write(path, text).expect("write");
    }
    std::process::exit(counts.exit);
}
