// Draws one slice: values through a colour map, tier overlays, block grid, threshold preview.
// The target is gamma-space and blended with premultiplied alpha.

struct Uniforms {
    tier_colors: array<vec4<f32>, 16>,
    preview_color: vec4<f32>,
    nan_color: vec4<f32>,
    inf_color: vec4<f32>,
    alarm_color: vec4<f32>,
    // Screen pixel of the plane's corner, and pixels per voxel (both per axis u, v).
    origin_px: vec2<f32>,
    px_per_voxel: vec2<f32>,
    // First voxel of the value texture, and the plane's extents, in voxels.
    tex_origin: vec2<i32>,
    plane_size: vec2<i32>,
    tex_size: vec2<i32>,
    // Blocks of the map plane.
    map_size: vec2<i32>,
    lo: f32,
    hi: f32,
    // Added to a texel before the logarithm.
    log_offset: f32,
    map_alpha: f32,
    label_alpha: f32,
    preview_lo: f32,
    preview_hi: f32,
    grid_alpha: f32,
    stride: i32,
    // Number of coarsenings of the displayed tolerance map.
    level: i32,
    flags: u32,
    pad: u32,
};

const LOG: u32 = 1u;
const SMOOTH: u32 = 2u;
const MAP: u32 = 4u;
const LABELS: u32 = 8u;
const OUTLINE: u32 = 16u;
const PREVIEW: u32 = 32u;
const PREVIEW_AUX: u32 = 64u;
const ALARM: u32 = 128u;

@group(0) @binding(0) var<uniform> s: Uniforms;
@group(0) @binding(1) var values: texture_2d<f32>;
@group(0) @binding(2) var labels: texture_2d<u32>;
@group(0) @binding(3) var map: texture_2d<u32>;
@group(0) @binding(4) var base_map: texture_2d<u32>;
@group(0) @binding(5) var aux: texture_2d<f32>;
@group(0) @binding(6) var lut: texture_2d<f32>;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(f32(i32(i & 1u) * 4 - 1), f32(i32(i >> 1u) * 4 - 1), 0.0, 1.0);
}

fn texel_of(voxel: vec2<i32>) -> vec2<i32> {
    return clamp((voxel - s.tex_origin) / s.stride, vec2(0), s.tex_size - 1);
}

// Bit tests: shader arithmetic may assume that NaN and infinities do not exist.
fn is_nan(v: f32) -> bool {
    let bits = bitcast<u32>(v);
    return (bits & 0x7f800000u) == 0x7f800000u && (bits & 0x007fffffu) != 0u;
}
fn is_inf(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7fffffffu) == 0x7f800000u;
}
fn is_finite(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u;
}

fn value_at(pos: vec2<f32>, nearest: f32) -> f32 {
    if (s.flags & SMOOTH) == 0u || !is_finite(nearest) {
        return nearest;
    }
    let step = f32(s.stride);
    let p = (pos - vec2<f32>(s.tex_origin)) / step - 0.5;
    let base = floor(p);
    let f = p - base;
    let last = s.tex_size - 1;
    let a = clamp(vec2<i32>(base), vec2(0), last);
    let b = clamp(vec2<i32>(base) + 1, vec2(0), last);
    let v00 = textureLoad(values, a, 0).x;
    let v10 = textureLoad(values, vec2(b.x, a.y), 0).x;
    let v01 = textureLoad(values, vec2(a.x, b.y), 0).x;
    let v11 = textureLoad(values, b, 0).x;
    if !(is_finite(v00) && is_finite(v10) && is_finite(v01) && is_finite(v11)) {
        return nearest;
    }
    return mix(mix(v00, v10, f.x), mix(v01, v11, f.x), f.y);
}

fn color_of(v: f32) -> vec3<f32> {
    if is_nan(v) {
        return s.nan_color.rgb;
    }
    if is_inf(v) {
        return s.inf_color.rgb;
    }
    if (s.flags & ALARM) != 0u && abs(v) > 1.0 {
        return s.alarm_color.rgb;
    }
    var t: f32;
    if (s.flags & LOG) != 0u {
        let x = v + s.log_offset;
        let a = max(s.lo + s.log_offset, 1e-38);
        let b = max(s.hi + s.log_offset, 1e-38);
        t = select((log(x) - log(a)) / max(log(b) - log(a), 1e-12), 0.0, x <= a);
    } else {
        t = (v - s.lo) / max(s.hi - s.lo, 1e-38);
    }
    let n = f32(textureDimensions(lut).x - 1u);
    return textureLoad(lut, vec2(i32(round(clamp(t, 0.0, 1.0) * n)), 0), 0).rgb;
}

// Node of a fine axis -> node of the next coarser axis (nodes 0,2,4,6,7 of each 8 survive).
fn coarser(x: i32) -> i32 {
    let r = x & 7;
    return (x >> 3u) * 5 + select(r / 2, 4, r == 7);
}

fn map_index(voxel: vec2<i32>) -> vec2<i32> {
    var p = clamp(voxel, vec2(0), s.plane_size - 1);
    for (var l = 0; l < s.level; l++) {
        p = vec2(coarser(p.x), coarser(p.y));
    }
    return clamp(p >> vec2(3u), vec2(0), s.map_size - 1);
}

fn map_tier(voxel: vec2<i32>) -> u32 {
    return textureLoad(map, map_index(voxel), 0).x;
}

fn base_tier(voxel: vec2<i32>) -> u32 {
    let p = clamp(voxel, vec2(0), s.plane_size - 1) >> vec2(3u);
    return textureLoad(base_map, p, 0).x;
}

fn label_at(voxel: vec2<i32>) -> u32 {
    return textureLoad(labels, texel_of(clamp(voxel, vec2(0), s.plane_size - 1)), 0).x;
}

fn voxel_at(px: vec2<f32>) -> vec2<i32> {
    return vec2<i32>(floor((px - s.origin_px) / s.px_per_voxel));
}

fn over(base: vec3<f32>, color: vec3<f32>, alpha: f32) -> vec3<f32> {
    return mix(base, color, alpha);
}

fn with_map(base: vec3<f32>, px: vec2<f32>, voxel: vec2<i32>) -> vec3<f32> {
    let tier = map_tier(voxel);
    let w = 1.0;
    let edge = map_tier(voxel_at(px + vec2(w, 0.0))) != tier || map_tier(voxel_at(px - vec2(w, 0.0))) != tier
        || map_tier(voxel_at(px + vec2(0.0, w))) != tier || map_tier(voxel_at(px - vec2(0.0, w))) != tier;
    let c = s.tier_colors[min(tier, 15u)];
    var rgb = base;
    if (s.flags & OUTLINE) == 0u {
        rgb = over(rgb, c.rgb, s.map_alpha * c.a);
    }
    // The influence region: stricter here than the user asked for; hatched.
    if base_tier(voxel) != tier {
        let stripe = fract((px.x + px.y) / 8.0) < 0.3;
        rgb = over(rgb, c.rgb, select(0.0, min(s.map_alpha * 1.6 + 0.1, 1.0), stripe));
    }
    return over(rgb, c.rgb, select(0.0, 0.9 * c.a, edge));
}

fn with_labels(base: vec3<f32>, px: vec2<f32>, voxel: vec2<i32>) -> vec3<f32> {
    let label = label_at(voxel);
    var edge = false;
    let w = 1.0;
    edge = label_at(voxel_at(px + vec2(w, 0.0))) != label || label_at(voxel_at(px + vec2(0.0, w))) != label;
    var rgb = base;
    if label > 0u {
        let c = s.tier_colors[min(label - 1u, 15u)].rgb;
        if (s.flags & OUTLINE) == 0u {
            rgb = over(rgb, c, s.label_alpha);
        }
        rgb = over(rgb, c, select(0.0, 1.0, edge));
    } else if edge {
        let right = max(label_at(voxel_at(px + vec2(w, 0.0))), label_at(voxel_at(px + vec2(0.0, w))));
        rgb = over(rgb, s.tier_colors[min(max(right, 1u) - 1u, 15u)].rgb, 1.0);
    }
    return rgb;
}

fn with_grid(base: vec3<f32>, px: vec2<f32>) -> vec3<f32> {
    let block_px = s.px_per_voxel * 8.0;
    let p = (px - s.origin_px) / block_px;
    let d = abs(p - round(p)) * block_px;
    let on = d.x < 0.5 || d.y < 0.5;
    return over(base, vec3(1.0), select(0.0, s.grid_alpha, on));
}

@fragment
fn fs(@builtin(position) frag: vec4<f32>) -> @location(0) vec4<f32> {
    let px = frag.xy;
    let pos = (px - s.origin_px) / s.px_per_voxel;
    let voxel = vec2<i32>(floor(pos));
    if any(voxel < vec2(0)) || any(voxel >= s.plane_size) {
        discard;
    }
    let nearest = textureLoad(values, texel_of(voxel), 0).x;
    var rgb = color_of(value_at(pos, nearest));
    if (s.flags & PREVIEW) != 0u {
        var probe = nearest;
        if (s.flags & PREVIEW_AUX) != 0u {
            probe = textureLoad(aux, min(texel_of(voxel), vec2<i32>(textureDimensions(aux)) - 1), 0).x;
        }
        if is_finite(probe) && probe >= s.preview_lo && probe <= s.preview_hi {
            rgb = over(rgb, s.preview_color.rgb, s.preview_color.a);
        }
    }
    if (s.flags & MAP) != 0u {
        rgb = with_map(rgb, px, voxel);
    }
    if (s.flags & LABELS) != 0u {
        rgb = with_labels(rgb, px, voxel);
    }
    if s.grid_alpha > 0.0 && s.px_per_voxel.x * 8.0 > 5.0 {
        rgb = with_grid(rgb, px);
    }
    return vec4(rgb, 1.0);
}
