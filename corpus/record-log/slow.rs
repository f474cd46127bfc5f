use std::fs::File;
use std::io::Write;
fn append(out: &mut File, id: u32, value: u32) { writeln!(out, "{id};{value}").unwrap(); }
fn main() {
    let n: u32 = std::env::args().nth(1).map_or(300_000, |a| a.parse().unwrap());
    let mut out = File::create("/dev/null").unwrap();
    let mut x = 1u32;
    for i in 0..n { x = x.wrapping_mul(1664525).wrapping_add(1013904223); append(&mut out, i, x >> 12); }
    println!("{x}");
}
