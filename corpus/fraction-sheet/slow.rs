//! A sheet of exact numbers: fractions in general, whole numbers nearly always.
use std::ops::{Add, Mul};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Fraction {
    over: i64,
    under: i64,
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

impl Fraction {
    fn new(over: i64, under: i64) -> Self {
        let common = gcd(over, under).max(1);
        Self { over: over / common, under: under / common }
    }
}

impl Add for Fraction {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.over * other.under + other.over * self.under, self.under * other.under)
    }
}

impl Mul for Fraction {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(self.over * other.over, self.under * other.under)
    }
}

struct Sheet {
    rows: Vec<[Fraction; 4]>,
}

impl Sheet {
    /// Amount times price, and a fee, for every row.
    fn recalculate(&mut self, fee: Fraction) -> Fraction {
        let mut total = Fraction::new(0, 1);
        for row in &mut self.rows {
            row[2] = row[0] * row[1];
            row[3] = row[2] + fee;
            total = total + row[3];
        }
        total
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut state = 83u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i64::from(state >> 16)
    };
    let rows = (0..5000)
        .map(|at| {
            let half = if matches!(at % 200, 7 | 8) { 2 } else { 1 };
            [Fraction::new(1 + 2 * (random() % 45), half), Fraction::new(101 + 2 * (random() % 2500), 1), Fraction::new(0, 1), Fraction::new(0, 1)]
        })
        .collect();
    let mut sheet = Sheet { rows };
    let mut last = Fraction::new(0, 1);
    for round in 0..rounds {
        last = sheet.recalculate(Fraction::new(round % 9, 1));
    }
    println!("{} / {}", last.over, last.under);
}
