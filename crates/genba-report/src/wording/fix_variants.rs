//! Sentences for changes that depend on more than their kind: on the conversion, the system call, the language.

use genba_model::{ConversionKind, Language, Reduction};

/// For a reduction whose chain bounds the loop.
pub(super) fn accumulators(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::FloatSum => {
            "Use four to eight partial sums and add them after the loop: by hand, with \
             -fassociative-math (-ffast-math), or with `#pragma omp simd reduction`. The rounding \
             of the result changes."
        }
        Reduction::FloatProduct => {
            "Use four to eight partial products and multiply them after the loop: by hand, with \
             -fassociative-math (-ffast-math), or with `#pragma omp simd reduction`. The rounding \
             of the result changes."
        }
        Reduction::FloatExtreme => {
            "Use four to eight partial minima or maxima and combine them after the loop: by hand, \
             with -ffast-math, or with `#pragma omp simd reduction`."
        }
        Reduction::Table => {
            "Process eight bytes per step with eight tables (slicing by 8), so that the look-ups of \
             one step are independent; or use the processor's instructions (crc32, pclmulqdq)."
        }
        Reduction::Crc32 => {
            "Process three streams in parallel and combine their checksums: the instruction has a \
             latency of three cycles and a throughput of one per cycle."
        }
        Reduction::Mixing => {
            "If the values may change, use a hash that takes eight or more bytes per step in \
             independent lanes (wyhash, xxHash); otherwise hash several keys in parallel."
        }
        Reduction::Remainder => {
            "Take the remainder only as often as the sums would overflow without it: an inner loop adds up some \
             thousand elements, and the remainder of each sum is taken once after it."
        }
        Reduction::Polynomial => {
            "Take four elements per step with the powers of the factor: the same value with a \
             quarter of the chain, because the other products are independent of it."
        }
    }
}

/// For a loop that was not vectorised: whether the compiler's level is raised, and whether loads are hoisted by hand.
pub(super) fn vectorise(raise_level: bool, hoist_loads: bool) -> String {
    let level = match raise_level {
        true => {
            "Compile with -O3 (at -O2 gcc vectorises only loops that need no run-time check and no \
             remainder loop). "
        }
        false => "",
    };
    let rest = match hoist_loads {
        true => {
            "Copy pointers, bounds, factors and sums to local variables before the loop (sums are \
             stored behind it), and declare that the arrays do not overlap (restrict): a store might \
             change what is reloaded in each iteration."
        }
        false => {
            "If the compiler still does not vectorise it, declare that the arrays do not overlap \
             (restrict), and compute the trip count before the loop."
        }
    };
    format!("{level}{rest}")
}

/// For calls whose result is the same in each iteration.
pub(super) fn hoist(functions: &[String]) -> String {
    let names: Vec<String> = functions.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "Call {} once before the loop and keep the result. If the loop changes what the call looks \
         at, update the result there.",
        names.join(" and ")
    )
}

/// For a system call that is made too often.
pub(super) fn fewer_system_calls(name: &str) -> &'static str {
    match name {
        "read" | "pread" | "readv" | "recv" | "recvfrom" | "recvmsg" => {
            "Read through a buffer of some tens of kilobytes (fread, std::ifstream, BufReader) or \
             map the file, so that one call serves many reads."
        }
        "write" | "pwrite" | "writev" | "send" | "sendto" | "sendmsg" => {
            "Collect the output in a buffer of some tens of kilobytes (stdio, BufWriter, writev) \
             and write it when it is full. Flush only where a reader waits for it."
        }
        "lseek" => "Use pread and pwrite, which need no file position, or track it yourself.",
        "open" | "openat" | "close" | "stat" | "fstat" | "lstat" | "statx" | "access" => {
            "Open or stat each file once, and keep the descriptor or the result."
        }
        "sched_yield" => {
            "Do not yield the processor after each operation: threads that wait for a lock sleep in \
             the kernel (pthread_mutex, futex) and need no one to make way."
        }
        "poll" | "recvmmsg" => {
            "Take all that is ready at once (epoll, non-blocking reads in a loop)."
        }
        _ => "Call once and keep the result, or request more per call.",
    }
}

/// For memory that is allocated again and again.
pub(super) fn reuse(language: Language) -> &'static str {
    match language {
        Language::Rust => {
            "Keep one buffer and clear it for each use, borrow (&str, &[T]) instead of owning, or \
             allocate what is freed together from one arena."
        }
        Language::C => {
            "Allocate what is freed together from one arena that is reset as a whole, keep a free \
             list of the nodes, or keep one buffer for all iterations."
        }
        Language::Cpp => {
            "Keep one object for all iterations and clear it, pass views (std::string_view, \
             std::span) instead of copies, or allocate what is freed together from one arena \
             (std::pmr)."
        }
    }
}

/// For a buffer that grows by a constant.
pub(super) fn grow(language: Language) -> &'static str {
    match language {
        Language::Rust => {
            "Let the vector grow by itself (push, reserve), which doubles its capacity, or reserve \
             everything once before the loop. Avoid reserve_exact and a copy each time."
        }
        Language::C => {
            "Grow by a factor, not by a constant: double the capacity when it is used up, or \
             allocate everything at once where the size is known."
        }
        Language::Cpp => {
            "Let the container grow by itself (push_back, insert), which doubles its capacity, or \
             reserve everything once. reserve for the next batch allocates exactly that and defeats \
             the doubling."
        }
    }
}

/// For a general conversion that a simple path serves.
pub(super) fn convert_directly(kind: ConversionKind) -> &'static str {
    match kind {
        ConversionKind::FormatFloat => {
            "Write integral values as integers, and a fixed number of decimals as a scaled integer \
             (llround(x * 100)). For the shortest exact form use std::to_chars, Ryu or Grisu: printf \
             interprets its format and computes with numbers of many words each time."
        }
        ConversionKind::Format | ConversionKind::FormatInteger => {
            "Write the digits with a small routine (two digits per step from a table, std::to_chars, \
             itoa in Rust) and copy the text between them, instead of interpreting a format each \
             time."
        }
        ConversionKind::FormatWhole => {
            "Test first whether the number is whole and of at most 15 digits (fabs(x) < 1e15 && x == (long long)x, and \
             not -0.0), and write its digits as an integer's."
        }
        ConversionKind::FormatCharacter => {
            "Store the character itself (putc, push_back, an assignment): printf interprets its format and \
             goes through a stream each time."
        }
        ConversionKind::FormatText => {
            "Append the texts one after the other (memcpy, append, fputs). printf interprets its format in each call, and \
             these formats say no more than where each text goes."
        }
        ConversionKind::ParseFloat => {
            "Parse plain numbers directly (up to 15 digits and a power of ten up to 22 are one exact \
             multiplication or division) and call the library for the rest; or use std::from_chars or \
             fast_float."
        }
        ConversionKind::ParseInteger => {
            "Add the digits up in a loop of your own (value = 10 * value + digit), which ends where the text is known to \
             end, or use std::from_chars: strtol skips space, looks at a locale, a base and a sign in each call, and \
             needs a text that ends with a zero byte."
        }
        ConversionKind::Scan => {
            "Parse the fields with strtol, strtod or by hand: sscanf interprets its format and looks \
             for the end of the whole string in each call."
        }
        ConversionKind::LocalTime => {
            "Keep the last result: within the same minute only the seconds differ. For UTC compute the date by arithmetic. Set TZ, or use localtime_r after one \
             tzset: without TZ localtime looks at /etc/localtime in each call."
        }
        ConversionKind::TimeText => {
            "Keep the text of the last second, or write the fields by hand in a fixed layout, instead \
             of interpreting a format each time."
        }
        ConversionKind::Account => {
            "Keep the result for each number or name in a table: each call reads the account files \
             or asks a name service."
        }
        ConversionKind::CompilePattern => {
            "Compile each pattern once and keep it; for several patterns keep a table of those that \
             were compiled."
        }
        ConversionKind::MatchPattern => {
            "Look for the pattern by a few lines of code of its own (`find` or `memchr` for its first letter, then a \
             test), or use another engine (RE2, PCRE2 with its JIT, CTRE): std::regex follows a graph of states by \
             recursive calls for each letter, and copies the places of its groups for each position."
        }
        ConversionKind::Stream => {
            "Append to a string that is kept, and read numbers from the text itself: by small routines \
             (std::to_chars and std::from_chars, itoa in Rust), text as it is. A string stream makes a buffer and looks at a locale each time, and each value goes \
             through calls that its format does not need."
        }
        ConversionKind::Encoding => {
            "Open the descriptor once and keep it; convert larger pieces at a time, and ASCII or Latin-1 \
             directly, by a loop over the bytes."
        }
        ConversionKind::AddressText => {
            "Write the four numbers by a small routine or from a table of 256 texts, or keep the text of \
             addresses that come again."
        }
        ConversionKind::Exception => {
            "Return the outcome where failure is usual (std::optional, an error code, std::from_chars instead of \
             std::stoi): to throw allocates, and looks up tables for each function up to the one that catches."
        }
        ConversionKind::TypeTest => {
            "Let a virtual function do what depends on the type, or keep a number of the type in the base class and test \
             that (then static_cast): dynamic_cast walks the descriptions of classes and compares their names."
        }
        ConversionKind::KeyHash => {
            "Use a cheaper hasher for keys that nobody hostile chooses (FxHash or ahash in Rust), or an array where keys \
             are small numbers: SipHash mixes several times for each key so that nobody can choose keys that collide."
        }
    }
}
