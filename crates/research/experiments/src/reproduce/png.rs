//! An SVG as a PNG, in the one font that comes with the program: it looks the same on a machine without fonts. Only with the
//! feature `png`: fifty crates draw it, a fifth of a cold build.

/// `true` if this program writes PNGs.
pub(crate) const IS_BUILT_IN: bool = cfg!(feature = "png");

/// Message of a program that writes no PNGs.
pub(crate) const HINT: &str = "there are no PNGs: this wayleave was built without them \
                               (cargo build --locked --release --package wayleave-cli --features png)";

/// The bytes of a PNG file; `None` where [`IS_BUILT_IN`] is `false`.
#[cfg(feature = "png")]
pub(crate) fn of(svg: &str) -> Result<Option<Vec<u8>>, String> {
    use std::sync::Arc;

    use resvg::{tiny_skia, usvg};

    const FAMILY: &str = "DejaVu Sans";
    /// Pixels for each unit of the drawing: sharp on a dense screen, and in print at half a page.
    const SCALE: f32 = 2.0;

    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| format!("a picture cannot be read: {error}"))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("a picture is too large")?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("a picture is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map(Some).map_err(|error| format!("a picture cannot be written as PNG: {error}"))
}

/// The bytes of a PNG file; `None` where [`IS_BUILT_IN`] is `false`.
#[cfg(not(feature = "png"))]
pub(crate) fn of(_svg: &str) -> Result<Option<Vec<u8>>, String> {
    Ok(None)
}
