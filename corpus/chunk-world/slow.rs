// Sunlight and growth in a world of blocks that is kept in chunks of 16 x 16 columns.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const SIDE: i32 = 16;
const HEIGHT: usize = 48;

#[derive(Default)]
struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i32(i32::from(byte));
        }
    }
    fn write_i32(&mut self, value: i32) {
        self.0 = (self.0.rotate_left(5) ^ value as u32 as u64).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Block {
    Air,
    Leaf,
    Water,
    Soil,
    Rock,
}

struct Chunk {
    blocks: Vec<Block>,
}

struct World {
    chunks: HashMap<(i32, i32), Box<Chunk>, BuildHasherDefault<FoldHasher>>,
    radius: i32,
}

fn cell(x: i32, y: i32, z: usize) -> usize {
    ((y & (SIDE - 1)) * SIDE + (x & (SIDE - 1))) as usize * HEIGHT + z
}

impl World {
    fn block(&self, x: i32, y: i32, z: usize) -> Block {
        match self.chunks.get(&(x >> 4, y >> 4)) {
            Some(chunk) => chunk.blocks[cell(x, y, z)],
            None => Block::Rock,
        }
    }

    fn set_block(&mut self, x: i32, y: i32, z: usize, block: Block) {
        if let Some(chunk) = self.chunks.get_mut(&(x >> 4, y >> 4)) {
            chunk.blocks[cell(x, y, z)] = block;
        }
    }

    /// The light that reaches each height of a column, from above.
    fn column_light(&self, x: i32, y: i32, light: &mut [f32; HEIGHT]) {
        let mut left = 15.0f32;
        for z in (0..HEIGHT).rev() {
            light[z] = left;
            left *= match self.block(x, y, z) {
                Block::Air => 0.999,
                Block::Leaf => 0.8,
                Block::Water => 0.7,
                Block::Soil | Block::Rock => 0.0,
            };
        }
    }

    /// Plants grow on lit soil; where they stand too long in the dark they go.
    fn tick(&mut self, seed: &mut u32, light: &mut [f32; HEIGHT]) -> (u64, f64) {
        let (mut changes, mut sum) = (0, 0.0);
        for y in -self.radius * SIDE..self.radius * SIDE {
            for x in -self.radius * SIDE..self.radius * SIDE {
                self.column_light(x, y, light);
                sum += warmth(light);
                *seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                let z = 1 + (*seed >> 16) as usize % (HEIGHT - 2);
                let here = self.block(x, y, z);
                if here == Block::Air && light[z] > 9.0 && self.block(x, y, z - 1) == Block::Soil {
                    self.set_block(x, y, z, Block::Leaf);
                    changes += 1;
                } else if here == Block::Leaf && light[z] < 12.0 {
                    self.set_block(x, y, z, Block::Air);
                    changes += 1;
                }
            }
        }
        (changes, sum)
    }
}

/// What a column keeps of its light over a day.
fn warmth(light: &[f32; HEIGHT]) -> f64 {
    let mut kept = 0.0f32;
    for &l in light {
        kept = kept * 0.9 + l * 0.1 / (1.0 + 0.02 * l);
    }
    f64::from(kept)
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<i32>().expect("a number"));
    let radius = args.next().unwrap_or(4);
    let ticks = args.next().unwrap_or(10);
    let mut world = World { chunks: HashMap::default(), radius };
    let mut seed = 77u32;
    for cy in -radius..radius {
        for cx in -radius..radius {
            let mut blocks = vec![Block::Air; (SIDE * SIDE) as usize * HEIGHT];
            for column in 0..(SIDE * SIDE) as usize {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                let ground = 6 + (seed >> 28) as usize;
                for z in 0..HEIGHT {
                    blocks[column * HEIGHT + z] = match z {
                        _ if z < ground - 3 => Block::Rock,
                        _ if z < ground => Block::Soil,
                        _ if z < 10 => Block::Water,
                        _ if z < ground + (seed >> 20) as usize % 7 => Block::Leaf,
                        _ => Block::Air,
                    };
                }
            }
            world.chunks.insert((cx, cy), Box::new(Chunk { blocks }));
        }
    }
    let mut light = [0.0f32; HEIGHT];
    let mut total = 0u64;
    let mut warm = 0.0f64;
    for _ in 0..ticks {
        let (changes, sum) = world.tick(&mut seed, &mut light);
        total = total.wrapping_mul(31).wrapping_add(changes);
        warm += sum;
    }
    println!("{total:016x} {warm:.6}");
}
