//! Run-time dispatch to vector code with fused multiply-add. All paths give the same bits; without the instructions
//! `fma` is a correct but slow library call.

/// A piece of work whose body, being inlined, is compiled anew for each instruction set.
pub trait Kernel {
    type Output;
    /// Mark it `#[inline(always)]`, and all it calls in its loops.
    fn run(self) -> Self::Output;
}

/// Runs a kernel with the best instructions of this machine.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the features that the function is compiled for were just found.
        return unsafe { with_avx2(kernel) };
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}
