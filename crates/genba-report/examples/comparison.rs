//! Writes the page of an invented comparison, to be looked at, and its JSON for hyperfine's
//! scripts: `cargo run -p genba-report --example comparison -- OUT.html [NAME | REPORT.json]`.

#[allow(dead_code, missing_docs)]
#[path = "../src/test_fixtures/comparison.rs"]
mod fixture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("which file?")?;
    let report = match arguments.next().as_deref() {
        Some("hostile") => fixture::hostile(),
        Some("many") => fixture::many(),
        Some("same") => fixture::same(),
        Some("undecided") => fixture::undecided(),
        Some(file) => serde_json::from_slice(&std::fs::read(file)?)?,
        None => fixture::faster(),
    };
    std::fs::write(&out, genba_report::page::comparison_html(&report))?;
    let json = genba_report::export::hyperfine_json(&report);
    std::fs::write(format!("{out}.json"), json)?;
    let screen = genba_report::Screen::default();
    print!("{}", genba_report::terminal::comparison(&report, screen));
    Ok(())
}
