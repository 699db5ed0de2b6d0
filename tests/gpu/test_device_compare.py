"""On a real GPU: two stretches of its memory are told apart by a single byte, at any length and address."""

from collections.abc import Iterator

import pytest

from kmeter.measure.cuda_context import CudaContext
from kmeter.measure.device_compare import same_on_device

pytestmark = pytest.mark.gpu

SIZE = (1 << 20) + 7


@pytest.fixture(scope="module")
def context() -> CudaContext:
    return CudaContext(0)


@pytest.fixture
def pair(context: CudaContext) -> Iterator[tuple[int, int]]:
    """Two equal stretches."""
    both = context.allocate(SIZE + 64), context.allocate(SIZE + 64)
    for pointer in both:
        context.fill(pointer, 0x5A, SIZE + 64, 0)
    yield both
    for pointer in both:
        context.free(pointer)


@pytest.mark.parametrize("offset", [0, 1, 4, 16])
@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 4096, SIZE])
def test_a_byte_is_seen_where_it_is_inside(
    context: CudaContext, pair: tuple[int, int], size: int, offset: int
) -> None:
    one, other = pair[0] + offset, pair[1] + offset
    assert same_on_device(context, one, other, size)
    for place in {0, size // 2, size - 1}:
        context.fill(one + place, 0x5B, 1, 0)
        assert not same_on_device(context, one, other, size)
        context.fill(one + place, 0x5A, 1, 0)
    context.fill(one + size, 0x5B, 1, 0)
    assert same_on_device(context, one, other, size), "what is behind it does not count"
    context.fill(one + size, 0x5A, 1, 0)
