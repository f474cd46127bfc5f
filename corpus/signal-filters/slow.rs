//! Runs samples through a filter that is chosen by name when the program starts.

trait Filter {
    fn process(&mut self, sample: i32) -> i32;
}

struct Average {
    history: [i32; 4],
    at: usize,
    sum: i32,
}

impl Filter for Average {
    fn process(&mut self, sample: i32) -> i32 {
        self.sum += sample - self.history[self.at];
        self.history[self.at] = sample;
        self.at = (self.at + 1) & 3;
        self.sum >> 2
    }
}

struct Clip {
    limit: i32,
}

impl Filter for Clip {
    fn process(&mut self, sample: i32) -> i32 {
        sample.clamp(-self.limit, self.limit)
    }
}

struct Difference {
    last: i32,
}

impl Filter for Difference {
    fn process(&mut self, sample: i32) -> i32 {
        let out = sample - self.last;
        self.last = sample;
        out
    }
}

fn choose(name: &str) -> Box<dyn Filter> {
    match name {
        "average" => Box::new(Average { history: [0; 4], at: 0, sum: 0 }),
        "difference" => Box::new(Difference { last: 0 }),
        _ => Box::new(Clip { limit: 8000 }),
    }
}

struct Channel {
    filter: Box<dyn Filter>,
}

impl Channel {
    fn run(&mut self, samples: &mut [i32]) {
        for sample in samples.iter_mut() {
            *sample = self.filter.process(*sample);
        }
    }
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "clip".to_owned());
    let blocks = std::env::args().nth(2).map_or(1000, |n| n.parse().expect("a number"));
    let mut channel = Channel { filter: choose(&name) };
    let mut samples = vec![0i32; 2048];
    let mut state = 1u32;
    for sample in &mut samples {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *sample = (state >> 17) as i32 - 16384;
    }
    let mut digest = 0u64;
    for block in 0..blocks {
        samples[block % 2048] += 40_000 - (block as i32 & 0xffff);
        channel.run(&mut samples);
        digest = digest.wrapping_mul(31).wrapping_add(samples[block * 7 % 2048] as u64);
    }
    println!("{digest:016x}");
}
