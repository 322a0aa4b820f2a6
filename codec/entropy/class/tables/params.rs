//! The fitted numbers. They were fitted to residuals of closed-loop prediction on simulation data at relative bounds of
//! 1e-2 to 1e-6; any change of them changes the format.

use super::Shape;

/// Tables used without a shift only.
pub const PLAIN_TABLES: usize = 28;
/// The tables after them, also used with shifts 1 to 8.
pub const WIDE_TABLES: usize = 4;
/// Number of quantized classes.
pub const CLASS_COUNT: usize = PLAIN_TABLES + WIDE_TABLES * 9;

/// Shapes of the symbol tables.
#[rustfmt::skip]
pub const SHAPES: [Shape; PLAIN_TABLES + WIDE_TABLES] = [
    Shape { zero: 65226, near: [309, 7], far: [1, 64763], escape: 1, reach: 1 },
    Shape { zero: 65503, near: [309, 7], far: [1, 64732], escape: 1, reach: 1 },
    Shape { zero: 65503, near: [309, 7], far: [1, 64732], escape: 1, reach: 1 },
    Shape { zero: 65503, near: [309, 7], far: [1, 64732], escape: 1, reach: 1 },
    Shape { zero: 65226, near: [309, 7], far: [1, 64743], escape: 1, reach: 1 },
    Shape { zero: 65503, near: [1341, 7], far: [1, 55066], escape: 1, reach: 1 },
    Shape { zero: 65503, near: [1341, 7], far: [1, 55066], escape: 1, reach: 1 },
    Shape { zero: 64166, near: [1370, 7], far: [1, 55066], escape: 1, reach: 1 },
    Shape { zero: 64556, near: [773, 13070], far: [1, 62600], escape: 14, reach: 3 },
    Shape { zero: 62431, near: [3060, 944], far: [1, 53839], escape: 1, reach: 2 },
    Shape { zero: 60770, near: [4765, 7], far: [1, 57414], escape: 1, reach: 1 },
    Shape { zero: 58217, near: [7257, 548], far: [1, 58413], escape: 1, reach: 2 },
    Shape { zero: 59258, near: [5059, 5836], far: [433, 26368], escape: 7, reach: 4 },
    Shape { zero: 54292, near: [10971, 1581], far: [1, 58426], escape: 1, reach: 2 },
    Shape { zero: 63072, near: [1482, 24232], far: [1, 64798], escape: 128, reach: 5 },
    Shape { zero: 53719, near: [9545, 10012], far: [244, 36451], escape: 13, reach: 5 },
    Shape { zero: 49274, near: [15325, 3763], far: [1, 57132], escape: 3, reach: 3 },
    Shape { zero: 42241, near: [21627, 4682], far: [1, 58229], escape: 4, reach: 3 },
    Shape { zero: 59079, near: [3022, 28978], far: [79, 60547], escape: 193, reach: 15 },
    Shape { zero: 42937, near: [17495, 11712], far: [556, 37437], escape: 19, reach: 6 },
    Shape { zero: 49361, near: [6427, 7855], far: [3742, 37895], escape: 36, reach: 10 },
    Shape { zero: 33590, near: [27088, 9957], far: [1, 61593], escape: 6, reach: 4 },
    Shape { zero: 33127, near: [22849, 19288], far: [3, 59030], escape: 36, reach: 6 },
    Shape { zero: 21299, near: [30241, 20702], far: [1, 63424], escape: 33, reach: 7 },
    Shape { zero: 27211, near: [21361, 28895], far: [13, 58607], escape: 62, reach: 9 },
    Shape { zero: 39398, near: [11220, 22236], far: [1332, 56003], escape: 183, reach: 26 },
    Shape { zero: 16729, near: [23120, 34485], far: [1, 64352], escape: 32, reach: 11 },
    Shape { zero: 48738, near: [1727, 44812], far: [132, 64774], escape: 4550, reach: 127 },
    Shape { zero: 19163, near: [17580, 36423], far: [669, 59086], escape: 192, reach: 32 },
    Shape { zero: 11183, near: [17160, 44842], far: [1, 64335], escape: 32, reach: 18 },
    Shape { zero: 10705, near: [12018, 51167], far: [1, 64326], escape: 87, reach: 25 },
    Shape { zero: 23666, near: [7100, 40266], far: [1067, 62555], escape: 852, reach: 81 },
];

/// Last class of each group of quantized classes but the last group.
pub const GROUP_ENDS: [u8; 4] = [6, 14, 24, 40];

/// How often each quantized class is taken, up to a factor.
#[rustfmt::skip]
pub const CLASS_POPULARITY: [u8; CLASS_COUNT] = [
    61, 11, 11, 11, 11, 255, 11, 11, 29, 128, 59, 49, 40, 74, 32, 43,
    54, 51, 85, 42, 45, 44, 38, 42, 56, 58, 51, 40, 50, 40, 31, 45,
    26, 47, 32, 14, 33, 61, 33, 28, 36, 45, 31, 26, 35, 77, 40, 24,
    36, 52, 32, 24, 36, 41, 28, 17, 31, 48, 32, 14, 35, 42, 67, 139,
];

/// For each group of the slot's last class and each group of the parent's: the frequency of class 0 in 2048, the
/// centre of the quantized classes, and the ratio (in 2^-8) from one class to the next going up and going down.
#[rustfmt::skip]
pub const CLASS_ROWS: [[[u16; 4]; 7]; 7] = [
    [[1356, 10, 252, 16], [2027, 1, 16, 16], [1273, 1, 112, 16], [630, 1, 192, 16], [432, 1, 224, 16], [100, 29, 176, 248], [4, 33, 248, 224]],
    [[1962, 10, 208, 16], [2035, 1, 16, 16], [1439, 1, 112, 16], [942, 1, 176, 16], [733, 1, 224, 16], [474, 28, 192, 255], [4, 36, 240, 240]],
    [[614, 20, 232, 232], [1875, 1, 112, 16], [1122, 1, 112, 16], [346, 1, 176, 16], [188, 1, 208, 16], [55, 13, 224, 255], [4, 28, 232, 232]],
    [[593, 12, 192, 128], [1873, 1, 208, 16], [1038, 1, 144, 16], [277, 1, 208, 16], [101, 12, 176, 232], [18, 12, 224, 208], [4, 28, 224, 224]],
    [[232, 24, 144, 208], [1919, 1, 208, 16], [1083, 1, 144, 16], [443, 1, 208, 16], [161, 21, 128, 248], [10, 23, 192, 224], [4, 29, 224, 224]],
    [[83, 30, 208, 208], [1948, 28, 16, 255], [1214, 1, 128, 16], [409, 1, 208, 16], [242, 20, 192, 255], [18, 29, 192, 224], [4, 35, 208, 208]],
    [[11, 42, 248, 208], [1963, 19, 16, 255], [1319, 1, 160, 16], [1214, 1, 208, 16], [730, 1, 232, 16], [47, 28, 240, 232], [4, 41, 252, 208]],
];
