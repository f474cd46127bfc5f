//! A patch with one division for two, and one that did not compile.

use genba_model::{Estimate, FindingSite, FixVerdict, SourceFix, TriedRewrite};

const DIFF: &str = "--- a/bignum.c\n+++ b/bignum.c\n@@ -1,2 +1,2 @@\n-    d = n % b;\n+    d = n - q * b;\n     n = q;\n";

/// A patch that gains.
pub fn source_fix() -> SourceFix {
    let speedup = Estimate {
        value: 1.66,
        low: 1.65,
        high: 1.67,
    };
    let best = TriedRewrite {
        title: "divide n by b once for quotient and remainder".to_owned(),
        assumes: vec!["the store before it does not change b".to_owned()],
        diff: DIFF.to_owned(),
        compiles: Some(true),
        check_passed: Some(true),
        output_identical: Some(true),
        speedup: Some(speedup),
        pairs: 12,
        verdict: FixVerdict::Gain,
        reason: None,
    };
    let failed = TriedRewrite {
        title: "another".to_owned(),
        compiles: Some(false),
        check_passed: None,
        output_identical: None,
        speedup: None,
        pairs: 0,
        verdict: FixVerdict::DoesNotCompile,
        reason: Some("the build failed with exit code 2".to_owned()),
        ..best.clone()
    };
    SourceFix {
        case: "7f3a".to_owned(),
        finding: 1,
        cause: "duplicate-division".to_owned(),
        site: FindingSite {
            function: "big2str".to_owned(),
            module: "/bin/prog".to_owned(),
            file: Some("bignum.c".to_owned()),
            line: Some(34),
            end_line: Some(35),
            addresses: Vec::new(),
            called_from: None,
            inside: None,
        },
        predicted_speedup: speedup,
        command: "./prog 55".to_owned(),
        build: Some("make".to_owned()),
        metric: "cpu".to_owned(),
        patch: Some(format!("genba fix: …\n\n{DIFF}")),
        patch_file: Some(".genba/7f3a/fix-1.patch".to_owned()),
        applied: true,
        applied_to_sources: false,
        compiles: Some(true),
        output_identical: Some(true),
        speedup: Some(speedup),
        pairs: 12,
        verdict: FixVerdict::Gain,
        reason: None,
        tried: vec![best, failed],
        notes: vec!["a note".to_owned()],
    }
}
