//! Quotes prices for a day's parcels: a few zones and weight classes, very many parcels.
use std::collections::BTreeMap;

struct Bracket {
    from_grams: u32,
    base: f64,
    per_kilo: f64,
}

struct Tariff {
    brackets: Vec<Bracket>,
    fuel: Vec<f64>,
    zone_factor: Vec<f64>,
}

trait Pricing {
    fn quote(&self, zone: usize, class: u32) -> u64;
}

impl Pricing for Tariff {
    /// Cents for a parcel of a weight class of half kilos, to a zone.
    fn quote(&self, zone: usize, class: u32) -> u64 {
        let grams = class * 500;
        let mut price = 0.0;
        for bracket in &self.brackets {
            if grams > bracket.from_grams {
                let kilos = f64::from(grams - bracket.from_grams) / 1000.0;
                price += bracket.base + bracket.per_kilo * kilos;
            }
        }
        let mut surcharge = 1.0;
        for week in &self.fuel {
            surcharge = surcharge * 0.9 + week * 0.1;
        }
        (price * surcharge * self.zone_factor[zone] * 100.0).round() as u64
    }
}

struct Parcel {
    zone: u8,
    grams: u16,
    customer: u16,
}

struct Desk {
    pricing: Box<dyn Pricing>,
    owed: Vec<u64>,
}

impl Desk {
    fn new(pricing: Box<dyn Pricing>, customers: usize) -> Self {
        Self { pricing, owed: vec![0; customers] }
    }

    fn accept(&mut self, parcel: &Parcel) {
        let class = u32::from(parcel.grams).div_ceil(500);
        let cents = self.pricing.quote(usize::from(parcel.zone), class);
        self.owed[usize::from(parcel.customer)] += cents;
    }
}

fn main() {
    let days = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut state = 71u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let brackets = (0..12)
        .map(|b| Bracket { from_grams: b * 1500, base: 1.5 + f64::from(b) * 0.2, per_kilo: 0.8 - f64::from(b) * 0.04 })
        .collect();
    let fuel = (0..26).map(|week| 1.0 + f64::from(week % 7) * 0.01).collect();
    let tariff = Tariff { brackets, fuel, zone_factor: vec![1.0, 1.15, 1.4, 1.9, 2.6, 3.1] };
    let parcels: Vec<Parcel> = (0..40_000)
        .map(|_| Parcel { zone: (random() % 6) as u8, grams: (random() % 20_000) as u16, customer: (random() % 500) as u16 })
        .collect();
    let mut desk = Desk::new(Box::new(tariff), 500);
    for _ in 0..days {
        for parcel in &parcels {
            desk.accept(parcel);
        }
    }
    let mut by_amount = BTreeMap::new();
    for (customer, cents) in desk.owed.iter().enumerate() {
        by_amount.insert(*cents, customer);
    }
    let total: u64 = desk.owed.iter().sum();
    println!("{total} {:?}", by_amount.last_key_value());
}
