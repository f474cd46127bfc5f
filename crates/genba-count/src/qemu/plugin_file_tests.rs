use super::*;
use proptest::prelude::*;

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
}

fn record(kind: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size.next_multiple_of(8)];
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&kind.to_ne_bytes());
    bytes[4..8].copy_from_slice(&size.to_ne_bytes());
    bytes
}

fn a_block(address: u64, count: u64, lengths: &[u8]) -> Vec<u8> {
    let mut bytes = record(kind::BLOCK, block::LENGTHS + lengths.len());
    put(&mut bytes, block::COUNT, count);
    put(&mut bytes, block::ADDRESS, address);
    put(&mut bytes, block::OFFSET, address - 0x1000);
    bytes[block::FILE..block::FILE + 4].copy_from_slice(&0u32.to_ne_bytes());
    let number = lengths.len() as u32;
    bytes[block::INSTRUCTIONS..block::INSTRUCTIONS + 4].copy_from_slice(&number.to_ne_bytes());
    bytes[block::LAST] = 0xc3;
    bytes[block::LAST + 15] = 1;
    bytes[block::LENGTHS..block::LENGTHS + lengths.len()].copy_from_slice(lengths);
    bytes
}

fn small() -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    put(&mut bytes, header::MAGIC, MAGIC);
    put(&mut bytes, header::PID, 42);
    put(&mut bytes, header::FLAGS, flag::EXITED);
    let mut path = record(kind::FILE, file::PATH + 6);
    path[file::LENGTH] = 6;
    path[file::PATH..file::PATH + 6].copy_from_slice(b"/bin/a");
    bytes.extend(path);
    bytes.extend(record(0, 24));
    let first = bytes.len() as u64;
    bytes.extend(a_block(0x2000, 7, &[3, 2, 1]));
    let second = bytes.len() as u64;
    bytes.extend(a_block(0x3000, 8, &[1]));
    let mut edge_record = record(kind::EDGE, edge::SIZE);
    put(&mut edge_record, edge::COUNT, 5);
    put(&mut edge_record, edge::FROM, first);
    put(&mut edge_record, edge::TO, second);
    bytes.extend(edge_record);
    let used = bytes.len() as u64;
    put(&mut bytes, header::USED, used);
    // The unused rest of a chunk.
    bytes.extend([0; 64]);
    bytes
}

#[test]
fn a_file_of_the_plugin_is_parsed() {
    let bytes = small();
    let counts = read(&bytes).expect("a good file");
    assert_eq!((counts.pid, counts.parent), (42, None));
    assert!(counts.exited && !counts.executed);
    assert_eq!(counts.files, [b"/bin/a"]);
    assert_eq!(counts.blocks.len(), 2);
    let block = &counts.blocks[0];
    assert_eq!(
        (block.count, block.address, block.before_last()),
        (7, 0x2000, 5)
    );
    assert_eq!(block.place, Some((0, 0x1000)));
    assert_eq!(block.last, [0xc3]);
    let edge = Edge {
        from: 0,
        to: 1,
        count: 5,
    };
    assert_eq!(counts.edges, [edge]);
}

#[test]
fn other_and_truncated_files_are_refused() {
    assert_eq!(read(b"no"), Err(ReadError::Magic));
    assert_eq!(read(&[0; 100]), Err(ReadError::Magic));
    let bytes = small();
    let cut = &bytes[..bytes.len() - 100];
    assert!(matches!(read(cut), Err(ReadError::Record { .. })));
}

#[test]
fn truncated_instructions_are_recognised() {
    assert!(is_cut(&[0x75]));
    assert!(is_cut(&[0x48]));
    assert!(is_cut(&[0x0f]));
    assert!(is_cut(&[0xe8, 0, 0]));
    assert!(!is_cut(&[0x75, 0]));
    assert!(!is_cut(&[0xc3]));
}

proptest! {
    #[test]
    fn damaged_files_do_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut: prop::sample::Index) {
        let mut bytes = small();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = read(&bytes);
    }
}
