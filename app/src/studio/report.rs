//! The results as tables (CSV, JSON) and as an HTML page with pictures.

use super::panels::shell;
use super::state::runs::Run;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One line a run, comma-separated, with a header.
pub fn csv(runs: &[&Run]) -> String {
    let mut out = String::from(
        "name,ratio,bits_per_value,compress_gbps,compress_kernel_gbps,decompress_gbps,max_error,max_error_over_tau,violations,psnr_db,roi_psnr_db,ssim,device\n",
    );
    for run in runs {
        let m = &run.metrics;
        let optional = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{}",
            quoted(&run.name),
            run.compress.ratio,
            run.compress.bits_per_value,
            run.compress.gbps,
            run.compress.kernel_gbps,
            run.decompress_gbps(),
            m.max_error,
            m.max_error_over_tau,
            m.violations,
            m.psnr_db,
            optional(m.roi_psnr_db),
            optional(m.ssim.as_ref().map(|s| s.value)),
            quoted(&run.compress.device)
        );
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Everything that is known of the runs.
pub fn json(runs: &[&Run], commands: &[String]) -> Value {
    let run = |(run, command): (&&Run, &String)| {
        json!({
            "name": run.name,
            "settings": run.request,
            "command": command,
            "ratio": run.compress.ratio,
            "compress": run.compress,
            "decompress_gbps": run.decompress_gbps(),
            "metrics": run.metrics,
        })
    };
    json!({ "runs": runs.iter().zip(commands).map(run).collect::<Vec<_>>() })
}

/// A picture of the report: heading and PNG.
pub struct Figure {
    pub title: String,
    pub png: Vec<u8>,
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;width:100%;font-size:13px}th,td{padding:5px 9px;border-bottom:1px solid #ddd;text-align:right}\
th:first-child,td:first-child{text-align:left}.figures{display:flex;flex-wrap:wrap;gap:16px}\
figure{margin:0;width:340px}figure img{width:100%;image-rendering:pixelated}figcaption{font-size:13px;color:#555}\
code{display:block;background:#f4f4f6;padding:6px 10px;font-size:12px;overflow-x:auto;margin:4px 0}.bad{color:#b00020}";

/// One self-contained page.
pub fn html(title: &str, facts: &[(String, String)], runs: &[&Run], commands: &[String], figures: &[Figure]) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head><body><h1>{0}</h1>",
        escaped(title)
    );
    out.push_str("<table>");
    for (name, value) in facts {
        let _ = write!(out, "<tr><td>{}</td><td style=\"text-align:left\">{}</td></tr>", escaped(name), escaped(value));
    }
    out.push_str("</table><h2>Runs</h2><table><tr><th>Run</th><th>Ratio</th><th>Bits/value</th><th>Compress GB/s</th><th>Decompress GB/s</th><th>Max error / tau</th><th>PSNR dB</th><th>ROI PSNR dB</th><th>SSIM</th></tr>");
    for run in runs {
        let m = &run.metrics;
        let optional = |v: Option<f64>, digits: usize| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.digits$}"));
        let class = if m.violations > 0 { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{:.2}</td><td>{:.3}</td><td>{:.3}</td><td>{:.3}</td><td{class}>{:.4}</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>",
            escaped(&run.name),
            run.compress.ratio,
            run.compress.bits_per_value,
            run.compress.gbps,
            run.decompress_gbps(),
            m.max_error_over_tau,
            m.psnr_db,
            optional(m.roi_psnr_db, 2),
            optional(m.ssim.as_ref().map(|s| s.value), 5)
        );
    }
    out.push_str("</table><h2>Pictures</h2><div class=\"figures\">");
    for figure in figures {
        let _ = write!(
            out,
            "<figure><img alt=\"{0}\" src=\"data:image/png;base64,{1}\"><figcaption>{0}</figcaption></figure>",
            escaped(&figure.title),
            base64(&figure.png)
        );
    }
    out.push_str("</div><h2>Command lines</h2>");
    for command in commands {
        let _ = write!(out, "<code>{}</code>", escaped(command));
    }
    out.push_str("</body></html>");
    out
}

/// Facts of a volume for the head of a report.
pub fn facts(document: &super::state::document::Document) -> Vec<(String, String)> {
    let shape = document.volume.shape;
    let mut facts = vec![
        ("File".to_owned(), document.path.display().to_string()),
        ("Shape".to_owned(), format!("{shape} ({})", document.axis_names()[3 - shape.rank as usize..].join(", "))),
    ];
    if let Some(s) = &document.stats {
        let units = document.volume.meta.units.clone().unwrap_or_default();
        facts.push(("Values".to_owned(), format!("{} to {} {units}", shell::number(s.min), shell::number(s.max))));
        if s.nan + s.infinite + s.missing > 0 {
            let text = format!("{} NaN, {} infinite, {} missing", s.nan, s.infinite, s.missing);
            facts.push(("Special values".to_owned(), text));
        }
    }
    facts
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |w, (i, b)| w | (*b as u32) << (16 - 8 * i));
        for i in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * i) & 63) as usize] as char;
            out.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_its_standard_and_html_is_escaped() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"M"), "TQ==");
        assert_eq!(escaped("a<b>&\""), "a&lt;b&gt;&amp;&quot;");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
