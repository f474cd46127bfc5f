//! Hadamard matrices: two-level designs in which every column is balanced against every other.

/// A matrix of +1 (`true`) and −1 (`false`) whose columns are orthogonal; its first column is
/// all +1. `order` must be one that [`next_order`] gives.
///
/// Sources: Plackett and Burman, "The design of optimum multifactorial experiments", Biometrika
/// 33 (1946); Paley's first construction and Sylvester's doubling, as in Hedayat and Wallis,
/// "Hadamard matrices and their applications", Annals of Statistics 6 (1978).
pub(crate) fn hadamard(order: usize) -> Vec<Vec<bool>> {
    if order <= 1 {
        return vec![vec![true]];
    }
    if order == 2 {
        return vec![vec![true, true], vec![true, false]];
    }
    if is_paley(order) {
        return paley(order - 1);
    }
    let half = hadamard(order / 2);
    let row = |row: &Vec<bool>, lower: bool| -> Vec<bool> {
        let right = row.iter().map(|sign| *sign != lower);
        row.iter().copied().chain(right).collect()
    };
    let upper = half.iter().map(|signs| row(signs, false));
    upper
        .chain(half.iter().map(|signs| row(signs, true)))
        .collect()
}

/// The smallest order of at least `least` that can be built here.
pub(crate) fn next_order(least: usize) -> usize {
    (least.max(4)..)
        .find(|order| can_build(*order))
        .unwrap_or(usize::MAX)
}

fn can_build(order: usize) -> bool {
    match order {
        1 | 2 => true,
        _ if !order.is_multiple_of(4) => false,
        _ => is_paley(order) || can_build(order / 2),
    }
}

fn is_paley(order: usize) -> bool {
    order.is_multiple_of(4) && is_prime(order - 1)
}

fn is_prime(number: usize) -> bool {
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

/// Paley's first construction for a prime q ≡ 3 (mod 4): I + S, where S is the skew conference
/// matrix of the quadratic residues, with the first column made +1.
fn paley(q: usize) -> Vec<Vec<bool>> {
    let mut residue = vec![false; q];
    for x in 1..q {
        residue[x * x % q] = true;
    }
    // S: first row +1 (its diagonal 0), first column −1, then χ(i − j); I puts +1 on the
    // diagonal.
    let sign = |row: usize, column: usize| match (row, column) {
        _ if row == column => true,
        (0, _) => true,
        (_, 0) => false,
        _ => residue[(row + q - column) % q],
    };
    (0..=q)
        .map(|row| {
            let first = sign(row, 0);
            (0..=q).map(|column| sign(row, column) == first).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_orthogonal_at_every_order_used() {
        for least in 2..130 {
            let order = next_order(least);
            assert!(
                order >= least && order <= least.max(4) * 2,
                "{least}: {order}"
            );
            let matrix = hadamard(order);
            assert_eq!(matrix.len(), order);
            let product = |a: usize, b: usize| -> i64 {
                let same = matrix.iter().filter(|row| row[a] == row[b]).count() as i64;
                2 * same - order as i64
            };
            assert!(
                matrix.iter().all(|row| row[0]),
                "the first column is all +1"
            );
            for a in 0..order {
                for b in 0..order {
                    assert_eq!(product(a, b), if a == b { order as i64 } else { 0 });
                }
            }
        }
    }

    #[test]
    fn order_is_the_smallest_possible() {
        for (least, order) in [
            (4, 4),
            (8, 8),
            (12, 12),
            (13, 16),
            (16, 16),
            (20, 20),
            (24, 24),
        ] {
            assert_eq!(next_order(least), order);
        }
    }
}
