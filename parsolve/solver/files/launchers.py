"""What launchers start: the program, its arguments, and the GPUs that they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from parsolve.solver.files.document import Entry
from parsolve.solver.files.format import CLUSTER
from parsolve.solver.files.script import Command, Word

_WRAPPERS: dict[str, tuple[str, ...]] = {
    "exec": ("-a",),
    "command": (),
    "nohup": (),
    "setsid": (),
    "time": ("-o", "-f"),
    "stdbuf": ("-i", "-o", "-e"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "taskset": (),
    "sudo": ("-u", "-g", "-h", "-C"),
    "env": ("-u", "-C", "-S"),
    "numactl": ("-N", "-m", "-C", "-i", "-p", "--cpunodebind", "--membind", "--physcpubind"),
    "nsys profile": (
        "-o", "-t", "-s", "-c", "-f", "-w", "-y", "-d", "-x", "--output", "--trace", "--sample",
        "--capture-range", "--capture-range-end", "--force-overwrite", "--stats", "--delay",
        "--duration", "--kill", "--cuda-memory-usage", "--cuda-graph-trace", "--gpu-metrics-device",
    ),
    "conda run": ("-n", "-p", "--name", "--prefix", "--cwd"),
    "mamba run": ("-n", "-p", "--name", "--prefix", "--cwd"),
    "uv run": ("--with", "--extra", "--group", "-p", "--python", "--project", "--directory",
               "--env-file", "--index-url", "--package"),
    "poetry run": (),
    "pdm run": (),
    "pixi run": ("-e", "--environment", "--manifest-path"),
    "timeout": ("-k", "-s", "--kill-after", "--signal"),
    "singularity exec": ("-B", "--bind", "-H", "--home", "--pwd", "-W", "--workdir", "--env",
                         "--env-file", "--overlay", "-o"),
    "docker run": (
        "-v", "--volume", "-e", "--env", "-w", "--workdir", "--name", "--network", "--net", "--ipc",
        "--gpus", "--shm-size", "--ulimit", "-u", "--user", "--mount", "--device", "--env-file",
        "-p", "--publish", "--cap-add", "--security-opt", "--pid", "--runtime", "--hostname", "-h",
        "-m", "--memory", "--cpus", "-l", "--label", "--entrypoint",
    ),
}  # fmt: skip
"""Commands that run another one, with their options that take the next word."""

_SAME = {"apptainer exec": "singularity exec", "podman run": "docker run", "gtime": "time"}
_OPERANDS = {"timeout": 1, "singularity exec": 1, "docker run": 1, "taskset": 1}
"""How many words of their own they have before the command."""

_SRUN_SWITCHES = frozenset((
    "--exclusive", "--overlap", "--kill-on-bad-exit", "-K", "-l", "--label", "-u", "--unbuffered",
    "--pty", "-v", "-vv", "--verbose", "-Q", "--quiet", "--no-kill", "-k", "-s", "--oversubscribe",
    "-O", "--overcommit", "--container-writable", "--no-container-mount-home", "-E",
    "--preserve-env", "--container-remap-root", "--no-container-remap-root", "-b", "-H", "--hold",
    "--container-mount-home", "--no-container-entrypoint", "--exact", "--whole", "-I",
    "--spread-job", "--use-min-nodes", "-X", "--disable-status", "--contiguous",
))  # fmt: skip
_TORCHRUN_SWITCHES = frozenset((
    "--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env", "--help",
))  # fmt: skip
_DEEPSPEED_SWITCHES = frozenset((
    "--module", "--no-python", "--no-local-rank", "--force-multi", "--save-pid", "--no-ssh",
    "--bind-cores-to-rank", "--elastic-training",
))  # fmt: skip
_ACCELERATE_SWITCHES = frozenset((
    "--multi-gpu", "--cpu", "--tpu", "--mps", "-m", "--module", "--no-python", "--debug", "-q",
    "--quiet", "--use-deepspeed", "--use-fsdp", "--use-megatron-lm", "--use-xpu", "--same-network",
    "--downcast-bf16", "--tpu-cluster", "--no-tpu-cluster", "--tpu-use-sudo", "--ipex",
    "--enable-cpu-affinity", "--use-parallelism-config",
))  # fmt: skip
_MPI_SWITCHES = frozenset((
    "--allow-run-as-root", "-allow-run-as-root", "--oversubscribe", "-oversubscribe", "-v",
    "--tag-output", "-tag-output", "--report-bindings", "-report-bindings", "--verbose", "-l",
    "-prepend-rank", "--nooversubscribe", "--display-map", "-display-map", "--bind-to-core", "-q",
))  # fmt: skip
_PROGRAMS = frozenset(("axolotl", "trl", "llamafactory-cli", "swift", "megatron", "nemo"))
"""Programs with a subcommand that trains."""

_SUBCOMMAND = re.compile(
    r"train|pretrain|finetune|sft|dpo|kto|orpo|cpo|gkd|grpo|ppo|rm|reward|rlhf|pt|llm|rloo"
)

_TRAINS = re.compile(r"train|tune|sft|dpo|grpo|ppo|rlhf|torchtitan|nemo|megatron", re.IGNORECASE)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*")
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.launcher": "torchrun",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
}

LAUNCHED, TRAINS, RUNS = 3, 2, 1
"""How sure it is that a command trains: a launcher starts it, its name says so, it is Python."""


_ACCELERATE_PLACES = frozenset((
    "--num-machines", "--num-processes", "--machine-rank", "--main-process-ip",
    "--main-process-port", "-m", "--module", "--no-python", "-q", "--quiet", "--debug",
))  # fmt: skip

_NODES, _PER_NODE, _WORLD = CLUSTER

_SWITCHES = {
    "srun": _SRUN_SWITCHES,
    "torchrun": _TORCHRUN_SWITCHES,
    "tune run": _TORCHRUN_SWITCHES,
    "deepspeed": _DEEPSPEED_SWITCHES,
    "accelerate launch": _ACCELERATE_SWITCHES,
    "mpirun": _MPI_SWITCHES,
}
"""Launchers, with their options that take no value."""

_SAYS = {
    "torchrun": {"--nnodes": _NODES, "--nproc-per-node": _PER_NODE},
    "tune run": {"--nnodes": _NODES, "--nproc-per-node": _PER_NODE},
    "deepspeed": {"--num-nodes": _NODES, "--num-gpus": _PER_NODE},
    "accelerate launch": {"--num-machines": _NODES, "--num-processes": _WORLD},
    "mpirun": {
        "-np": _WORLD, "--np": _WORLD, "-n": _WORLD, "-c": _WORLD,
        "-npernode": _PER_NODE, "--npernode": _PER_NODE, "-N": _PER_NODE, "-ppn": _PER_NODE,
    },
    "srun": {
        "-N": _NODES, "--nodes": _NODES, "-n": _WORLD, "--ntasks": _WORLD,
        "--ntasks-per-node": _PER_NODE, "--gpus-per-node": "gpus", "--gres": "gpus",
    },
}  # fmt: skip
"""Which options of a launcher say how many nodes, and processes, there are."""

_ALIASES = {"mpiexec": "mpirun", "torchrun.py": "torchrun", "mpirun.openmpi": "mpirun"}


@dataclass
class Launch:
    """A program that is started, with what its launchers say on the way to it.

    ``said`` holds for every launcher what it says; ``options`` are those of launchers that
    settle more than where the program runs. ``evidence`` says how sure it is that this trains.
    """

    environment: dict[str, Word]
    rest: list[Word]
    said: dict[str, dict[str, Word]] = field(default_factory=dict)
    options: list[Word] = field(default_factory=list)
    unclear: str = ""
    program: Word | None = None
    evidence: int = 0

    @property
    def cluster(self) -> Iterator[Entry]:
        """What the launchers say about nodes and GPUs."""
        inner = {
            k: v for name, said in self.said.items() if name != "srun" for k, v in said.items()
        }
        slurm = self.said.get("srun", {})
        alone = set(self.said) == {"srun"}
        nodes = [inner.get(_NODES), slurm.get(_NODES)]
        per_node = [inner.get(_PER_NODE)]
        if alone:
            per_node += [slurm.get(_PER_NODE), slurm.get("gpus")]
        world = [inner.get(_WORLD), slurm.get(_WORLD) if alone else None]
        for key, words in ((_NODES, nodes), (_PER_NODE, per_node), (_WORLD, world)):
            given = [word for word in words if word is not None]
            if given:
                word = next((word for word in given if not word.unknown), given[0])
                value = None if word.unknown else int(word.text)
                yield Entry(key, value, word.place, word.unknown)
            elif key != _WORLD and self.program and {"torchrun", "tune run"} & set(self.said):
                value = None if self.unclear else 1
                yield Entry(key, value, self.program.place, self.unclear)


def launch(command: Command, slurm: tuple[Word, ...]) -> Launch | None:
    """The training program that a command starts, if any.

    ``slurm`` are the options that the script gives Slurm, which ``srun`` inherits.
    """
    start = Launch(dict(command.environment), list(command.words))
    python = False
    while start.rest:
        head = start.rest[0]
        name = PurePosixPath(head.text).name
        both = f"{name} {start.rest[1].text}" if len(start.rest) > 1 else name
        name, both = _ALIASES.get(name, name), _SAME.get(both, both)
        name = _SAME.get(name, name)
        if head.unknown:
            if not _later_program(start.rest[1:]):
                return None
            start.unclear = head.unknown
            start.rest.pop(0)
            _skip_to_program(start)
            start.said.setdefault("torchrun", {})
        elif both in _WRAPPERS or name in _WRAPPERS:
            _unwrap(start, both if both in _WRAPPERS else name)
        elif both in _SWITCHES or name in _SWITCHES:
            name = both if both in _SWITCHES else name
            del start.rest[: len(name.split())]
            _launcher(start, name, slurm)
            if name in ("torchrun", "tune run", "deepspeed", "accelerate launch"):
                return _program(start, python=True)
        elif _PYTHON.fullmatch(name):
            start.rest.pop(0)
            python = True
            module = _python(start)
            if module in _MODULES:
                start.rest[0] = Word(_MODULES[module], start.rest[0].place)
                if " " in _MODULES[module]:
                    start.rest[:1] = [Word(w, head.place) for w in _MODULES[module].split()]
                continue
            return _program(start, python=True) if module is not None else None
        else:
            return _program(start, python=python)
    return None


def _program(start: Launch, *, python: bool) -> Launch | None:
    """The program, and whether it trains."""
    if not start.rest:
        return None
    program = start.rest.pop(0)
    name = PurePosixPath(program.text).name
    if name in _PROGRAMS and start.rest and _SUBCOMMAND.fullmatch(start.rest[0].text):
        words = [name, start.rest.pop(0).text]
        if words[1] == "llm" and start.rest:
            words.append(start.rest.pop(0).text)
        start.program = Word(" ".join(words), program.place)
        start.evidence = LAUNCHED
        return start
    start.program = program
    if not python and not name.endswith(".py"):
        return None
    trains = bool(_TRAINS.search(name))
    start.evidence = LAUNCHED if start.said else TRAINS if trains else RUNS
    return start


def _python(start: Launch) -> str | None:
    """Skip Python's own options; the module that it runs, or empty, or None for no program."""
    while start.rest:
        text = start.rest[0].text
        if text == "-m" and len(start.rest) > 1:
            start.rest.pop(0)
            return start.rest[0].text
        if not text.startswith("-"):
            return ""
        if text in ("-c", "-"):
            return None
        del start.rest[: 2 if text in ("-W", "-X") else 1]
    return None


def _unwrap(start: Launch, name: str) -> None:
    del start.rest[: len(name.split())]
    while start.rest:
        text = start.rest[0].text
        assigned = _ASSIGNED.fullmatch(text)
        if text.startswith("-"):
            option = text.partition("=")[0]
            takes = "=" not in text and text in _WRAPPERS[name]
            value = start.rest[1] if takes and len(start.rest) > 1 else start.rest[0]
            if option in ("-e", "--env") and name in ("docker run", "singularity exec"):
                _export(start, value, value.text.removeprefix("--env="))
            del start.rest[: 2 if takes else 1]
        elif assigned and name in ("env", "sudo"):
            _export(start, start.rest.pop(0), text)
        else:
            break
    del start.rest[: _OPERANDS.get(name, 0)]


def _export(start: Launch, word: Word, text: str) -> None:
    assigned = _ASSIGNED.fullmatch(text)
    if assigned:
        start.environment[assigned[1]] = Word(assigned[2], word.place, word.unknown)


def _launcher(start: Launch, name: str, slurm: tuple[Word, ...]) -> None:
    """Read a launcher's own options."""
    said = start.said.setdefault(name, {})
    if name == "srun":
        inherited = Launch({}, list(slurm))
        for option, word in _options(inherited, name):
            _say(said, name, option, word)
        for option, word in _options(start, name):
            _say(said, name, option, word)
            if option == "--export" and not word.unknown:
                for part in word.text.split(","):
                    _export(start, word, part)
        return
    for option, word in _options(start, name):
        _say(said, name, option, word)
        if name == "mpirun" and option == "-x":
            _export(start, word, word.text)
        if (
            name == "mpirun"
            and option == "--map-by"
            and (per := re.match(r"ppr:(\d+):node", word.text))
        ):
            said[_PER_NODE] = Word(per[1], word.place, word.unknown)
        if name == "deepspeed" and option in ("--hostfile", "-H") and _NODES not in said:
            reason = f"line {word.place.line} takes the nodes from {word.text}"
            said[_NODES] = Word(word.text, word.place, reason)


def _say(said: dict[str, Word], name: str, option: str, word: Word) -> None:
    key = _SAYS[name].get(option)
    if key is None:
        return
    text = word.text
    if key == "gpus":
        gpus = re.fullmatch(r"(?:gres[:/])?(?:gpu:)?(?:[\w.-]+:)?(\d+)(?:\(.*\))?", text)
        if option == "--gres" and not text.startswith(("gpu:", "gres")):
            return
        text = gpus[1] if gpus else text
    unknown = word.unknown
    if not unknown and not re.fullmatch(r"\d{1,9}", text):
        unknown = f"line {word.place.line} says {option} {text}, which is no one number"
    said[key] = Word(text, word.place, unknown)


def _options(start: Launch, name: str) -> Iterator[tuple[str, Word]]:
    """The options in front, each with its value, or itself; they leave ``start.rest``."""
    switches = _SWITCHES[name]
    while start.rest:
        word = start.rest[0]
        if not word.text.startswith("-"):
            if not word.unknown or not _later_program(start.rest[1:]):
                return
            start.unclear = word.unknown
            start.rest.pop(0)
            continue
        start.rest.pop(0)
        if word.text == "--":
            return
        option, equals, value = word.text.partition("=")
        attached = re.fullmatch(r"(-[A-Za-z])(\d.*)", option) if name == "srun" else None
        if option.startswith("--") or name == "torchrun":
            option = option.replace("_", "-")
        kept = [word]
        if attached and not equals:
            yield attached[1], Word(attached[2], word.place, word.unknown)
        elif equals:
            yield option, Word(value, word.place, word.unknown)
        elif option in switches or not start.rest:
            yield option, word
        else:
            given = start.rest.pop(0)
            kept.append(given)
            if option in ("--mca", "-mca", "--gmca") and start.rest:
                start.rest.pop(0)
            yield option, Word(given.text, word.place, word.unknown or given.unknown)
        if name == "accelerate launch" and option not in _ACCELERATE_PLACES:
            start.options += kept


def _later_program(words: list[Word]) -> bool:
    """Whether a program comes after a word that is not known, which then is no program."""
    return any(_is_program(word) for word in words)


def _is_program(word: Word) -> bool:
    name = PurePosixPath(word.text).name
    return not word.unknown and (
        word.text.endswith(".py")
        or word.text in ("-m", "--module")
        or name in _SWITCHES
        or bool(_PYTHON.fullmatch(name))
    )


def _skip_to_program(start: Launch) -> None:
    while start.rest and not _is_program(start.rest[0]):
        start.rest.pop(0)
    if start.rest and start.rest[0].text in ("-m", "--module"):
        start.rest.pop(0)
        if start.rest:
            start.rest.insert(0, Word("python", start.rest[0].place))
            start.rest.insert(1, Word("-m", start.rest[0].place))
