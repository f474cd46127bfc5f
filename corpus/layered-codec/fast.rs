//! Packs payloads through layers of a protocol: body, encryption header, transport, frame.

trait Layer {
    /// Bytes that the layer puts before a payload of this length.
    fn head(&self, length: usize, out: &mut [u8]) -> usize;
}

struct Header(u8);
struct Sequence(u32);
struct Frame;

impl Layer for Header {
    fn head(&self, length: usize, out: &mut [u8]) -> usize {
        out[..2].copy_from_slice(&[self.0, length as u8]);
        2
    }
}

impl Layer for Sequence {
    fn head(&self, _: usize, out: &mut [u8]) -> usize {
        out[..4].copy_from_slice(&self.0.to_le_bytes());
        4
    }
}

impl Layer for Frame {
    fn head(&self, length: usize, out: &mut [u8]) -> usize {
        out[..4].copy_from_slice(&(length as u32).to_le_bytes());
        4
    }
}

fn pack(layers: &[&dyn Layer], payload: &[u8], out: &mut Vec<u8>) {
    let mut heads = [0; 64];
    let mut first = heads.len();
    for layer in layers {
        let mut head = [0; 16];
        let length = layer.head(payload.len() + heads.len() - first, &mut head);
        first -= length;
        heads[first..first + length].copy_from_slice(&head[..length]);
    }
    out.extend_from_slice(&heads[first..]);
    out.extend_from_slice(payload);
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let count = args.next().unwrap_or(100);
    let mut state = 137u32;
    let payloads: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            vec![i as u8; 600 + (state >> 21) as usize]
        })
        .collect();
    let mut out = Vec::new();
    let mut sum = 0u64;
    for pass in 0..args.next().unwrap_or(10) {
        out.clear();
        for (i, payload) in payloads.iter().enumerate() {
            let sequence = Sequence((pass * count + i) as u32);
            pack(&[&Header(i as u8), &sequence, &Header(7), &Frame], payload, &mut out);
        }
        for byte in out.iter().step_by(1021) {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }
    println!("{} bytes, {sum:016x}", out.len());
}
