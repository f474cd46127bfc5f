//! Counts the different visitors of each page of a log, in the order of their first visit.
use std::collections::HashSet;

#[derive(Clone, Copy)]
struct Visit {
    page: u32,
    visitor: u64,
}

#[derive(Default)]
struct Page {
    visits: usize,
    visitors: Vec<u64>,
    seen: HashSet<u64>,
}

fn by_page(visits: &[Visit], pages: usize) -> Vec<Page> {
    let mut all: Vec<Page> = (0..pages).map(|_| Page::default()).collect();
    for visit in visits {
        let page = &mut all[visit.page as usize];
        page.visits += 1;
        if page.seen.insert(visit.visitor) {
            page.visitors.push(visit.visitor);
        }
    }
    all
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u32>().expect("a number"));
    let count = args.next().unwrap_or(10_000);
    let pages = args.next().unwrap_or(4);
    let mut state = 88_172_645_463_325_252u64;
    let visits: Vec<Visit> = (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            Visit { page: (state >> 60) as u32 % pages, visitor: (state >> 20) % u64::from(count) }
        })
        .collect();
    let mut digest = 0u64;
    for page in by_page(&visits, pages as usize) {
        let last = page.visitors.last().copied().unwrap_or(0);
        digest = digest.wrapping_mul(1_000_003).wrapping_add(page.visitors.len() as u64 ^ last);
        digest = digest.wrapping_add(page.visits as u64);
    }
    println!("{digest:016x}");
}
