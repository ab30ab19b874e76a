/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit/support.h"

#include <string.h>

#include "base/text/size.h"

typedef struct parse_case {
    const char *label, *text;
    ms_status status;
    uint64_t bytes;
    const char *message;
} parse_case;

#define TOO_LARGE(text) "'" text "' is more than 1 EiB (2^60 bytes), the largest size accepted"

static const parse_case parse_cases[] = {
    {"bytes", "512B", MS_OK, 512, ""},
    {"zero", "0B", MS_OK, 0, ""},
    {"KiB", "1KiB", MS_OK, 1024, ""},
    {"MiB", "20MiB", MS_OK, 20971520, ""},
    {"GiB", "80GiB", MS_OK, 85899345920, ""},
    {"TiB", "2TiB", MS_OK, 2199023255552, ""},
    {"kB", "1kB", MS_OK, 1000, ""},
    {"MB", "1MB", MS_OK, 1000000, ""},
    {"GB", "80GB", MS_OK, 80000000000, ""},
    {"TB", "1TB", MS_OK, 1000000000000, ""},
    {"decimals", "1.5GiB", MS_OK, 1610612736, ""},
    {"decimals of a decimal unit", "0.25kB", MS_OK, 250, ""},
    {"a fraction of a byte is dropped", "1.0009765kB", MS_ERR_USAGE, 0,
     "'1.0009765kB' needs one to 6 digits after the point"},
    {"six decimals", "0.000001KiB", MS_OK, 0, ""},
    {"blank before the unit", "24 GB", MS_OK, 24000000000, ""},
    {"largest", "1152921504606846976B", MS_OK, UINT64_C(1) << 60, ""},
    {"largest TiB", "1048576TiB", MS_OK, UINT64_C(1) << 60, ""},
    {"one more", "1152921504606846977B", MS_ERR_OVERFLOW, 0, TOO_LARGE("1152921504606846977B")},
    {"one TiB more", "1048577TiB", MS_ERR_OVERFLOW, 0, TOO_LARGE("1048577TiB")},
    {"TB past it", "1152922TB", MS_ERR_OVERFLOW, 0, TOO_LARGE("1152922TB")},
    {"2^62", "4611686018427387904B", MS_ERR_OVERFLOW, 0, TOO_LARGE("4611686018427387904B")},
    {"2^62 in GiB", "4294967296GiB", MS_ERR_OVERFLOW, 0, TOO_LARGE("4294967296GiB")},
    {"2^63", "9223372036854775808B", MS_ERR_OVERFLOW, 0, TOO_LARGE("9223372036854775808B")},
    {"2^64-1", "18446744073709551615B", MS_ERR_OVERFLOW, 0, TOO_LARGE("18446744073709551615B")},
    {"digits past 64 bits", "18446744073709551616B", MS_ERR_OVERFLOW, 0,
     TOO_LARGE("18446744073709551616B")},
    {"product past 64 bits", "16777216TiB", MS_ERR_OVERFLOW, 0, TOO_LARGE("16777216TiB")},
    {"fraction past 64 bits", "18446744073709551615.5kB", MS_ERR_OVERFLOW, 0,
     TOO_LARGE("18446744073709551615.5kB")},
    {"bare number", "80", MS_ERR_USAGE, 0, "'80' has no unit; write for example 80GiB or 80GB"},
    {"bare number and blanks", "80  ", MS_ERR_USAGE, 0,
     "'80  ' has no unit; write for example 80GiB or 80GB"},
    {"letter alone", "80G", MS_ERR_USAGE, 0,
     "'80G' may be 80GiB, of 1024, or 80GB, of 1000; write which"},
    {"small letter alone", "1.5k", MS_ERR_USAGE, 0,
     "'1.5k' may be 1.5KiB, of 1024, or 1.5kB, of 1000; write which"},
    {"another letter", "80X", MS_ERR_USAGE, 0,
     "unknown unit 'X' in '80X'; units are B, KiB, MiB, GiB, TiB (1024) and kB, MB, GB, TB (1000)"},
    {"other case", "80gib", MS_ERR_USAGE, 0, "unknown unit 'gib' in '80gib'; did you mean GiB?"},
    {"KB", "80KB", MS_ERR_USAGE, 0, "unknown unit 'KB' in '80KB'; did you mean kB?"},
    {"empty", "", MS_ERR_USAGE, 0, "'' is not a size; write for example 80GiB"},
    {"unit alone", "GiB", MS_ERR_USAGE, 0, "'GiB' is not a size; write for example 80GiB"},
    {"negative", "-1GiB", MS_ERR_USAGE, 0, "'-1GiB' is not a size; write for example 80GiB"},
    {"blank in front", " 1GiB", MS_ERR_USAGE, 0, "' 1GiB' is not a size; write for example 80GiB"},
    {"exponent", "1e3GiB", MS_ERR_USAGE, 0,
     "unknown unit 'e3GiB' in '1e3GiB'; units are B, KiB, MiB, GiB, TiB (1024) and kB, MB, GB, TB "
     "(1000)"},
    {"point without digits", "1.GiB", MS_ERR_USAGE, 0,
     "'1.GiB' needs one to 6 digits after the point"},
    {"something behind", "1GiB!", MS_ERR_USAGE, 0,
     "unknown unit 'GiB!' in '1GiB!'; units are B, KiB, MiB, GiB, TiB (1024) and kB, MB, GB, TB "
     "(1000)"},
};

static void check_parse(void **state)
{
    const parse_case *c = *state;
    uint64_t bytes = 0;
    ms_error err = {0};
    assert_int_equal(ms_size_parse(c->text, &bytes, &err), c->status);
    assert_int_equal(bytes, c->bytes);
    assert_string_equal(err.text, c->message);
}

typedef struct format_case {
    const char *label;
    uint64_t bytes;
    const char *text;
} format_case;

static const format_case format_cases[] = {
    {"nothing", 0, "0 B"},
    {"one below the first unit", 1023, "1023 B"},
    {"the first unit", 1024, "1.00 KiB"},
    {"rounded up", 1536 + 5, "1.50 KiB"},
    {"rounds into the next unit", 1048575, "1.00 MiB"},
    {"just does not", 1048570, "1023.99 KiB"},
    {"GiB", 85094039552, "79.25 GiB"},
    {"rounds into GiB", 1073741823, "1.00 GiB"},
    {"TiB", UINT64_C(1) << 40, "1.00 TiB"},
    {"EiB", UINT64_C(1) << 60, "1.00 EiB"},
    {"rounds into EiB", (UINT64_C(1) << 60) - 1, "1.00 EiB"},
    {"the largest", UINT64_MAX, "16.00 EiB"},
};

static void check_format(void **state)
{
    const format_case *c = *state;
    char text[MS_SIZE_TEXT_BYTES];
    assert_string_equal(ms_size_format(c->bytes, text, sizeof text), c->text);
}

int main(void)
{
    int failed = run_rows("size parser", check_parse, parse_cases);
    failed += run_rows("size formatter", check_format, format_cases);
    return failed;
}
