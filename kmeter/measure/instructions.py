"""What a kernel was compiled to: instructions counted in a cubin.

An instruction of compute capability 7.0 and later is 16 bytes; its lowest 12 bits say what it is,
three of them where its second operand comes from. Found by comparing with nvdisasm, which a test
repeats where it is installed.
"""

import io
from collections import Counter
from functools import cache

BYTES = 16
OPERATION_BITS = 0x1FF
"""Without the operand's form."""

NAMES = {
    0x023: "FFMA", 0x02B: "DFMA", 0x031: "HFMA2", 0x035: "HFMA2", 0x024: "IMAD", 0x026: "IDP",
    0x108: "MUFU", 0x03C: "HMMA", 0x037: "IMMA", 0x03F: "DMMA", 0x07A: "QMMA", 0x1F0: "HGMMA",
    0x1F1: "IGMMA", 0x1F3: "QGMMA",
}  # fmt: skip


def count_instructions(cubin: bytes, kernel: str) -> Counter[str]:
    """How often each instruction of NAMES stands in a kernel's code."""
    code = _code(cubin, kernel)
    operations = (
        int.from_bytes(code[at : at + 2], "little") & OPERATION_BITS
        for at in range(0, len(code), BYTES)
    )
    return Counter(NAMES[operation] for operation in operations if operation in NAMES)


@cache
def _code(cubin: bytes, kernel: str) -> bytes:
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(cubin)).get_section_by_name(f".text.{kernel}")
    if section is None:
        raise KeyError(f"the cubin holds no kernel {kernel}")
    data: bytes = section.data()
    return data
