//! Reads frames with a length before each from a stream, and files their bytes by channel.
use std::io::{BufRead, Cursor, Read};

struct Frames<R> {
    from: R,
    body: Vec<u8>,
}

impl<R: BufRead> Frames<R> {
    fn new(from: R) -> Self {
        Self { from, body: Vec::new() }
    }

    /// The next frame's channel; its bytes are in `body` until the next call.
    fn next(&mut self) -> std::io::Result<Option<u8>> {
        let mut head = [0u8; 4];
        if self.from.read(&mut head)? < head.len() {
            return Ok(None);
        }
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        self.body.clear();
        while self.body.len() < length {
            let ready = self.from.fill_buf()?;
            let part = ready.len().min(length - self.body.len());
            if part == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.body.extend_from_slice(&ready[..part]);
            self.from.consume(part);
        }
        Ok(Some(head[0]))
    }
}

#[derive(Default, Clone)]
struct Channel {
    frames: u64,
    bytes: u64,
    edges: u64,
}

fn run(stream: &[u8], channels: &mut [Channel]) -> std::io::Result<()> {
    let mut frames = Frames::new(Cursor::new(stream));
    while let Some(number) = frames.next()? {
        let channel = &mut channels[usize::from(number)];
        channel.frames += 1;
        channel.bytes += frames.body.len() as u64;
        let ends = (frames.body.first(), frames.body.last());
        channel.edges += ends.0.copied().map_or(0, u64::from) * 3 + ends.1.copied().map_or(0, u64::from);
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut state = 29u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 12
    };
    let mut stream = Vec::new();
    for _ in 0..60 {
        let length = 2000 + random() % 14_000;
        stream.extend([(random() % 16) as u8, 0, length as u8, (length >> 8) as u8]);
        stream.extend((0..length).map(|_| random() as u8));
    }
    let mut channels = vec![Channel::default(); 16];
    for _ in 0..rounds {
        run(&stream, &mut channels)?;
    }
    let sum = channels.iter().fold(0u64, |sum, one| sum.wrapping_mul(31).wrapping_add(one.frames ^ one.bytes ^ one.edges));
    println!("{sum:016x}");
    Ok(())
}
