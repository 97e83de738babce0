"""Every file format that is read."""

from parsolve.solver.files.format import Format
from parsolve.solver.files.formats.accelerate import ACCELERATE, ACCELERATE_OPTIONS
from parsolve.solver.files.formats.axolotl import AXOLOTL
from parsolve.solver.files.formats.deepspeed import DEEPSPEED
from parsolve.solver.files.formats.halo import HALO
from parsolve.solver.files.formats.megatron import MEGATRON
from parsolve.solver.files.formats.nemo import NEMO, NEMO_OVERRIDES
from parsolve.solver.files.formats.torchtitan import TORCHTITAN, TORCHTITAN_OPTIONS

FORMATS: tuple[Format, ...] = (
    HALO,
    MEGATRON,
    NEMO,
    NEMO_OVERRIDES,
    ACCELERATE,
    ACCELERATE_OPTIONS,
    DEEPSPEED,
    TORCHTITAN,
    TORCHTITAN_OPTIONS,
    AXOLOTL,
)
"""In the order in which equally likely ones are named."""
