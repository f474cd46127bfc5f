use genba_model::{CountEngine, Estimate, FittedLaw, FunctionGrowth, Growth, SizedCount};

fn law(name: &str, exponent: f64, coefficient: f64) -> FittedLaw {
    FittedLaw {
        law: name.to_owned(),
        exponent: Estimate {
            value: exponent,
            low: exponent - 0.02,
            high: exponent + 0.02,
        },
        coefficient: Some(Estimate {
            value: coefficient,
            low: coefficient * 0.99,
            high: coefficient * 1.01,
        }),
        residual: 0.004,
    }
}

/// A program in which one function is quadratic and another linear.
pub fn growth() -> Growth {
    let sizes: Vec<u64> = (6..14).map(|power| 1 << power).collect();
    let quadratic: Vec<u64> = sizes.iter().map(|n| n * n / 2).collect();
    let linear: Vec<u64> = sizes.iter().map(|n| 40 * n).collect();
    let estimate = |value: f64| Estimate {
        value,
        low: value * 0.99,
        high: value * 1.01,
    };
    let function = FunctionGrowth {
        function: "jv_array_set".to_owned(),
        module: "/usr/bin/jq".to_owned(),
        file: Some("src/jv.c".to_owned()),
        line: Some(71),
        growth: law("quadratic", 1.99, 0.5),
        instructions: quadratic.clone(),
        share: 0.99,
        extrapolated: Some(estimate(3.4e9)),
        extrapolated_share: Some(0.999),
        calls: sizes.clone(),
        calls_growth: Some(law("linear", 1.0, 1.0)),
        per_call_growth: Some(law("linear", 1.0, 0.5)),
    };
    Growth {
        command: vec!["jq".to_owned(), "-n".to_owned(), "{N}".to_owned()],
        parameter: "N".to_owned(),
        engine: CountEngine {
            name: "genba".to_owned(),
            version: "0.1.0".to_owned(),
            gaps: Vec::new(),
        },
        sizes: (sizes.iter().zip(&quadratic).zip(&linear))
            .map(|((&size, a), b)| SizedCount {
                size,
                instructions: a + b,
                seconds: 0.2,
            })
            .collect(),
        at: 81_920.0,
        total: Some(law("quadratic", 1.98, 0.5)),
        extrapolated: estimate(3.403e9),
        functions: vec![
            function.clone(),
            FunctionGrowth {
                function: "jv_parse".to_owned(),
                line: None,
                file: None,
                growth: law("linear", 1.0, 40.0),
                instructions: linear,
                share: 0.01,
                extrapolated: Some(estimate(3.3e6)),
                extrapolated_share: Some(0.001),
                calls: vec![1; 8],
                calls_growth: Some(law("constant", 0.0, 1.0)),
                per_call_growth: Some(law("linear", 1.0, 40.0)),
                ..function
            },
        ],
        notes: vec!["stopped at N = 16384: the budget is spent".to_owned()],
    }
}
