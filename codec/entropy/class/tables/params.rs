//! The fitted numbers. They were fitted to residuals of closed-loop prediction on simulation data at relative bounds of
//! 1e-2 to 1e-6; any change of them changes the format.

use super::Shape;

/// Tables used without a shift only.
pub const PLAIN_TABLES: usize = 26;
/// The tables after them, also used with shifts 1 to 8.
pub const WIDE_TABLES: usize = 4;
/// Number of quantized classes.
pub const CLASS_COUNT: usize = PLAIN_TABLES + WIDE_TABLES * 9;

/// Shapes of the symbol tables.
#[rustfmt::skip]
pub const SHAPES: [Shape; PLAIN_TABLES + WIDE_TABLES] = [
    Shape { zero: 65223, near: [312, 7], far: [1, 64552], escape: 1, reach: 1 },
    Shape { zero: 64141, near: [1395, 7], far: [1, 56887], escape: 1, reach: 1 },
    Shape { zero: 64492, near: [815, 13875], far: [1, 62605], escape: 13, reach: 3 },
    Shape { zero: 62406, near: [3129, 7], far: [1, 56528], escape: 1, reach: 1 },
    Shape { zero: 62510, near: [2811, 4608], far: [1, 53624], escape: 2, reach: 2 },
    Shape { zero: 62198, near: [1965, 9502], far: [385, 41256], escape: 42, reach: 6 },
    Shape { zero: 60053, near: [5482, 7], far: [1, 59801], escape: 1, reach: 1 },
    Shape { zero: 59530, near: [5538, 5083], far: [1, 56893], escape: 2, reach: 3 },
    Shape { zero: 56481, near: [8980, 541], far: [1, 38676], escape: 1, reach: 2 },
    Shape { zero: 55880, near: [5838, 6403], far: [1811, 28271], escape: 11, reach: 6 },
    Shape { zero: 54114, near: [9855, 4781], far: [659, 10998], escape: 1, reach: 3 },
    Shape { zero: 49056, near: [15765, 2821], far: [1, 53303], escape: 4, reach: 3 },
    Shape { zero: 47239, near: [13253, 10616], far: [1092, 36684], escape: 29, reach: 7 },
    Shape { zero: 41746, near: [22026, 4853], far: [1, 58395], escape: 4, reach: 3 },
    Shape { zero: 55649, near: [4849, 22075], far: [365, 56246], escape: 142, reach: 18 },
    Shape { zero: 36901, near: [24459, 9548], far: [1, 62269], escape: 7, reach: 4 },
    Shape { zero: 36553, near: [21164, 17671], far: [1, 61962], escape: 14, reach: 6 },
    Shape { zero: 26968, near: [30323, 14004], far: [1, 63716], escape: 9, reach: 5 },
    Shape { zero: 43015, near: [6938, 18306], far: [4170, 44342], escape: 58, reach: 14 },
    Shape { zero: 27141, near: [24928, 22981], far: [1, 62710], escape: 11, reach: 7 },
    Shape { zero: 32563, near: [19308, 20393], far: [986, 52465], escape: 92, reach: 17 },
    Shape { zero: 19750, near: [26633, 27396], far: [1, 63512], escape: 59, reach: 8 },
    Shape { zero: 18103, near: [21979, 35159], far: [1, 63589], escape: 59, reach: 11 },
    Shape { zero: 22416, near: [16582, 32399], far: [1329, 57098], escape: 200, reach: 29 },
    Shape { zero: 61846, near: [290, 48618], far: [26, 64865], escape: 2153, reach: 16 },
    Shape { zero: 33749, near: [578, 29389], far: [251, 65001], escape: 21170, reach: 127 },
    Shape { zero: 12848, near: [19323, 41491], far: [1, 64259], escape: 48, reach: 15 },
    Shape { zero: 11044, near: [14416, 48190], far: [1, 64291], escape: 74, reach: 21 },
    Shape { zero: 39327, near: [6612, 34256], far: [551, 62616], escape: 734, reach: 68 },
    Shape { zero: 11320, near: [8681, 49552], far: [1224, 61227], escape: 425, reach: 57 },
];

/// Last class of each group of quantized classes but the last group.
pub const GROUP_ENDS: [u8; 4] = [4, 12, 22, 38];

/// How often each quantized class is taken, up to a factor.
#[rustfmt::skip]
pub const CLASS_POPULARITY: [u8; CLASS_COUNT] = [
    64, 81, 14, 97, 11, 35, 97, 42, 85, 31, 37, 117, 80, 69, 114, 60,
    54, 64, 68, 68, 74, 98, 77, 101, 54, 35, 90, 63, 126, 83, 84, 70,
    15, 72, 107, 83, 47, 77, 77, 57, 33, 52, 53, 58, 24, 58, 60, 56,
    30, 60, 52, 50, 24, 57, 48, 71, 93, 64, 60, 84, 31, 255,
];

/// For each group of the slot's last class and each group of the parent's: the frequency of class 0 in 2048, the
/// centre of the quantized classes, and the ratio (in 2^-8) from one class to the next going up and going down.
#[rustfmt::skip]
pub const CLASS_ROWS: [[[u16; 4]; 7]; 7] = [
    [[1354, 4, 252, 16], [2027, 1, 16, 16], [1225, 1, 32, 16], [340, 1, 160, 16], [277, 2, 208, 176], [178, 29, 144, 255], [4, 32, 248, 224]],
    [[1962, 4, 208, 16], [2035, 1, 16, 16], [1402, 1, 32, 16], [774, 1, 160, 16], [566, 1, 208, 16], [634, 29, 48, 255], [4, 45, 208, 248]],
    [[890, 4, 208, 16], [1878, 1, 32, 16], [998, 1, 32, 16], [249, 1, 144, 16], [99, 2, 192, 160], [62, 2, 224, 160], [4, 42, 192, 252]],
    [[450, 9, 192, 192], [1840, 1, 176, 16], [923, 1, 112, 16], [196, 6, 160, 255], [60, 10, 176, 248], [16, 11, 208, 224], [4, 29, 232, 248]],
    [[173, 18, 192, 208], [1923, 6, 16, 255], [997, 1, 112, 16], [275, 1, 192, 16], [52, 16, 176, 255], [11, 20, 192, 224], [4, 22, 232, 208]],
    [[76, 28, 208, 208], [1944, 25, 16, 16], [886, 3, 16, 255], [338, 1, 192, 16], [83, 2, 224, 232], [61, 28, 192, 232], [4, 32, 224, 208]],
    [[10, 41, 240, 208], [1976, 25, 16, 16], [1398, 1, 64, 16], [920, 3, 64, 255], [294, 1, 208, 16], [53, 62, 16, 252], [4, 42, 240, 208]],
];
