//! Small statistics: moments, medians, Student's t, order-statistic intervals.
//! In: plain numbers. Out: plain numbers; `None` where the result is not defined.
//! Distributions come from `statrs`; here is what it lacks or does too slowly.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Arithmetic mean; 0 for none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Unbiased variance; `None` below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// Values in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Median of values in ascending order; `None` for none.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Median; `None` for none.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(values))
}

/// Two-sided p-value of a t statistic.
pub fn t_p(t: f64, df: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    match StudentsT::new(0.0, 1.0, df.clamp(1.0, 1e6)) {
        Ok(students) => (2.0 * students.cdf(-t.abs())).clamp(0.0, 1.0),
        Err(_) => 1.0,
    }
}

/// The t that is exceeded in absolute value with probability `p`.
///
/// Hill's expansion (CACM algorithm 396, 1970) as a start, then Newton steps on log p, which is nearly straight.
pub fn t_critical(p: f64, df: f64) -> f64 {
    let df = df.clamp(1.0, 1e6);
    let p = p.clamp(1e-15, 1.0 - 1e-12);
    let mut t = hill(p, df);
    for _ in 0..8 {
        let found = t_p(t, df);
        let slope = -2.0 * t_density(t, df);
        let step = (found.ln() - p.ln()) * found / slope;
        t = (t - step).max(t / 4.0);
        if step.abs() < 1e-9 * t {
            break;
        }
    }
    t
}

fn hill(p: f64, df: f64) -> f64 {
    if df < 1.5 {
        let angle = p * std::f64::consts::FRAC_PI_2;
        return angle.cos() / angle.sin();
    }
    if df < 2.5 {
        return (2.0 / (p * (2.0 - p)) - 2.0).sqrt();
    }
    let a = 1.0 / (df - 0.5);
    let b = 48.0 / (a * a);
    let mut c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * std::f64::consts::FRAC_PI_2).sqrt() * df;
    let mut y = (d * p).powf(2.0 / df);
    if y > 0.05 + a {
        let x = -normal_quantile(p / 2.0);
        y = x * x;
        if df < 5.0 {
            c += 0.3 * (df - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = (a * y * y).exp_m1();
    } else {
        y = ((1.0 / (((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0) + 0.5 / (df + 4.0)) * y - 1.0)
            * (df + 1.0)
            / (df + 2.0)
            + 1.0 / y;
    }
    (df * y).max(0.0).sqrt()
}

fn t_density(t: f64, df: f64) -> f64 {
    use statrs::function::gamma::ln_gamma;
    let constant = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - 0.5 * (df * std::f64::consts::PI).ln();
    (constant - (df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp()
}

/// Quantile of the standard normal distribution (Acklam's rational approximation, relative error below 1.2e-9).
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.69683028665376,
        220.9460984245205,
        -275.9285104469687,
        138.357751867269,
        -30.66479806614716,
        2.506628277459239,
    ];
    const B: [f64; 5] =
        [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
    const C: [f64; 6] = [
        -0.007784894002430293,
        -0.3223964580411365,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
    let fold = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.02425 {
        let q = (-2.0 * p.max(1e-300).ln()).sqrt();
        fold(&C, q) / (fold(&D, q) * q + 1.0)
    } else if p > 1.0 - 0.02425 {
        -normal_quantile(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        fold(&A, r) * q / (fold(&B, r) * r + 1.0)
    }
}

/// Logarithmic derivative of the gamma function, first (digamma) by `statrs`, second here: recurrence up to 6, then
/// the asymptotic series (Abramowitz and Stegun 6.4.12).
pub fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 6.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    sum + 1.0 / x + r / 2.0 + r / x * (1.0 / 6.0 - r * (1.0 / 30.0 - r * (1.0 / 42.0 - r / 30.0)))
}

/// The x at which trigamma has this value: Newton on 1/trigamma (Smyth 2004, appendix).
pub fn inverse_trigamma(y: f64) -> f64 {
    if y > 1e7 {
        return 1.0 / y.sqrt();
    }
    if y < 1e-6 {
        return 1.0 / y;
    }
    let mut x = 0.5 + 1.0 / y;
    for _ in 0..50 {
        let at = trigamma(x);
        let slope = (trigamma(x * (1.0 + 1e-6)) - at) / (x * 1e-6);
        let step = at * (1.0 - at / y) / slope;
        x += step;
        if -step / x < 1e-8 {
            break;
        }
    }
    x
}

/// 95 % interval of the median from values in ascending order, interpolated between order statistics so that it is no wider than necessary
/// (Hettmansperger and Sheather 1986); `None` below six values, where none exists.
pub fn median_interval(sorted: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = sorted.len();
    let half_power = 0.5_f64.powi(n.min(1000) as i32);
    if n > 1000 {
        let reach = (-normal_quantile((1.0 - level) / 2.0) * (n as f64).sqrt() / 2.0).ceil() as usize;
        return Some((sorted[n / 2 - reach], sorted[n - 1 - (n / 2 - reach)]));
    }
    let mut term = half_power;
    let mut below = half_power;
    let mut coverage = 1.0 - 2.0 * below;
    if coverage < level {
        return None;
    }
    let mut depth = 1;
    loop {
        term *= (n - depth + 1) as f64 / depth as f64;
        below += term;
        let next = 1.0 - 2.0 * below;
        if next < level || depth + 1 > n / 2 {
            let share = ((coverage - level) / (coverage - next)).clamp(0.0, 1.0);
            let d = depth as f64;
            let size = n as f64;
            let weight = (size - d) * share / (d + (size - 2.0 * d) * share);
            let low = (1.0 - weight) * sorted[depth - 1] + weight * sorted[depth];
            let high = (1.0 - weight) * sorted[n - depth] + weight * sorted[n - depth - 1];
            return Some((low, high));
        }
        coverage = next;
        depth += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_agree_with_the_tables() {
        for (p, df, want) in [
            (0.05, 1.0, 12.7062),
            (0.05, 2.0, 4.30265),
            (0.05, 9.0, 2.26216),
            (0.01, 14.0, 2.97684),
            (0.001, 3.0, 12.924),
        ] {
            assert!((t_critical(p, df) - want).abs() < 1e-3 * want, "{p} {df}: {}", t_critical(p, df));
        }
        for df in [1.0, 1.3, 2.0, 2.7, 4.0, 8.5, 30.0, 200.0] {
            for p in [0.5, 0.05, 0.01, 1e-4, 1e-7] {
                let back = t_p(t_critical(p, df), df);
                assert!((back / p - 1.0).abs() < 1e-6, "{p} {df}: {back}");
            }
        }
    }

    #[test]
    fn medians_and_their_intervals_are_those_of_the_binomial() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let (low, high) = median_interval(&ten, 0.95).unwrap();
        assert!(low > 2.0 && low < 3.0 && (low + high - 11.0).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn trigamma_and_its_inverse_agree() {
        assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-9);
        for x in [0.3, 1.0, 4.0, 50.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6);
        }
        assert!((normal_quantile(0.975) - 1.959964).abs() < 1e-6);
    }
}
