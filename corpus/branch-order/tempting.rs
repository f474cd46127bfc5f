//! Totals of a stream of bookings of five kinds, which are about as frequent.

enum Booking {
    Sale { cents: i64, pieces: i64 },
    Return { cents: i64 },
    Fee { basis_points: i64 },
    Transfer { from: usize, to: usize },
    Note,
}

fn apply(booking: &Booking, accounts: &mut [i64; 8], at: usize) {
    if let Booking::Sale { cents, pieces } = booking {
        accounts[at] += cents * pieces;
        return;
    }
    match booking {
        Booking::Sale { .. } => {}
        Booking::Transfer { from, to } => {
            let part = accounts[*from & 7] >> 4;
            accounts[*from & 7] -= part;
            accounts[*to & 7] += part;
        }
        Booking::Fee { basis_points } => accounts[at] -= (accounts[at] >> 16) * basis_points,
        Booking::Note => accounts[at] ^= 1,
        Booking::Return { cents } => accounts[at] -= cents,
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let mut state = 23u32;
    let bookings: Vec<Booking> = (0..args.next().unwrap_or(1000))
        .map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = i64::from(state >> 12 & 0xffff);
            match (u64::from(state) * 6) >> 32 {
                0 | 1 => Booking::Sale { cents: value, pieces: 1 + value % 5 },
                2 => Booking::Return { cents: value },
                3 => Booking::Fee { basis_points: value % 30 },
                4 => Booking::Transfer { from: i, to: i / 3 },
                _ => Booking::Note,
            }
        })
        .collect();
    let mut accounts = [100_000i64; 8];
    for _ in 0..args.next().unwrap_or(10) {
        for (i, booking) in bookings.iter().enumerate() {
            apply(booking, &mut accounts, i & 7);
        }
    }
    println!("{accounts:?}");
}
