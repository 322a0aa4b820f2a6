//! Run-time dispatch to vector code with fused multiply-add. All paths give the same bits; without the instructions
//! `fma` is a correct but slow library call.

/// What code may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    Plain,
    /// AVX2 with FMA and bit manipulation.
    Avx2,
    /// AVX-512 with the extensions of all server and desktop processors that have it.
    Avx512,
}

/// The best of this machine.
pub fn instructions() -> Instructions {
    #[cfg(test)]
    if let Some(most) = tests::MOST.get() {
        return detect().min(most);
    }
    detect()
}

fn detect() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        let avx512 = has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq");
        match (avx2, avx512) {
            (true, true) => return Instructions::Avx512,
            (true, false) => return Instructions::Avx2,
            _ => {}
        }
    }
    Instructions::Plain
}

/// A piece of work whose body, being inlined, is compiled anew for each instruction set.
pub trait Kernel {
    type Output;
    /// Mark it `#[inline(always)]`, and all it calls in its loops.
    fn run(self) -> Self::Output;
}

/// Runs a kernel with AVX2 where the machine has it.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if instructions() >= Instructions::Avx2 {
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

#[cfg(test)]
pub(crate) mod tests {
    use super::Instructions;
    use std::cell::Cell;

    thread_local! {
        /// The most that this thread may use.
        pub(super) static MOST: Cell<Option<Instructions>> = const { Cell::new(None) };
    }

    /// Runs `work` on this thread with at most these instructions.
    pub fn with_at_most<R>(most: Instructions, work: impl FnOnce() -> R) -> R {
        MOST.set(Some(most));
        let result = work();
        MOST.set(None);
        result
    }
}
