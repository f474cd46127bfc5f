//! Sorts rows of mixed values: whole numbers, fractions, text.
use std::cmp::Ordering;

#[derive(Clone)]
enum Value {
    Int(i64),
    Ratio(i64, i64),
    Text(String),
}

impl Value {
    /// Numerator and denominator of a number.
    fn ratio(&self) -> Option<(i64, i64)> {
        match self {
            Value::Int(value) => Some((*value, 1)),
            Value::Ratio(above, below) => Some((*above, *below)),
            Value::Text(text) => {
                let (above, below) = text.split_once('/')?;
                Some((above.parse().ok()?, below.parse().ok().filter(|b| *b > 0)?))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Value::Int(value) => value.to_string(),
            Value::Ratio(above, below) => format!("{above}/{below}"),
            Value::Text(text) => text.clone(),
        }
    }

    /// Numbers by what they are worth, before text; continued fractions keep it exact.
    fn order(&self, other: &Value) -> Ordering {
        if let (Value::Int(a), Value::Int(b)) = (self, other) {
            return a.cmp(b);
        }
        match (self.ratio(), other.ratio()) {
            (Some(a), Some(b)) => order_of_ratios(a, b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text().cmp(&other.text()),
        }
    }
}

/// Compares fractions without overflow: whole parts, then what remains, upside down.
fn order_of_ratios((mut a, mut b): (i64, i64), (mut c, mut d): (i64, i64)) -> Ordering {
    let mut turned = false;
    loop {
        let whole = a.div_euclid(b).cmp(&c.div_euclid(d));
        let (rest, other) = (a.rem_euclid(b), c.rem_euclid(d));
        let order = match (whole, rest, other) {
            (Ordering::Equal, 0, 0) => Ordering::Equal,
            (Ordering::Equal, 0, _) => Ordering::Less,
            (Ordering::Equal, _, 0) => Ordering::Greater,
            (Ordering::Equal, _, _) => {
                (a, b, c, d) = (b, rest, d, other);
                turned = !turned;
                continue;
            }
            (unequal, _, _) => unequal,
        };
        return if turned { order.reverse() } else { order };
    }
}

fn rows(count: usize) -> Vec<Value> {
    let mut state = 97u32;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 25 {
                0 => Value::Ratio(i64::from(state >> 4), 7),
                1 => Value::Text(format!("lot {}", state >> 12)),
                _ => Value::Int(i64::from(state >> 6) - 30_000_000),
            }
        })
        .collect()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let rows = rows(args.next().unwrap_or(1000));
    let mut sum = 0u64;
    for pass in 0..args.next().unwrap_or(10) {
        let mut sorted: Vec<&Value> = rows.iter().skip(pass % 10).collect();
        sorted.sort_by(|a, b| a.order(b));
        for value in sorted.iter().step_by(101) {
            let (above, below) = value.ratio().unwrap_or((7, 1));
            sum = sum.wrapping_mul(31).wrapping_add((above / below) as u64);
        }
    }
    println!("{sum:016x}");
}
