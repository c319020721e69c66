//! What displays and lamps showed: PNG files, and a list of them.

use std::io::Cursor;

use serde::Serialize;

/// A picture file and when it was to be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shown {
    /// The part that showed it.
    pub part: String,
    /// The file, beside the list.
    pub file: String,
    /// How many pixels wide and high the file shows one of the part's: small pictures are
    /// enlarged.
    pub zoom: u32,
    /// From when on, in nanoseconds since reset.
    pub first_ns: u64,
    /// When it was shown for the last time in a row.
    pub last_ns: u64,
    /// How often in a row.
    pub times: u64,
}

/// All pictures of a run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "strobe-pictures/1"))]
pub(crate) struct List<'a> {
    schema: &'static str,
    /// In order of part and time.
    pictures: &'a [Shown],
}

/// The list of pictures that were shown, as indented JSON with a newline at its end
/// (`docs/schema/pictures-1.json`).
///
/// # Errors
/// Never for what can be shown; those of the serialiser.
pub fn list(shown: &[Shown]) -> serde_json::Result<String> {
    let list = List { schema: "strobe-pictures/1", pictures: shown };
    serde_json::to_string_pretty(&list).map(|text| text + "\n")
}

/// A picture as a PNG file: rows from the top, three bytes (red, green, blue) for each pixel.
///
/// # Errors
/// When the sides and the number of bytes do not fit.
pub fn png(width: u32, height: u32, rgb: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(file.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_comes_back_as_it_was() {
        let rgb: Vec<u8> = (0..3 * 5 * 4).collect();
        let file = png(5, 4, &rgb).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut back).unwrap();
        assert_eq!((info.width, info.height, back), (5, 4, rgb));
    }

    #[test]
    fn bytes_that_do_not_fit_are_an_error() {
        assert!(png(5, 4, &[0; 59]).is_err());
        assert!(png(0, 4, &[]).is_err());
    }
}
