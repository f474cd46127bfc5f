//! Each cause fires on what it is about, and not on what is close to it.

use genba_model::{WaitCause, WaitReason};

use super::findings;
use crate::synthetic::SyntheticRecording;
use genba_profile::wait_sampler::{WaitObject, WaitRecording, WatchedProcess};

pub(super) fn causes(made: &SyntheticRecording) -> Vec<WaitCause> {
    made.view(|view| findings(view).iter().map(|found| found.cause).collect())
}

/// A thousand small files are read in a thousand calls.
#[test]
fn small_files_are_not_small_reads() {
    let reading = |new_files: u64| {
        let mut made = one_thread(WaitReason::File, 5_000);
        let process = &mut made.recording.processes[0];
        process.reads = 100_000;
        process.read_bytes = 100_000 * 512;
        process.file_looks = 20;
        process.new_file_looks = new_files;
        causes(&made)
    };
    assert_eq!(reading(1), [WaitCause::SmallIo]);
    assert_eq!(reading(15), []);
}

/// Messages to several connections cannot be gathered into one call; those of one can.
#[test]
fn a_servers_answers_are_not_small_writes() {
    let writing = |sockets: u64| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let works = made.runs(0, 1000.0);
        let chain = made.chain(&[works], 1000.0, 0.0, 1000.0);
        made.sampled_in_kernel(chain, &["sock_write_iter"], &["writev", "answer"], 45);
        // At the beginning of the call nothing tells that it is a socket's.
        made.sampled_in_kernel(chain, &["do_syscall_64"], &["writev", "answer"], 15);
        made.sampled(chain, &["work"], 40);
        let process = &mut made.recording.processes[0];
        process.writes = 100_000;
        process.written_bytes = 100_000 * 512;
        process.most_sockets = sockets;
        causes(&made)
    };
    assert_eq!(writing(1), [WaitCause::SmallIo]);
    assert_eq!(writing(9), []);
}

fn one_thread(reason: WaitReason, waits: u64) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let state = made.waits(0, reason, &["step"], (900.0, waits));
    let works = made.runs(0, 10.0);
    made.chain(&[state], 900.0, 900.0, 0.0);
    made.chain(&[works], 10.0, 0.0, 10.0);
    made
}

#[test]
fn writes_that_reach_the_disk_each_time() {
    let many = one_thread(WaitReason::Fsync, 300);
    assert_eq!(causes(&many), [WaitCause::SynchronousWrite]);
    // One at the end is what an expert would do.
    assert_eq!(causes(&one_thread(WaitReason::Fsync, 1)), []);
}

/// A record, its index and its directory are forced one after the other: whoever gathers records does all three less often.
#[test]
fn places_of_one_thread_that_force_writes_are_one_finding() {
    let forcing = |threads: [u32; 2]| {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let works = made.runs(0, 100.0);
        let record = made.waits(threads[0], WaitReason::Fsync, &["append"], (500.0, 300));
        let index = made.waits(threads[1], WaitReason::Fsync, &["publish"], (400.0, 300));
        for (state, ms) in [(record, 500.0), (index, 400.0)] {
            made.chain(&[state], ms, ms, 0.0);
        }
        made.chain(&[works], 100.0, 0.0, 100.0);
        let found = made.view(findings);
        let gains = found.iter().map(|one| one.predicted_speedup);
        let names = found.iter().map(|one| one.waiter.function.clone());
        (names.collect::<Vec<_>>(), gains.collect::<Vec<_>>())
    };
    let (names, gains) = forcing([0, 0]);
    assert_eq!(names, ["append"]);
    assert!(
        gains[0].low > 1.2 && gains[0].low < 1.6 && gains[0].high > 8.0,
        "{gains:?}"
    );
    let (names, gains) = forcing([0, 1]);
    assert_eq!(names, ["append", "publish"]);
    assert!(gains[0].high < 3.0, "{gains:?}");
}

/// A file is forced and renamed for each record: the waits of the rename go with those for the disk, at most.
#[test]
fn files_that_the_same_function_waits_for_go_with_forced_writes() {
    let high = |function: &str| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let works = made.runs(0, 100.0);
        let forces = made.waits(0, WaitReason::Fsync, &["fsync", "save"], (500.0, 300));
        let renames = made.waits(0, WaitReason::File, &["rename", function], (400.0, 300));
        for (state, ms) in [(forces, 500.0), (renames, 400.0)] {
            made.chain(&[state], ms, ms, 0.0);
        }
        made.chain(&[works], 100.0, 0.0, 100.0);
        made.view(findings)[0].predicted_speedup.high
    };
    assert!(high("save") > 8.0);
    assert!(high("open_report") < 3.0);
}

#[test]
fn a_clock_is_waited_for_because_time_matters() {
    let mut made = one_thread(WaitReason::Sleep, 300);
    assert_eq!(causes(&made), [WaitCause::PollingSleep]);
    let sleep = made.recording.states[0].wait.as_mut().expect("it sleeps");
    sleep.object = WaitObject::Descriptor("anon_inode:[timerfd]".to_owned());
    assert_eq!(causes(&made), []);
}

/// A server asks a socket for some bytes at a time, which takes most of its CPU time, and waits for more so often.
fn receives(function: &str, bytes: u64, waits: u64) -> Vec<WaitCause> {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let works = made.runs(0, 1000.0);
    let chain = made.chain(&[works], 1000.0, 0.0, 1000.0);
    made.asks_for(chain, &[function, "read_message"], bytes, 80);
    made.sampled(chain, &["take"], 20);
    let more = made.waits(
        0,
        WaitReason::Socket,
        &[function, "read_message"],
        (0.0, waits),
    );
    made.chain(&[more], 0.0, 0.0, 0.0);
    causes(&made)
}

#[test]
fn few_bytes_of_a_socket_at_a_time_are_small_io() {
    assert_eq!(receives("__libc_recv", 16, 10), [WaitCause::SmallIo]);
    assert_eq!(receives("recv", 65_536, 10), [], "a buffer");
    assert_eq!(receives("recv", 16, 1_000_000), [], "nothing else is there");
    assert_eq!(receives("ioctl", 16, 10), [], "another call");
}

/// After each wait the thread queues for a CPU: that goes with the waits.
#[test]
fn run_queue_after_waits_is_saved_with_them() {
    let gain = |slices: u64| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let works = made.runs(0, 300.0);
        let syncs = made.waits(0, WaitReason::Fsync, &["step"], (300.0, 300));
        made.recording.threads[0].runnable = 400_000_000;
        made.recording.threads[0].slices = slices;
        made.chain(&[syncs], 300.0, 300.0, 0.0);
        made.chain(&[works], 700.0, 0.0, 700.0);
        made.view(findings)[0].predicted_speedup
    };
    let (each, few) = (gain(300), gain(3000));
    assert!((2.8..3.4).contains(&each.value), "{each:?}");
    // Most times it lost the CPU without waiting.
    assert!((1.3..1.7).contains(&few.value), "{few:?}");
    assert!(each.low < few.value && each.high > 3.3, "{each:?}");
}

/// On a busy machine a compiler reads one page late, and loses its CPU thousands of times.
#[test]
fn preemptions_are_not_waits() {
    let found = |preemptions: u64| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let works = made.runs(0, 300.0);
        let fault = made.waits(0, WaitReason::PageFault, &["step"], (2.0, 2));
        // Both were over at the next snapshot, so there may have been others.
        made.recording.states[fault as usize].long_entries = 0;
        let thread = &mut made.recording.threads[0];
        thread.runnable = 690_000_000;
        thread.slices = 3_000;
        (thread.blocks, thread.preemptions) = (3_000 - preemptions, preemptions);
        made.chain(&[fault], 2.0, 2.0, 0.0);
        made.chain(&[works], 998.0, 0.0, 998.0);
        made.view(findings)
            .into_iter()
            .map(|one| one.cause)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(0), [WaitCause::PageFaultIo]);
    assert_eq!(found(2_990), []);
}

#[test]
fn faults_that_read() {
    let many = one_thread(WaitReason::PageFault, 300);
    assert_eq!(causes(&many), [WaitCause::PageFaultIo]);
    assert_eq!(causes(&one_thread(WaitReason::PageFault, 3)), []);
}

#[test]
fn sleeps_between_looks() {
    let many = one_thread(WaitReason::Sleep, 300);
    assert_eq!(causes(&many), [WaitCause::PollingSleep]);
    // Few sleeps with most of the time are looks as well.
    let few = |sleeps: u64| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let state = made.waits(0, WaitReason::Sleep, &["step"], (900.0, sleeps));
        made.chain(&[state], 900.0, 900.0, 0.0);
        causes(&made)
    };
    assert_eq!(few(4), [WaitCause::PollingSleep]);
    assert_eq!(few(2), []);
    // 5 ms of work at each tick: it is on time.
    let mut ticks = one_thread(WaitReason::Sleep, 20);
    ticks.runs(0, 100.0);
    assert_eq!(causes(&ticks), []);
    // All of it at a few ticks: the others looked in vain.
    for (workless, found) in [(9, &[][..]), (15, &[WaitCause::PollingSleep])] {
        ticks.recording.states[0].workless_entries = workless;
        assert_eq!(causes(&ticks), found);
    }
    // While another thread works all the time, the sleeps lose nothing.
    let mut meanwhile = SyntheticRecording::new(2, 1000.0);
    let sleeps = meanwhile.waits(0, WaitReason::Sleep, &["step"], (900.0, 300));
    meanwhile.runs(0, 10.0);
    meanwhile.runs(1, 1000.0);
    meanwhile.chain(&[sleeps], 900.0, 0.0, 900.0);
    assert_eq!(causes(&meanwhile), []);
}

#[test]
fn sleeps_beside_those_of_who_ends_before_are_not_polling() {
    let beside = |ended: u64| {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let looks = made.waits(0, WaitReason::Sleep, &["look"], (950.0, 50));
        let writes = made.waits(1, WaitReason::Sleep, &["write"], (900.0, 9));
        made.chain(&[looks], 950.0, 950.0, 0.0);
        let ms = |at: u64| at * 1_000_000;
        made.recording.threads[0].timeline = (0..50)
            .map(|at| (ms(20 * at), ms(20 * at + 19), looks))
            .collect();
        let spans = (0..9).map(|at| (ms(105 * at), ms(105 * at + 104), writes));
        made.recording.threads[1].timeline = spans.collect();
        made.recording.threads[1].pid = 2;
        made.recording.threads[1].ended = ms(ended);
        causes(&made)
    };
    assert_eq!(beside(990), []);
    // Who lives longer may wait for something else.
    assert_eq!(beside(1000), [WaitCause::PollingSleep]);
}

/// Five sleeps with 8 ms of work each, and so many children that end meanwhile.
fn sleeps_beside_children(children: i32) -> Vec<WaitCause> {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let sleeps = made.waits(0, WaitReason::Sleep, &["step"], (900.0, 5));
    made.runs(0, 40.0);
    made.chain(&[sleeps], 900.0, 900.0, 0.0);
    for pid in 10..10 + children {
        let mut process = made.recording.processes[0].clone();
        (process.pid, process.parent) = (pid, 1);
        made.recording.processes.push(process);
        let mut thread = made.recording.threads[0].clone();
        (thread.pid, thread.tid, thread.ended) = (pid, pid, 500);
        made.recording.threads.push(thread);
    }
    causes(&made)
}

#[test]
fn who_sleeps_until_a_child_ends_looks_for_it() {
    assert_eq!(sleeps_beside_children(5), [WaitCause::PollingSleep]);
    assert_eq!(sleeps_beside_children(1), []);
    assert_eq!(sleeps_beside_children(0), []);
}

#[test]
fn children_that_are_started_late_gain_as_well() {
    let gain = |shift: u64| {
        let mut made = SyntheticRecording::new(1, 1000.0);
        let sleeps = made.waits(0, WaitReason::Sleep, &["step"], (1000.0, 8));
        made.chain(&[sleeps], 1000.0, 200.0, 600.0);
        for at in 0..6 {
            let pid = 10 + at as i32;
            let mut process = made.recording.processes[0].clone();
            (process.pid, process.parent) = (pid, 1);
            made.recording.processes.push(process);
            let mut thread = made.recording.threads[0].clone();
            (thread.pid, thread.tid, thread.running) = (pid, pid, 100_000_000);
            (thread.began, thread.ended) = (shift * at, shift * at + 250_000_000);
            made.recording.threads.push(thread);
        }
        let found = made.view(findings);
        assert_eq!(found[0].cause, WaitCause::PollingSleep);
        found[0].predicted_speedup.value
    };
    // A fifth of the time nobody works; three fifths one of two that could.
    let side_by_side = gain(100_000_000);
    assert!((1.7..1.9).contains(&side_by_side), "{side_by_side}");
    let in_turn = gain(250_000_000);
    assert!((1.15..1.3).contains(&in_turn), "{in_turn}");
}

/// Two threads of which one waits for the other, `waits` times in 600 ms.
fn turns(reason: WaitReason, waits: u64) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(2, 1000.0);
    let asks = made.waits(0, reason, &["ask"], (600.0, waits));
    let works = made.runs(0, 400.0);
    let idles = made.waits(1, reason, &["serve"], (400.0, waits));
    let serves = made.runs(1, 600.0);
    made.chain(&[asks, serves], 400.0, 0.0, 400.0);
    made.chain(&[asks, idles], 200.0, 200.0, 0.0);
    made.chain(&[works], 400.0, 0.0, 400.0);
    made
}

#[test]
fn turns_of_two() {
    let asked = causes(&turns(WaitReason::Socket, 5000));
    assert!(asked.contains(&WaitCause::RoundTripInLoop), "{asked:?}");
    let signalled = causes(&turns(WaitReason::Condition, 5000));
    assert!(signalled.contains(&WaitCause::WakeUpChain), "{signalled:?}");
    // A few long waits are work that is awaited.
    let few = causes(&turns(WaitReason::Socket, 5));
    assert!(!few.contains(&WaitCause::RoundTripInLoop), "{few:?}");
    let few = causes(&turns(WaitReason::Condition, 5));
    assert!(!few.contains(&WaitCause::WakeUpChain), "{few:?}");
}

/// One thread divides small pieces of work among others, and each of them works for a fifth of the time in which it does.
#[test]
fn turns_of_one_and_several() {
    let mut made = SyntheticRecording::new(4, 1000.0);
    let collects = made.waits(0, WaitReason::Condition, &["collect"], (300.0, 5000));
    let divides = made.runs(0, 700.0);
    made.chain(&[divides], 700.0, 0.0, 700.0);
    for worker in 1..4 {
        let idles = made.waits(worker, WaitReason::Condition, &["idle"], (900.0, 5000));
        let works = made.runs(worker, 100.0);
        made.chain(&[collects, works], 100.0, 0.0, 100.0);
        made.chain(&[collects, idles], 0.0, 0.0, 0.0);
    }
    let found = causes(&made);
    assert!(found.contains(&WaitCause::WakeUpChain), "{found:?}");
}

#[test]
fn turns_cost_what_passing_on_takes_and_not_the_work_of_the_other() {
    // While one waits the other is always at work: two that meet at a barrier, the later one without a CPU.
    let met = |passes: u64| {
        let mut made = SyntheticRecording::new(2, 1000.0);
        let first = made.waits(0, WaitReason::Condition, &["meet"], (300.0, 2000));
        let second = made.waits(1, WaitReason::Condition, &["meet"], (300.0, 2000));
        let (works, other) = (made.runs(0, 700.0), made.runs(1, 700.0));
        let late = made.chain(&[first, other], 300.0, 0.0, 300.0);
        let own = made.chain(&[works], 300.0, 0.0, 300.0);
        made.chain(&[second, works], 400.0, 0.0, 0.0);
        made.sampled(late, &["step"], 100 - passes);
        made.sampled(own, &["step"], 100);
        made.sampled_in_kernel(late, &["futex_wake"], &["meet"], passes);
        made
    };
    let barrier = causes(&met(1));
    assert!(!barrier.contains(&WaitCause::WakeUpChain), "{barrier:?}");
    let passed = causes(&met(60));
    assert!(passed.contains(&WaitCause::WakeUpChain), "{passed:?}");
}

/// The second thread waits for the first one 400 ms long, which is then in `awaited`, else in `work`.
fn barrier(awaited: &str) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(3, 1000.0);
    let joins = made.waits(
        0,
        WaitReason::Join,
        &["pthread_join", "finish"],
        (1000.0, 1),
    );
    let names = ["pthread_barrier_wait", "step"];
    let waits = made.waits(2, WaitReason::Condition, &names, (400.0, 5));
    let works = made.runs(1, 1000.0);
    let other = made.runs(2, 600.0);
    let chain = made.chain(&[joins, waits, works], 400.0, 0.0, 400.0);
    made.sampled(chain, &[awaited], 40);
    made.chain(&[joins, works], 600.0, 0.0, 0.0);
    let beside = made.chain(&[other], 0.0, 0.0, 0.0);
    made.sampled(beside, &["work"], 60);
    made
}

#[test]
fn work_of_one_thread_is_serial_and_work_of_all_is_uneven() {
    let uneven = barrier("work").view(findings);
    assert_eq!(uneven[0].cause, WaitCause::Imbalance);
    // Whoever works itself and waits is shown, not the thread that waits for all.
    assert_eq!(uneven[0].waiter.function, "step");
    assert_eq!(uneven[0].holder.as_ref().unwrap().function, "work");
    let serial = barrier("merge").view(findings);
    assert_eq!(serial[0].cause, WaitCause::SerialSection);
    assert_eq!(serial[0].holder.as_ref().unwrap().function, "merge");
}

/// A process waits for two that it started, by a pipe; the second is in `function` for 50 ms and ends, and the first works alone
/// for 900 ms.
fn forked_workers(function: &str, executed: bool) -> Vec<WaitCause> {
    let mut made = SyntheticRecording::new(3, 1000.0);
    for worker in 1..3 {
        let thread = &mut made.recording.threads[worker];
        thread.pid = thread.tid;
        let process = WatchedProcess {
            pid: thread.pid,
            parent: 1,
            executed,
            ..WatchedProcess::default()
        };
        made.recording.processes.push(process);
    }
    made.recording.threads[2].ended = 50_000_000;
    let collects = made.waits(0, WaitReason::Pipe, &["read", "collect"], (1000.0, 2));
    let (long, short) = (made.runs(1, 950.0), made.runs(2, 50.0));
    let both = made.chain(&[collects, long], 50.0, 0.0, 0.0);
    let beside = made.chain(&[collects, short], 50.0, 0.0, 0.0);
    let alone = made.chain(&[collects, long], 900.0, 0.0, 900.0);
    made.sampled(both, &["score"], 10);
    made.sampled(beside, &[function], 10);
    made.sampled(alone, &["score"], 180);
    causes(&made)
}

#[test]
fn processes_of_which_one_has_most_of_the_work_are_uneven() {
    assert_eq!(forked_workers("score", false), [WaitCause::Imbalance]);
    assert_eq!(forked_workers("write_index", false), [], "other work");
    assert_eq!(forked_workers("score", true), [], "other programs");
}

#[test]
fn threads_that_wait_for_jobs_and_never_work_wait_for_no_serial_section() {
    // A server with an idle thread, and its client.
    let mut made = SyntheticRecording::new(3, 1000.0);
    let names = ["pthread_cond_wait", "background"];
    let idle = made.waits(1, WaitReason::Condition, &names, (1000.0, 1));
    let works = made.runs(0, 1000.0);
    let client = made.runs(2, 300.0);
    let chain = made.chain(&[idle, works], 1000.0, 0.0, 1000.0);
    made.sampled(chain, &["search"], 100);
    let beside = made.chain(&[client], 0.0, 0.0, 0.0);
    made.sampled(beside, &["send"], 30);
    let found = causes(&made);
    assert!(!found.contains(&WaitCause::SerialSection), "{found:?}");
}

/// A process whose children live from and to these times, ms.
fn children(lives: &[(f64, f64)]) -> SyntheticRecording {
    let mut made = SyntheticRecording::new(1 + lives.len() as u32, 1000.0);
    let waits = made.waits(0, WaitReason::Child, &["waitpid", "build"], (1000.0, 1));
    for (child, (from, to)) in (1u32..).zip(lives) {
        let pid = 100 + child as i32;
        let thread = &mut made.recording.threads[child as usize];
        (thread.pid, thread.tid) = (pid, pid);
        (thread.began, thread.ended) = ((from * 1e6) as u64, (to * 1e6) as u64);
        made.recording.processes.push(WatchedProcess {
            pid,
            parent: 1,
            ..WatchedProcess::default()
        });
        let works = made.runs(child, to - from);
        let wall = 1000.0 / lives.len() as f64;
        made.chain(&[waits, works], wall, 0.0, wall);
    }
    made
}

#[test]
fn children_one_after_the_other_are_told_from_those_of_a_pipe() {
    let one_by_one = children(&[(0.0, 500.0), (500.0, 1000.0)]);
    assert_eq!(causes(&one_by_one), [WaitCause::ChildProcess]);
    assert_eq!(causes(&children(&[(0.0, 1000.0), (0.0, 1000.0)])), []);
    assert_eq!(causes(&children(&[(0.0, 1000.0)])), []);
    // Beside a child that lives for nearly all of the time nothing is won.
    assert_eq!(causes(&children(&[(0.0, 12.0), (12.0, 1000.0)])), []);
}

#[test]
fn children_that_are_started_in_one_place_and_waited_for_in_another_are_found_on_a_busy_machine() {
    let mut made = children(&[(0.0, 500.0), (500.0, 1000.0)]);
    made.recording.chains.clear();
    let starts = made.waits(0, WaitReason::Child, &["vfork", "start"], (550.0, 1));
    let collects = made.waits(0, WaitReason::Child, &["waitpid", "build"], (450.0, 1));
    let (first, second) = (made.runs(1, 100.0), made.runs(2, 450.0));
    // The first child has no CPU for most of its life: other programs have them.
    made.chain(&[starts, first], 550.0, 0.0, 550.0);
    made.chain(&[collects, second], 450.0, 0.0, 450.0);
    made.recording.threads[1].running = 100_000_000;
    made.recording.threads[1].runnable = 450_000_000;
    made.recording.threads[2].running = 450_000_000;
    made.recording.machine_busy = 2_000_000_000;
    assert_eq!(causes(&made), [WaitCause::ChildProcess]);
}

/// The share of the wall time that two children have, of which one was seen at the other end of the pipe
/// that the parent reads: 200 ms long, and 600 ms in a function `place` without knowing for whom.
fn share_of_children(place: &str, lives: &[(f64, f64)]) -> f64 {
    let mut made = children(lives);
    made.recording.chains.clear();
    let seen = made.waits(0, WaitReason::Pipe, &["read", "checksum"], (200.0, 2));
    let unseen = made.waits(0, WaitReason::Pipe, &["read", place], (600.0, 6));
    let works = made.runs(1, 5.0);
    let own = made.runs(0, 200.0);
    made.chain(&[seen, works], 200.0, 0.0, 200.0);
    made.chain(&[unseen], 600.0, 600.0, 0.0);
    made.chain(&[own], 200.0, 0.0, 200.0);
    let found = made.view(findings);
    let found = found
        .iter()
        .find(|one| one.cause == WaitCause::ChildProcess);
    found.expect("children are waited for").wall_share.value
}

#[test]
fn children_that_were_not_seen_are_waited_for_at_the_same_place() {
    let long = [(0.0, 450.0), (500.0, 950.0)];
    assert!((share_of_children("checksum", &long) - 0.8).abs() < 0.01);
    assert!((share_of_children("receive", &long) - 0.2).abs() < 0.01);
    // A server that reads from its clients where it reads from children, which live for 300 ms.
    let short = [(0.0, 150.0), (500.0, 650.0)];
    assert!((share_of_children("checksum", &short) - 0.3).abs() < 0.01);
}

#[test]
fn an_empty_recording_has_no_findings() {
    let mut made = SyntheticRecording::new(0, 0.0);
    made.recording = WaitRecording::default();
    assert_eq!(causes(&made), []);
}

#[test]
fn a_quota_that_stops_threads() {
    let mut made = SyntheticRecording::new(1, 1000.0);
    let works = made.runs(0, 500.0);
    made.chain(&[works], 1000.0, 0.0, 0.0);
    assert_eq!(causes(&made), []);
    made.recording.throttled = 400_000_000;
    assert_eq!(causes(&made), [WaitCause::CpuQuota]);
}
