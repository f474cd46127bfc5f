//! Value at risk by full revaluation: each scenario's return of each portfolio.

struct Portfolio {
    weights: Vec<f64>,
    limit: f64,
}

impl Portfolio {
    /// The portfolio's return under one scenario of returns by asset.
    fn value(&self, returns: &[f64]) -> f64 {
        self.weights.iter().zip(returns).map(|(w, r)| w * r).sum()
    }

    fn losses(&self, scenarios: &[Vec<f64>]) -> (usize, f64) {
        let mut beyond = 0;
        let mut worst = 0.0f64;
        for returns in scenarios {
            let value = self.value(returns);
            if value < self.limit {
                beyond += 1;
            }
            worst = worst.min(value);
        }
        (beyond, worst)
    }
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let assets = args.next().unwrap_or(500);
    let scenarios = args.next().unwrap_or(200);
    let portfolios = args.next().unwrap_or(100);
    let mut noise = Noise(88_172_645_463_325_252);
    let scenarios: Vec<Vec<f64>> =
        (0..scenarios).map(|_| (0..assets).map(|_| noise.next() * 0.1).collect()).collect();
    let mut beyond = 0;
    let mut worst = 0.0f64;
    for _ in 0..portfolios {
        let weights: Vec<f64> = (0..assets).map(|_| noise.next() + 0.5).collect();
        let portfolio = Portfolio { weights, limit: -0.5 };
        let (count, low) = portfolio.losses(&scenarios);
        beyond += count;
        worst = worst.min(low);
    }
    println!("{beyond} beyond the limit, worst {worst:.6}");
}
