//! Stimulus ports: text, messages of `defmt`, or bytes that only the firmware understands.

use crate::defmt::message::Decoded;
use crate::traced::totals::Traced;
use strobe_model::measurement::{Column, Content, Measurement, Table, Text, Unit, ids};

use super::per_second;

/// All of them.
pub(super) fn sections(traced: &Traced, out: &mut Measurement) {
    if traced.channels.is_empty() {
        return;
    }
    table(traced, out);
    for channel in &traced.channels {
        let id = format!("port-{}", channel.port);
        let title = format!("port {}", channel.port);
        match &channel.decoded {
            Some(decoded) => messages(&id, &title, decoded, out),
            None => text(&id, title, channel.text.as_deref(), channel.text_skipped, out),
        }
    }
}

fn table(traced: &Traced, out: &mut Measurement) {
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        count("port", "port"),
        count("writes", "writes"),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
        Column::figure("rate", "bytes/s", Unit::other("bytes/s")).worth(3),
        Column::text("content", "content"),
        count("messages", "messages").worth(4),
        count("malformed", "malformed").worth(2),
        count("doubtful", "doubtful").worth(1),
        count("interrupted", "interrupted").worth(5),
    ]);
    // A channel that came alone has no packets around it.
    let alone = traced.stream.packets == 0;
    for channel in &traced.channels {
        let decoded = channel.decoded.as_ref();
        let content = match (decoded, &channel.text) {
            (Some(decoded), _) => format!("{}, {}", decoded.format, decoded.encoding),
            (None, Some(_)) => "text".to_owned(),
            (None, None) => "binary".to_owned(),
        };
        table.row([
            u64::from(channel.port).into(),
            (!alone).then_some(channel.packets).into(),
            channel.bytes.into(),
            per_second(channel.bytes, traced),
            content.into(),
            decoded.map(|decoded| decoded.messages).into(),
            decoded.map(|decoded| decoded.malformed).into(),
            decoded.map(|decoded| decoded.doubtful).into(),
            channel.interrupted.into(),
        ]);
    }
    let title = if alone { "the channel" } else { "stimulus ports" };
    out.push("ports", title, Content::Table(table));
}

/// Text, if there is any.
pub(super) fn text(
    id: &str,
    title: String,
    text: Option<&str>,
    skipped_bytes: u64,
    out: &mut Measurement,
) {
    let Some(text) = text else { return };
    let lines = text.lines().map(str::to_owned).collect();
    out.push(id, title, Content::Text(Text { lines, skipped_bytes }));
}

fn messages(id: &str, title: &str, decoded: &Decoded, out: &mut Measurement) {
    let mut levels = Table::new(vec![
        Column::text(ids::column::LEVEL, "level"),
        Column::figure("messages", "messages", Unit::COUNT).of(decoded.messages),
    ]);
    for (level, n) in &decoded.levels {
        let level = if level.is_empty() { "(none)" } else { level };
        levels.row([level.into(), (*n).into()]);
    }
    let levels = Content::Table(levels);
    out.push(&format!("{id}-levels"), format!("{title}: messages by level"), levels);
    let mut table = Table::new(vec![
        Column::text(ids::column::TIME, "time"),
        Column::text(ids::column::LEVEL, "level"),
        Column::text(ids::column::MESSAGE, "message"),
        Column::text(ids::column::FILE, "file").worth(2),
        Column::figure(ids::column::LINE, "line", Unit::COUNT).worth(1),
        Column::text(ids::column::DOUBT, "doubt").worth(3),
    ]);
    for message in &decoded.last {
        let (file, line) = message.place.clone().unzip();
        table.row([
            message.time.clone().into(),
            message.level.clone().into(),
            message.text.as_str().into(),
            file.into(),
            line.into(),
            message.doubtful.then_some("lost?").into(),
        ]);
    }
    let section = out.push(id, format!("{title}: messages"), Content::Table(table));
    if decoded.earlier > 0 {
        section.notes.push(format!("{} earlier messages are not here.", decoded.earlier));
    }
}
