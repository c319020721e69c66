//! Drawing: `embedded-graphics` into a one-bit framebuffer, a gauge with scale, needle and text.

use core::convert::Infallible;
use core::fmt::{self, Write};
use embedded_graphics::framebuffer::{Framebuffer, buffer_size};
use embedded_graphics::image::GetPixel;
use embedded_graphics::mono_font::{MonoTextStyle, ascii::FONT_6X10};
use embedded_graphics::pixelcolor::{BinaryColor, raw::BigEndian, raw::RawU1};
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{
    Arc, Circle, Line, PrimitiveStyle, Rectangle, RoundedRectangle, Triangle,
};
use embedded_graphics::text::{Alignment, Text};

const WIDTH: usize = 96;
const HEIGHT: usize = 48;

type Screen = Framebuffer<
    BinaryColor,
    RawU1,
    BigEndian,
    WIDTH,
    HEIGHT,
    { buffer_size::<BinaryColor>(WIDTH, HEIGHT) },
>;

/// Draws the gauge eight times with a moving needle and shows the last picture as text, two rows in
/// one.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut screen = Screen::new();
    for turn in 0..8 {
        let Ok(()) = draw(&mut screen, turn);
    }
    for y in (0..HEIGHT as i32).step_by(2) {
        for x in 0..WIDTH as i32 {
            let lit = |y| screen.pixel(Point::new(x, y)) == Some(BinaryColor::On);
            out.write_char(match (lit(y), lit(y + 1)) {
                (true, true) => '#',
                (true, false) => '"',
                (false, true) => '.',
                (false, false) => ' ',
            })?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

fn draw(screen: &mut Screen, turn: i32) -> Result<(), Infallible> {
    let line = PrimitiveStyle::with_stroke(BinaryColor::On, 1);
    let solid = PrimitiveStyle::with_fill(BinaryColor::On);
    let font = MonoTextStyle::new(&FONT_6X10, BinaryColor::On);
    let hub = Point::new(30, 36);

    screen.clear(BinaryColor::Off)?;
    let frame = Rectangle::new(Point::zero(), Size::new(WIDTH as u32, HEIGHT as u32));
    RoundedRectangle::with_equal_corners(frame, Size::new_equal(6))
        .into_styled(line)
        .draw(screen)?;
    Arc::with_center(hub, 51, 180.0.deg(), 180.0.deg()).into_styled(line).draw(screen)?;
    Line::new(hub, hub + Point::new(turn * 5 - 15, -22)).into_styled(line).draw(screen)?;
    Circle::with_center(hub, 7).into_styled(solid).draw(screen)?;
    Triangle::new(Point::new(66, 26), Point::new(88, 26), Point::new(77, 42))
        .into_styled(PrimitiveStyle::with_stroke(BinaryColor::On, 2))
        .draw(screen)?;
    Text::with_alignment("rpm\nx100", Point::new(76, 12), font, Alignment::Center).draw(screen)?;
    Ok(())
}
