//! The fitted numbers: shapes of the symbol tables, classes with their cost weights, weights of the class tables.

use super::{Class, Shape};

pub const SHAPES: [Shape; 28] = [
    Shape { zero: 65274, near: [257, 131], far: [6, 2931], reach: 3 },
    Shape { zero: 65186, near: [343, 175], far: [8, 3390], reach: 3 },
    Shape { zero: 65068, near: [458, 235], far: [10, 3921], reach: 3 },
    Shape { zero: 64911, near: [610, 314], far: [13, 4536], reach: 3 },
    Shape { zero: 64701, near: [814, 420], far: [16, 5246], reach: 3 },
    Shape { zero: 64422, near: [1084, 562], far: [21, 6068], reach: 3 },
    Shape { zero: 64050, near: [1441, 752], far: [28, 7019], reach: 3 },
    Shape { zero: 63555, near: [1912, 1006], far: [36, 8118], reach: 3 },
    Shape { zero: 62900, near: [2532, 1345], far: [46, 9389], reach: 4 },
    Shape { zero: 62034, near: [3339, 1799], far: [59, 10859], reach: 4 },
    Shape { zero: 60895, near: [4382, 2406], far: [76, 12556], reach: 4 },
    Shape { zero: 59406, near: [5714, 3215], far: [96, 14516], reach: 4 },
    Shape { zero: 57477, near: [7382, 4294], far: [121, 16775], reach: 5 },
    Shape { zero: 55005, near: [9420, 5725], far: [149, 19371], reach: 5 },
    Shape { zero: 51892, near: [11819, 7615], far: [181, 22339], reach: 5 },
    Shape { zero: 48059, near: [14494, 10083], far: [213, 25706], reach: 6 },
    Shape { zero: 43489, near: [17238, 13253], far: [244, 29471], reach: 6 },
    Shape { zero: 38273, near: [19702, 17212], far: [267, 33586], reach: 7 },
    Shape { zero: 32642, near: [21437, 21958], far: [278, 37934], reach: 8 },
    Shape { zero: 26957, near: [22039, 27335], far: [274, 42325], reach: 10 },
    Shape { zero: 21614, near: [21351, 33029], far: [256, 46525], reach: 12 },
    Shape { zero: 16918, near: [19553, 38642], far: [227, 50324], reach: 15 },
    Shape { zero: 13014, near: [17056, 43821], far: [192, 53589], reach: 18 },
    Shape { zero: 9895, near: [14307, 48342], far: [158, 56286], reach: 23 },
    Shape { zero: 7470, near: [11646, 52124], far: [127, 58447], reach: 28 },
    Shape { zero: 5615, near: [9270, 55192], far: [100, 60142], reach: 36 },
    Shape { zero: 4211, near: [7257, 57623], far: [77, 61452], reach: 45 },
    Shape { zero: 3153, near: [5613, 59520], far: [60, 62455], reach: 56 },
];

pub const CLASS_COUNT: usize = 60;

pub const CLASSES: [Class; CLASS_COUNT] = [
    Class { table: 0, shift: 0, cost: [379, -739, 0, 587634, 0] },
    Class { table: 1, shift: 0, cost: [506, -776, 0, 560253, 0] },
    Class { table: 2, shift: 0, cost: [678, -274, 0, 532381, 0] },
    Class { table: 3, shift: 0, cost: [906, -150, 0, 504980, 0] },
    Class { table: 4, shift: 0, cost: [1212, -80, 0, 477479, 0] },
    Class { table: 5, shift: 0, cost: [1621, -9, 0, 449942, 0] },
    Class { table: 6, shift: 0, cost: [2169, 58, 0, 422406, 0] },
    Class { table: 7, shift: 0, cost: [2902, 154, 0, 394893, 0] },
    Class { table: 8, shift: 0, cost: [3882, 139, 0, 367435, 0] },
    Class { table: 9, shift: 0, cost: [5192, 215, 0, 339937, 0] },
    Class { table: 10, shift: 0, cost: [6944, 280, 0, 312448, 0] },
    Class { table: 11, shift: 0, cost: [9285, 302, 0, 285042, 0] },
    Class { table: 12, shift: 0, cost: [12406, 364, 0, 257681, 0] },
    Class { table: 13, shift: 0, cost: [16563, 405, 0, 230486, 0] },
    Class { table: 14, shift: 0, cost: [22071, 466, 0, 203514, 0] },
    Class { table: 15, shift: 0, cost: [29326, 520, 0, 176971, 0] },
    Class { table: 16, shift: 0, cost: [38774, 577, 0, 151124, 0] },
    Class { table: 17, shift: 0, cost: [50853, 635, 0, 126411, 0] },
    Class { table: 18, shift: 0, cost: [65900, 688, 0, 103386, 0] },
    Class { table: 19, shift: 0, cost: [83993, 736, 0, 82676, 0] },
    Class { table: 20, shift: 0, cost: [104879, 781, 0, 64786, 0] },
    Class { table: 21, shift: 0, cost: [128040, 813, 0, 49946, 0] },
    Class { table: 22, shift: 0, cost: [152845, 850, 0, 38054, 0] },
    Class { table: 23, shift: 0, cost: [178750, 865, 0, 28771, 0] },
    Class { table: 24, shift: 0, cost: [205331, 875, 0, 21649, 0] },
    Class { table: 25, shift: 0, cost: [232321, 879, 0, 16242, 0] },
    Class { table: 26, shift: 0, cost: [259526, 912, 0, 12166, 0] },
    Class { table: 27, shift: 0, cost: [286883, 898, 0, 9104, 0] },
    Class { table: 24, shift: 1, cost: [303635, 0, 0, 10825, 0] },
    Class { table: 25, shift: 1, cost: [330625, 0, 0, 8121, 0] },
    Class { table: 26, shift: 1, cost: [357830, 0, 0, 6083, 0] },
    Class { table: 27, shift: 1, cost: [385187, 0, 0, 4552, 0] },
    Class { table: 24, shift: 2, cost: [369171, 0, 0, 5412, 0] },
    Class { table: 25, shift: 2, cost: [396161, 0, 0, 4060, 0] },
    Class { table: 26, shift: 2, cost: [423366, 0, 0, 3042, 0] },
    Class { table: 27, shift: 2, cost: [450723, 0, 0, 2276, 0] },
    Class { table: 24, shift: 3, cost: [434707, 0, 0, 2706, 0] },
    Class { table: 25, shift: 3, cost: [461697, 0, 0, 2030, 0] },
    Class { table: 26, shift: 3, cost: [488902, 0, 0, 1521, 0] },
    Class { table: 27, shift: 3, cost: [516259, 0, 0, 1138, 0] },
    Class { table: 24, shift: 4, cost: [500243, 0, 0, 1353, 0] },
    Class { table: 25, shift: 4, cost: [527233, 0, 0, 1015, 0] },
    Class { table: 26, shift: 4, cost: [554438, 0, 0, 760, 0] },
    Class { table: 27, shift: 4, cost: [581795, 0, 0, 569, 0] },
    Class { table: 24, shift: 5, cost: [565779, 0, 0, 677, 0] },
    Class { table: 25, shift: 5, cost: [592769, 0, 0, 508, 0] },
    Class { table: 26, shift: 5, cost: [619974, 0, 0, 380, 0] },
    Class { table: 27, shift: 5, cost: [647331, 0, 0, 284, 0] },
    Class { table: 24, shift: 6, cost: [631315, 0, 0, 338, 0] },
    Class { table: 25, shift: 6, cost: [658305, 0, 0, 254, 0] },
    Class { table: 26, shift: 6, cost: [685510, 0, 0, 190, 0] },
    Class { table: 27, shift: 6, cost: [712867, 0, 0, 142, 0] },
    Class { table: 24, shift: 7, cost: [696851, 0, 0, 169, 0] },
    Class { table: 25, shift: 7, cost: [723841, 0, 0, 127, 0] },
    Class { table: 26, shift: 7, cost: [751046, 0, 0, 95, 0] },
    Class { table: 27, shift: 7, cost: [778403, 0, 0, 71, 0] },
    Class { table: 24, shift: 8, cost: [762387, 0, 0, 85, 0] },
    Class { table: 25, shift: 8, cost: [789377, 0, 0, 63, 0] },
    Class { table: 26, shift: 8, cost: [816582, 0, 0, 48, 0] },
    Class { table: 27, shift: 8, cost: [843939, 0, 0, 36, 0] },
];

/// Weights of the class tables: after class 0, and after another (token 0 = the same, 1 = class 0, then up and down).
pub fn class_weights() -> [Vec<u64>; 2] {
    let tokens = CLASS_COUNT + 2;
    let first = (0..tokens).map(|c| if c == 0 { 1 << 20 } else { (1 << 14) + (1 << 16) / c as u64 }).collect();
    let next = (0..2 * tokens)
        .map(|t| match t {
            0 => 1 << 20,
            1 => 1 << 17,
            _ => (1 << 20) / (t as u64 * t as u64) + 64,
        })
        .collect();
    [first, next]
}
