//! How to check a cause.

use genba_model::Confirmation;

/// The sentence for a way to check a cause.
pub(super) fn sentence(confirmation: &Confirmation) -> String {
    match confirmation {
        Confirmation::Compare => "Apply the change, then: genba bench ./old ./new",
        Confirmation::Annotate => "genba annotate shows the loop with its bound.",
        Confirmation::VectorisationRemarks => {
            "Read the compiler's remarks (-fopt-info-vec-missed, -Rpass-missed=loop-vectorize), \
             apply the change, then: genba bench ./old ./new"
        }
        Confirmation::NoInterposition => {
            "Build with -fno-semantic-interposition, then: genba bench ./old ./new"
        }
        Confirmation::LinkTimeOptimisation => "Build with -O2 -flto, then: genba bench ./old ./new",
        Confirmation::OptimisedBuild => "genba bench ./as-it-is ./built-with-O2",
        Confirmation::Mispredictions { counted: true } => {
            "Run it on sorted input, or apply the change, then: genba bench ./old ./new"
        }
        Confirmation::Mispredictions { counted: false } => {
            "Count mispredictions (perf stat -e branch-misses; without hardware counters \
             valgrind --tool=cachegrind --branch-sim=yes), or run it on sorted input, or apply the \
             change, then: genba bench ./old ./new"
        }
        Confirmation::TraceSystemCalls { name } => {
            return format!(
                "strace -c -f shows their number, strace -f -e trace={name} their sizes."
            );
        }
        Confirmation::KeepMemory => {
            "Compare with MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000 in \
             the environment: genba bench"
        }
        Confirmation::ThreadSweep => {
            "Run with 1, 2, 4 … threads: the CPU time of the same work should not grow. perf lock \
             contention shows which locks are waited for."
        }
        Confirmation::OtherAllocator => {
            "Compare with another allocator in LD_PRELOAD (libmimalloc.so, libjemalloc.so): \
             genba bench"
        }
        Confirmation::CopySizes => {
            "Skip the copy in one run, or log its sizes, then: genba bench ./old ./new"
        }
        Confirmation::GrowthSizes => {
            "Log the requested sizes: they should grow by a factor each time. Then: genba bench \
             ./old ./new"
        }
        Confirmation::InputSweep => {
            "genba sweep over the input's size: the time grows with its square."
        }
        Confirmation::Stripped => "file says whether the module is stripped.",
    }
    .to_owned()
}
