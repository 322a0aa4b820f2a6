// Front-to-back ray casting of a byte volume with an opacity curve; tiers as coloured shells.

struct Uniforms {
    tier_colors: array<vec4<f32>, 16>,
    // Rows of the camera's rotation; w of each is unused.
    right: vec4<f32>,
    up: vec4<f32>,
    forward: vec4<f32>,
    // Half extents of the box, the longest is 1; w = number of steps.
    half_size: vec4<f32>,
    // Opacity at 0, 1/4, 1/2, 3/4 of the window; w2.x at its end.
    opacity: vec4<f32>,
    // x: opacity at the end, y: shell opacity, z: distance, w: aspect (width / height).
    more: vec4<f32>,
    background: vec4<f32>,
    // Blocks per axis (x, y, z) of the tier texture over the volume's extent in blocks.
    blocks: vec4<f32>,
    // xy: pan in units of the view's half height.
    pan: vec4<f32>,
};

@group(0) @binding(0) var<uniform> s: Uniforms;
@group(0) @binding(1) var volume: texture_3d<f32>;
@group(0) @binding(2) var linear_sampler: sampler;
@group(0) @binding(3) var tiers: texture_3d<f32>;
@group(0) @binding(4) var lut: texture_2d<f32>;

struct Vertex {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
};

@vertex
fn vs(@builtin(vertex_index) i: u32) -> Vertex {
    let p = vec2(f32(i32(i & 1u) * 4 - 1), f32(i32(i >> 1u) * 4 - 1));
    var out: Vertex;
    out.position = vec4(p, 0.0, 1.0);
    out.uv = p;
    return out;
}

fn opacity_at(t: f32) -> f32 {
    let x = clamp(t, 0.0, 1.0) * 4.0;
    let i = min(u32(x), 3u);
    var nodes = array<f32, 5>(s.opacity.x, s.opacity.y, s.opacity.z, s.opacity.w, s.more.x);
    return mix(nodes[i], nodes[i + 1u], x - f32(i));
}

fn tier_at(p: vec3<f32>) -> u32 {
    let size = vec3<i32>(textureDimensions(tiers));
    let b = clamp(vec3<i32>(p * s.blocks.xyz), vec3(0), size - 1);
    return u32(round(textureLoad(tiers, b, 0).x * 255.0));
}

@fragment
fn fs(in: Vertex) -> @location(0) vec4<f32> {
    let plane = vec2(in.uv.x * s.more.w, in.uv.y) - s.pan.xy;
    let origin = -s.forward.xyz * s.more.z;
    let direction = normalize(s.forward.xyz * 2.2 + s.right.xyz * plane.x + s.up.xyz * plane.y);
    let inverse = 1.0 / direction;
    let a = (-s.half_size.xyz - origin) * inverse;
    let b = (s.half_size.xyz - origin) * inverse;
    let near3 = min(a, b);
    let far3 = max(a, b);
    let near = max(max(near3.x, near3.y), max(near3.z, 0.0));
    let far = min(far3.x, min(far3.y, far3.z));
    if near >= far {
        return s.background;
    }
    let step = 2.0 * length(s.half_size.xyz) / s.half_size.w;
    var color = vec3(0.0);
    var alpha = 0.0;
    var last_tier = 0u;
    let last = i32(textureDimensions(lut).x) - 1;
    var t = near + step * 0.5;
    for (var i = 0; i < i32(s.half_size.w) && t < far && alpha < 0.98; i++) {
        let p = (origin + direction * t) / (2.0 * s.half_size.xyz) + 0.5;
        let v = textureSampleLevel(volume, linear_sampler, p, 0.0).x;
        // Opacities are per 1/64 of the longest axis, whatever the step.
        let o = 1.0 - pow(1.0 - min(opacity_at(v), 0.999), step * 32.0);
        let rgb = textureLoad(lut, vec2(i32(round(v * f32(last))), 0), 0).rgb;
        color += (1.0 - alpha) * o * rgb;
        alpha += (1.0 - alpha) * o;
        let tier = tier_at(p);
        if tier != last_tier {
            let shell = s.tier_colors[min(max(tier, last_tier), 15u)];
            let so = s.more.y * shell.a;
            color += (1.0 - alpha) * so * shell.rgb;
            alpha += (1.0 - alpha) * so;
            last_tier = tier;
        }
        t += step;
    }
    return vec4(color + (1.0 - alpha) * s.background.rgb, 1.0);
}
