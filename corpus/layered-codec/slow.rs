//! Packs payloads through layers of a protocol: body, encryption header, transport, frame.

trait Layer {
    fn wrap(&self, payload: &[u8]) -> Vec<u8>;
}

struct Header(u8);
struct Sequence(u32);
struct Frame;

impl Layer for Header {
    fn wrap(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() + 2);
        out.extend([self.0, payload.len() as u8]);
        out.extend_from_slice(payload);
        out
    }
}

impl Layer for Sequence {
    fn wrap(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = self.0.to_le_bytes().to_vec();
        out.extend_from_slice(payload);
        out
    }
}

impl Layer for Frame {
    fn wrap(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = (payload.len() as u32).to_le_bytes().to_vec();
        out.extend_from_slice(payload);
        out
    }
}

fn pack(layers: &[&dyn Layer], payload: &[u8], out: &mut Vec<u8>) {
    let mut packed = payload.to_vec();
    for layer in layers {
        packed = layer.wrap(&packed);
    }
    out.extend_from_slice(&packed);
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
