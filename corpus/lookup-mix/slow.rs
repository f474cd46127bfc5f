//! Prices of calls: the tariff zone of each number is searched in a sorted table of prefixes.

struct Zone {
    first: u64,
    cents: u64,
}

struct Tariff {
    zones: Vec<Zone>,
}

impl Tariff {
    fn zone(&mut self, number: u64) -> usize {
        self.zones.partition_point(|zone| zone.first <= number).saturating_sub(1)
    }

    fn price(&mut self, number: u64, seconds: u64) -> u64 {
        let zone = self.zone(number);
        self.zones[zone].cents * seconds.div_ceil(60)
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let zones = (0..700u64).map(|i| Zone { first: i * 1_427_000, cents: 1 + i * 7 % 90 }).collect();
    let mut tariff = Tariff { zones };
    let mut state = 13u64;
    let calls: Vec<(u64, u64)> = (0..args.next().unwrap_or(1000))
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 34, state >> 22 & 0x3ff)
        })
        .collect();
    let mut sum = 0u64;
    for _ in 0..args.next().unwrap_or(10) {
        for (number, seconds) in &calls {
            sum = sum.wrapping_mul(3).wrapping_add(tariff.price(*number, *seconds));
        }
    }
    println!("{sum:016x}");
}
