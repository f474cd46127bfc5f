//! Servers as streams of records.

use proptest::prelude::*;

use super::*;

/// Descriptors from here on are connections that were accepted.
const FIRST_CONNECTION: u64 = 10;

fn requests(records: &[CallRecord]) -> SeenRequests {
    let mut log = RequestLog::default();
    for record in records {
        log.add(*record);
    }
    log.finish((0, true), &mut |_, descriptor| {
        Some(descriptor >= FIRST_CONNECTION)
    })
}

/// A stream of records of process 1.
#[derive(Default)]
struct Stream(Vec<CallRecord>);

impl Stream {
    fn add(&mut self, time: u64, tid: i32, event: CallEvent) {
        self.0.push(CallRecord {
            time,
            pid: 1,
            tid,
            event,
        });
    }

    /// A call that does not block.
    fn call(&mut self, times: [u64; 2], tid: i32, (number, first): (i64, u64), result: i64) {
        self.add(times[0], tid, CallEvent::Enter { number, first });
        self.add(times[1], tid, CallEvent::Exit { number, result });
    }

    /// A call in which the thread gives up its CPU between the second and the third time.
    fn blocked(&mut self, times: [u64; 4], tid: i32, (number, first): (i64, u64), result: i64) {
        self.add(times[0], tid, CallEvent::Enter { number, first });
        self.add(times[1], tid, CallEvent::Blocks);
        self.add(times[2], tid, CallEvent::In);
        self.add(times[3], tid, CallEvent::Exit { number, result });
    }
}

const READ: i64 = libc::SYS_read;
const WRITE: i64 = libc::SYS_write;
const FSYNC: i64 = libc::SYS_fsync;
const FUTEX: i64 = libc::SYS_futex;
const EPOLL: i64 = libc::SYS_epoll_wait;

fn part(request: &SeenRequest, kind: PartKind, call: i64) -> u64 {
    let parts = request.parts.iter();
    let parts = parts.filter(|one| (one.kind, one.call) == (kind, call));
    parts.map(|one| one.ns).sum()
}

fn by_start(mut all: Vec<SeenRequest>) -> Vec<SeenRequest> {
    all.sort_by_key(|one| (one.began, one.ns));
    all
}

#[test]
fn a_thread_for_each_connection_has_its_own_waits() {
    let mut stream = Stream::default();
    // It waits for the request until 100, which is not the server's time.
    stream.blocked([10, 12, 100, 104], 5, (READ, 10), 64);
    stream.blocked([120, 125, 300, 310], 5, (FSYNC, 3), 0);
    stream.add(
        150,
        5,
        CallEvent::Seen {
            call: FSYNC,
            state: 7,
        },
    );
    stream.call([320, 330], 5, (WRITE, 10), 20);
    stream.call([340, 345], 5, (WRITE, 10), 20);
    // The next one.
    stream.blocked([350, 352, 900, 905], 5, (READ, 10), 64);
    stream.call([910, 920], 5, (WRITE, 10), 20);
    let all = requests(&stream.0);
    assert_eq!((all.count, all.connections), (2, 1));
    let all = by_start(all.slowest);
    assert_eq!((all[0].began, all[0].ns), (100, 245));
    assert!(!all[0].handed_over && all[0].tid == 5);
    assert_eq!(part(&all[0], PartKind::Blocked, FSYNC), 175);
    assert_eq!(part(&all[0], PartKind::Running, FSYNC), 15);
    // 104–120, 310–320, 330–340.
    assert_eq!(part(&all[0], PartKind::Running, -1), 36);
    let of_fsync = all[0]
        .parts
        .iter()
        .find(|one| one.kind == PartKind::Blocked);
    assert_eq!(of_fsync.and_then(|one| one.state), Some(7));
    assert_eq!((all[1].began, all[1].ns), (900, 20));
}

#[test]
fn in_an_event_loop_a_request_waits_for_those_before_it() {
    let mut stream = Stream::default();
    stream.call([1, 2], 5, (READ, 10), 64);
    stream.call([3, 4], 5, (WRITE, 10), 9);
    stream.blocked([5, 6, 100, 110], 5, (EPOLL, 3), 2);
    stream.call([120, 130], 5, (READ, 11), 64);
    stream.call([630, 640], 5, (WRITE, 11), 9);
    stream.call([650, 660], 5, (READ, 12), 64);
    stream.call([670, 680], 5, (WRITE, 12), 9);
    let all = by_start(requests(&stream.0).slowest);
    let [_, first, second] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!((first.began, first.ns), (110, 530));
    assert_eq!(part(first, PartKind::OtherRequests, -1), 0);
    assert_eq!((second.began, second.ns), (110, 570));
    // From the read of the other connection on.
    let others = part(second, PartKind::OtherRequests, -1);
    assert!((500..=540).contains(&others), "{second:?}");
}

#[test]
fn a_thread_that_waited_for_other_work_begins_a_request_when_it_reads_it() {
    let mut stream = Stream::default();
    // It was told of a descriptor long before it took this connection from a queue.
    stream.blocked([1, 2, 10, 11], 5, (EPOLL, 3), 1);
    stream.blocked([20, 21, 900, 901], 5, (FUTEX, 0), 0);
    stream.call([910, 911], 5, (READ, 10), 64);
    stream.call([920, 930], 5, (WRITE, 10), 9);
    let one = &requests(&stream.0).slowest[0];
    assert_eq!((one.began, one.ns), (910, 20));
    // A connection that is accepted after it was told of something has asked nothing before.
    let mut stream = Stream::default();
    stream.blocked([1, 2, 10, 11], 5, (EPOLL, 3), 1);
    stream.call([500, 510], 5, (libc::SYS_accept4, 3), 12);
    stream.call([520, 521], 5, (READ, 12), 64);
    stream.call([530, 540], 5, (WRITE, 12), 9);
    let one = &requests(&stream.0).slowest[0];
    assert_eq!((one.began, one.ns), (520, 20));
}

#[test]
fn a_wait_in_a_call_that_is_not_recorded_is_what_a_snapshot_saw() {
    const MSYNC: i64 = libc::SYS_msync;
    let mut stream = Stream::default();
    stream.call([10, 11], 5, (READ, 10), 64);
    stream.add(20, 5, CallEvent::Blocks);
    let (call, state) = (MSYNC, 7);
    stream.add(50, 5, CallEvent::Seen { call, state });
    stream.add(120, 5, CallEvent::In);
    // Nobody saw this one.
    stream.add(130, 5, CallEvent::Blocks);
    stream.add(135, 5, CallEvent::In);
    stream.call([140, 150], 5, (WRITE, 10), 20);
    let one = &requests(&stream.0).slowest[0];
    assert_eq!((one.began, one.ns), (10, 140));
    let seen = one.parts.iter().find(|one| one.call == MSYNC).unwrap();
    assert_eq!(
        (seen.kind, seen.ns, seen.state),
        (PartKind::Blocked, 100, Some(7))
    );
    assert_eq!(part(one, PartKind::Blocked, -1), 5);
}

#[test]
fn connections_of_a_process_that_ends_are_forgotten_and_its_threads() {
    let mut stream = Stream::default();
    stream.call([1, 2], 1, (READ, 10), 64);
    stream.call([3, 4], 1, (WRITE, 10), 9);
    stream.add(5, 6, CallEvent::Ends);
    stream.add(6, 1, CallEvent::Ends);
    // Another process of the same number: its connection is another one.
    stream.call([7, 8], 1, (READ, 10), 64);
    stream.call([9, 10], 1, (WRITE, 10), 9);
    let all = requests(&stream.0);
    assert_eq!((all.count, all.connections), (2, 2));
}

#[test]
fn requests_of_which_records_were_lost_are_not_counted() {
    let mut stream = Stream::default();
    stream.call([1, 2], 5, (READ, 10), 64);
    stream.call([3, 4], 5, (WRITE, 10), 9);
    stream.call([5, 6], 5, (READ, 10), 64);
    let (number, first) = (FSYNC, 3);
    stream.add(7, 5, CallEvent::Enter { number, first });
    stream.add(8, 5, CallEvent::Blocks);
    stream.add(9_000, 0, CallEvent::Lost);
    stream.call([9_001, 9_002], 5, (WRITE, 10), 9);
    stream.call([9_010, 9_020], 5, (READ, 10), 64);
    stream.call([9_030, 9_040], 5, (WRITE, 10), 9);
    let all = by_start(requests(&stream.0).slowest);
    let times: Vec<(u64, u64)> = all.iter().map(|one| (one.began, one.ns)).collect();
    assert_eq!(times, [(1, 3), (9_010, 30)]);
}

#[test]
fn records_of_more_threads_than_are_followed_count_as_lost() {
    let mut stream = Stream::default();
    for tid in 0..MAX_THREADS as i32 + 3 {
        stream.add(1 + tid as u64, tid, CallEvent::In);
    }
    assert_eq!(requests(&stream.0).lost, 3);
}

#[test]
fn a_request_that_is_handed_over_has_the_answering_threads_time() {
    let mut stream = Stream::default();
    stream.blocked([1, 2, 100, 101], 5, (READ, 10), 64);
    stream.call([110, 112], 5, (FUTEX, 0), 1);
    // The worker has slept; another thread has the lock that it needs.
    stream.blocked([3, 4, 130, 131], 6, (FUTEX, 0), 0);
    stream.blocked([140, 141, 540, 541], 6, (FUTEX, 8), 0);
    stream.call([600, 610], 6, (WRITE, 10), 9);
    let all = requests(&stream.0);
    let one = &all.slowest[0];
    assert!(one.handed_over && one.tid == 6);
    assert_eq!(one.ns, 510);
    assert_eq!(part(one, PartKind::Blocked, FUTEX), 30 + 399);
    assert_eq!(part(one, PartKind::OtherRequests, -1), 0);
}

#[test]
fn an_idle_worker_does_not_serve_the_connection_that_it_has_answered() {
    let mut stream = Stream::default();
    stream.call([1, 2], 5, (READ, 10), 64);
    stream.call([5, 6], 6, (WRITE, 10), 9);
    stream.blocked([7, 8, 200, 201], 6, (FUTEX, 0), 0);
    stream.call([100, 101], 5, (READ, 11), 64);
    stream.call([210, 220], 6, (WRITE, 11), 9);
    let all = by_start(requests(&stream.0).slowest);
    assert_eq!(part(&all[1], PartKind::Blocked, FUTEX), 100);
    // What it still runs before it reads or writes another one.
    assert_eq!(part(&all[1], PartKind::OtherRequests, -1), 20);
}

#[test]
fn what_is_not_an_accepted_connection_has_no_requests() {
    let mut stream = Stream::default();
    stream.call([1, 2], 5, (READ, 4), 64);
    stream.call([3, 4], 5, (WRITE, 4), 64);
    // An answer without a request, a request without an answer.
    stream.call([5, 6], 5, (WRITE, 12), 64);
    stream.call([7, 8], 5, (READ, 13), 64);
    // The end of a connection, an error.
    stream.call([9, 10], 5, (READ, 14), 0);
    stream.call([11, 12], 5, (READ, 15), -11);
    assert_eq!(requests(&stream.0).count, 0);
    // The descriptor of a file becomes one of a connection.
    stream.call([13, 14], 5, (libc::SYS_close, 4), 0);
    stream.call([15, 16], 5, (libc::SYS_accept4, 3), 4);
    stream.call([17, 18], 5, (READ, 4), 64);
    stream.call([19, 20], 5, (WRITE, 4), 64);
    stream.call([21, 22], 5, (libc::SYS_close, 4), 0);
    assert_eq!(requests(&stream.0).count, 1);
}

#[test]
fn a_request_that_is_older_than_the_records_says_so() {
    let mut stream = Stream::default();
    stream.call([1, 2], 5, (READ, 10), 64);
    for at in 0..20_000 {
        stream.call([10 + at * 10, 15 + at * 10], 5, (libc::SYS_getpid, 0), 1);
    }
    stream.call([300_000, 300_001], 5, (WRITE, 10), 9);
    let one = &requests(&stream.0).slowest[0];
    assert!(part(one, PartKind::Unknown, -1) > 10_000, "{one:?}");
    assert_eq!(one.parts.iter().map(|part| part.ns).sum::<u64>(), one.ns);
}

proptest! {
    // Whatever threads do, the parts of a request add up to its time.
    #[test]
    fn parts_add_up(steps in prop::collection::vec((1u64..50, 1i32..4, 0u8..8, 8u64..13), 1..200)) {
        let mut time = 0;
        let mut stream = Stream::default();
        let mut calls: HashMap<i32, i64> = HashMap::new();
        for (gap, tid, what, descriptor) in steps {
            time += gap;
            let number = [READ, WRITE, FSYNC, EPOLL, FUTEX, libc::SYS_close][usize::from(what) % 6];
            let event = match what {
                6 => CallEvent::Blocks,
                7 => CallEvent::In,
                _ => match calls.remove(&tid) {
                    Some(number) => CallEvent::Exit { number, result: 1 },
                    None => {
                        calls.insert(tid, number);
                        CallEvent::Enter { number, first: descriptor }
                    }
                },
            };
            stream.add(time, tid, event);
        }
        let all = requests(&stream.0);
        prop_assert_eq!(all.count as usize, all.slowest.len());
        for one in &all.slowest {
            prop_assert_eq!(one.parts.iter().map(|part| part.ns).sum::<u64>(), one.ns);
        }
    }

    // In rounds, from two buffers, they are the same.
    #[test]
    fn rounds_do_not_matter(cuts in prop::collection::vec(0usize..40, 0..6)) {
        let mut stream = Stream::default();
        for at in 0..10u64 {
            let start = at * 100;
            stream.blocked([start + 1, start + 2, start + 10, start + 12], 5, (READ, 10), 64);
            stream.call([start + 40 + at, start + 50 + at], 5, (WRITE, 10), 9);
        }
        let whole = requests(&stream.0);
        let mut log = RequestLog::default();
        let mut accepted = |_, descriptor| Some(descriptor >= FIRST_CONNECTION);
        for (at, record) in stream.0.iter().enumerate() {
            log.add(*record);
            if cuts.contains(&at) {
                log.end_of_round(record.time, &mut accepted);
            }
        }
        let cut = log.finish((0, true), &mut accepted);
        prop_assert_eq!(cut.slowest, whole.slowest);
    }
}
