//! PNG pictures of SVG charts, with a bundled font, so that they look the same on every machine.
//! In: SVG text. Out: PNG bytes.

use crate::ReportError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Tree};
use std::sync::{Arc, LazyLock};

/// Pixels of the picture per unit of the chart.
const SHARPNESS: f32 = 2.0;
/// Largest picture, in pixels of one side.
const LARGEST: u32 = 8000;

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../assets/inter/Inter-Regular.otf").to_vec());
    fonts.load_font_data(include_bytes!("../../assets/inter/Inter-SemiBold.otf").to_vec());
    fonts.set_sans_serif_family("Inter");
    Arc::new(fonts)
});

/// Rasterises a chart at twice its size.
///
/// # Errors
/// The text is not a chart, or the chart is too large.
pub fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    let refused = |answer: String| ReportError::Drawing { chart: "as PNG".into(), answer };
    let options = usvg::Options { fontdb: FONTS.clone(), font_family: "Inter".into(), ..usvg::Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| refused(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SHARPNESS).ok_or_else(|| refused("it has no size".into()))?;
    if size.width() > LARGEST || size.height() > LARGEST {
        return Err(refused(format!("it would be {} by {} pixels", size.width(), size.height())));
    }
    let mut pixels =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| refused("there is no memory for it".into()))?;
    resvg::render(&tree, Transform::from_scale(SHARPNESS, SHARPNESS), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| refused(error.to_string()))
}
