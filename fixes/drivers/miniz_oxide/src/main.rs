//! Packs a file once and unpacks it often: `driver FILE TIMES`.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let plain = std::fs::read(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let packed = miniz_oxide::deflate::compress_to_vec(&plain, 6);
    let mut again = vec![0; plain.len()];
    let mut length = 0;
    for _ in 0..times {
        length += miniz_oxide::inflate::decompress_slice_iter_to_slice(
            &mut again,
            std::iter::once(&packed[..]),
            false,
            true,
        )
        .expect("it was packed here");
    }
    println!("{length} {}", again == plain);
}
