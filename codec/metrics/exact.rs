//! Whether a reconstruction keeps a tolerance, in exact arithmetic.

/// `u - v` as an exact sum of two numbers, the first being the rounded difference (Knuth's TwoDiff). Both are NaN or
/// infinite when the difference overflows.
#[inline(always)]
pub fn exact_difference(u: f64, v: f64) -> (f64, f64) {
    let high = u - v;
    let back = high - u;
    (high, (u - (high - back)) - (v + back))
}

/// Whether `|u - v| <= tau` in exact arithmetic, for finite `u`; never for a `v` that is not finite.
#[inline(always)]
pub fn keeps(u: f64, v: f64, tau: f64) -> bool {
    let (high, low) = exact_difference(u, v);
    let (high, low) = if high < 0.0 { (-high, -low) } else { (high, low) };
    high < tau || (high == tau && low <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_by_less_than_the_rounding_is_seen() {
        // 1 + 2^-53 - (-2^-54) rounds to 1: the rounded difference keeps 1, the exact one does not.
        let (u, v) = (1.0, -(2f64.powi(-54)));
        assert_eq!(u - v, 1.0);
        assert!(!keeps(u, v, 1.0) && keeps(u, 2f64.powi(-54), 1.0) && keeps(1.0, 0.0, 1.0));
        assert!(!keeps(v, u, 1.0) && keeps(-1.0, -(2f64.powi(-54)), 1.0));
    }

    #[test]
    fn what_is_not_finite_never_keeps() {
        for v in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!keeps(1.0, v, 1e300) && !keeps(1.0, v, f64::INFINITY));
        }
        assert!(!keeps(1.7e308, -1.7e308, 1.79e308) && keeps(1.0, 9.0, f64::INFINITY));
    }
}
