//! Subtracts a background from camera frames and keeps what stands out.

struct Frame {
    width: usize,
    height: usize,
    pixels: Vec<u16>,
}

fn subtract(frame: &Frame, background: &Frame, out: &mut Frame) {
    for y in 0..frame.height {
        for x in 0..frame.width {
            let at = y * frame.width + x;
            out.pixels[at] = frame.pixels[at].wrapping_sub(background.pixels[at]) & 0x0fff;
        }
    }
}

fn frame(width: usize, height: usize, seed: u32) -> Frame {
    let mut state = seed;
    let pixels = (0..width * height)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 18) as u16
        })
        .collect();
    Frame { width, height, pixels }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let width = args.next().unwrap_or(320);
    let height = width * 3 / 4;
    let frames = args.next().unwrap_or(100);
    let mut camera = frame(width, height, 1);
    let background = frame(width, height, 2);
    let mut out = frame(width, height, 3);
    let mut digest = 0u64;
    for f in 0..frames {
        let at = f * 7919 % (width * height);
        camera.pixels[at] += 1;
        subtract(&camera, &background, &mut out);
        digest = digest.wrapping_mul(31).wrapping_add(u64::from(out.pixels[at]));
    }
    println!("{digest:016x}");
}
