//! Parallel writes to separate parts of one array, where the parts are boxes and no slice can name them.

use std::marker::PhantomData;

/// An array that threads write rows of.
pub struct DisjointRows<'a, T> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: the only access is `write`, whose callers keep to separate ranges.
unsafe impl<T: Send> Sync for DisjointRows<'_, T> {}

impl<'a, T: Copy> DisjointRows<'a, T> {
    pub fn new(array: &'a mut [T]) -> Self {
        Self { start: array.as_mut_ptr(), len: array.len(), array: PhantomData }
    }
    /// Writes `row` at `at`.
    ///
    /// # Safety
    /// No two calls, on whatever threads, may write the same element.
    #[inline(always)]
    pub unsafe fn write(&self, at: usize, row: &[T]) {
        assert!(at <= self.len && row.len() <= self.len - at);
        // SAFETY: in bounds, and the caller sees to it that nobody else touches this range.
        unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), self.start.add(at), row.len()) }
    }
}
