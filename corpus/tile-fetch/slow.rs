//! Draws a map of tiles that a store thread unpacks, asked for by a unix socket.
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

const TILE_BYTES: usize = 512;

fn unpack(number: u32) -> [u8; TILE_BYTES] {
    let mut state = number;
    let mut tile = [0; TILE_BYTES];
    for byte in &mut tile {
        for _ in 0..16 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223) ^ state >> 5;
        }
        *byte = (state >> 24) as u8;
    }
    tile
}

/// Answers each number with its tile, until the stream ends.
fn serve_tiles(mut stream: UnixStream) -> io::Result<()> {
    let mut number = [0; 4];
    loop {
        match stream.read_exact(&mut number) {
            Ok(()) => stream.write_all(&unpack(u32::from_le_bytes(number)))?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn request(stream: &mut UnixStream, number: u32) -> io::Result<()> {
    stream.write_all(&number.to_le_bytes())
}

fn receive(stream: &mut UnixStream) -> io::Result<[u8; TILE_BYTES]> {
    let mut tile = [0; TILE_BYTES];
    stream.read_exact(&mut tile)?;
    Ok(tile)
}

fn blend(canvas: &mut [u32; TILE_BYTES], tile: &[u8; TILE_BYTES]) {
    for turn in 0..24 {
        for (pixel, &byte) in canvas.iter_mut().zip(tile) {
            *pixel = pixel.wrapping_mul(31).rotate_left(turn).wrapping_add(u32::from(byte));
        }
    }
}

fn draw(stream: &mut UnixStream, tiles: u32) -> io::Result<u32> {
    let mut canvas = [0; TILE_BYTES];
    for number in 0..tiles {
        request(stream, number)?;
        blend(&mut canvas, &receive(stream)?);
    }
    Ok(canvas.iter().fold(0u32, |sum, &pixel| sum.wrapping_mul(31).wrapping_add(pixel)))
}

fn main() -> io::Result<()> {
    let tiles = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10_000);
    let (mut ours, theirs) = UnixStream::pair()?;
    let store = thread::spawn(move || serve_tiles(theirs));
    println!("{:08x}", draw(&mut ours, tiles)?);
    drop(ours);
    store.join().unwrap()
}
