//! Sums measures over the rows of a table that is stored in blocks, run-length coded per column.

#[derive(Clone, Copy, Default)]
struct Run {
    value: i64,
    left: u32,
}

trait Cursor {
    fn next(&mut self) -> Option<i64>;
}

struct RunCursor {
    bytes: Vec<u8>,
    at: usize,
    run: Run,
    queue: Vec<Run>,
    queued: usize,
    blocks: u32,
}

impl RunCursor {
    fn new(bytes: Vec<u8>) -> Self {
        RunCursor { bytes, at: 0, run: Run::default(), queue: Vec::new(), queued: 0, blocks: 0 }
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

impl RunCursor {
    #[cold]
    #[inline(never)]
    fn next_of_new_run(&mut self) -> Option<i64> {
        if self.queued == self.queue.len() {
            let mut block = [Run::default(); 64];
            let mut used = 0;
            let mut last = 0;
            while used < block.len() {
                let mut at = self.at;
                let (Some(length), Some(coded)) = (varint(&self.bytes, &mut at), varint(&self.bytes, &mut at)) else {
                    break;
                };
                self.at = at;
                last += (coded >> 1) as i64 ^ -((coded & 1) as i64);
                block[used] = Run { value: last, left: length as u32 };
                used += 1;
            }
            self.queue.clear();
            self.queue.extend_from_slice(&block[..used]);
            self.queued = 0;
            self.blocks += 1;
        }
        self.run = *self.queue.get(self.queued)?;
        self.queued += 1;
        self.run.left -= 1;
        Some(self.run.value)
    }
}

impl Cursor for RunCursor {
    fn next(&mut self) -> Option<i64> {
        if self.run.left == 0 {
            return self.next_of_new_run();
        }
        self.run.left -= 1;
        Some(self.run.value)
    }
}

struct Counter {
    next: i64,
    end: i64,
}

impl Cursor for Counter {
    fn next(&mut self) -> Option<i64> {
        self.next += 1;
        (self.next <= self.end).then_some(self.next)
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn column(rows: u32, seed: u32, longest: u32) -> Vec<u8> {
    let (mut bytes, mut state, mut made) = (Vec::new(), seed, 0);
    while made < rows {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let length = (1 + (state >> 8) % longest).min(rows - made);
        put_varint(&mut bytes, length.into());
        put_varint(&mut bytes, u64::from(state >> 20));
        made += length;
    }
    bytes
}

fn summarise(cursors: &mut [Box<dyn Cursor>], groups: &mut [i64]) -> u64 {
    let mut rows = 0;
    loop {
        let Some(row) = cursors[0].next() else { return rows };
        let (Some(shop), Some(price)) = (cursors[1].next(), cursors[2].next()) else { return rows };
        let amount = cursors[3].next().unwrap_or(0);
        let group = shop as usize % groups.len();
        groups[group] = groups[group].wrapping_add(price * amount + (row & 1));
        rows += 1;
    }
}

fn main() {
    let arguments: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let rows = arguments.first().copied().unwrap_or(100_000);
    let passes = arguments.get(1).copied().unwrap_or(4);
    let columns = [column(rows, 3, 300), column(rows, 4, 90), column(rows, 5, 140)];
    let (mut groups, mut total) = (vec![0i64; 128], 0);
    for _ in 0..passes {
        let mut cursors: Vec<Box<dyn Cursor>> = vec![Box::new(Counter { next: 0, end: rows.into() })];
        for bytes in &columns {
            cursors.push(Box::new(RunCursor::new(bytes.clone())));
        }
        total += summarise(&mut cursors, &mut groups);
    }
    let sum = groups.iter().fold(0u64, |sum, &g| sum.wrapping_mul(31).wrapping_add(g as u64));
    println!("{total} {sum:016x}");
}
