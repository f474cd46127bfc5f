//! The plot of time against calls: its dots, and that names do not overlap.

use super::time_against_calls::picture;
use crate::test_fixtures::counts::{hostile_investigation, investigation};
use genba_model::{Estimate, Profile};

fn draw(profile: &Profile) -> String {
    let mut out = String::new();
    picture(&mut out, profile);
    out
}

/// Values of an attribute in the elements that begin so.
fn values(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    svg.split(&format!("<{element}"))
        .skip(1)
        .map(|part| {
            let tag = part.split('>').next().unwrap();
            let value = tag.split(&format!(" {attribute}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        })
        .collect()
}

#[test]
fn functions_with_calls_are_drawn_and_the_largest_is_named() {
    let profile = investigation().profile.unwrap();
    let svg = draw(&profile);
    // Of nine functions one has no counts and one no calls.
    assert_eq!(svg.matches("<circle").count(), 7);
    assert!(svg.contains("class=\"name\""));
    assert!(svg.contains(">big2str_2bdigits</text>"), "{svg}");
    assert!(svg.contains(": 64.5 % of the time, 33.0 M calls, 35.2 ns each</title>"));
    for fixed in [
        "1 ns each",
        "1 µs each",
        "1 ms each",
        "expensive per call",
        "called often",
    ] {
        assert!(svg.contains(fixed), "{fixed}");
    }
    // More calls are further right, more time is higher up; the largest is drawn last.
    let (x, y) = (values(&svg, "circle", "cx"), values(&svg, "circle", "cy"));
    assert!(y.is_sorted_by(|a, b| a >= b), "{y:?}");
    let most = x.iter().copied().fold(0.0, f64::max);
    assert_eq!(x.last(), Some(&most), "33 M calls are most");
}

#[test]
fn profile_without_counts_has_no_plot() {
    assert_eq!(draw(&crate::test_fixtures::profile()), "");
    let mut profile = investigation().profile.unwrap();
    profile.functions.truncate(1);
    assert_eq!(draw(&profile), "", "one point is not a plot");
}

#[test]
fn costs_are_in_cycles_where_seconds_are_unknown() {
    let mut profile = investigation().profile.unwrap();
    for f in &mut profile.functions {
        f.cost_seconds = None;
    }
    let svg = draw(&profile);
    assert!(svg.contains("1,000 cycles each") && !svg.contains("1 ms each"));
    assert_eq!(svg.matches("<circle").count(), 7);
}

/// Many functions at one place: no name on another, all within the plot, bounded.
#[test]
fn names_do_not_overlap() {
    let mut profile = investigation().profile.unwrap();
    let one = profile.functions[0].clone();
    profile.functions = (0..5000_u32)
        .map(|i| {
            let mut f = one.clone();
            f.function = format!("function_with_a_name_{i}");
            f.calls = Some(1000 + u64::from(i % 7) * 40);
            f.cost_seconds = Some(Estimate::exact(1e-6 * (1.0 + f64::from(i % 11) / 30.0)));
            f
        })
        .collect();
    let svg = draw(&profile);
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
    let x = values(&svg, "text class=\"name\"", "x");
    let y = values(&svg, "text class=\"name\"", "y");
    assert!(!x.is_empty());
    for i in 0..x.len() {
        for j in 0..i {
            let apart = (x[i] - x[j]).abs() > 20.0 * 6.0 || (y[i] - y[j]).abs() > 10.0;
            assert!(apart, "{:?} {:?}", (x[i], y[i]), (x[j], y[j]));
        }
    }
}

#[test]
fn impossible_values_are_drawn_within_the_plot() {
    let svg = draw(&hostile_investigation().profile.unwrap());
    for (attribute, most) in [("cx", 1072.0), ("cy", 430.0)] {
        let values = values(&svg, "circle", attribute);
        assert!(
            values.iter().all(|v| (0.0..=most).contains(v)),
            "{values:?}"
        );
    }
    assert!(svg.len() < 100_000);
    assert!(!svg.contains("NaN") && !svg.contains("inf\""));
}
