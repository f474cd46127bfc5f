// Encodes rows of measurements as messages, each with its schema's fingerprint, and reads them back.

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Count,
    Delta,
    Real,
    Flag,
}

struct Field {
    name: String,
    kind: Kind,
}

struct Schema {
    name: String,
    fields: Vec<Field>,
}

impl Schema {
    /// Equal for equal names and kinds in equal order, on every machine.
    fn fingerprint(&self) -> u64 {
        let mut h = 0xcbf2_9ce4_8422_2325u64;
        for byte in self.name.bytes() {
            h = (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        for field in &self.fields {
            for byte in field.name.bytes() {
                h = (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
            h = (h ^ 256 ^ field.kind as u64).wrapping_mul(0x100_0000_01b3);
        }
        h
    }
}

trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

/// Keeps the bytes of one batch.
struct Batch {
    bytes: Vec<u8>,
    messages: usize,
}

impl Sink for Batch {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.messages += 1;
    }
}

struct Encoder<'a, S: Sink> {
    schema: &'a Schema,
    fingerprint: [u8; 8],
    sink: S,
    before: Vec<u64>,
    scratch: Vec<u8>,
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

impl<'a, S: Sink> Encoder<'a, S> {
    fn new(schema: &'a Schema, sink: S) -> Self {
        let before = vec![0; schema.fields.len()];
        let fingerprint = schema.fingerprint().to_le_bytes();
        Encoder { schema, fingerprint, sink, before, scratch: Vec::new() }
    }

    fn encode(&mut self, row: &[u64]) {
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.fingerprint);
        for (i, (field, &value)) in self.schema.fields.iter().zip(row).enumerate() {
            match field.kind {
                Kind::Count => put_varint(&mut self.scratch, value),
                Kind::Delta => {
                    let delta = value.wrapping_sub(self.before[i]) as i64;
                    put_varint(&mut self.scratch, (delta << 1 ^ delta >> 63) as u64);
                    self.before[i] = value;
                }
                Kind::Real => self.scratch.extend_from_slice(&(value as f64 / 64.0).to_le_bytes()),
                Kind::Flag => self.scratch.push(u8::from(value & 1 != 0)),
            }
        }
        let sum = self.scratch.chunks(4).fold(17u32, |h, c| {
            c.iter().fold(h.rotate_left(5), |h, &b| h.wrapping_add(u32::from(b)))
        });
        self.scratch.extend_from_slice(&sum.to_le_bytes());
        self.sink.put(&self.scratch);
    }
}

/// The sum of what a reader of the batch sees.
fn digest(batch: &Batch) -> u64 {
    batch.bytes.chunks(8).fold(batch.messages as u64, |h, c| {
        let mut word = [0; 8];
        word[..c.len()].copy_from_slice(c);
        (h ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    })
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let rows = args.next().unwrap_or(1000);
    let batches = args.next().unwrap_or(100);
    let field = |name: &str, kind| Field { name: name.to_string(), kind };
    let schema = Schema {
        name: "station".to_string(),
        fields: vec![
            field("time", Kind::Delta),
            field("station", Kind::Count),
            field("pressure", Kind::Real),
            field("humidity", Kind::Count),
            field("rain", Kind::Flag),
            field("wind_gust", Kind::Delta),
            field("battery", Kind::Count),
        ],
    };
    let mut state = 1u64;
    let mut table = Vec::new();
    for i in 0..rows as u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let noise = state >> 40;
        table.push(vec![1_700_000_000 + i * 60 + noise % 7, noise % 900, noise, noise % 10000, noise >> 3, noise >> 9, 3000 + noise % 700]);
    }
    let mut total = 0u64;
    for _ in 0..batches {
        let mut encoder = Encoder::new(&schema, Batch { bytes: Vec::new(), messages: 0 });
        for row in &table {
            encoder.encode(row);
        }
        total = total.wrapping_mul(31).wrapping_add(digest(&encoder.sink));
    }
    println!("{total:016x}");
}
