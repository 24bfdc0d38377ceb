"""Published areas and energies of memories, registers and arithmetic.

References:
    - CACTI 7 (R. Balasubramonian et al., "CACTI 7: New Tools for Interconnect Exploration in
      Innovative Off-Chip Memories", TACO 2017), as run by the authors of ZigZag: repository
      KULeuven-MICAS/zigzag, file ``zigzag/cacti/cacti_master/cache_old.cfg.out``, commit
      3d12a96e9d52b51ccb659c0f7cba688bc7e4b7a3. Scratchpads at 65 nm, one bank, 16 and 64 bits an
      access. Their cells take 1.4 um2 a bit, which is twice a cell with one port: they have a port
      to read and another to write, as ``cache.cfg_temp`` beside the table sets.
    - Aladdin (Y. S. Shao et al., ISCA 2014), register at 40 nm and 1 ns, as the plug-in of
      Accelergy has it: repository Accelergy-Project/accelergy-aladdin-plug-in, file
      ``data/reg.csv``, commit 5e2e1263ddcc896ba3b8ce95954d76cdeebe03ab.
    - M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014:
      arithmetic, and reads of 64 bits from caches, at 45 nm and 0.9 V. Read in works that quote
      it: areas of arithmetic in S. Kim et al., "Full Stack Optimization of Transformer Inference: a
      Survey", 2023, Fig. 15; the cache of 8 KiB in Frontiers in Neurology, PMC8934428, Table 3.
"""

from dataclasses import dataclass

REFERENCE_NM = 45.0
"""Node of areas before a study names its own [nm]."""

MEMORY_NM = 65.0
"""Node of the table of memories [nm]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMemory:
    """One memory of the table.

    Attributes:
        line: Where it stands in the file.
        capacity: Size [byte].
        word_bits: Width of one access [bit].
        read_pj: Energy of one read [pJ].
        write_pj: Energy of one write [pJ].
        area_um2: Area with decoders and sense amplifiers [um2].
    """

    line: int
    capacity: int
    word_bits: int
    read_pj: float
    write_pj: float
    area_um2: float


_ROWS = (
    (124, 64, 16, 0.601507, 0.839656, 1_565.82),
    (126, 128, 16, 0.630436, 1.12554, 2_788.78),
    (131, 256, 16, 0.990391, 1.39068, 4_825.56),
    (138, 512, 16, 1.33651, 2.16325, 8_919.48),
    (8, 1_024, 16, 2.16182, 2.62398, 15_978.9),
    (55, 2_048, 16, 3.79167, 3.52468, 33_350.4),
    (72, 4_096, 16, 5.14576, 4.68195, 61_546.3),
    (19, 8_192, 16, 9.6474, 6.32569, 121_125),
    (29, 16_384, 16, 18.5474, 9.50988, 231_311),
    (84, 32_768, 16, 30.1777, 12.349, 434_894),
    (66, 65_536, 16, 36.2547, 18.426, 899_434),
    (38, 131_072, 16, 47.657, 26.9766, 1.82148e06),
    (90, 262_144, 16, 61.3744, 40.6939, 3.67092e06),
    (47, 524_288, 16, 85.8167, 65.1362, 7.26755e06),
    (171, 2_097_152, 16, 166.012, 145.058, 2.87014e07),
    (136, 256, 64, 2.52199, 3.44898, 7_457.82),
    (143, 512, 64, 2.68213, 4.63696, 10_830.4),
    (13, 1_024, 64, 3.20321, 7.21369, 17_930.1),
    (60, 2_048, 64, 5.47787, 8.75921, 37_538.7),
    (81, 4_096, 64, 6.83196, 13.5248, 65_734.6),
    (25, 8_192, 64, 12.6579, 16.4929, 128_324),
    (34, 16_384, 64, 24.192, 22.3111, 240_467),
    (86, 32_768, 64, 35.8223, 32.3669, 444_050),
    (68, 65_536, 64, 48.3405, 44.8852, 956_267),
    (40, 131_072, 64, 83.1721, 57.0883, 1.79753e06),
    (93, 262_144, 64, 108.863, 82.7793, 3.675e06),
    (51, 524_288, 64, 146.486, 110.037, 7.74756e06),
    (173, 2_097_152, 64, 300.631, 274.547, 2.90079e07),
)

MEMORIES = tuple(
    PublishedMemory(
        line=line, capacity=size, word_bits=bits, read_pj=read, write_pj=write, area_um2=area
    )
    for line, size, bits, read, write, area in _ROWS
)
"""Memories of 64 bytes to 2 MiB."""

NODES = ((65.0, 28_701_400.0), (28.0, 5_323_160.0), (22.0, 3_286_290.0))
"""Node [nm] and area [um2] of 2 MiB with accesses of 16 bits: lines 171, 182 and 193."""

REGISTER_UM2 = 5.98 * (REFERENCE_NM / 40.0) ** 2
"""Area of one bit of a register, Aladdin, brought to 45 nm [um2]."""

CACHES_PJ = ((8 * 1024, 10.0), (32 * 1024, 20.0), (1024 * 1024, 100.0))
"""Size [byte] and energy of a read of 64 bits [pJ] of caches, Horowitz 2014; nothing is fitted to
them."""

INT8_MAC_UM2 = 282.0 + 137.0
"""An 8-bit multiplier and a 32-bit adder, Horowitz 2014, at 45 nm [um2]."""

FP32_MAC_UM2 = 7700.0 + 4184.0
"""A 32-bit floating-point multiplier and adder, Horowitz 2014, at 45 nm [um2]."""
