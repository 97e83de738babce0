"""Every file format that is read."""

from parsolve.solver.files.format import Format
from parsolve.solver.files.formats.halo import HALO
from parsolve.solver.files.formats.megatron import MEGATRON

FORMATS: tuple[Format, ...] = (HALO, MEGATRON)
"""In the order in which equally likely ones are named."""
