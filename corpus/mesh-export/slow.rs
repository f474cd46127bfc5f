//! Writes a mesh of voxel faces as text: its coordinates are whole numbers in doubles.
use std::fmt::Write;

struct Vertex {
    position: [f64; 3],
}

fn write_number(out: &mut String, value: f64) {
    let _ = write!(out, " {value}");
}

fn export(vertices: &[Vertex], out: &mut String) {
    for vertex in vertices {
        out.push('v');
        for value in vertex.position {
            write_number(out, value);
        }
        out.push('\n');
    }
}

fn mesh(side: usize) -> Vec<Vertex> {
    let mut state = 79u32;
    let mut vertices = Vec::new();
    for x in 0..side {
        for y in 0..side {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let height = f64::from(state >> 23) - 200.0;
            let half = if state % 61 == 0 { 0.5 } else { 0.0 };
            vertices.push(Vertex { position: [x as f64 * 16.0, y as f64 * 16.0 - 512.0, height + half] });
        }
    }
    vertices
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let vertices = mesh(args.next().unwrap_or(100));
    let mut out = String::new();
    let mut sum = 0u64;
    for _ in 0..args.next().unwrap_or(10) {
        out.clear();
        export(&vertices, &mut out);
        for byte in out.bytes().step_by(7) {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
    }
    println!("{} bytes, {sum:016x}", out.len());
}
