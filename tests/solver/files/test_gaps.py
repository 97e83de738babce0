"""Statements that the grammar does not know, and commands that stand in a here-document."""

from __future__ import annotations

import pytest

from parsolve.solver.files.command_line import document
from parsolve.solver.files.document import FileProblem
from parsolve.solver.files.reading import interpreted, likely_formats
from parsolve.solver.files.script import commands

LAUNCH = "torchrun train.py --tp 4"


def launched(text: str) -> list[str]:
    """The words behind each ``torchrun``, unknown ones in angle brackets."""
    found = []
    for command in commands("run.sh", text):
        texts = [f"<{word.text}>" if word.unknown else word.text for word in command.words]
        if "torchrun" in texts:
            found.append(" ".join(texts[texts.index("torchrun") :]))
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "for i do echo $i; done",
        "[ -d / ] || { echo no; exit 1; }",
        "[ -d / ] || exit 1",
        "cat <<A <<B\n1\nA\n2\nB",
        "case abc in *@(b|c)) X=1;; esac",
        "exec 3>&1 5<>log",
        "if true; then\n  case $1 in *!(a|b)) X=1;; esac\nfi",
        "usage() {\n  for i do echo $i; done\n}",
    ],
)
def test_a_statement_that_starts_nothing_is_left_out(statement: str) -> None:
    assert launched(f"TP=4\n{statement}\n{LAUNCH}\n") == [LAUNCH]
    found = document("run.sh", f"{statement}\n{LAUNCH}\n")
    assert found is not None
    (gap,) = [e for e in found.entries if "is not understood as shell" in e.unknown]
    assert gap.place.line <= statement.count("\n") + 1


def test_what_is_left_out_may_assign() -> None:
    text = "TP=4; PP=2\nfor TP do export_it=1; done\ntorchrun train.py --tp $TP --pp $PP\n"
    assert launched(text) == ["torchrun train.py --tp <$TP> --pp 2"]
    default = text.replace("$TP ", "${TP:-4} ")
    assert launched(default) == ["torchrun train.py --tp <$TP> --pp 2"]


@pytest.mark.parametrize(
    "text",
    [
        f"for i do {LAUNCH}; done\n",
        f"launch() {{ {LAUNCH}; }}\n[ -d / ] && launch\n",
        f"[ -d / ] && source env.sh\n{LAUNCH}\n",
        f"[ -d / ] && export CUDA_DEVICE_MAX_CONNECTIONS=1\n{LAUNCH}\n",
        f"{LAUNCH} \\\n  @( \\\n --pp 2\n",
        f"A=(--tp 4\n{LAUNCH}\n",
        f"if true; then\n{LAUNCH}\n",
        f'{LAUNCH} "--pp 2\n',
    ],
)
def test_what_may_matter_is_not_left_out(text: str) -> None:
    with pytest.raises(FileProblem):
        commands("run.sh", text)


def test_inline_comments() -> None:
    text = "torchrun train.py \\\n  --tp 4 `# tensor` \\\n  `# stages` --pp 2\n"
    assert launched(text) == ["torchrun train.py --tp 4 --pp 2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("srun -N 2 bash -s <<'E'\ntorchrun a.py --tp 4\nE\n", ["torchrun a.py --tp 4"]),
        ("X=4\nbash <<E\nY=2\ntorchrun a.py $X \\$Y ${Z:-3}\nE\n", ["torchrun a.py 4 2 3"]),
        ("X=4\nbash <<'E'\ntorchrun a.py ${X:-2}\nE\n", ["torchrun a.py 2"]),
        ("cat <<E | bash\ntorchrun a.py\nE\n", ["torchrun a.py"]),
        ("if true; then\n\tbash <<-E\n\ttorchrun a.py\n\tE\nfi\n", ["torchrun a.py"]),
        ("ssh host <<'E'\ntorchrun a.py\nE\n", ["torchrun a.py"]),
        ("sbatch -N 2 <<'E'\n#!/bin/bash\ntorchrun a.py\nE\n", ["torchrun a.py"]),
        ("cat <<'E' > a.sh && torchrun b.py\ntorchrun a.py\nE\n", ["torchrun b.py"]),
        ("bash run.sh <<E\ntorchrun a.py\nE\n", []),
        ("bash -c 'torchrun b.py' <<E\ntorchrun a.py\nE\n", ["torchrun b.py"]),
        ("cat <<E\ntorchrun a.py\nE\n", []),
    ],
)
def test_here_documents(text: str, expected: list[str]) -> None:
    assert launched(text) == expected


def test_lines_for_slurm_in_a_here_document() -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes $SLURM_NNODES a.py\n"
    text = f"sbatch <<'E'\n{script}E\n"
    found = document("run.sh", text)
    assert found is not None
    assert ("cluster.nodes", 2) in [(e.key, e.value) for e in found.entries]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('export "TP=4" PP="2"\ntorchrun a.py ${TP:-1} $PP\n', ["torchrun a.py 4 2"]),
        ("declare -i X=3*4\ntorchrun a.py $X\n", ["torchrun a.py <$X>"]),
        ("case a in a) X=1 ;& b) Y=2;; esac\ntorchrun a.py ${Y:-1}\n", ["torchrun a.py <$Y>"]),
        ('IFS=,; X=1,2\ntorchrun a.py $X "$X"\n', ["torchrun a.py <$X> 1,2"]),
        ("O=$IFS; IFS=,; IFS=$O; X='1 2'\ntorchrun a.py $X\n", ["torchrun a.py 1 2"]),
        ("X=(1 2); unset X[0]\ntorchrun a.py ${X[@]}\n", ["torchrun a.py <$X>"]),
        ("A=(--tp 4); A[1]=8\ntorchrun a.py ${A[@]} ${A[1]}\n", ["torchrun a.py --tp 8 8"]),
        ("A[0]=x; A[1]=y\ntorchrun a.py ${A[@]}\n", ["torchrun a.py x y"]),
        ("A=(--tp 4); A[I]=8\ntorchrun a.py ${A[@]}\n", ["torchrun a.py <$A>"]),
        ("A=(--tp 4); A[9]=8\ntorchrun a.py ${A[@]}\n", ["torchrun a.py <$A>"]),
        ("X=1; unset X; unset -f f\ntorchrun a.py ${X:-3}\n", ["torchrun a.py 3"]),
        ("torchrun a.py x{1,2} {} '{a,b}'\n", ["torchrun a.py <x{1,2}> {} {a,b}"]),
    ],
)
def test_values(text: str, expected: list[str]) -> None:
    assert launched(text) == expected


def test_words_that_are_not_known_are_said() -> None:
    found = document("run.sh", "torchrun pretrain_gpt.py --num-layers 4 --swiglu=true $EXTRA\n")
    assert found is not None
    (format_,) = likely_formats(found)
    why = {each.key: each.why for each in interpreted(found, format_).ignored}
    assert "takes EXTRA from its caller" in why["$EXTRA"]


def test_many_pipes() -> None:
    # all of them count: comments and line ends may stand between two
    for text in ("a | # c\n" * 12_000, "a \\\n| " * 12_000):
        with pytest.raises(FileProblem, match="more than 1000 pipes in one script"):
            commands("run.sh", text)
    assert commands("run.sh", "echo '" + "|" * 500 + "'\n")


def test_a_line_end_that_cuts_a_launch_in_two() -> None:
    text = 'A="\n--tp 4\n"\nsrun bash -c "torchrun train.py $A --pp 2"\n'
    with pytest.raises(FileProblem, match="a command begins with --tp"):
        commands("run.sh", text)
