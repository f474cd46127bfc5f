// Slope, shade and water of a height map, as maps are shaded.

struct Grid<T> {
    width: usize,
    height: usize,
    cells: Vec<T>,
}

impl<T: Copy> Grid<T> {
    fn new(width: usize, height: usize, value: T) -> Self {
        Grid { width, height, cells: vec![value; width * height] }
    }

    fn row(&self, y: usize) -> &[T] {
        &self.cells[y * self.width..][..self.width]
    }

    fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.cells[y * self.width..][..self.width]
    }
}

struct Light {
    east: f32,
    south: f32,
    up: f32,
}

/// Horn's gradient of each inner cell, and the shade that it gets from the light.
fn shade(heights: &Grid<f32>, light: &Light, shades: &mut Grid<f32>) {
    for y in 1..heights.height - 1 {
        let (above, here, below) = (heights.row(y - 1), heights.row(y), heights.row(y + 1));
        let inner = &mut shades.row_mut(y)[1..heights.width - 1];
        for (((n, h), s), out) in above.windows(3).zip(here.windows(3)).zip(below.windows(3)).zip(inner) {
            let west = n[0] + 2.0 * h[0] + s[0];
            let east = n[2] + 2.0 * h[2] + s[2];
            let north = n[0] + 2.0 * n[1] + n[2];
            let south = s[0] + 2.0 * s[1] + s[2];
            let (dx, dy) = ((east - west) / 8.0, (south - north) / 8.0);
            let lit = (light.up - dx * light.east - dy * light.south) / (1.0 + dx * dx + dy * dy).sqrt();
            *out = lit.max(0.0);
        }
    }
}

/// Lets rain wear the land: each cell comes nearer to its neighbours along a row.
fn weather(heights: &mut Grid<f32>, amount: f32) {
    let width = heights.width;
    for row in heights.cells.chunks_exact_mut(width) {
        let mut before = row[0];
        for cell in row.iter_mut() {
            before += (*cell - before) * amount;
            *cell = before;
        }
    }
}

fn histogram(shades: &Grid<f32>) -> [u32; 32] {
    let mut counts = [0; 32];
    for &shade in &shades.cells {
        counts[(shade * 31.0) as usize & 31] += 1;
    }
    counts
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let side = args.next().unwrap_or(200);
    let hours = args.next().unwrap_or(10);
    let mut heights = Grid::new(side + 13, side, 0.0f32);
    let mut state = 9u32;
    for (i, cell) in heights.cells.iter_mut().enumerate() {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let (x, y) = ((i % (side + 13)) as f32, (i / (side + 13)) as f32);
        *cell = 20.0 * (x * 0.031).sin() + 14.0 * (y * 0.047).cos() + (state >> 24) as f32 / 400.0;
    }
    let mut shades = Grid::new(heights.width, heights.height, 0.0f32);
    let mut sum = 0u64;
    for hour in 0..hours {
        let turn = hour as f32 * 0.26;
        let light = Light { east: 0.6 * turn.cos(), south: 0.6 * turn.sin(), up: 0.8 };
        shade(&heights, &light, &mut shades);
        weather(&mut heights, 0.98);
        for count in histogram(&shades) {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(count));
        }
    }
    println!("{sum:016x}");
}
