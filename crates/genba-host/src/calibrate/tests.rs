use super::*;

#[test]
#[ignore]
fn print() {
    let table = calibrate(
        crate::fingerprint(false),
        &CalibrateOptions::default(),
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap();
    for e in &table.entries {
        let f = |e: &Option<genba_model::Estimate>| {
            e.map_or("-".into(), |e| {
                format!("{:.2} ({:.2}-{:.2})", e.value, e.low, e.high)
            })
        };
        let g = |e: &Option<genba_model::Estimate>| {
            e.map_or("".into(), |e| {
                format!("{:.3e} ({:.3e}-{:.3e})", e.value, e.low, e.high)
            })
        };
        println!(
            "{:36} {:22} {:22} {}{} {}",
            e.form,
            f(&e.latency_cycles),
            f(&e.reciprocal_throughput_cycles),
            g(&e.seconds),
            g(&e.bytes_per_second),
            if e.disturbed { "DISTURBED" } else { "" }
        );
    }
    println!(
        "{} {:?} {} {:#?}",
        table.frequency_hz, table.frequency_range_hz, table.seconds, table.notes
    );
}
