//! Locked operations, fences and the like, without another core that wants the line.

use iced_x86::code_asm::*;

use super::kernel_plan::Plan;

pub(super) fn add(p: &mut Plan) {
    p.group("atomic");
    p.chain("lock add m64, r64", |a, _| {
        a.lock().add(qword_ptr(r14 + 64), rbx)
    })
    .detail("in L1, unshared");
    p.stream("lock add m64, r64", |a, i| {
        a.lock().add(qword_ptr(r14 + 64 * (i as i32 % 16)), rbx)
    })
    .instances(16);
    p.chain("lock xadd m64, r64", |a, _| {
        a.lock().xadd(qword_ptr(r14 + 64), rax)
    })
    .detail("in L1, unshared");
    p.stream("lock xadd m64, r64", |a, i| {
        a.lock().xadd(
            qword_ptr(r14 + 64 * (i as i32 % 11)),
            super::kernel_plan::STREAMS[i % 11],
        )
    })
    .instances(11);
    // After the first one rax is what memory holds, so that all exchange.
    p.chain("lock cmpxchg m64, r64", |a, _| {
        a.lock().cmpxchg(qword_ptr(r14 + 64), rax)
    })
    .detail("in L1, unshared; succeeds");
    p.chain("xchg m64, r64", |a, _| a.xchg(qword_ptr(r14 + 64), rax))
        .detail("in L1, unshared");
    p.stream("xchg m64, r64", |a, i| {
        a.xchg(
            qword_ptr(r14 + 64 * (i as i32 % 11)),
            super::kernel_plan::STREAMS[i % 11],
        )
    })
    .instances(11);
    p.stream("mfence", |a, _| a.mfence()).instances(8);
    p.stream("sfence", |a, _| a.sfence()).instances(8);
    p.stream("lfence", |a, _| a.lfence()).instances(8);
    p.stream("pause", |a, _| a.pause()).instances(8);
    p.stream("rdtsc", |a, _| a.rdtsc()).instances(8);
}
