//! Part of Stroboscope.
/// JSON.
pub mod json {
    /// JSON
    pub fn record(r: &strobe_model::Record) -> String {
        serde_json::to_string_pretty(r).unwrap_or_default()
    }
}
