//! Images of memory cards with one file on them.

use std::io::{Cursor, Write};

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};

const BLOCK: usize = 512;
/// The first block of the first partition on usual cards.
const PARTITION: usize = 2048;

/// The layout of a card.
#[derive(Debug, Clone, Copy)]
pub struct CardLayout {
    /// FAT32, otherwise FAT16.
    pub fat32: bool,
    /// Size of a cluster in bytes.
    pub cluster_bytes: u32,
    /// With a partition table; otherwise the volume begins in the first block.
    pub partitioned: bool,
    /// With other files before it, and the file fragmented.
    pub fragmented: bool,
}

impl CardLayout {
    /// A new small card: FAT16 in a partition, clusters of 2 KiB, the file in one piece.
    pub const PLAIN: Self =
        Self { fat32: false, cluster_bytes: 2048, partitioned: true, fragmented: false };
}

/// The image of a card, no larger than the type of volume needs, with `contents` in a file of that
/// name.
///
/// # Errors
/// When `fatfs` fails: the volume is too small for the file, or the name is invalid.
pub fn card_image(layout: CardLayout, name: &str, contents: &[u8]) -> std::io::Result<Vec<u8>> {
    // The minimum number of clusters for FAT16 or FAT32, and some for metadata.
    let clusters = if layout.fat32 { 67_000 } else { 4_300 };
    let mut volume = vec![0; clusters * layout.cluster_bytes as usize];
    let (kind, table_type) =
        if layout.fat32 { (FatType::Fat32, 0x0c) } else { (FatType::Fat16, 0x06) };
    let options = FormatVolumeOptions::new()
        .fat_type(kind)
        .bytes_per_cluster(layout.cluster_bytes)
        .volume_id(0x5742_e05e);
    fatfs::format_volume(Cursor::new(&mut volume[..]), options)?;
    {
        let system = FileSystem::new(Cursor::new(&mut volume[..]), FsOptions::new())?;
        let root = system.root_dir();
        let mut file = if layout.fragmented {
            root.create_dir("a directory with a long name")?;
            root.create_file("read me first.txt")?.write_all(b"nothing to see here")?;
            let mut other = root.create_file("OTHER.BIN")?;
            let mut file = root.create_file(name)?;
            // Clusters of the two files alternate.
            for piece in contents.chunks(layout.cluster_bytes as usize) {
                file.write_all(piece)?;
                file.flush()?;
                other.write_all(&vec![0xa5; layout.cluster_bytes as usize])?;
                other.flush()?;
            }
            file
        } else {
            let mut file = root.create_file(name)?;
            file.write_all(contents)?;
            file
        };
        file.flush()?;
        drop(file);
    }
    if !layout.partitioned {
        return Ok(volume);
    }
    let blocks = (volume.len() / BLOCK) as u32;
    let mut image = vec![0; PARTITION * BLOCK];
    let entry = &mut image[446..462];
    entry[4] = table_type;
    entry[8..12].copy_from_slice(&(PARTITION as u32).to_le_bytes());
    entry[12..16].copy_from_slice(&blocks.to_le_bytes());
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image.extend(volume);
    Ok(image)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_file_is_on_the_card_whatever_its_layout() {
        let contents: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
        for fat32 in [false, true] {
            for fragmented in [false, true] {
                let layout =
                    CardLayout { fat32, cluster_bytes: 512, partitioned: fat32, fragmented };
                let image = card_image(layout, "CUBE.ANI", &contents).unwrap();
                let start = if fat32 { PARTITION * BLOCK } else { 0 };
                let system =
                    FileSystem::new(Cursor::new(image[start..].to_vec()), FsOptions::new())
                        .unwrap();
                let expected = if fat32 { FatType::Fat32 } else { FatType::Fat16 };
                assert_eq!(system.fat_type(), expected);
                let mut read = Vec::new();
                let root = system.root_dir();
                root.open_file("CUBE.ANI").unwrap().read_to_end(&mut read).unwrap();
                assert_eq!(read, contents);
            }
        }
    }

    #[test]
    fn a_file_that_does_not_fit_is_an_error() {
        let contents = vec![0; 5000 * 512];
        let layout = CardLayout { cluster_bytes: 512, ..CardLayout::PLAIN };
        assert!(card_image(layout, "CUBE.ANI", &contents).is_err());
    }
}
