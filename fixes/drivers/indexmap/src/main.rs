//! Keeps made-up requests in the order of arrival, most of which are answered soon: driver OPEN STEPS.

use indexmap::IndexMap;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let (open, steps) = (numbers.next().expect("open"), numbers.next().expect("steps"));
    let mut requests: IndexMap<u64, String> = (0..open).map(|id| (id * 7919, format!("/path/{id}"))).collect();
    let (mut state, mut length) = (1u32, 0);
    for id in open..open + steps {
        requests.insert(id * 7919, format!("/path/{id}"));
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let back = u64::from(state >> 28);
        if let Some(path) = requests.shift_remove(&((id - back) * 7919)) {
            length += path.len();
        }
    }
    println!("{} {} {}", requests.len(), length, requests.keys().rev().take(100).sum::<u64>());
}
