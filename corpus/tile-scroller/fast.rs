//! Draws the frames of a scrolling game: a map of tiles, some sprites above it.

const WIDTH: usize = 320;
const HEIGHT: usize = 192;
const TILE: usize = 32;

struct Rng(u32);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0 >> 8
    }
}

struct Tile {
    pixels: [u32; TILE * TILE],
}

struct Map {
    tiles: Vec<Tile>,
    cells: Vec<u8>,
    columns: usize,
    rows: usize,
}

impl Map {
    fn tile_at(&self, column: usize, row: usize) -> &Tile {
        &self.tiles[self.cells[row % self.rows * self.columns + column % self.columns] as usize]
    }
}

struct Sprite {
    x: usize,
    y: usize,
    speed: usize,
    pixels: [u32; 8 * 8],
}

struct Screen {
    pixels: Vec<u32>,
}

impl Screen {
    fn draw_map(&mut self, map: &Map, scroll_x: usize, scroll_y: usize) {
        for y in 0..HEIGHT {
            let world_y = y + scroll_y;
            let line = &mut self.pixels[y * WIDTH..(y + 1) * WIDTH];
            let mut x = 0;
            while x < WIDTH {
                let world_x = x + scroll_x;
                let inside = world_x % TILE;
                let run = (TILE - inside).min(WIDTH - x);
                let tile = map.tile_at(world_x / TILE, world_y / TILE);
                let from = world_y % TILE * TILE + inside;
                line[x..x + run].copy_from_slice(&tile.pixels[from..from + run]);
                x += run;
            }
        }
    }

    fn draw_sprite(&mut self, sprite: &Sprite) {
        for row in 0..8 {
            for column in 0..8 {
                let pixel = sprite.pixels[row * 8 + column];
                let (x, y) = (sprite.x + column, sprite.y + row);
                if pixel >> 24 != 0 && x < WIDTH && y < HEIGHT {
                    self.pixels[y * WIDTH + x] = pixel;
                }
            }
        }
    }

    fn digest(&self) -> u64 {
        let sample = self.pixels.iter().step_by(53);
        sample.fold(0, |sum: u64, &pixel| sum.wrapping_mul(31).wrapping_add(pixel as u64))
    }
}

fn draw_frame(screen: &mut Screen, map: &Map, sprites: &mut [Sprite], frame: usize) {
    screen.draw_map(map, frame * 3, frame);
    for sprite in sprites {
        sprite.x = (sprite.x + sprite.speed) % WIDTH;
        screen.draw_sprite(sprite);
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let frames = arguments.first().copied().unwrap_or(100);
    let sprite_count = arguments.get(1).copied().unwrap_or(40);
    let mut rng = Rng(61);
    let tiles = (0..48)
        .map(|_| {
            let base = rng.next();
            let mut pixels = [0; TILE * TILE];
            pixels.iter_mut().for_each(|pixel| *pixel = 0xFF00_0000 | base ^ rng.next() & 0x0F0F0F);
            Tile { pixels }
        })
        .collect();
    let (columns, rows) = (128, 64);
    let cells = (0..columns * rows).map(|_| (rng.next() >> 4) as u8 % 48).collect();
    let map = Map { tiles, cells, columns, rows };
    let mut sprites: Vec<Sprite> = (0..sprite_count)
        .map(|i| {
            let mut pixels = [0; 64];
            pixels.iter_mut().for_each(|p| *p = rng.next() | (rng.next() & 1) * 0xFF00_0000);
            Sprite { x: i * 7 % WIDTH, y: i * 13 % HEIGHT, speed: 1 + i % 4, pixels }
        })
        .collect();
    let mut screen = Screen { pixels: vec![0; WIDTH * HEIGHT] };
    let mut sum = 0u64;
    for frame in 0..frames {
        draw_frame(&mut screen, &map, &mut sprites, frame);
        sum = sum.rotate_left(5) ^ screen.digest();
    }
    println!("{sum:016x}");
}
