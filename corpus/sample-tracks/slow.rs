//! Distributes samples of a recording to tracks, each a growing list.

#[derive(Clone, Copy)]
struct Sample {
    time: u32,
    level: u32,
}

#[derive(Default)]
struct Track {
    samples: Vec<Sample>,
    loudest: u32,
}

impl Track {
    fn add(&mut self, burst: &[Sample]) {
        self.samples.reserve_exact(burst.len());
        for sample in burst {
            self.loudest = self.loudest.max(sample.level);
            self.samples.push(*sample);
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let tracks = args.next().unwrap_or(24);
    let bursts = args.next().unwrap_or(10_000);
    let mut digest = 0u64;
    let mut state = 1u32;
    for _ in 0..args.next().unwrap_or(10) {
        let mut all: Vec<Track> = (0..tracks).map(|_| Track::default()).collect();
        let mut burst = Vec::new();
        for i in 0..bursts {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            burst.clear();
            burst.extend((0..4 + (state >> 30)).map(|s| Sample { time: i as u32 * 8 + s, level: state >> (s + 8) }));
            all[i % tracks].add(&burst);
        }
        for track in &all {
            let middle = track.samples[track.samples.len() / 2];
            digest = digest.wrapping_mul(31).wrapping_add(u64::from(middle.time ^ middle.level ^ track.loudest));
        }
    }
    println!("{digest:016x}");
}
