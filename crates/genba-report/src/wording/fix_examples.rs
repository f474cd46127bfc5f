//! The idiom before and after a change.

use genba_model::{ConversionKind, Fix, KnownValueKind, Language, Reduction};

/// The idiom before and after the change, where a few lines show it.
pub(super) fn example(fix: &Fix) -> Option<(&'static str, &'static str)> {
    Some(match fix {
        Fix::OneDivision => (
            "digit = n % base;\nn /= base;",
            "q = n / base;\ndigit = n - q * base;\nn = q;",
        ),
        Fix::TestOverflow => (
            "if (n > LIMIT / size)\n    return ERROR;\ntotal = n * size;",
            "if (__builtin_mul_overflow(n, size, &total) || total > LIMIT)\n    return ERROR;",
        ),
        Fix::Reciprocal => (
            "for (i = 0; i < n; i++)\n    slot = hash[i] % size;",
            "mask = size - 1;            /* size is a power of two */\nfor (i = 0; i < n; i++)\n    slot = hash[i] & mask;",
        ),
        Fix::Accumulators(reduction) => accumulators_example(*reduction),
        Fix::ContiguousElements => (
            "for (node *p = head; p; p = p->next)\n    sum += p->value;",
            "for (size_t i = 0; i < n; i++)\n    sum += items[i].value;",
        ),
        Fix::TraverseInOrder => (
            "for (i …) for (j …) for (k …)\n    c[i][j] += a[i][k] * b[k][j];",
            "for (i …) for (k …) for (j …)\n    c[i][j] += a[i][k] * b[k][j];",
        ),
        Fix::SmallerData => (
            "for (i = 0; i < n; i++)\n    sum += table[hash(key[i])].value;",
            "for (i = 0; i < n; i++) {\n    __builtin_prefetch(&table[hash(key[i + 8])]);\n    sum += table[hash(key[i])].value;\n}",
        ),
        Fix::Vectorise { .. } => (
            "for (i = 0; i < out->n; i++)\n    out->p[i] = a->p[i] * f + b->p[i];",
            "T *restrict o = out->p; const T *x = a->p, *y = b->p;\nfor (i = 0, n = out->n; i < n; i++)\n    o[i] = x[i] * f + y[i];",
        ),
        Fix::WiderStore => (
            "memmove(w, w + 1, 7); w[7] = byte;\nmemcpy(&word, w, 8);",
            "word = word >> 8 | (uint64_t)byte << 56;",
        ),
        Fix::CopyLess => (
            "before = now;              /* all of it, each step */",
            "std::swap(before, now);    /* and write all that changes */",
        ),
        Fix::Inline { .. } | Fix::DefineInHeader { .. } => (
            "/* header */ int at(const image *i, int x);\n/* image.c */ int at(const image *i, int x) { return i->data[x]; }",
            "/* header */ static inline int at(const image *i, int x) { return i->data[x]; }",
        ),
        Fix::UnlockStream { .. } => (
            "while ((c = getc(in)) != EOF)\n    count[c]++;",
            "while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)\n    for (i = 0; i < n; i++)\n        count[buffer[i]]++;",
        ),
        Fix::RoundInline { .. } => (
            "out[i] = roundf(in[i] * 255);",
            "out[i] = (uint8_t)(in[i] * 255 + 0.5f); /* in[i] is not negative */",
        ),
        Fix::SpreadKeys => (
            "while (*key) hash += *key++;",
            "while (*key) hash = (hash ^ *key++) * 0x100000001b3;\nhash ^= hash >> 32;",
        ),
        Fix::HideSymbol { .. } => (
            "uint32_t step(uint32_t sum, uint8_t byte);",
            "__attribute__((visibility(\"hidden\")))\nuint32_t step(uint32_t sum, uint8_t byte);",
        ),
        Fix::TestTarget { .. } => (
            "while (!t->equal(slot->key, key))",
            "if (t->equal == equal_integer)\n    while (slot->key != key) …\nelse\n    while (!t->equal(slot->key, key)) …",
        ),
        Fix::SpecialisedSort => (
            "qsort(keys, n, sizeof *keys, compare);",
            "std::sort(keys, keys + n, [](key a, key b) { return a < b; });",
        ),
        Fix::TestOrder => (
            "std::sort(begin, end, less);",
            "if (!std::is_sorted(begin, end, less))\n    std::sort(begin, end, less);",
        ),
        Fix::ThreadLocalVariable => (
            "struct context *c = pthread_getspecific(key);",
            "static _Thread_local struct context *current;\nstruct context *c = current;",
        ),
        Fix::TurnRoundWords => (
            "for (i = 0; i < n; i++)\n    out[n - 1 - i] = in[i];",
            "uint64_t word;\nfor (i = 0; i + 8 <= n; i += 8) {\n    memcpy(&word, in + i, 8);\n    \
             word = __builtin_bswap64(word);\n    memcpy(out + n - 8 - i, &word, 8);\n}",
        ),
        Fix::CopyRuns => (
            "while (*in && *in != '{')\n    *out++ = *in++;",
            "size_t n = strcspn(in, \"{\");\nmemcpy(out, in, n);\nin += n; out += n;",
        ),
        Fix::PairsOfDigits { base: 10 } => (
            "do *--p = '0' + n % 10; while (n /= 10);",
            "while (n >= 100) {\n    memcpy(p -= 2, &pairs[n % 100 * 2], 2);\n    n /= 100;\n}\n…   /* the last one or two */",
        ),
        Fix::SeveralBitsAtOnce => (
            "while (n--) {\n    v = v << 1 | (p[at >> 3] >> (7 - (at & 7)) & 1);\n    at++;\n}",
            "memcpy(&word, p + (at >> 3), 8);\nv = __builtin_bswap64(word) << (at & 7) >> (64 - n);\nat += n;",
        ),
        Fix::TableOfBytes { .. } => (
            "out[i] = round(255 * pow(in[i] / 255.0, gamma));",
            "for (v = 0; v < 256; v++)\n    table[v] = round(255 * pow(v / 255.0, gamma));\n…\nout[i] = table[in[i]];",
        ),
        Fix::UpdateSum => (
            "sum = 0;\nfor (i = 0; i < n; i++)\n    sum += weight[item[i]];",
            "sum += weight[now] - weight[before];   /* where item[i] changes */",
        ),
        Fix::SlideSum => (
            "for (sum = 0, j = 0; j < width; j++)\n    sum += in[i + j];",
            "sum += in[i + width - 1] - in[i - 1];",
        ),
        // The sentence has the figures at hand.
        Fix::SeveralDigits { .. }
        | Fix::SeveralDigitsAtOnce { .. }
        | Fix::PairsOfDigits { .. }
        | Fix::SkipWalk => return None,
        Fix::CountBits { highest: false } => (
            "for (n = 0; v; v >>= 1)\n    n += v & 1;",
            "n = __builtin_popcountll(v);",
        ),
        Fix::CountBits { highest: true } => (
            "for (n = 0; v >>= 1; )\n    n++;",
            "n = 63 - __builtin_clzll(v);",
        ),
        Fix::DivideAtOnce => (
            "for (i = 0; i < 64; i++) {\n    r = r << 1 | n >> 63;\n    n = n << 1 | (q = r >= d);\n    if (q) r -= d;\n}",
            "q = n / d;\nr = n % d;",
        ),
        Fix::TableByKey => (
            "entry = bsearch(&c, ranges, n, sizeof *ranges, compare);\nwidth = entry ? entry->width : 1;",
            "width = widths[blocks[c >> 8]][c & 255];",
        ),
        Fix::CountTrailingZeros => (
            "while ((v & 1) == 0)\n    v >>= 1;",
            "v >>= __builtin_ctzll(v);",
        ),
        Fix::CountLeadingZeros => (
            "while ((v & TOP_BIT) == 0)\n    v <<= 1;",
            "v <<= __builtin_clzll(v);",
        ),
        Fix::HandOnRuns => (
            "while (in < end) {\n    n = length_of_letter(in);\n    put(out, in, n);\n    in += n;\n}",
            "start = in;\nwhile (in < end && stays_the_same(in))\n    in += length_of_letter(in);\nput(out, start, in - start);",
        ),
        Fix::ReserveOnce => (
            "for (i = 0; i < n; i++)\n    append(buffer, in[i]);",
            "char *out = reserve(buffer, n);\nfor (i = 0; i < n; i++)\n    out[i] = in[i];\nbuffer->length += n;",
        ),
        Fix::ScanAhead => (
            "c = text[state->position++];\nif (state->strict && is_special[c])\n    handle(state, c);",
            "at = state->position;\nwhile (at < end && !is_special[text[at]])\n    at++;\nstate->position = at;",
        ),
        Fix::WideCompare => (
            "while (b < end && *a == *b)\n    a++, b++;",
            "while (b + 8 <= end) {\n    uint64_t x, y;\n    memcpy(&x, a, 8); memcpy(&y, b, 8);\n    if (x != y)\n        return b + (__builtin_ctzll(x ^ y) >> 3) - start;\n    a += 8, b += 8;\n}",
        ),
        Fix::LibrarySearch => (
            "while (p < end && *p != '\\n')\n    p++;",
            "p = memchr(p, '\\n', end - p);",
        ),
        Fix::HoistCalls { .. } => (
            "for (i = 0; i < strlen(s); i++)",
            "size_t n = strlen(s);\nfor (i = 0; i < n; i++)",
        ),
        Fix::SetOfScript => (
            "seen = []\nfor w in words:\n    if w not in seen:\n        seen.append(w)",
            "seen = {}\nfor w in words:\n    if w not in seen:\n        seen[w] = True",
        ),
        Fix::HashLookup { strings: false } => (
            "if (!contains(list, key))\n    append(list, key);",
            "if (set_insert(seen, key))\n    append(list, key);",
        ),
        Fix::HashLookup { strings: true } => (
            "for (i = 0; i < n; i++)\n    if (strcmp(table[i].name, name) == 0)\n        return &table[i];",
            "for (i = hash(name) & mask; table[i].name; i = (i + 1) & mask)\n    if (strcmp(table[i].name, name) == 0)\n        return &table[i];",
        ),
        Fix::FindDirectly { best: false } => (
            "for (b = blocks; b; b = b->next)\n    if (b->free && b->size == size)\n        return b;",
            "b = free_blocks[size / UNIT];   /* a list for each size */\nif (b) free_blocks[size / UNIT] = b->next_free;\nreturn b;",
        ),
        Fix::FindDirectly { best: true } => (
            "for (i = 0; i < n; i++)\n    if (!done[i] && distance[i] < distance[best])\n        best = i;",
            "best = heap_take_least(&heap);   /* heap_lower() where a distance becomes less */",
        ),
        Fix::ScanOnce | Fix::WideClasses | Fix::SearchWord => return None,
        Fix::CheckTextOnce => (
            "for piece in pieces {\n    out.push_str(str::from_utf8(piece)?);\n}",
            "for piece in pieces {\n    bytes.extend_from_slice(piece);\n}\nlet out = String::from_utf8(bytes)?;",
        ),
        Fix::GoOnFromThere => (
            "for (i = 0, at = begin; i <= column; i++)\n    at += width(type[i] = *header++);",
            "for (; record->parsed <= column; record->parsed++)\n    record->at += width(type[record->parsed] = *record->header++);",
        ),
        Fix::RememberEnd => (
            "strcat(text, piece);",
            "size_t n = strlen(piece);\nmemcpy(end, piece, n + 1);\nend += n;",
        ),
        Fix::RememberPlace => (
            "while (last->next != NULL)\n    last = last->next;\nlast->next = item;",
            "list->last->next = item;\nlist->last = item;",
        ),
        Fix::OnlyWhatChanged => (
            "add(&table, item);\nupdate_index(&table);   /* all elements */",
            "add(&table, item);\ntable.changed = true;\n…\nif (table.changed) update_index(&table);   /* in look_up() */",
        ),
        Fix::GoOverFewer => (
            "for (auto it = open.begin(); it != open.end(); )\n    it = done.count(*it) ? open.erase(it) : next(it);",
            "for (auto id : done)   // the smaller one\n    open.erase(id);",
        ),
        Fix::WalkOnceForAll => (
            "for (v = variables; v; v = v->next)\n    if (count_uses(v, body) == 0)\n        drop(v);",
            "count_all_uses(body);        /* use->variable->uses++ */\nfor (v = variables; v; v = v->next)\n    if (v->uses == 0)\n        drop(v);",
        ),
        Fix::AvoidShifts => (
            "job = jobs.front();\njobs.erase(jobs.begin());",
            "job = jobs.front();   // std::deque\njobs.pop_front();",
        ),
        Fix::WrapByComparison => ("i = (i + 1) % n;", "if (++i == n)\n    i = 0;"),
        Fix::LockOnce => (
            "for (i = 0; i < n; i++) {\n    lock(&m);\n    count[p[i]]++;\n    unlock(&m);\n}",
            "lock(&m);\nfor (i = 0; i < n; i++)\n    count[p[i]]++;\nunlock(&m);",
        ),
        Fix::PlainOperations => (
            "std::atomic<long> count;  count++;",
            "long count;  count++;",
        ),
        Fix::Branchless => (
            "if (price[i] < limit)\n    out[n++] = i;",
            "out[n] = i;\nn += price[i] < limit;",
        ),
        Fix::PartitionWithoutBranches => (
            "std::sort(v.begin(), v.end());",
            "boost::sort::pdqsort_branchless(v.begin(), v.end());",
        ),
        Fix::FewerSystemCalls { name, language } => system_call_example(name, *language)?,
        Fix::SeparateCacheLines => (
            "struct tally { uint64_t n; } tallies[THREADS];",
            "struct alignas(64) tally { uint64_t n; } tallies[THREADS];",
        ),
        Fix::KeepMemory => (
            "for (…) { p = malloc(n); fill(p); use(p); free(p); }",
            "p = malloc(n);\nfor (…) { fill(p); use(p); }\nfree(p);",
        ),
        Fix::KeepMapping => (
            "for (…) { p = mmap(0, n, …, fd, at); use(p); munmap(p, n); }",
            "p = mmap(0, size, …, fd, 0);\nfor (…) use(p + at);\nmunmap(p, size);",
        ),
        Fix::PerThreadData => (
            "for (…) { lock(&m); total[k] += x; unlock(&m); }",
            "for (…) mine[k] += x;\nlock(&m); for (k…) total[k] += mine[k]; unlock(&m);",
        ),
        Fix::ReuseAllocations(language) => reuse_example(*language),
        Fix::GrowByFactor(language) => grow_example(*language),
        Fix::SplitColdPath { .. } => (
            "int put(buffer *b, int c) {\n    if (b->n == b->size) { …grow, report errors… }\n    b->p[b->n++] = c;\n    return 0;\n}",
            "__attribute__((noinline, cold)) int grow_and_put(buffer *b, int c);\n\nint put(buffer *b, int c) {\n    if (b->n == b->size)\n        return grow_and_put(b, c);\n    b->p[b->n++] = c;\n    return 0;\n}",
        ),
        Fix::CommonCaseFirst { strings: false } => (
            "if (c >= 0xf0) …\nelse if (c >= 0xe0) …\nelse if (c >= 0xc0) …\nelse *out++ = c;",
            "if (c < 0x80) *out++ = c;\nelse if (c < 0xe0) …",
        ),
        Fix::CommonCaseFirst { strings: true } => (
            "if (!strcmp(name, \"reset\")) …\nelse if (!strcmp(name, \"flush\")) …\nelse if (!strcmp(name, \"get\")) …",
            "switch (name[0]) {\ncase 'g': if (!strcmp(name, \"get\")) …",
        ),
        Fix::SkipKeptState => (
            "for (; p < end; p++)\n    state = next[state + class[*p]];",
            "while (p < end) {\n    if (state == PLAIN) {\n        p = end_of_plain(p, end);   /* 8, 16 or 32 bytes at a time */\n        if (p == end) break;\n    }\n    state = next[state + class[*p++]];\n}",
        ),
        Fix::RuleOutFirst => (
            "for (k = pairs; k < pairs_end; k++)\n    if (k->first == c && k->second == p[1]) …",
            "if (begins_pair[c])\n    for (k = pairs; k < pairs_end; k++)\n        if (k->first == c && k->second == p[1]) …",
        ),
        Fix::CompareFirstLetter => (
            "for (e = first; e < end; e++)\n    if (strcmp(e->key, key) == 0) …",
            "for (e = first; e < end; e++)\n    if (e->key[0] == key[0] && strcmp(e->key, key) == 0) …",
        ),
        Fix::FixedSizeInline { fill: false } => (
            "memcpy(to, from, n);         /* n is mostly 1 to 8 */",
            "if (n <= 8)\n    memcpy(to, from, 8);     /* both have room for 8 */\nelse\n    memcpy(to, from, n);",
        ),
        Fix::FixedSizeInline { fill: true } => (
            "memset(to, c, n);            /* n is mostly 1 to 8 */",
            "if (n <= 8) {\n    uint64_t eight = c * 0x0101010101010101u;\n    memcpy(to, &eight, 8);   /* it has room for 8 */\n} else\n    memset(to, c, n);",
        ),
        Fix::PlainShortLoop => (
            "for (i = 0; i < n; i++)      /* n is 3 */\n    to[i] = from[i];",
            "#pragma GCC novector\nfor (i = 0; i < n; i++)\n    to[i] = from[i];",
        ),
        Fix::KeepResult { .. } => (
            "for (r = routes; r < end; r++)\n    if (hash(r->path) == wanted) …",
            "r->hash = hash(r->path);        /* where the path is set */\n\nfor (r = routes; r < end; r++)\n    if (r->hash == wanted) …",
        ),
        Fix::KeepMade { .. } => (
            "for (u = units; u < end; u++)\n    u->types = parse_types(text, u->offset);",
            "for (u = units; u < end; u++) {\n    if (!known[u->offset])\n        known[u->offset] = parse_types(text, u->offset);\n    u->types = known[u->offset];     /* and freed once */\n}",
        ),
        Fix::MemoiseRecursion { .. } => (
            "long ways(int r, int c) {\n    …\n    return ways(r + 1, c) + ways(r, c + 1);\n}",
            "long ways(int r, int c) {\n    …\n    if (known[r][c] < 0)      /* -1 at first */\n        known[r][c] = ways(r + 1, c) + ways(r, c + 1);\n    return known[r][c];\n}",
        ),
        Fix::ReadFileOnce { .. } => (
            "for (each order)\n    total += order->amount * read_rates(\"rates\")[order->unit];",
            "rates = read_rates(\"rates\");\nfor (each order)\n    total += order->amount * rates[order->unit];",
        ),
        Fix::AskFileOnce => (
            "if (access(path, F_OK) == 0 && is_directory(path) && size_of(path) > 0) …",
            "struct stat s;\nif (stat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_size > 0) …",
        ),
        Fix::RememberFound { few: false } => (
            "i = find_period(zone, time);",
            "i = zone->last;\nif (time < begin[i] || time >= begin[i + 1])\n    i = zone->last = find_period(zone, time);",
        ),
        Fix::SearchOnce => (
            "if (map.count(key) == 0)\n    map[key] = first;\nmap[key].uses++;",
            "auto [place, is_new] = map.try_emplace(key, first);\nplace->second.uses++;",
        ),
        Fix::RememberFound { few: true } => (
            "for (each row)\n    sum += row[column_of(table, \"price\")];",
            "price = column_of(table, \"price\");\nfor (each row)\n    sum += row[price];",
        ),
        Fix::DropDeadStores { buffer: true } => {
            ("memset(page, 0, n);\nfill(page, n);", "fill(page, n);")
        }
        Fix::DropDeadStores { buffer: false } => (
            "for (; p < end; p++)\n    self->column++;",
            "long column = self->column;\nfor (; p < end; p++)\n    column++;\nself->column = column;",
        ),
        Fix::ClearUsedPart => (
            "memset(table, 0, sizeof table);",
            "size = table_size_for(n);\nmemset(table, 0, size * sizeof *table);",
        ),
        Fix::CopyOnce => (
            "std::string body = input.substr(at, n);\nqueue.push_back(Message{channel, body});",
            "queue.push_back(Message{channel, input.substr(at, n)});   /* moved, not copied */",
        ),
        Fix::PassByReference => (
            "double area(struct shape s);\n…\nsum += area(shapes[i]);",
            "double area(const struct shape *s);\n…\nsum += area(&shapes[i]);",
        ),
        Fix::ChangeInPlace => (
            "old = get(frame, slot);            /* a second reference */\nput(frame, slot, set(get(frame, slot), i, f(old)));",
            "old = take(frame, slot);           /* the only one */\nput(frame, slot, set(old, i, f(old)));",
        ),
        Fix::TestForValue { value } => match value {
            KnownValueKind::ZeroFactor => (
                "for (j = 0; j < n; j++)\n    out[j] += x[i] * w[i][j];",
                "if (x[i] != 0)\n    for (j = 0; j < n; j++)\n        out[j] += x[i] * w[i][j];",
            ),
            KnownValueKind::Divisor => (
                "return amount * rate / unit;",
                "if (unit == 1)\n    return amount * rate;\nreturn amount * rate / unit;",
            ),
            KnownValueKind::Exponent => (
                "e += pow(1 / r, 12) - pow(1 / r, 6);",
                "r2 = 1 / (r * r);\nr6 = r2 * r2 * r2;\ne += r6 * r6 - r6;",
            ),
            KnownValueKind::Argument => (
                "x = r * cos(angle);",
                "x = angle == 0 ? r : r * cos(angle);",
            ),
        },
        Fix::CheckOnce => (
            "for (; n; n--) {\n    if (out->used == out->size) flush(out);\n    out->p[out->used++] = *in++;\n}",
            "while (n) {\n    size_t room = min(out->size - out->used, n);\n    for (i = 0; i < room; i++) out->p[out->used + i] = in[i];\n    …\n}",
        ),
        Fix::TestBeforeWork => (
            "row = parse(line);\nif (row.region != wanted) continue;",
            "if (region_of(line) != wanted) continue;\nrow = parse(line);",
        ),
        Fix::MakeOnlyWhatIsRead => (
            "entry = decode(p);\np -= entry.previous_length;",
            "p -= previous_length(p);",
        ),
        Fix::CheapTestFirst => (
            "if (distance(p, q) <= radius && p->kind == kind)",
            "if (p->kind == kind && distance(p, q) <= radius)",
        ),
        Fix::GroupFields => (
            "struct session { id_t id; char user[56]; time_t expires; char agent[120]; long bytes; };",
            "struct session { id_t id; time_t expires; long bytes; char user[56]; char agent[120]; };",
        ),
        Fix::ConvertDirectly(kind) => conversion_example(*kind)?,
        Fix::LessWork { .. } | Fix::Optimise | Fix::InstallSymbols => {
            return None;
        }
    })
}

fn accumulators_example(reduction: Reduction) -> (&'static str, &'static str) {
    match reduction {
        Reduction::FloatSum | Reduction::FloatProduct | Reduction::FloatExtreme => (
            "for (i = 0; i < n; i++)\n    sum += a[i] * b[i];",
            "for (i = 0; i + 4 <= n; i += 4) {\n    s0 += a[i] * b[i];         s1 += a[i + 1] * b[i + 1];\n    s2 += a[i + 2] * b[i + 2]; s3 += a[i + 3] * b[i + 3];\n}\nsum = (s0 + s1) + (s2 + s3);   /* and the rest */",
        ),
        Reduction::Table => (
            "crc = table[(crc ^ *p++) & 255] ^ crc >> 8;",
            "word = load64(p) ^ crc;   p += 8;\ncrc = t7[word & 255] ^ t6[word >> 8 & 255] ^ … ^ t0[word >> 56];",
        ),
        Reduction::Crc32 => (
            "for (; n; n--) crc = _mm_crc32_u64(crc, *p++);",
            "for (; n; n--, p++) {\n    a = _mm_crc32_u64(a, p[0]);\n    b = _mm_crc32_u64(b, p[third]);\n    c = _mm_crc32_u64(c, p[2 * third]);\n}   /* combine a, b, c */",
        ),
        Reduction::Mixing => (
            "for (; n; n--)\n    h = (h ^ *p++) * PRIME;",
            "for (; n >= 8; n -= 8, p += 8)\n    h = mix(h ^ load64(p));",
        ),
        Reduction::Remainder => (
            "for (i = 0; i < n; i++)\n    sum = (sum + p[i]) % M;",
            "for (; n; n -= k, p += k) {\n    k = n < MANY ? n : MANY;   /* MANY * 255 + M fits into sum */\n    \
             for (i = 0; i < k; i++)\n        sum += p[i];\n    sum %= M;\n}",
        ),
        Reduction::Polynomial => (
            "for (; n; n--)\n    h = h * F + *p++;",
            "for (; n >= 4; n -= 4, p += 4)\n    h = h * F4 + (p[0] * F3 + p[1] * F2 + p[2] * F + p[3]);",
        ),
    }
}

fn system_call_example(name: &str, language: Language) -> Option<(&'static str, &'static str)> {
    match (name, language) {
        ("read" | "pread", Language::Rust) => Some((
            "let mut input = File::open(path)?;",
            "let mut input = BufReader::new(File::open(path)?);",
        )),
        ("write" | "pwrite", Language::Rust) => Some((
            "let mut out = File::create(path)?;",
            "let mut out = BufWriter::new(File::create(path)?);",
        )),
        ("read", _) => Some((
            "read(fd, &record, sizeof record);",
            "fread(&record, sizeof record, 1, file);",
        )),
        ("write", _) => Some(("write(fd, line, length);", "fwrite(line, 1, length, file);")),
        _ => None,
    }
}

fn reuse_example(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Rust => (
            "for item in items {\n    let mut row = Vec::new();\n    fill(&mut row, item);\n}",
            "let mut row = Vec::new();\nfor item in items {\n    row.clear();\n    fill(&mut row, item);\n}",
        ),
        Language::C => (
            "n = malloc(sizeof *n); … free(n);",
            "n = arena->next++; … arena->next = arena->first;  /* all at once */",
        ),
        Language::Cpp => (
            "for (auto &item : items) { std::vector<T> row; fill(row, item); }",
            "std::vector<T> row;\nfor (auto &item : items) { row.clear(); fill(row, item); }",
        ),
    }
}

fn grow_example(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Rust => (
            "v.reserve_exact(batch.len());\nv.extend(batch);",
            "v.extend(batch);",
        ),
        Language::C => (
            "room += 4;\np = realloc(p, room * sizeof *p);",
            "room = room ? 2 * room : 16;\np = realloc(p, room * sizeof *p);",
        ),
        Language::Cpp => (
            "v.reserve(v.size() + n);\nfor (…) v.push_back(x);",
            "for (…) v.push_back(x);  // or v.insert(v.end(), first, last)",
        ),
    }
}

fn conversion_example(kind: ConversionKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        ConversionKind::FormatFloat => (
            "n = snprintf(out, size, \"%.17g\", x);",
            "if (x == (double)(int64_t)x)\n    n = write_integer(out, (int64_t)x);\nelse\n    n = std::to_chars(out, out + size, x).ptr - out;",
        ),
        ConversionKind::LocalTime => (
            "localtime_r(&when, &tm);",
            "if (when / 60 != last / 60)\n    localtime_r(&when, &tm);\nelse\n    tm.tm_sec = when % 60;\nlast = when;",
        ),
        ConversionKind::Account => (
            "owner = getpwuid(file.uid)->pw_name;",
            "owner = names[file.uid];\nif (!owner)\n    owner = names[file.uid] = strdup(getpwuid(file.uid)->pw_name);",
        ),
        ConversionKind::Exception => (
            "try { n = std::stoi(text); } catch (const std::exception &) { n = 1; }",
            "if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc())\n    n = 1;",
        ),
        ConversionKind::TypeTest => (
            "if (auto circle = dynamic_cast<const Circle *>(shape))\n    return circle->r * circle->r * pi;",
            "return shape->area();   /* virtual */",
        ),
        ConversionKind::KeyHash => (
            "let mut pages: HashMap<u32, Page> = HashMap::new();",
            "let mut pages: HashMap<u32, Page, BuildHasherDefault<FxHasher>> = HashMap::default();",
        ),
        _ => return None,
    })
}
