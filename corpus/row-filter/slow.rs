//! Sums a region's sales: rows of a table with ten columns, of which few are of that region.
use std::fmt::Write;

struct Sale {
    number: u64,
    product: u32,
    price_cents: u64,
    quantity: u32,
    discount: f64,
    weight: f64,
    year: u16,
    month: u8,
    region: u8,
}

/// Reads one row; None where it is malformed.
fn parse(row: &str) -> Option<Sale> {
    let mut columns = row.split(',');
    Some(Sale {
        number: columns.next()?.parse().ok()?,
        product: columns.next()?.parse().ok()?,
        price_cents: columns.next()?.parse().ok()?,
        quantity: columns.next()?.parse().ok()?,
        discount: columns.next()?.parse().ok()?,
        weight: columns.next()?.parse().ok()?,
        year: columns.next()?.parse().ok()?,
        month: columns.next()?.parse().ok()?,
        region: columns.next()?.parse().ok()?,
    })
}

struct Report {
    rows: u64,
    cents: u64,
    weight: f64,
}

fn sum_region(table: &str, region: u8, report: &mut Report) {
    for row in table.lines() {
        let Some(sale) = parse(row) else { continue };
        if sale.region != region {
            continue;
        }
        report.rows += 1;
        report.cents += sale.price_cents * u64::from(sale.quantity);
        report.weight += sale.weight * (1.0 - sale.discount)
            + f64::from(sale.product % 7)
            + f64::from(u32::from(sale.year) * 12 + u32::from(sale.month)) * 1e-6
            + (sale.number % 3) as f64;
    }
}

fn table(rows: usize) -> String {
    let mut text = String::new();
    let mut state = 21u32;
    for i in 0..rows {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let s = state >> 8;
        let _ = writeln!(
            text,
            "{},{},{},{},0.{:02},{}.{},{},{},{}",
            i + 100_000, s % 5000, s % 99_999, s % 12 + 1, s % 40, s % 80, s % 1000, 2000 + s % 25, s % 12 + 1, s % 20
        );
    }
    text
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let table = table(args.next().unwrap_or(1000));
    let mut report = Report { rows: 0, cents: 0, weight: 0.0 };
    for pass in 0..args.next().unwrap_or(10) {
        sum_region(&table, (pass % 20) as u8, &mut report);
    }
    println!("{} rows, {} cents, {:.3}", report.rows, report.cents, report.weight);
}
