import dataclasses
import random
import zlib

import pytest
from hypothesis import given, settings

from accnn.backend.binary.encode import decode, encode
from accnn.ir.errors import InputError, VerifyError
from accnn.ir.isa.instructions import Copy, Space, Sync
from tests.thinned import examples

from ...programs import any_programs, at, convolution, with_stream

HEADER = 16


@settings(max_examples=examples(60), deadline=None)
@given(any_programs())
def test_decode_inverts_encode(built):
    content = encode(built)

    assert decode(content) == built
    assert encode(decode(content)) == content


def test_a_real_program_survives():
    built, _, _ = convolution(6)

    assert decode(encode(built)) == built


def test_every_changed_byte_is_noticed():
    content = encode(convolution(2)[0])
    rng = random.Random(3)
    for place in [*range(HEADER), *rng.sample(range(len(content)), 300)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(InputError, match=r"^program: byte 0x[0-9a-f]+: "):
            decode(bytes(damaged))


def test_every_truncation_is_noticed():
    content = encode(convolution(1)[0])
    for size in range(len(content)):
        with pytest.raises(InputError, match="program: byte"):
            decode(content[:size])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: b"PK" + c[2:], "byte 0x0: not a program"),
        (lambda c: c[:4] + b"\x63\x00" + c[6:], "byte 0x4: version 99 where 3 is supported"),
        (lambda c: c + b"\x00", "bytes after the last instruction"),
        (lambda c: c[:20] + b"?" + c[21:], "byte 0x10: the head is damaged"),
        (lambda c: c[:-1], "the file ends inside an instruction"),
    ],
)
def test_errors_say_what_and_where(damage, message):
    with pytest.raises(InputError, match=message):
        decode(damage(encode(convolution(1)[0])))


def forged(content, record, change):
    """A record changed so that its checksum is right."""
    start = HEADER + int.from_bytes(content[8:12], "little")
    for _ in range(record):
        start += size_of(content, start)
    size = size_of(content, start)
    data = bytearray(content[start : start + size])
    change(data)
    crc = zlib.crc32(data[16:], zlib.crc32(data[:12]))
    data[12:16] = crc.to_bytes(4, "little")
    return content[:start] + bytes(data) + content[start + size :]


def size_of(content, start):
    return 16 + 8 * content[start + 1] + int.from_bytes(content[start + 4 : start + 8], "little")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 0x99, "no instruction has opcode 0x99"),
        (2, 5, "queue 5 where 0 is due"),
        (16, 7, "copy: malformed payload"),
        (17, 2, "copy: payload of"),
        (17, 255, "copy: dst is absent"),
        (20, 9, "copy: tuple index out of range"),
    ],
)
def test_forged_records_are_refused(place, value, message):
    def change(data):
        data[place] = value

    content = encode(convolution(1)[0])

    with pytest.raises(InputError, match=message):
        decode(forged(content, 0, change))


def test_values_beyond_64_bits_are_refused():
    built, _, _ = convolution(1)
    copy = Copy(dst=at(Space.GB, 1 << 63, 1), src=at(Space.GB, 0, 1), shape=(1,), element_bytes=1)

    with pytest.raises(VerifyError, match=r"dma0\[0\] cannot be encoded"):
        encode(with_stream(built, 0, [copy]))
    wide = dataclasses.replace(copy, dst=at(Space.GB, (1 << 63) - 1, 1))
    changed = with_stream(built, 0, [wide, Sync()])
    assert decode(encode(changed)) == changed


def test_numbers_without_a_value_are_refused():
    built, _, _ = convolution(1)
    arch = dataclasses.replace(built.arch, mac_energy=float("nan"))

    with pytest.raises(VerifyError, match="toy program cannot be encoded"):
        encode(dataclasses.replace(built, arch=arch))
