//! Makes a picture, or reads it so many times: driver make FILE, driver read FILE TIMES.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "make" {
        let (width, height) = (1600u16, 1200u16);
        let mut state = 1u32;
        let mut pixels = Vec::new();
        for y in 0..u32::from(height) {
            for x in 0..u32::from(width) {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                let noise = (state >> 28) as u8;
                let wave = ((x * x / 97 + y * y / 61) / 7 % 160) as u8;
                pixels.extend([wave + noise, (x / 8) as u8 ^ (y / 16) as u8, wave / 2 + noise * 2]);
            }
        }
        let encoder = jpeg_encoder::Encoder::new_file(&arguments[1], 85).expect("a file");
        encoder.encode(&pixels, width, height, jpeg_encoder::ColorType::Rgb).expect("a picture");
        return;
    }
    let file = std::fs::read(&arguments[1]).expect("a file");
    let times: u32 = arguments[2].parse().expect("a number");
    let (mut bytes, mut sum) = (0usize, 0u64);
    for _ in 0..times {
        let pixels = jpeg_decoder::Decoder::new(&file[..]).decode().expect("a picture");
        bytes += pixels.len();
        sum = pixels.iter().step_by(101).fold(sum, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    }
    println!("{bytes} {sum}");
}
