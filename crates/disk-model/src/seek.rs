//! Seek times of the arm.
//! In: times from data sheets (one track, the average, full stroke). Out: [`SeekCurve`], a time for each distance.
//!
//! The shape is that of Ruemmler and Wilkes ("An introduction to disk drive modeling", IEEE Computer, March 1994): a + b sqrt(d) for short
//! seeks, mostly acceleration, and c + e d for long ones, mostly coasting. Data sheets give three times, from which the curve is computed.

/// Time for each distance in cylinders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeekCurve {
    boundary: f64,
    short: (f64, f64),
    long: (f64, f64),
}

/// Times of a data sheet, in nanoseconds, and the boundary between the two shapes, a share of the full stroke.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    pub single: f64,
    pub average: f64,
    pub full: f64,
    pub boundary: f64,
}

impl SeekCurve {
    /// The curve through one track and full stroke whose mean over all pairs of cylinders is the average; None if no rising curve fits.
    pub fn through(published: Published, cylinders: u64) -> Option<SeekCurve> {
        let Published { single, average, full, boundary } = published;
        let stroke = (cylinders - 1) as f64;
        let x = boundary;
        // Two random cylinders are x strokes apart with density 2 (1 - x). These are moments of that density on both sides of the boundary:
        // of 1 and sqrt(x) below it, and of the two ends of a straight line above it.
        let below = 2.0 * x - x * x;
        let root = 2.0 * (x.powf(1.5) / 1.5 - x.powf(2.5) / 2.5);
        let far = (1.0 - x).powi(2) / 3.0;
        let near = 1.0 - below - far;
        // With a + b sqrt(1 / stroke) = single and g = a + b sqrt(x) the mean is linear in g.
        let step = (1.0 / stroke).sqrt();
        let slope = 1.0 / (x.sqrt() - step);
        let weight = root * slope - below * step * slope + near;
        let rest = single * (below + below * step * slope - root * slope) + full * far;
        let middle = (average - rest) / weight;
        let b = (middle - single) * slope;
        let a = single - b * step;
        let e = (full - middle) / (1.0 - x);
        let rises = b > 0.0 && e >= 0.0 && a >= 0.0 && middle.is_finite();
        rises.then(|| SeekCurve {
            boundary: x * stroke,
            short: (a, b / stroke.sqrt()),
            long: (middle - e * x, e / stroke),
        })
    }

    /// Nanoseconds for this many cylinders; 0 for none.
    pub fn time(&self, distance: u64) -> u64 {
        let d = distance as f64;
        let time = match distance {
            0 => 0.0,
            _ if d < self.boundary => self.short.0 + self.short.1 * d.sqrt(),
            _ => self.long.0 + self.long.1 * d,
        };
        time as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: Published = Published { single: 1.0e6, average: 8.5e6, full: 14.7e6, boundary: 0.3 };

    #[test]
    fn the_curve_goes_through_what_was_published() {
        let cylinders = 20_000;
        let curve = SeekCurve::through(PUBLISHED, cylinders).expect("it rises");
        assert_eq!(curve.time(0), 0);
        assert!(curve.time(1).abs_diff(1_000_000) < 10, "{}", curve.time(1));
        assert!(curve.time(cylinders - 1).abs_diff(14_700_000) < 10);
        // Data sheets define the average by this sum: seeks of length d, weighted by the number of pairs at that distance.
        let pairs = |d: u64| (cylinders - d) as f64;
        let sum: f64 = (1..cylinders).map(|d| pairs(d) * curve.time(d) as f64).sum();
        let mean = sum / (1..cylinders).map(pairs).sum::<f64>();
        assert!((mean / 8.5e6 - 1.0).abs() < 0.001, "{mean}");
    }

    #[test]
    fn it_never_falls() {
        let curve = SeekCurve::through(PUBLISHED, 5_000).expect("it rises");
        assert!((1..5_000).all(|d| curve.time(d) >= curve.time(d - 1)));
    }

    #[test]
    fn an_average_that_no_rising_curve_has_is_refused() {
        assert!(SeekCurve::through(Published { average: 14.0e6, ..PUBLISHED }, 20_000).is_none());
        assert!(SeekCurve::through(Published { average: 1.1e6, ..PUBLISHED }, 20_000).is_none());
    }
}
