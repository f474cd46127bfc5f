//! Finds the best match of misspelt words in a dictionary by edit distance.

fn distance(a: &[u8], b: &[u8], row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b.len());
    for i in 1..=a.len() {
        let mut diagonal = row[0];
        row[0] = i;
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let above = row[j] + 1;
            let left = row[j - 1] + 1;
            let here = above.min(left).min(diagonal + cost);
            diagonal = row[j];
            row[j] = here;
        }
    }
    row[b.len()]
}

fn best<'a>(word: &[u8], dictionary: &'a [Vec<u8>]) -> (usize, &'a [u8]) {
    let mut row = Vec::new();
    let mut found = (usize::MAX, &dictionary[0][..]);
    for candidate in dictionary {
        let d = distance(word, candidate, &mut row);
        if d < found.0 {
            found = (d, candidate);
        }
    }
    found
}

struct Words(u32);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0 >> 16
    }

    fn word(&mut self) -> Vec<u8> {
        let syllables = ["ka", "to", "mi", "no", "ru", "shi", "e", "ha"];
        let parts = 2 + self.next() % 2;
        let mut word = Vec::new();
        for _ in 0..parts {
            word.extend_from_slice(syllables[self.next() as usize % 8].as_bytes());
        }
        word
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let entries = args.next().unwrap_or(200);
    let queries = args.next().unwrap_or(100);
    let mut words = Words(17);
    let dictionary: Vec<Vec<u8>> = (0..entries).map(|_| words.word()).collect();
    let mut sum = 0usize;
    for _ in 0..queries {
        let mut word = words.word();
        let at = words.next() as usize % word.len();
        word[at] = b'x';
        let (d, match_) = best(&word, &dictionary);
        sum = sum.wrapping_mul(31).wrapping_add(d * 100 + match_.len());
    }
    println!("{sum:016x}");
}
