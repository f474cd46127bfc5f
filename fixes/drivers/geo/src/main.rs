//! Which parcels overlap which zones? Polygons made from a seed.
use geo::{Coord, Intersects, LineString, Polygon};

fn main() {
    let parcels: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let zones: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut shape = |corners: usize, size: f64| {
        let (x, y) = (next() * 1000.0, next() * 1000.0);
        let ring = (0..corners)
            .map(|i| {
                let angle = i as f64 / corners as f64 * std::f64::consts::TAU;
                let radius = size * (0.6 + 0.4 * next());
                Coord { x: x + radius * angle.cos(), y: y + radius * angle.sin() }
            })
            .collect::<Vec<_>>();
        Polygon::new(LineString::from(ring), vec![])
    };
    let lots: Vec<_> = (0..parcels).map(|_| shape(8, 4.0)).collect();
    let areas: Vec<_> = (0..zones).map(|_| shape(16, 40.0)).collect();
    let mut pairs = 0usize;
    for lot in &lots {
        pairs += areas.iter().filter(|area| lot.intersects(*area)).count();
    }
    println!("{pairs} overlaps");
}
