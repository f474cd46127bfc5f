use genba_model::{
    Estimate, OffCpu, OffCpuFunction, OffCpuReason, PathStep, RequestPart, Requests, SlowRequest,
    ThreadSpan, ThreadTime, ThreadTotals, Wait, WaitCause, WaitFigures, WaitFinding, WaitPlace,
    WaitReason, Waits, WakeUp, WallStack,
};

fn around(value: f64, half: f64) -> Estimate {
    Estimate {
        value,
        low: value - half,
        high: value + half,
    }
}

fn place(function: &str, file: &str, line: u32) -> WaitPlace {
    WaitPlace {
        function: function.to_owned(),
        file: Some(file.to_owned()),
        line: Some(line),
    }
}

/// Alternating states from `from` to `to`, the first one `share` of each period.
fn alternating(
    from: f64,
    to: f64,
    period: f64,
    share: f64,
    states: [WaitReason; 2],
) -> Vec<ThreadSpan> {
    let number = ((to - from) / period).round() as usize;
    (0..number)
        .flat_map(|index| {
            let begin = from + index as f64 * period;
            let middle = begin + share * period;
            [
                (begin, middle, states[0]),
                (middle, begin + period, states[1]),
            ]
        })
        .map(|(from, to, state)| ThreadSpan { from, to, state })
        .collect()
}

fn worker(index: i32) -> ThreadTime {
    let from = 0.01 * f64::from(index);
    ThreadTime {
        pid: 4711,
        tid: 4711 + index,
        name: format!("worker-{index}"),
        began: from,
        wall: 3.2 - from,
        running: 0.3,
        runnable: 0.12,
        blocked: 2.7 - from,
        unknown: 0.08,
        switches: 12_034,
        timeline: alternating(from, 3.2, 0.1, 0.1, [WaitReason::Running, WaitReason::Lock]),
    }
}

/// A server whose workers wait for a lock that is held while a file is written.
pub fn waits() -> Waits {
    let enqueue = place("enqueue(Job const&)", "src/queue.c", 120);
    let flush = place("flush_journal", "src/journal.c", 88);
    let main = ThreadTime {
        pid: 4711,
        tid: 4711,
        name: "server".to_owned(),
        began: 0.0,
        wall: 3.21,
        running: 0.01,
        runnable: 0.0,
        blocked: 3.2,
        unknown: 0.0,
        switches: 4,
        timeline: vec![
            ThreadSpan {
                from: 0.0,
                to: 0.01,
                state: WaitReason::Running,
            },
            ThreadSpan {
                from: 0.01,
                to: 3.2,
                state: WaitReason::Join,
            },
            ThreadSpan {
                from: 3.2,
                to: 3.21,
                state: WaitReason::Unknown,
            },
        ],
    };
    let lock = Wait {
        reason: WaitReason::Lock,
        seconds: 7.93,
        snapshots: 7_930,
        count: 41_002,
        threads: 4,
        waiter: enqueue.clone(),
        stack: vec![
            "enqueue(Job const&)".to_owned(),
            "serve".to_owned(),
            "worker_main".to_owned(),
        ],
        holder: Some(flush.clone()),
        holder_share: 0.93,
        holder_reason: Some(WaitReason::Fsync),
        object: Some("queue.lock".to_owned()),
        critical_share: 0.71,
    };
    let join = Wait {
        reason: WaitReason::Join,
        seconds: 3.19,
        snapshots: 3_190,
        count: 4,
        threads: 1,
        waiter: place("main", "src/main.c", 41),
        stack: vec!["main".to_owned()],
        holder: None,
        holder_share: 0.0,
        holder_reason: None,
        object: Some("thread worker-1".to_owned()),
        critical_share: 0.0,
    };
    let step = |share: f64, state, place: &WaitPlace, thread: &str, through: &[&str]| PathStep {
        share: around(share, 0.02),
        seconds: share * 3.21,
        state,
        place: place.clone(),
        thread: thread.to_owned(),
        object: (state == WaitReason::Fsync).then(|| "/srv/journal".to_owned()),
        through: through.iter().map(|one| (*one).to_owned()).collect(),
    };
    Waits {
        command: vec![
            "./server".to_owned(),
            "--threads".to_owned(),
            "4".to_owned(),
        ],
        pid: None,
        wall_seconds: 3.21,
        snapshots: 3_210,
        on_cpu: around(0.12, 0.02),
        sources: vec![
            "perf: context switches with user stacks".to_owned(),
            "/proc/PID/task: schedstat, system calls".to_owned(),
        ],
        threads: std::iter::once(main).chain((1..5).map(worker)).collect(),
        more_threads: 2,
        all_threads: ThreadTotals {
            threads: 7,
            wall: 16.1,
            running: 0.93,
            runnable: 0.41,
            blocked: 14.6,
            unknown: 0.16,
        },
        waits: vec![lock, join],
        critical_path: vec![
            step(
                0.71,
                WaitReason::Fsync,
                &flush,
                "worker-3",
                &["join worker-1", "lock queue.lock"],
            ),
            step(
                0.17,
                WaitReason::RunQueue,
                &enqueue,
                "worker-1",
                &["join worker-1"],
            ),
            step(
                0.12,
                WaitReason::Running,
                &place("main", "src/main.c", 12),
                "server",
                &[],
            ),
        ],
        findings: vec![
            WaitFinding {
                cause: WaitCause::LockHeldOverIo,
                wall_share: around(0.71, 0.03),
                predicted_speedup: Estimate {
                    value: 2.41,
                    low: 1.92,
                    high: 2.88,
                },
                waiter: enqueue.clone(),
                holder: Some(flush.clone()),
                object: Some("queue.lock".to_owned()),
                figures: WaitFigures {
                    snapshots: 7_930,
                    seconds: 7.93,
                    waits: 41_002,
                    threads: 4,
                    holder_on_cpu: 0.07,
                    runnable_threads: 1.3,
                    cpus: 2,
                    bytes_per_call: None,
                    calls: None,
                    ended_by: None,
                },
            },
            WaitFinding {
                cause: WaitCause::SynchronousWrite,
                wall_share: around(0.34, 0.02),
                predicted_speedup: Estimate {
                    value: 1.48,
                    low: 1.31,
                    high: 1.6,
                },
                waiter: flush,
                holder: None,
                object: Some("/srv/journal".to_owned()),
                figures: WaitFigures {
                    snapshots: 1_090,
                    seconds: 1.09,
                    waits: 2_010,
                    threads: 4,
                    holder_on_cpu: 0.0,
                    runnable_threads: 1.3,
                    cpus: 2,
                    bytes_per_call: Some(212.0),
                    calls: Some(2_010),
                    ended_by: None,
                },
            },
        ],
        stacks: stacks(),
        wake_ups: vec![WakeUp {
            at: 0.4,
            waited: 0.1,
            waker: 4712,
            woken: 4713,
        }],
        requests: Some(requests()),
        notes: vec!["stacks of 2 threads could not be read".to_owned()],
    }
}

/// Requests of which the slow ones wait for the disk.
fn requests() -> Requests {
    let part = |state, call: Option<&str>, slow_seconds, fast_seconds| RequestPart {
        state,
        others: false,
        call: call.map(str::to_owned),
        slow_seconds,
        fast_seconds,
        slow_requests: 183,
        place: None,
        object: None,
    };
    let on_disk = RequestPart {
        place: Some(WaitPlace {
            function: "flush".to_owned(),
            file: Some("journal.c".to_owned()),
            line: Some(88),
        }),
        object: Some("/srv/journal".to_owned()),
        ..part(WaitReason::Fsync, Some("fdatasync"), 0.0112, 0.000_02)
    };
    let others = RequestPart {
        others: true,
        ..part(WaitReason::Running, None, 0.000_8, 0.000_1)
    };
    Requests {
        count: 18_340,
        connections: 50,
        lost_records: 3,
        median: 0.000_41,
        p90: 0.000_9,
        p99: 0.0123,
        longest: 0.0401,
        slow: 183,
        slow_from: 0.0123,
        fast: 1_001,
        parts: vec![
            on_disk.clone(),
            others,
            part(WaitReason::Unknown, Some("recvfrom"), 0.000_3, 0.0),
            part(WaitReason::Running, Some("sendto"), 0.000_1, 0.000_09),
            part(WaitReason::Running, None, 0.000_2, 0.000_2),
        ],
        slowest: vec![SlowRequest {
            at: 1.25,
            seconds: 0.0401,
            tid: 4713,
            handed_over: true,
            most: RequestPart {
                slow_seconds: 0.0392,
                slow_requests: 1,
                ..on_disk
            },
        }],
    }
}

/// The same with attacks as names, one of a megabyte.
pub fn hostile_waits() -> Waits {
    let mut all = waits();
    let attack = |i: usize| super::ATTACKS[i % super::ATTACKS.len()].to_owned();
    let huge = "<b>A".repeat(250_000);
    let bad = |place: &mut WaitPlace, i: usize| {
        place.function = attack(i);
        place.file = Some(attack(i + 1));
    };
    all.command = super::ATTACKS.iter().map(|one| (*one).to_owned()).collect();
    all.command.push(huge.clone());
    all.sources = all.command.clone();
    all.notes = all.command.clone();
    for (i, one) in all.threads.iter_mut().enumerate() {
        one.name = if i == 2 { huge.clone() } else { attack(i) };
        one.wall = f64::NAN;
        one.timeline.push(ThreadSpan {
            from: f64::NEG_INFINITY,
            to: 1e300,
            state: WaitReason::Poll,
        });
    }
    for one in all.requests.iter_mut().flat_map(|all| &mut all.parts) {
        one.place.iter_mut().for_each(|place| bad(place, 1));
        one.call = Some(attack(2));
        one.object = Some(huge.clone());
    }
    for (i, one) in all.waits.iter_mut().enumerate() {
        bad(&mut one.waiter, i);
        one.stack = vec![attack(i); 2000];
        one.object = Some(huge.clone());
        one.holder = Some(one.waiter.clone());
    }
    for (i, one) in all.critical_path.iter_mut().enumerate() {
        bad(&mut one.place, i);
        one.thread = attack(i + 2);
        one.object = Some(attack(i + 3));
        one.through = vec![attack(i), huge.clone()];
    }
    for (i, one) in all.findings.iter_mut().enumerate() {
        bad(&mut one.waiter, i);
        one.holder = Some(one.waiter.clone());
        one.object = Some(attack(i + 3));
        one.figures.seconds = f64::INFINITY;
        one.figures.runnable_threads = f64::NAN;
    }
    all
}

fn stacks() -> Vec<WallStack> {
    let stack =
        |thread: &str, state, object: Option<&str>, frames: &[&str], own, seconds| WallStack {
            thread: thread.to_owned(),
            state,
            object: object.map(str::to_owned),
            frames: frames.iter().map(|name| (*name).to_owned()).collect(),
            own: Some(own),
            seconds,
            snapshots: (seconds * 1000.0) as u64,
        };
    let enqueue = ["worker_main", "serve", "enqueue(Job const&)"];
    let locks = [&enqueue[..], &["__pthread_mutex_lock", "futex_wait"]].concat();
    vec![
        stack(
            "worker",
            WaitReason::Lock,
            Some("queue.lock"),
            &locks,
            2,
            7.93,
        ),
        stack(
            "server",
            WaitReason::Join,
            Some("thread worker-1"),
            &["main", "pthread_join"],
            0,
            3.2,
        ),
        stack("worker", WaitReason::Running, None, &enqueue, 2, 2.1),
        stack(
            "worker",
            WaitReason::Fsync,
            Some("/srv/journal"),
            &["worker_main", "flush_journal", "fsync"],
            1,
            1.7,
        ),
        WallStack {
            own: None,
            ..stack("worker", WaitReason::RunQueue, None, &[], 0, 0.4)
        },
    ]
}

/// Two functions that wait.
pub fn off_cpu() -> OffCpu {
    let of = |reason, seconds| OffCpuReason { reason, seconds };
    OffCpu {
        command: vec!["./server".to_owned()],
        pid: None,
        wall_seconds: 3.21,
        thread_seconds: 15.33,
        off_cpu_seconds: 9.63,
        snapshots: 3_210,
        functions: vec![
            OffCpuFunction {
                function: "enqueue(Job const&)".to_owned(),
                self_seconds: 7.93,
                total_seconds: 7.93,
                reasons: vec![of(WaitReason::Lock, 7.93)],
            },
            OffCpuFunction {
                function: "worker_main".to_owned(),
                self_seconds: 0.0,
                total_seconds: 9.63,
                reasons: vec![of(WaitReason::Lock, 7.93), of(WaitReason::Fsync, 1.7)],
            },
        ],
        stacks: stacks()
            .into_iter()
            .filter(|one| matches!(one.state, WaitReason::Lock | WaitReason::Fsync))
            .collect(),
        notes: Vec::new(),
    }
}
