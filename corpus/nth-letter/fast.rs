// How many letters differ between words, place by place.
fn differences(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).filter(|(one, other)| one != other).count()
}

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(20, |one| one.parse().unwrap());
    let mut state = 7u32;
    let mut next = move || {
        state = state.wrapping_mul(1103515245).wrapping_add(12345);
        state >> 16
    };
    let words: Vec<String> = (0..200)
        .map(|_| (0..300).map(|_| char::from_u32('a' as u32 + next() % 26).unwrap()).collect())
        .collect();
    let mut sum = 0;
    for one in &words[..rounds] {
        for other in &words {
            sum += differences(one, other);
        }
    }
    println!("{sum}");
}
