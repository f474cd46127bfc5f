//! Writes the page and the flame graph of an invented investigation, to be looked at:
//! `cargo run -p genba-report --example page -- OUT.html [hostile | counted | INVESTIGATION.json]`.

#[allow(dead_code, missing_docs, unused_imports)]
#[path = "../src/test_fixtures/mod.rs"]
mod test_fixtures;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("which file?")?;
    let all = match arguments.next().as_deref() {
        Some("hostile") => test_fixtures::hostile(),
        Some("counted") => test_fixtures::counts::investigation(),
        Some(file) => serde_json::from_slice(&std::fs::read(file)?)?,
        None => test_fixtures::investigation(),
    };
    std::fs::write(&out, genba_report::page::html(&all))?;
    if let Some(profile) = &all.profile {
        let svg = genba_report::flame_graph::svg(
            profile,
            &genba_report::flame_graph::FlameOptions::default(),
        )?;
        std::fs::write(format!("{out}.svg"), svg)?;
    }
    Ok(())
}
