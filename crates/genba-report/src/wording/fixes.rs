//! What to change, in sentences.

use genba_model::{Fix, KnownValueKind};

use super::fix_variants::{
    accumulators, convert_directly, fewer_system_calls, grow, hoist, reuse, vectorise,
};

/// The sentence for a change.
pub(super) fn sentence(fix: &Fix) -> String {
    match fix {
        Fix::OneDivision => {
            "Compute quotient and remainder with one division: q = n / b; r = n - q * b. If a store \
             in between makes the compiler reload the operands, copy them to local variables first."
        }
        Fix::TestOverflow => {
            "Multiply, then test for overflow: __builtin_mul_overflow (gcc, clang), checked_mul \
             (Rust). For a limit below the type's maximum, compute the product in twice the width \
             and compare it with the limit."
        }
        Fix::Reciprocal => {
            "If the divisor is a power of two, mask or shift. If the dividend is below twice the \
             divisor, compare and subtract. Otherwise compute a reciprocal once before the loop and \
             multiply by it (libdivide, fastmod), or make the divisor a compile-time constant (a \
             template parameter, a switch over the usual values)."
        }
        Fix::WrapByComparison => {
            "Compare and reset the counter instead of dividing: `if (++i == n) i = 0;`. If the length can be chosen, use a \
             power of two and a mask."
        }
        Fix::Accumulators(reduction) => accumulators(*reduction),
        Fix::ContiguousElements => {
            "Store the elements contiguously (an array or vector instead of a list, nodes allocated \
             from one pool in the order of use, indices instead of pointers), so that addresses are \
             known early and cache lines are shared; or process several lists at once."
        }
        Fix::TraverseInOrder => {
            "Make the innermost loop traverse memory in order: interchange the loops, tile them, or \
             store the fields that this loop reads in an array of their own."
        }
        Fix::SmallerData => {
            "Shrink the data that is looked up, so that more of it fits the caches (narrower types, \
             only the fields that the look-up needs), place together what is used together, or \
             prefetch the addresses of later iterations."
        }
        Fix::Vectorise {
            raise_level,
            hoist_loads,
        } => return vectorise(*raise_level, *hoist_loads),
        Fix::WiderStore => {
            "Store as many bytes as are loaded, or keep the value in a register and shift the new \
             bytes in: a load is forwarded from a pending store only if that store holds all of its \
             bytes."
        }
        Fix::CopyLess => {
            "Copy less: only the part that changes or is read, or swap the pointers of two buffers \
             instead of copying one. Pass by reference or move. Append to a string in place \
             (text += piece) instead of creating a new one."
        }
        Fix::LessWork { divisions: true } => {
            "No cheaper code is known for these divisions. Divide less often: several digits per \
             step, long numbers split into halves, another algorithm."
        }
        Fix::LessWork { divisions: false } => {
            "The catalogue has no cheaper code for this loop: its instructions take the time that they \
             need on this host. Fewer iterations, fewer instructions in each, or another algorithm may \
             still gain much."
        }
        Fix::Optimise => {
            "Build with optimisation: -O2 (cargo build --release; CMAKE_BUILD_TYPE=Release or \
             RelWithDebInfo). -g keeps the debug information."
        }
        Fix::Inline { function } => {
            return format!(
                "Let the compiler inline `{function}`: build with link-time optimisation (-flto; \
                 `lto = \"fat\"` in Cargo), or define it in the header (`static inline`; \
                 `#[inline]` in Rust)."
            );
        }
        Fix::HideSymbol { function } => {
            return format!(
                "Hide symbols that only the library itself uses: `static`, \
                 `__attribute__((visibility(\"hidden\")))`, or build with -fvisibility=hidden or \
                 -fno-semantic-interposition. Then `{function}` can be inlined."
            );
        }
        Fix::DefineInHeader { function } => {
            return format!(
                "Define `{function}` in the header as `static inline`, link the library statically \
                 with -flto, or process many items per call."
            );
        }
        Fix::UnlockStream { function } => {
            return format!(
                "Use `{function}_unlocked`, which is inlined, where one thread has the stream (or \
                 `flockfile` holds it), or handle a buffer that `fread` fills or `fwrite` takes."
            );
        }
        Fix::RoundInline { function } => {
            return format!(
                "Compile for processors with SSE4.1 (-march=x86-64-v2; Rust: -C target-cpu=x86-64-v2), where `floor`, \
                 `ceil`, `trunc` and `rint` are one instruction (`round`, which rounds halves away from zero, only with \
                 -ffast-math), or replace `{function}` by a conversion where the number fits an integer: the loop can \
                 then be vectorised."
            );
        }
        Fix::TestTarget { function } => {
            return format!(
                "Test for `{function}` and inline its body there, with the indirect call for other \
                 targets; better once before the loop. In C++ a template parameter or `final` lets \
                 the compiler do it."
            );
        }
        Fix::SpecialisedSort => {
            "Use a sort that is compiled for the element's type: std::sort with a lambda in C++, a \
             macro or `static inline` sort in C, a radix sort for integer keys. The library calls \
             the comparator through a pointer and moves elements of a size unknown to it."
        }
        Fix::TestOrder => {
            "Remember that the elements are in order where they are made or appended, or test it in one \
             pass before they are sorted (std::is_sorted, is_sorted in Rust; n - 1 comparisons); or use a \
             sort that finds ordered runs (timsort)."
        }
        Fix::ThreadLocalVariable => {
            "Keep a pointer to the thread's data in a `_Thread_local` (`thread_local`) variable of \
             the program (in libraries that are not loaded by dlopen: -ftls-model=initial-exec), or \
             look it up once and pass it on."
        }
        Fix::TurnRoundWords => {
            "Load eight bytes at a time, turn them round with one byte swap (__builtin_bswap64, \
             u64::swap_bytes; sixteen with pshufb), and store them at the other end."
        }
        Fix::CopyRuns => {
            "Find the end of the run first (memchr, strcspn, or a known length), then copy it with \
             one memcpy (copy_from_slice, extend_from_slice in Rust). Where runs are short and their length \
             is known: 8 or 16 bytes at a time, the last ones beyond the end where there is room."
        }
        Fix::SeveralDigits { divisor, digits } => {
            return format!(
                "Divide by {divisor}^{digits} instead of {divisor}: the remainder of one pass has \
                 {digits} digits, which are taken out of it in a register. The number is then gone \
                 through {digits} times less often."
            );
        }
        Fix::PairsOfDigits { base } => {
            return format!(
                "Divide by {} and copy the two digits of the remainder from a table of all pairs: half as many \
                 divisions wait for one another.",
                base * base
            );
        }
        Fix::SeveralBitsAtOnce => {
            "Load a word at the position, shift and mask it for all bits of the number; for codes of several lengths look \
             the next bits up in a table of symbols and lengths, longer codes in a second one."
        }
        Fix::TableOfBytes { function } => {
            return format!(
                "Compute the 256 results of `{function}`, with what is made of them, into a table once, and look them up."
            );
        }
        Fix::UpdateSum => {
            "Keep the sum with what it was made of, and change it where a term changes: subtract the term that was there, \
             add the new one. Make it anew now and then where errors add up (floating-point numbers), or where most terms \
             change at once."
        }
        Fix::SlideSum => {
            "Keep the sum: for the next place add what enters the window and subtract what leaves it. Of a window of \
             rows keep the sums of the columns as well. Floating-point sums are begun anew now and then, since their \
             errors add up."
        }
        Fix::SeveralDigitsAtOnce { factor, digits } => {
            return format!(
                "Collect {digits} digits in a register, then multiply the number by \
                 {factor}^{digits} and add them: one pass over the number for {digits} digits \
                 instead of one for each digit."
            );
        }
        Fix::CountBits { highest: false } => {
            "Use a population count: __builtin_popcountll(v) in C and C++ (std::popcount in C++20), v.count_ones() in Rust. \
             Compiled for processors with `popcnt` (-mpopcnt, -march=x86-64-v2) it is one instruction; otherwise a dozen \
             for a whole word."
        }
        Fix::CountBits { highest: true } => {
            "Compute the highest bit from the count of leading zeros, one instruction: 63 - __builtin_clzll(v) in C, \
             std::bit_width(v) in C++20, v.ilog2() in Rust; zero needs a test of its own."
        }
        Fix::DivideAtOnce => {
            "Divide by instructions: `div` divides 128 by 64 bits where the quotient fits into a word (a long number from its \
             highest word downwards); by a constant a multiplication with its reciprocal is faster still. unsigned __int128 \
             in C, u128 in Rust have both."
        }
        Fix::TableByKey => {
            "Make a table from the key's bits when the program is built: its upper bits choose a block, its lower ones \
             the entry, and equal blocks are there once (as Unicode's properties are kept); or test the most frequent \
             range before the search."
        }
        Fix::CountTrailingZeros => {
            "Count the trailing zeros with an instruction and shift once: __builtin_ctzll(v) in C and \
             C++ (std::countr_zero in C++20), v.trailing_zeros() in Rust; zero needs a test of its own."
        }
        Fix::CountLeadingZeros => {
            "Count the leading zeros with an instruction and shift once: __builtin_clzll(v) in C and \
             C++ (std::countl_zero in C++20), v.leading_zeros() in Rust; zero needs a test of its own."
        }
        Fix::HandOnRuns => {
            "Remember where a run began, go on while its pieces are handed on unchanged, and pass the \
             whole run with one call where it ends. Where pieces are made rather than found, collect \
             them in a buffer first."
        }
        Fix::ReserveOnce => {
            "Make room for the whole run before the loop, write through a local pointer, and store \
             the length once after it (a text's closing zero as well). The stores may then change \
             nothing that the loop reads, so that it keeps all in registers and can be vectorised."
        }
        Fix::ScanAhead => {
            "Pass the bytes that nothing is to be done about in a loop of its own: the position in a local \
             variable, one look-up in a table of the bytes that stop it, a bound; store the position \
             once behind it, and let the general path see only the byte that stopped it. For few such \
             bytes memchr or strcspn is that loop."
        }
        Fix::WideCompare => {
            "Compare eight bytes or more at a time: memcmp for equality; for the first difference \
             load eight bytes of each with memcpy, xor them and count the trailing zeros."
        }
        Fix::LibrarySearch => {
            "Search with memchr (or strcspn, std::find on bytes with -O3, the memchr crate in \
             Rust), which tests 16 to 64 bytes at a time. Where a run of one byte is passed, compare eight bytes \
             at once with that byte repeated."
        }
        Fix::HoistCalls { functions } => return hoist(functions),
        Fix::SetOfScript => {
            "Keep the elements in a set (or as keys of a dict, which keeps their order): `in` then looks one up by hash \
             instead of comparing all elements of a list. They must be hashable."
        }
        Fix::HashLookup { strings: false } => {
            "Keep the elements in a hash table or set (or sorted, with a binary search), so that \
             one look-up replaces each linear search."
        }
        Fix::HashLookup { strings: true } => {
            "Keep the names in a hash table (or sorted, with a binary search), so that one look-up \
             replaces each linear search."
        }
        Fix::FindDirectly { best: false } => {
            "Index the elements that can match: free ones in a free list (one for each size), keys in a sorted array or a \
             tree; or continue where the last search ended (next fit)."
        }
        Fix::FindDirectly { best: true } => {
            "Keep the elements in a heap (a priority queue) or in sorted order, or cache the minimum or maximum and update \
             it where an element changes."
        }
        Fix::SpreadKeys => {
            "Let every byte of the key change the hash, its low bits above all (multiply and shift, \
             FNV, CRC), and let the table grow before it is three quarters full: then a look-up \
             reads one slot or two."
        }
        Fix::ScanOnce => {
            "Remember what a scan found out (where the next end is, or that there is none up to the \
             end) and use it for the next start, or scan from where the last one stopped: then each \
             byte is read once."
        }
        Fix::CheckTextOnce => {
            "Stay with bytes, or check the whole text once instead of each piece. What the program wrote itself, or took \
             out of a str, is text already: `from_utf8_unchecked`, with a comment that says why it is."
        }
        Fix::WideClasses => {
            "Test 8 to 32 bytes at a time: by arithmetic on a word where the class is a range or a few \
             bytes, else by two look-ups in tables of 16 elements (pshufb), and only the bytes where \
             such a block stops by the table of all."
        }
        Fix::SearchWord => {
            "Look for the word's first and last letter, or its two rarest, at 8 to 32 positions at once (vectors, or \
             arithmetic on a word), and compare the word where both match: the memchr crate's memmem in Rust, \
             memmem of a C library that has it with vectors."
        }
        Fix::GoOnFromThere => {
            "Keep how far the last run came beside what it made, go on from there, and begin anew only \
             where the input changes."
        }
        Fix::RememberEnd => {
            "Keep a pointer to the end of the string and append there: `strcat` looks for the end \
             from the beginning in each call."
        }
        Fix::RememberPlace => {
            "Keep what the walk finds with the list: a pointer to the last element for appending, the \
             number of elements, or the place of the last walk. For elements by number use an array."
        }
        Fix::SkipWalk => {
            "Leave the walk out where nothing would come of it: keep what it finds out (that nothing is left to \
             do, where it ends) with the list or with its elements, and test that first."
        }
        Fix::OnlyWhatChanged => {
            "Bring up to date only what has changed since the last pass: store it where it changes, or set a flag \
             there and make one pass where the result is first read."
        }
        Fix::GoOverFewer => {
            "Go over the few that decide what changes (the smaller of two collections, a list of what is due) and look \
             each of them up among the elements, instead of looking at every element."
        }
        Fix::WalkOnceForAll => {
            "Walk the tree once, and note for each element what it refers to: a counter in what is looked \
             for, a list of its uses, or a hash table from keys to elements. Keep it up to date where the \
             tree changes, instead of walking all of it for each question."
        }
        Fix::AvoidShifts => {
            "Insert and remove at the end, use a ring or deque (std::deque, VecDeque), or keep the \
             index of the first element, so that nothing is moved. If the order does not matter, \
             swap with the last element."
        }
        Fix::LockOnce => {
            "Take the lock once around the loop, or once for some hundred elements, instead of for each element; or let \
             each thread collect results in local variables and add them under the lock at the end."
        }
        Fix::PlainOperations => {
            "If no other thread accesses it, use plain variables (Rc instead of Arc, Cell instead \
             of an atomic, one counter per thread added up at the end). Loads and stores with \
             relaxed ordering need no lock prefix. A counted pointer that is only looked through is \
             passed by reference (const std::shared_ptr<T> &, &T), which counts nothing."
        }
        Fix::Branchless => {
            "Decide without a branch: always store and add the result of the comparison to the \
             index, select between two computed values with `?:` (a conditional move), or use a \
             look-up table. Or sort or partition the data first, so that the branch becomes \
             predictable."
        }
        Fix::PartitionWithoutBranches => {
            "Sort or select with a partition that does not branch by what it compares: pdqsort_branchless of Boost.Sort, \
             sort_unstable and select_nth_unstable of Rust, a partition by blocks; numbers by their digits (a radix sort). \
             Of large records sort keys with positions, and move each record once."
        }
        Fix::FewerSystemCalls { name, .. } => fewer_system_calls(name),
        Fix::SeparateCacheLines => {
            "Give each thread's variables a cache line of their own (alignas(64); 128 where lines \
             are fetched in pairs), or accumulate in a local variable and store it once at the end."
        }
        Fix::KeepMemory => {
            "Reuse the buffer (one for all iterations, or a pool) instead of allocating a new one \
             each time; or keep the allocator from returning it to the kernel \
             (mallopt(M_MMAP_THRESHOLD) and M_TRIM_THRESHOLD); or use huge pages (madvise \
             MADV_HUGEPAGE), which take 512 page faults at once."
        }
        Fix::KeepMapping => {
            "Keep the mapping instead of unmapping it and mapping the file or the memory again: map all of \
             the file once, or a window that is large and moved seldom. If it has to be mapped anew, \
             MAP_POPULATE takes its faults at once; small pieces are read faster with pread."
        }
        Fix::PerThreadData => {
            "Give each thread data of its own and combine it once at the end, or use one lock per \
             part of the data (shards). Hold the lock for less time, and take it once for many \
             items."
        }
        Fix::ReuseAllocations(language) => reuse(*language),
        Fix::GrowByFactor(language) => grow(*language),
        Fix::ConvertDirectly(kind) => convert_directly(*kind),
        Fix::SplitColdPath { function } => {
            return format!(
                "Move the rare path of `{function}` into a function of its own that is not inlined \
                 (`__attribute__((noinline, cold))`; `#[cold] #[inline(never)]` in Rust) and return \
                 its result directly: the usual path then needs no stack frame, and may be inlined."
            );
        }
        Fix::CommonCaseFirst { strings: true } => {
            "Compare with the most frequent string first, or look the string up (a hash, a switch over \
             its first letter or length) instead of comparing it with one after the other."
        }
        Fix::CommonCaseFirst { strings: false } => {
            "Test for the most frequent case first. Where it is \"none of these\", test for all of \
             them at once: a mask of all flags, a range, or a table of classes indexed by the value."
        }
        Fix::CompareFirstLetter => {
            "Compare a part first, without a call: the first letters (a[0] == b[0] && strcmp(a, b) == 0), the \
             lengths, or a hash kept beside the text where many begin alike. For comparisons without regard to case \
             compare letters of one case."
        }
        Fix::SkipKeptState => {
            "In the usual state look first how far the input keeps it, many bytes at a time (a word whose \
             high bits are clear, memchr, vector comparisons), and step through the table only where it \
             does not."
        }
        Fix::RuleOutFirst => {
            "Test first whether the search can find anything: a bit in a table of what has an entry \
             (indexed by the value, its first letter or a part of its hash), or a flag kept with the \
             value; and treat the usual case without what only the search needs."
        }
        Fix::FixedSizeInline { .. } => {
            "Copy a fixed size (8 or 16 bytes: a memcpy of a constant size is one load and one store) \
             where source and target have room for it, let what comes next overwrite the rest, and \
             call the function for long ones only."
        }
        Fix::PlainShortLoop => {
            "Keep the compiler from vectorising this loop (#pragma GCC novector, #pragma clang loop \
             vectorize(disable) unroll(disable)), copy a fixed size where memory allows it, or treat \
             short lengths by a plain loop of their own."
        }
        Fix::KeepResult { function } => {
            return format!(
                "Compute it once: call `{function}` where its inputs change, and keep the result \
                 beside them (a field, a variable before the loop). If callers cannot know, let \
                 `{function}` keep its last inputs and results and compare first."
            );
        }
        Fix::KeepMade { function } => {
            return format!(
                "Call `{function}` once for each input: store the result beside the input, or in a table by the arguments, and \
                 discard it when the input changes. Callers share the stored result by reference; a caller that modifies it takes a copy."
            );
        }
        Fix::MemoiseRecursion { function } => {
            return format!(
                "Memoise `{function}`: store its results by arguments for as long as the outermost call lasts. Or skip the \
                 calls that cannot find anything new: an alternative that failed from a place fails there again."
            );
        }
        Fix::ReadFileOnce { function } => {
            return format!(
                "Read each file once: call `{function}` before the loop, or keep what it returns by the file's \
                 name. If the file may change meanwhile, compare its size and time of change (stat) first."
            );
        }
        Fix::AskFileOnce => {
            "Ask about each file once and keep the answer, as long as nothing changes the file. One stat \
             answers several questions; a directory's entries have the type of each file."
        }
        Fix::RememberFound { few: false } => {
            "Test first what the last search found (keep its index, or an iterator), and search only \
             if that does not fit; where inputs come in order, search on from there."
        }
        Fix::SearchOnce => {
            "Search once and keep the place that it gives (an iterator, an index, a pointer to the element): read, change \
             or insert there. C++ has try_emplace, Rust has entry."
        }
        Fix::RememberFound { few: true } => {
            "Search once for each of the few keys, before the loop or where the table changes, and \
             keep the index or pointer instead of the key."
        }
        Fix::DropDeadStores { buffer: true } => {
            "Do not fill what is filled again: allocate without zeroing (malloc, reserve, \
             Vec::with_capacity), let the size stay as it is between uses, or clear only what stays \
             unwritten."
        }
        Fix::DropDeadStores { buffer: false } => {
            "Keep the value in a local variable and store it once, at the end or where somebody \
             reads it; leave out initialisations that are always overwritten."
        }
        Fix::ClearUsedPart => {
            "Clear no more than the work uses: choose the size of the table by the size of the input, or \
             store the number of the current pass in each entry and treat entries of other passes as empty. Where few \
             entries are written, clear only these when the work is done."
        }
        Fix::CopyOnce => {
            "Copy the bytes once, from where they come from to where they go: hand over views \
             (pointer and length, std::string_view, std::span, &[u8]), move instead of copying, \
             reserve room for headers in front, or write into the last buffer directly."
        }
        Fix::PassByReference => {
            "Hand over a pointer or reference to the original (const T *, const T &, &T) instead of a \
             copy: nothing changes the copy before it is made again."
        }
        Fix::ChangeInPlace => {
            "Change it where it is: give up the other reference before the change (take the value out of \
             where it is kept, count the reference down), so that it is the only one; or keep the \
             structure in parts of which a change copies one."
        }
        Fix::TestForValue {
            value: KnownValueKind::ZeroFactor,
        } => {
            "Test for zero before the work: a product with zero adds nothing. Where zeros are many, \
             keep the indices of the others only."
        }
        Fix::TestForValue {
            value: KnownValueKind::Divisor,
        } => {
            "Test for the usual divisor first and take a path of its own: a division by one, or by \
             a constant that the compiler knows, needs no division."
        }
        Fix::TestForValue {
            value: KnownValueKind::Exponent,
        } => {
            "Multiply: a small whole power is a few multiplications (x2 = x * x, x4 = x2 * x2), of which several powers of one \
             number share the first. Where the exponent is data, test for it first. The result may differ in its last digits."
        }
        Fix::TestForValue {
            value: KnownValueKind::Argument,
        } => {
            "Test for the usual argument first and use its known result, or keep the last argument \
             with its result."
        }
        Fix::CheckOnce => {
            "Test once for many iterations: copy what is tested to local variables before the loop, \
             compute how many iterations are certain to pass (room left, input left, the clipped \
             part) and run these in a loop without checks; for modes, one loop for each."
        }
        Fix::TestBeforeWork => {
            "Find out first whether the result is wanted: compute only what the test needs, test, \
             and do the rest afterwards."
        }
        Fix::MakeOnlyWhatIsRead => {
            "Make only what is read here: a function for the one field, or the parts of the result in functions of their \
             own that can be inlined."
        }
        Fix::CheapTestFirst => {
            "Test what costs little first, the expensive test last: where the cheap tests say no, it is not made. \
             A test that is only valid after the expensive one stays behind it."
        }
        Fix::GroupFields => {
            "Place the fields that are used together side by side in the structure, the others \
             behind them, and align objects of up to 64 bytes of such fields to a cache line; or \
             keep these fields in an array of their own."
        }
        Fix::InstallSymbols => {
            "Install the package's debug symbols, or set DEBUGINFOD_URLS. Build your own programs \
             with -g and do not strip them."
        }
    }
    .to_owned()
}
