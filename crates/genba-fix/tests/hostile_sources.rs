//! Sources that were cut anywhere, at any line, for any cause: no panic, and edits that fit.

use genba_fix::{Dialect, Place, SourceFile, Sources, apply, rewrites};
use genba_model::{Cause, Fix};

const SOURCES: [(&str, &str); 2] = [
    (
        "a.c",
        "struct part {\n    long lines, room;\n};\nstatic struct part all[4];\nstatic __thread int seen;\n\
         int f(struct part *p, char *s, unsigned n, unsigned d)\n{\n    while (n % d == 0) {\n        n /= d;\n    }\n\
         \u{20}   for (int i = 0; i < strlen(s); i++)\n        if (s[i] < d)\n            p->out[p->n++] = s[i];\n\
         \u{20}   p->room += 4;\n    p->d = realloc(p->d, p->room);\n    seen++;\n    return p->hash(n) + (n + d) % d;\n}\n",
    ),
    (
        "b.cc",
        "struct Tally {\n    long low;\n};\nvoid f(std::vector<Tally> &v, double e)\n{\n    v.reserve(v.size() + 1);\n\
         \u{20}   for (double &p : v) { p = p * std::pow(2.0, e); std::cout << p << std::endl; }\n}\n",
    ),
];

#[test]
fn cut_sources_neither_panic_nor_get_edits_that_do_not_fit() {
    let target = Fix::TestTarget {
        function: "g".to_owned(),
    };
    for (name, whole) in SOURCES {
        for cut in (0..=whole.len()).step_by(7).chain([whole.len()]) {
            let text = &whole[..cut];
            let dialect = Dialect::of_name(name, Dialect::C).expect("a source file");
            let file = SourceFile::new(name, text.as_bytes().to_vec(), dialect).expect("text");
            let sources = Sources { files: vec![file] };
            for cause in Cause::ALL {
                for line in [0, 1, 5, 8, 11, 14, 17, u32::MAX] {
                    let place = Place {
                        file: 0,
                        function: "f",
                        line,
                        end_line: line.saturating_add(3),
                    };
                    let found = rewrites(cause.id(), Some(&target), &sources, &place);
                    for (file, edits) in found.into_iter().flatten().flat_map(|one| one.edits) {
                        assert!(
                            file == 0 && apply(text, &edits).is_some(),
                            "{}: {text}",
                            cause.id()
                        );
                    }
                }
            }
        }
    }
}
