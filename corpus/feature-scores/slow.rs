//! Scores documents for topics: a linear model over counts of features.

struct Model {
    topics: usize,
    /// Row of weights for each feature.
    weights: Vec<f32>,
}

impl Model {
    fn score(&self, counts: &[u16], scores: &mut [f32]) {
        scores.fill(0.0);
        for (feature, &count) in counts.iter().enumerate() {
            let row = &self.weights[feature * self.topics..][..self.topics];
            for (score, weight) in scores.iter_mut().zip(row) {
                *score += weight * f32::from(count);
            }
        }
    }
}

fn documents(count: usize, features: usize) -> Vec<Vec<u16>> {
    let mut state = 23u32;
    (0..count)
        .map(|_| {
            let mut counts = vec![0u16; features];
            for _ in 0..features / 24 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                counts[(state >> 12) as usize % features] += 1 + (state >> 30) as u16;
            }
            counts
        })
        .collect()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (features, topics) = (2048, 20);
    let documents = documents(args.next().unwrap_or(10), features);
    let weights = (0..features * topics).map(|i| ((i * 7919 % 1000) as f32 - 500.0) * 0.002).collect();
    let model = Model { topics, weights };
    let mut scores = vec![0.0; topics];
    let mut best = vec![0u64; topics];
    for _ in 0..args.next().unwrap_or(10) {
        for document in &documents {
            model.score(document, &mut scores);
            let top = (0..topics).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
            best[top] += 1 + (scores[top].abs() * 16.0) as u64;
        }
    }
    println!("{best:?}");
}
