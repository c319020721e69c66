// The reader as a state machine: the first block, which is a partition table or already the volume's boot block; the boot block;
// the root directory up to the entry of the file; the file, cluster by cluster; and whenever a cluster is over, the block of
// the table (FAT) that names the next one. Fields and limits are those of Microsoft's "FAT: General Overview of On-Disk
// Format".

#include <avr/pgmspace.h>
#include <stdbool.h>

#include "fat.h"

#define BLOCK 512
#define ENTRY 32

uint32_t fat_block;

static enum { FIRST, BOOT, ROOT, TABLE, FILE } state, after;
static uint16_t at; // place in the block

// Fields of the first block and the boot block, in the order in which they come. AVR structures have no gaps, so that byte by
// byte they fall into their places.
static struct {
    uint8_t jump;
    uint16_t block_bytes;
    uint8_t cluster_blocks;
    uint16_t reserved;
    uint8_t tables;
    uint16_t root_entries;
    uint16_t blocks_16;
    uint16_t table_blocks_16;
    uint32_t blocks_32;
    uint32_t table_blocks_32;
    uint32_t root_cluster;
    uint32_t partition;
    uint16_t signature;
} boot;

static const struct {
    uint16_t at;
    uint8_t length;
} fields[] PROGMEM = {
    { 0, 1 },  { 11, 2 }, { 13, 1 }, { 14, 2 }, { 16, 1 },  { 17, 2 },  { 19, 2 },
    { 22, 2 }, { 32, 4 }, { 36, 4 }, { 44, 4 }, { 454, 4 }, { 510, 2 },
};

static uint8_t field, *field_byte;

static uint32_t table, data; // where the table and cluster 2 begin
static bool wide;            // FAT32

static uint32_t cluster;     // the one that is read
static uint16_t blocks_left; // in it, this one among them
static uint32_t next;        // as the table's bytes come in
static uint16_t entry_at;    // where in the table's block

static const char name[11] PROGMEM = "CUBE    ANI";
static bool matches;
static uint16_t entries;
static union {
    struct {
        uint32_t first, size;
    };
    uint8_t bytes[8];
} file;
static uint16_t part;
static uint32_t left;

static uint8_t go(uint32_t block)
{
    fat_block = block;
    at = 0;
    return FAT_JUMP;
}

static uint8_t expect_fields(uint32_t block)
{
    field = 0;
    field_byte = (uint8_t *)&boot;
    return go(block);
}

void fat_begin(uint16_t whole)
{
    part = whole;
    state = FIRST;
    expect_fields(0);
}

static uint8_t go_to_cluster(uint32_t number)
{
    if (number < 2)
        return FAT_FAILED;
    cluster = number;
    blocks_left = boot.cluster_blocks;
    return go(data + (number - 2) * boot.cluster_blocks);
}

// The volume's geometry, from its boot block.
static uint8_t open_volume(void)
{
    uint32_t volume = fat_block;
    uint32_t table_blocks = boot.table_blocks_16 ? boot.table_blocks_16 : boot.table_blocks_32;
    uint32_t blocks = boot.blocks_16 ? boot.blocks_16 : boot.blocks_32;
    uint16_t root_blocks = (boot.root_entries + BLOCK / ENTRY - 1) / (BLOCK / ENTRY);
    table = volume + boot.reserved;
    uint32_t root = table + table_blocks * boot.tables;
    data = root + root_blocks;
    uint32_t clusters = (blocks - (data - volume)) / boot.cluster_blocks;
    if (clusters < 4085) // FAT12
        return FAT_FAILED;
    wide = clusters >= 65525;
    state = ROOT;
    matches = true;
    entries = 0;
    if (wide)
        return go_to_cluster(boot.root_cluster);
    cluster = 0;
    blocks_left = root_blocks;
    return go(root);
}

static uint8_t boot_byte(uint8_t byte)
{
    uint16_t from = pgm_read_word(&fields[field].at);
    uint8_t length = pgm_read_byte(&fields[field].length);
    if (at >= from) {
        *field_byte++ = byte;
        if (at == from + length - 1)
            field++;
    }
    if (++at < BLOCK)
        return 0;
    if (boot.signature != 0xAA55)
        return FAT_FAILED;
    bool jumps = boot.jump == 0xEB || boot.jump == 0xE9;
    if (jumps && boot.block_bytes == BLOCK && boot.cluster_blocks && boot.tables)
        return open_volume();
    if (state == BOOT || boot.partition == 0)
        return FAT_FAILED;
    state = BOOT;
    return expect_fields(boot.partition);
}

// Goes on behind a block: to the next one, or to the table for the next cluster.
static uint8_t behind_block(void)
{
    at = 0;
    fat_block++;
    if (--blocks_left)
        return 0;
    if (cluster == 0) // the root directory of FAT16, which is no chain
        return FAT_FAILED;
    uint32_t offset = cluster << (wide ? 2 : 1);
    after = state;
    state = TABLE;
    next = 0;
    entry_at = offset % BLOCK;
    return go(table + offset / BLOCK);
}

static uint8_t table_byte(uint8_t byte)
{
    uint16_t place = at++ - entry_at;
    uint8_t last = wide ? 3 : 1;
    if (place > last)
        return 0;
    ((uint8_t *)&next)[place] = byte;
    if (place < last)
        return 0;
    next &= 0x0FFFFFFF;
    if (next >= (wide ? 0x0FFFFFF7 : 0xFFF7)) // the chain's end, or a bad block
        return FAT_FAILED;
    state = after;
    return go_to_cluster(next);
}

static uint8_t rewind(void)
{
    state = FILE;
    left = file.size;
    return go_to_cluster(file.first);
}

// The entry has come in whole.
static uint8_t found(void)
{
    if (!wide)
        file.first &= 0xFFFF;
    file.size -= file.size % part;
    return file.size ? rewind() : FAT_FAILED;
}

static uint8_t root_byte(uint8_t byte)
{
    uint8_t place = at % ENTRY;
    if (place == 0) {
        matches = true;
        if (byte == 0 || ++entries == 0) // the directory's end, or more than there can be
            return FAT_FAILED;
    }
    if (place < sizeof name)
        matches &= byte == pgm_read_byte(&name[place]);
    else if (place == 11)
        matches &= !(byte & 0x18); // neither a directory nor the volume's or a long name
    else if (place == 20 || place == 21)
        file.bytes[place - 18] = byte;
    else if (place == 26 || place == 27)
        file.bytes[place - 26] = byte;
    else if (place >= 28)
        file.bytes[place - 24] = byte;
    if (matches && place == ENTRY - 1)
        return found();
    return ++at < BLOCK ? 0 : behind_block();
}

static uint8_t file_byte(void)
{
    if (--left == 0)
        return FAT_DATA | rewind();
    return FAT_DATA | (++at < BLOCK ? 0 : behind_block());
}

uint8_t fat_byte(uint8_t byte)
{
    switch (state) {
    case FIRST:
    case BOOT:
        return boot_byte(byte);
    case ROOT:
        return root_byte(byte);
    case TABLE:
        return table_byte(byte);
    case FILE:
        return file_byte();
    }
    return FAT_FAILED;
}
