//! Reads the members of an archive and makes a digest of each, over its header and content.
use std::env;

struct Digest {
    lanes: [u64; 4],
    pending: [u8; 32],
    held: usize,
    total: u64,
}

impl Digest {
    fn new() -> Self {
        Digest { lanes: [1, 2, 3, 4], pending: [0; 32], held: 0, total: 0 }
    }

    fn block(lanes: &mut [u64; 4], block: &[u8]) {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = (*lane ^ u64::from_le_bytes(word.try_into().unwrap())).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }

    fn update(&mut self, mut data: &[u8]) {
        self.total += data.len() as u64;
        if self.held > 0 {
            let take = data.len().min(32 - self.held);
            self.pending[self.held..self.held + take].copy_from_slice(&data[..take]);
            self.held += take;
            data = &data[take..];
            if self.held < 32 {
                return;
            }
            Self::block(&mut self.lanes, &self.pending);
            self.held = 0;
        }
        let mut blocks = data.chunks_exact(32);
        for block in &mut blocks {
            Self::block(&mut self.lanes, block);
        }
        let rest = blocks.remainder();
        self.pending[..rest.len()].copy_from_slice(rest);
        self.held = rest.len();
    }

    fn finish(mut self) -> u64 {
        self.pending[self.held..].fill(0x80);
        Self::block(&mut self.lanes, &self.pending);
        self.lanes.iter().fold(self.total, |h, &lane| (h ^ lane).wrapping_mul(0xBF58_476D_1CE4_E5B9))
    }
}

struct Member {
    name: String,
    offset: usize,
    size: usize,
}

struct Archive {
    data: Vec<u8>,
    members: Vec<Member>,
}

impl Archive {
    fn content(&self, member: &Member) -> Vec<u8> {
        self.data[member.offset..member.offset + member.size].to_vec()
    }

    fn header(&self, member: &Member) -> Vec<u8> {
        let mut header = vec![0u8; 100];
        header[..member.name.len()].copy_from_slice(member.name.as_bytes());
        header.extend_from_slice(&(member.size as u64).to_be_bytes());
        header
    }

    fn framed(&self, member: &Member) -> Vec<u8> {
        let mut frame = self.header(member);
        frame.extend_from_slice(&self.content(member));
        frame
    }

    fn digest(&self, member: &Member) -> u64 {
        let mut digest = Digest::new();
        digest.update(&self.framed(member));
        digest.finish()
    }
}

fn build(members: usize) -> Archive {
    let mut archive = Archive { data: Vec::new(), members: Vec::new() };
    let mut state = 7u32;
    for i in 0..members {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let size = 2000 + (state >> 8) as usize % 60_000;
        archive.members.push(Member { name: format!("usr/share/doc/package-{i}/copyright"), offset: archive.data.len(), size });
        for b in 0..size as u32 {
            archive.data.push((b.wrapping_mul(state) >> 11) as u8);
        }
    }
    archive
}

fn main() {
    let arguments: Vec<usize> = env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let members = arguments.first().copied().unwrap_or(20);
    let passes = arguments.get(1).copied().unwrap_or(10);
    let archive = build(members);
    let mut sum = 0u64;
    for _ in 0..passes {
        for member in &archive.members {
            sum = sum.wrapping_mul(31).wrapping_add(archive.digest(member));
        }
    }
    println!("{} bytes, {:016x}", archive.data.len(), sum);
}
