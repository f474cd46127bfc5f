//! Makes thumbnails of the photographs of a shop, with a few workers that share a queue.
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

const WORKERS: usize = 4;
const THUMB: usize = 48;

struct Photo {
    number: u32,
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Photo {
    /// What the camera would have taken: gradients, a disc and some noise.
    fn take(number: u32) -> Photo {
        let width = 420 + (number as usize * 37) % 160;
        let height = 300 + (number as usize * 53) % 120;
        let mut noise = number.wrapping_mul(2654435761) | 1;
        let mut pixels = Vec::with_capacity(width * height);
        let (cx, cy) = (width as i32 / 2, height as i32 / 3);
        for y in 0..height as i32 {
            for x in 0..width as i32 {
                noise ^= noise << 13;
                noise ^= noise >> 17;
                noise ^= noise << 5;
                let disc = (x - cx).pow(2) + (y - cy).pow(2) < 6400;
                let base = if disc { 200 } else { (x / 3 + y / 2) % 160 };
                pixels.push((base as u32 + noise % 32) as u8);
            }
        }
        Photo { number, width, height, pixels }
    }
}

enum Job {
    Thumbnail(Photo),
    Histogram(Photo),
}

struct Outcome {
    number: u32,
    kind: &'static str,
    digest: u64,
}

fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325, |h, &b| (h ^ b as u64).wrapping_mul(0x100000001b3))
}

/// Blurs along one axis, with a window whose weights fall towards its ends.
fn blur(source: &[u8], width: usize, height: usize, along_x: bool, radius: i64) -> Vec<u8> {
    let mut target = vec![0u8; source.len()];
    for y in 0..height as i64 {
        for x in 0..width as i64 {
            let mut sum = 0i64;
            let mut weights = 0i64;
            for offset in -radius..=radius {
                let (sx, sy) = if along_x { (x + offset, y) } else { (x, y + offset) };
                if sx < 0 || sy < 0 || sx >= width as i64 || sy >= height as i64 {
                    continue;
                }
                let weight = radius + 1 - offset.abs();
                sum += weight * source[sy as usize * width + sx as usize] as i64;
                weights += weight;
            }
            target[y as usize * width + x as usize] = (sum / weights) as u8;
        }
    }
    target
}

fn shrink(photo: &Photo) -> Vec<u8> {
    let rows = blur(&photo.pixels, photo.width, photo.height, true, 4);
    let smooth = blur(&rows, photo.width, photo.height, false, 4);
    let mut thumbnail = Vec::with_capacity(THUMB * THUMB);
    for y in 0..THUMB {
        for x in 0..THUMB {
            let sx = x * photo.width / THUMB;
            let sy = y * photo.height / THUMB;
            thumbnail.push(smooth[sy * photo.width + sx]);
        }
    }
    thumbnail
}

fn histogram(photo: &Photo) -> Vec<u8> {
    let mut counts = [0u32; 256];
    for &pixel in &blur(&photo.pixels, photo.width, photo.height, true, 2) {
        counts[pixel as usize] += 1;
    }
    counts.iter().flat_map(|count| count.to_le_bytes()).collect()
}

fn perform(job: Job) -> Outcome {
    match job {
        Job::Thumbnail(photo) => Outcome { number: photo.number, kind: "thumbnail", digest: digest(&shrink(&photo)) },
        Job::Histogram(photo) => Outcome { number: photo.number, kind: "histogram", digest: digest(&histogram(&photo)) },
    }
}

fn run_worker(queue: &Mutex<Receiver<Job>>, outcomes: &Sender<Outcome>) {
    while let Ok(job) = queue.lock().unwrap().recv() {
        let outcome = perform(job);
        if outcomes.send(outcome).is_err() {
            return;
        }
    }
}

fn start_workers(queue: Receiver<Job>, outcomes: Sender<Outcome>) -> Vec<thread::JoinHandle<()>> {
    let queue = Arc::new(Mutex::new(queue));
    (0..WORKERS)
        .map(|_| {
            let queue = Arc::clone(&queue);
            let outcomes = outcomes.clone();
            thread::spawn(move || run_worker(&queue, &outcomes))
        })
        .collect()
}

fn main() {
    let photos: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(300);
    let (jobs, queue) = mpsc::channel();
    let (sender, outcomes) = mpsc::channel();
    let workers = start_workers(queue, sender);
    for number in 0..photos {
        let photo = Photo::take(number);
        let job = if number % 5 == 4 { Job::Histogram(photo) } else { Job::Thumbnail(photo) };
        if jobs.send(job).is_err() {
            break;
        }
    }
    drop(jobs);
    let mut done = BTreeMap::new();
    for outcome in outcomes {
        done.insert(outcome.number, (outcome.kind, outcome.digest));
    }
    for worker in workers {
        worker.join().expect("a worker panicked");
    }
    let mut sum = 0u64;
    for (number, (kind, digest)) in &done {
        sum = sum.wrapping_mul(31).wrapping_add(digest ^ *number as u64 ^ kind.len() as u64);
    }
    println!("{} {sum:016x}", done.len());
}
