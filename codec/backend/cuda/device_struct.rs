//! Structs that are copied to the device as they are.

/// Declares plain structs, laid out as their namesakes in `kernels/`. Fields must be ordered so that there is no padding.
macro_rules! device_struct {
    ($($(#[$doc:meta])* pub struct $name:ident$(<$t:ident>)? { $(pub $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub struct $name$(<$t>)? { $(pub $field: $type,)* }
            // SAFETY: repr(C), plain numbers, without padding.
            unsafe impl$(<$t: bytemuck::Pod>)? bytemuck::Zeroable for $name$(<$t>)? {}
            // SAFETY: as above.
            unsafe impl$(<$t: bytemuck::Pod>)? bytemuck::Pod for $name$(<$t>)? {}
            // SAFETY: as above.
            unsafe impl$(<$t: bytemuck::Pod>)? cudarc::driver::DeviceRepr for $name$(<$t>)? {}
        )*
    };
}
pub(super) use device_struct;
