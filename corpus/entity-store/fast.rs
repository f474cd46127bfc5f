//! A simulation of animals whose state has the order of the file format that it was read from.

#[repr(C, align(32))]
#[derive(Clone)]
struct Animal {
    x: f32,
    y: f32,
    energy: f32,
    home: u32,
    name: [u8; 60],
    history: [u32; 30],
    notes: [u8; 64],
}

struct World {
    animals: Vec<Animal>,
}

impl World {
    /// An animal meets another: they share energy, and move towards each other.
    fn meet(&mut self, a: usize, b: usize) -> f32 {
        let (x, y, energy, home) = {
            let other = &self.animals[b];
            (other.x, other.y, other.energy, other.home)
        };
        let own = &mut self.animals[a];
        own.x += 0.125 * (x - own.x);
        own.y += 0.125 * (y - own.y);
        let gift = if own.home == home { 0.25 } else { 0.125 } * (energy - own.energy);
        own.energy += gift;
        gift
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let count = args.next().unwrap_or(1000);
    let animal = |i: usize| Animal {
        x: (i % 1000) as f32,
        name: [b'n'; 60],
        y: (i / 1000) as f32,
        history: [0; 30],
        energy: (i * 7919 % 1009) as f32,
        notes: [0; 64],
        home: (i % 16) as u32,
    };
    let mut world = World { animals: (0..count).map(animal).collect() };
    let mut state = 113u64;
    let mut moved = 0.0f64;
    for _ in 0..args.next().unwrap_or(10_000) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let a = ((state >> 40) as usize * count) >> 24;
        let b = ((state >> 16 & 0xff_ffff) as usize * count) >> 24;
        moved += f64::from(world.meet(a, b).abs());
    }
    println!("{moved:.3}");
}
