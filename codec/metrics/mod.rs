//! Error metrics that users compare: f64 sums, finite values only.
