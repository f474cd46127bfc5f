//! Prints what a recording holds: `cargo run --example readinfo FILE`.

use std::collections::HashMap;
use std::path::Path;

use genba_profile::{ReadOptions, Recording};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: readinfo FILE")?;
    let begin = std::time::Instant::now();
    let recording = Recording::open(Path::new(&path))?;
    println!("{:#?}", recording.info());
    let loaded = recording.load(&ReadOptions::default())?;
    let t = &loaded.tables;
    println!("{:#?}", t.totals);
    println!(
        "{} modules, {} locations, {} frames, {} threads, read in {:?}",
        t.modules.len(),
        t.locations.len(),
        t.frames.len(),
        t.threads.len(),
        begin.elapsed()
    );
    let mut shares: HashMap<(String, String), u64> = HashMap::new();
    let mut depth = 0;
    for s in &loaded.samples {
        let module = t.module(t.location(s.location).module);
        let name = format!("{} {:?}", module.path, module.kind);
        *shares
            .entry((t.thread(s.thread).comm.clone(), name))
            .or_default() += s.weight;
        depth += t.stack(s.stack).count();
    }
    let mut rows: Vec<_> = shares.into_iter().collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.1));
    for ((comm, module), weight) in rows.iter().take(25) {
        println!(
            "{:6.2} %  {comm:16} {module}",
            *weight as f64 / t.totals.weight.max(1) as f64 * 100.0
        );
    }
    println!(
        "mean depth {:.1}",
        depth as f64 / loaded.samples.len().max(1) as f64
    );
    Ok(())
}
