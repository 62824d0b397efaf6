/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_page.h"

#include <errno.h>
#include <string.h>

#define PAGE DAMAGED_PAGE_BYTES
#define HEADER_BYTES 100 /* of the file, at the start of page 1 */

/* --- pages of trees ------------------------------------------------------------------------------ */

/* The header of a tree's page: page 1 begins with the header of the file. */
static const uint8_t *tree_header(uint32_t number, const uint8_t *page) {
        return number == 1 ? page + HEADER_BYTES : page;
}

static size_t header_bytes(uint8_t type) {
        return page_type_is_interior(type) ? 12 : 8;
}

/* True if all cells lie on the page. */
PageType damaged_page_type(uint32_t number, const uint8_t page[static PAGE]) {
        const uint8_t *header = tree_header(number, page);
        size_t n = damaged_file_u16(header + 3), cells = (size_t)(header - page) + header_bytes(header[0]);

        if (header[0] != PAGE_TABLE_LEAF && header[0] != PAGE_INDEX_LEAF && !page_type_is_interior(header[0]))
                return PAGE_DAMAGED;
        if (cells + 2 * n > PAGE || header[7] > 60)
                return PAGE_DAMAGED;
        for (size_t i = 0; i < n; i++) {
                uint32_t cell = damaged_file_u16(page + cells + 2 * i);

                if (cell < cells + 2 * n || cell > PAGE - 4)
                        return PAGE_DAMAGED;
        }
        return header[0];
}

const uint8_t *damaged_page_cell(uint32_t number, const uint8_t page[static PAGE], size_t i) {
        const uint8_t *header = tree_header(number, page);

        return page + damaged_file_u16(header + header_bytes(header[0]) + 2 * i);
}

size_t damaged_page_cells(uint32_t number, const uint8_t page[static PAGE]) {
        return damaged_file_u16(tree_header(number, page) + 3);
}

uint32_t damaged_page_last_child(uint32_t number, const uint8_t page[static PAGE]) {
        return damaged_file_u32(tree_header(number, page) + 8);
}

size_t damaged_page_count(uint32_t number, const uint8_t page[static PAGE]) {
        PageType type = damaged_page_type(number, page);

        return type == PAGE_DAMAGED || type == PAGE_TABLE_INTERIOR ? 0 : damaged_page_cells(number, page);
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* Returns the number of bytes of a payload that are on the page itself. */
static size_t local_bytes(uint8_t type, uint64_t n) {
        size_t max = type == PAGE_TABLE_LEAF ? PAGE - 35 : (PAGE - 12) * 64 / 255 - 23;
        size_t min = (PAGE - 12) * 32 / 255 - 23;
        size_t local;

        if (n <= max)
                return (size_t)n;
        local = min + (size_t)((n - min) % (PAGE - 4));
        return local <= max ? local : min;
}

static bool is_overflow_of(const DamagedFile *file, uint32_t number, uint32_t parent, bool is_first) {
        const PageFact *fact;

        if (number == 0 || number > file->n_pages)
                return false;
        fact = &file->facts[number - 1];
        return fact->kind == PAGE_UNKNOWN ||
               (fact->kind == (is_first ? PAGE_OVERFLOW_FIRST : PAGE_OVERFLOW_NEXT) && fact->parent == parent);
}

static int read_overflow(const DamagedFile *file, uint32_t parent, uint32_t number, uint64_t n_left, Buffer *payload) {
        uint8_t page[PAGE];

        for (bool is_first = true; n_left > 0; is_first = false) {
                size_t n = n_left < PAGE - 4 ? (size_t)n_left : PAGE - 4;

                if (!is_overflow_of(file, number, parent, is_first) || !damaged_file_read(file, number, page))
                        return DAMAGED_ROW_LOST;
                buffer_put(payload, page + 4, n);
                n_left -= n;
                parent = number;
                number = damaged_file_u32(page);
        }
        return buffer_error(payload) < 0 ? -ENOMEM : 0;
}

int damaged_page_row(const DamagedFile *file, uint32_t number, const uint8_t page[static PAGE], size_t i, DamagedRow *ret) {
        const uint8_t *cell = damaged_page_cell(number, page, i), *end = page + PAGE;
        uint8_t type = *tree_header(number, page);
        uint64_t n_payload, rowid = 0;
        size_t n, n_local;

        if (type == PAGE_INDEX_INTERIOR)
                cell += 4; /* after the child */
        n = damaged_file_varint(cell, end, &n_payload);
        if (n > 0 && type == PAGE_TABLE_LEAF) {
                size_t n_rowid = damaged_file_varint(cell + n, end, &rowid);

                n = n_rowid > 0 ? n + n_rowid : 0;
        }
        if (n == 0 || n_payload == 0 || n_payload > (uint64_t)file->n_pages * PAGE)
                return DAMAGED_ROW_LOST;

        cell += n;
        n_local = local_bytes(type, n_payload);
        if ((size_t)(end - cell) < n_local + (n_local < n_payload ? 4 : 0))
                return DAMAGED_ROW_LOST;

        buffer_clear(&ret->payload);
        buffer_put(&ret->payload, cell, n_local);
        ret->rowid = (int64_t)rowid;
        if (n_local == n_payload)
                return buffer_error(&ret->payload) < 0 ? -ENOMEM : 0;
        return read_overflow(file, number, damaged_file_u32(cell + n_local), n_payload - n_local, &ret->payload);
}

static int64_t big_end_first(const uint8_t *p, size_t n) {
        uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;

        for (size_t i = 0; i < n; i++)
                v = v << 8 | p[i];
        return (int64_t)v;
}

/* Returns the size of a value by its serial type. */
static uint64_t serial_bytes(uint64_t serial) {
        static const uint8_t fixed[12] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

        return serial < 12 ? fixed[serial] : (serial - 12) / 2;
}

static Field field_of(uint64_t serial, const uint8_t *p, size_t n) {
        int64_t v;
        double real;

        if (serial >= 12)
                return serial % 2 ? field_text((const char *)p, n) : field_blob(p, n);
        if (serial == 0)
                return (Field){};

        v = n > 0 ? big_end_first(p, n) : serial == 9;
        if (serial != 7)
                return field_i64(v);
        memcpy(&real, &v, sizeof(real));
        return field_double(real);
}

size_t damaged_page_fields(const DamagedRow *row, Field *ret, size_t n_max) {
        const uint8_t *payload = (const uint8_t *)row->payload.text, *end = payload + row->payload.n, *body;
        const uint8_t *p = payload, *header_end;
        uint64_t n_header, serial;
        size_t n = damaged_file_varint(p, end, &n_header), n_fields = 0;

        if (n == 0 || n_header < n || n_header > row->payload.n)
                return 0;

        header_end = body = payload + n_header;
        for (p += n; p < header_end; p += n) {
                n = damaged_file_varint(p, header_end, &serial);
                if (n == 0 || n_fields == n_max || serial == 10 || serial == 11 || serial_bytes(serial) > (uint64_t)(end - body))
                        return 0;
                ret[n_fields++] = field_of(serial, body, (size_t)serial_bytes(serial));
                body += serial_bytes(serial);
        }
        return body == end ? n_fields : 0;
}
