//! The results as tables (CSV, JSON) and as an HTML page with pictures.

use super::panels::shell;
use super::state::runs::Run;
use base64::prelude::{BASE64_STANDARD, Engine as _};
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
table{border-collapse:collapse;font-size:13px;margin-bottom:1em}th,td{padding:5px 9px;border-bottom:1px solid #ddd;text-align:right}\
th:first-child,td:first-child,td.text{text-align:left}.figures{display:flex;flex-wrap:wrap;gap:16px}\
figure{margin:0;width:340px}figure img{width:100%;image-rendering:pixelated}figcaption,p{font-size:13px;color:#555}\
i{display:inline-block;width:.8em;height:.8em;border-radius:3px;margin-right:.5em}\
code{display:block;background:#f4f4f6;padding:6px 10px;font-size:12px;overflow-x:auto;margin:4px 0}.bad{color:#b00020}";

/// A tier for the report.
pub struct TierFact {
    pub name: String,
    pub color: [u8; 3],
    /// Absolute tolerance.
    pub tau: f64,
    /// Part of the blocks that the tier holds, 0 to 1.
    pub share: f64,
}

/// A self-contained page that lacks its pictures yet.
pub struct Page {
    head: String,
    tail: String,
}

impl Page {
    /// The page with its pictures, all of the slice that `caption` names.
    pub fn with_figures(self, caption: &str, figures: &[Figure]) -> String {
        let mut out = self.head;
        let _ = write!(
            out,
            "<h2>Pictures</h2><p>{}. In maps of error / tau, white is no error, full red and blue are the bound, \
             yellow is beyond it.</p><div class=\"figures\">",
            escaped(caption)
        );
        for figure in figures {
            let _ = write!(
                out,
                "<figure><img alt=\"{0}\" src=\"data:image/png;base64,{1}\"><figcaption>{0}</figcaption></figure>",
                escaped(&figure.title),
                BASE64_STANDARD.encode(&figure.png)
            );
        }
        out.push_str("</div>");
        out + &self.tail
    }
}

/// Everything of the page but the pictures.
pub fn page(title: &str, facts: &[(String, String)], tiers: &[TierFact], runs: &[&Run], commands: &[String]) -> Page {
    let mut head = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head><body><h1>{0}</h1>",
        escaped(title)
    );
    head.push_str("<table>");
    for (name, value) in facts {
        let _ = write!(head, "<tr><td>{}</td><td class=\"text\">{}</td></tr>", escaped(name), escaped(value));
    }
    head.push_str("</table><h2>Tiers</h2><table><tr><th>Tier</th><th>Tolerance</th><th>Blocks</th></tr>");
    for tier in tiers {
        let [r, g, b] = tier.color;
        let name = escaped(&tier.name);
        let (tau, share) = (tolerance(tier.tau), 100.0 * tier.share);
        let _ = write!(
            head,
            "<tr><td><i style=\"background:rgb({r},{g},{b})\"></i>{name}</td><td>{tau}</td><td>{share:.1} %</td></tr>"
        );
    }
    head.push_str("</table><h2>Runs</h2>");
    runs_table(&mut head, runs);
    tiers_table(&mut head, runs);
    let mut tail = String::from("<h2>Command lines</h2>");
    for command in commands {
        let _ = write!(tail, "<code>{}</code>", escaped(command));
    }
    tail.push_str("</body></html>");
    Page { head, tail }
}

fn runs_table(out: &mut String, runs: &[&Run]) {
    out.push_str("<table><tr><th>Run</th><th>Ratio</th><th>Bits/value</th><th>Compress GB/s</th><th>Decompress GB/s</th><th>Max error / tau</th><th>PSNR dB</th><th>ROI PSNR dB</th><th>SSIM</th><th>Device</th></tr>");
    for run in runs {
        let m = &run.metrics;
        let optional = |v: Option<f64>, digits: usize| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.digits$}"));
        let class = if m.violations > 0 { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{:.2}</td><td>{:.3}</td><td>{:.3}</td><td>{:.3}</td><td{class}>{:.4}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&run.name),
            run.compress.ratio,
            run.compress.bits_per_value,
            run.compress.gbps,
            run.decompress_gbps(),
            m.max_error_over_tau,
            shell::decibels(m.psnr_db),
            m.roi_psnr_db.map_or_else(|| "–".to_owned(), shell::decibels),
            optional(m.ssim.as_ref().map(|s| s.value), 5),
            escaped(&run.compress.device)
        );
    }
    out.push_str("</table>");
}

/// What each tier of each run got.
fn tiers_table(out: &mut String, runs: &[&Run]) {
    out.push_str("<table><tr><th>Run</th><th>Tier</th><th>Tolerance</th><th>Max error</th><th>Max error / tau</th><th>PSNR dB</th></tr>");
    for run in runs {
        for tier in &run.metrics.tiers {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.4}</td><td>{}</td></tr>",
                escaped(&run.name),
                escaped(&tier.name),
                tolerance(tier.tau),
                shell::number(tier.max_error),
                tier.max_error_over_tau,
                shell::decibels(tier.psnr_db)
            );
        }
    }
    out.push_str("</table>");
}

fn tolerance(tau: f64) -> String {
    match tau {
        0.0 => "lossless".to_owned(),
        t if t.is_infinite() => "ignored".to_owned(),
        t => shell::number(t),
    }
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
        facts.push((
            "Values".to_owned(),
            format!("{} to {} {units}", shell::number(s.min), shell::number(s.max)).trim().to_owned(),
        ));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_escaped_and_names_in_csv_are_quoted() {
        assert_eq!(escaped("a<b>&\""), "a&lt;b&gt;&amp;&quot;");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
