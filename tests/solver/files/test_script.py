"""Shell followed without being executed: words, variables, conditions, limits."""

from __future__ import annotations

import contextlib
import shlex
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsolve.solver.files.document import FileProblem, Place
from parsolve.solver.files.script import Command, commands


def words(text: str) -> list[list[str]]:
    """The words of all commands; an unknown one in angle brackets."""
    return [
        [f"<{word.text}>" if word.unknown else word.text for word in command.words]
        for command in commands("run.sh", text)
    ]


def last(text: str) -> list[str]:
    return words(text)[-1]


def reasons(text: str) -> list[str]:
    return [word.unknown for command in commands("run.sh", text) for word in command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run a 'b c' \"d e\"", ["run", "a", "b c", "d e"]),
        ("run a\\ b \"q\\\"q\" 'x\\y'", ["run", "a b", 'q"q', "x\\y"]),
        ("run $'a\\tb' $'it\\'s'", ["run", "a\tb", "it's"]),
        ("run a\"b\"'c'd --x=\"1 2\"", ["run", "abcd", "--x=1 2"]),
        ("run ''  \"\"", ["run", "", ""]),
        ("run --a 1 \\\n  --b 2 \\\n  --c", ["run", "--a", "1", "--b", "2", "--c"]),
        ("run a # --b\n", ["run", "a"]),
        ('run "a \\\n b"', ["run", "a  b"]),
        ("run > log 2>&1 --a 1", ["run", "--a", "1"]),
        ("run a.b=1 +c.d=[1,2] ~e", ["run", "a.b=1", "+c.d=[1,2]", "~e"]),
        ("run größe=ü", ["run", "größe=ü"]),
        ("\ufeffrun a\r\n", ["run", "a"]),
        ("run a \\\r\n  b\r\n", ["run", "a", "b"]),
        ("\trun\ta", ["run", "a"]),
    ],
)  # fmt: skip
def test_words_and_quotes(text: str, expected: list[str]) -> None:
    assert last(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TP=4\nrun $TP ${TP} \"$TP\" '$TP' x${TP}y", ["run", "4", "4", "4", "$TP", "x4y"]),
        ("TP=4; PP=$TP; TP=8\nrun $TP $PP", ["run", "8", "4"]),
        ("A='--x 1 --y 2'\nrun $A", ["run", "--x", "1", "--y", "2"]),
        ("A='--x 1 --y 2'\nrun \"$A\"", ["run", "--x 1 --y 2"]),
        ('A=\nrun $A b "$A"', ["run", "b", ""]),
        ('A="--x $B --y 2"\nrun $A', ["run", "--x", "<$B>", "--y", "2"]),
        ('A=" --x  $B   $C "\nrun $A', ["run", "--x", "<$B>", "<$C>"]),
        ('B=1 C=2\nA="$B  $C"\nrun "$A" "$B $C"', ["run", "1  2", "1 2"]),
        ("A=1\nA+=2\nrun $A", ["run", "12"]),
        ("A='--x 1'\nA=\"$A --y $A\"\nrun $A", ["run", "--x", "1", "--y", "--x", "1"]),
        ("L=(a 'b c' $X)\nrun \"${L[@]}\"", ["run", "a", "b c", "<$X>"]),
        ("L=(a 'b c')\nrun ${L[@]} \"${L[*]}\" ${#L[@]}", ["run", "a", "b", "c", "a b c", "2"]),
        ('L=(a b)\nL+=(c)\nrun "x${L[@]}y" ${L[1]} $L', ["run", "xa", "b", "cy", "b", "a"]),
        ('L=(\n  # why\n  --a 1  # one\n)\nrun "${L[@]}"', ["run", "--a", "1"]),
        ('L=()\nrun "${L[@]}" b', ["run", "b"]),
        ("I=1\nL=(a b)\nrun ${L[$I]} ${L[I]}", ["run", "b", "b"]),
        ('run ${TP:-4} ${TP-4} "${TP:-a b}" ${TP:-a b}', ["run", "4", "4", "a b", "a", "b"]),
        ("TP=\nrun x${TP:-4} x${TP-4}", ["run", "x4", "x"]),
        ("TP=2\nrun ${TP:-4} ${TP:+yes} ${NO:+yes}", ["run", "2", "yes", "<${NO:+yes}>"]),
        ("TP=$1\nrun ${TP:-4} ${1:-8} $2", ["run", "4", "8", "<$2>"]),
        (": ${TP:=4}\nrun $TP", ["run", "4"]),
        ("run ${PP:-${TP:-4}}", ["run", "4"]),
        ("run ${TP:?give TP}", ["run", "<$TP>"]),
        ("TP=${TP:-4}\nrun $TP", ["run", "4"]),
        ("unset A\nrun x$A ${A-1}", ["run", "x", "1"]),
        ("A=abc\nrun ${#A} ${A%c}", ["run", "3", "<${A%c}>"]),
        ('run $(nproc) `nproc` "x$(nproc)"', ["run", "<$(nproc)>", "<`nproc`>", "<x$(nproc)>"]),
        ("read TP\nrun $TP", ["run", "<$TP>"]),
        ("printf -v TP %d 4\nrun $TP", ["run", "<$TP>"]),
        ("L=(a)\nL[0]=b\nrun ${L[@]}", ["run", "b"]),
    ],
)  # fmt: skip
def test_variables(text: str, expected: list[str]) -> None:
    assert last(text) == expected


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("N * G", "32"),
        ("$N * ${G}", "32"),
        ("G / 3", "2"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("0x10 + 010", "24"),
        ("1 - 1 - 1", "-1"),
    ],
)
def test_arithmetic(formula: str, value: str) -> None:
    assert last(f"N=4 G=8\nrun $(({formula}))") == ["run", value]


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("1 / 0", "line 1 divides by 0"),
        ("N * 8", "it takes N from its caller (line 1)"),
        ("9223372036854775807 + 1", "line 1 reckons beyond 64 bits"),
        ("2 ** 3", "line 1 reckons with **"),
        ("+".join("1" * 100), "line 1 reckons in a formula that is nested too deep"),
    ],
)
def test_arithmetic_that_is_not_known(formula: str, reason: str) -> None:
    assert reasons(f"run $(({formula}))")[-1] == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TP=4\nif [ -f x ]; then TP=8; fi\nrun $TP", ["run", "<$TP>"]),
        ("TP=4\nif [ -f x ]; then TP=4; fi\nrun $TP", ["run", "4"]),
        ("if [ -f x ]; then TP=8; else TP=8; fi\nrun $TP", ["run", "8"]),
        ("if [ -f x ]; then TP=8; fi\nrun $TP", ["run", "<$TP>"]),
        ('if [ -z "$TP" ]; then TP=8; fi\nrun $TP', ["run", "8"]),
        ('[ -z "$TP" ] && TP=8\nrun $TP', ["run", "8"]),
        ("[[ -z ${TP} ]] && TP=8\nrun $TP", ["run", "8"]),
        ('TP=4\nif [ -z "$TP" ]; then TP=8; fi\nrun $TP', ["run", "4"]),
        ("TP=4\nif [ $TP -gt 1 ]; then SP=--sp; else SP=; fi\nrun $SP", ["run", "--sp"]),
        ("TP=1\nif [ $TP -gt 1 ]; then SP=--sp; else SP=; fi\nrun $SP", ["run"]),
        ("M=7b\nif [ $M = 1b ]; then N=1; elif [[ $M == 7* ]]; then N=7; fi\nrun $N", ["run", "7"]),
        ("M=7b\ncase $M in 1b) N=1;; 7b|8b) N=7;; *) N=0;; esac\nrun $N", ["run", "7"]),
        ("case $1 in 1b) N=1;; *) N=0;; esac\nrun $N", ["run", "<$N>"]),
        ("case $1 in 1b) N=1;; *) exit 1;; esac\nrun $N", ["run", "1"]),
        ("TP=4\nif [ -f x ]; then TP=8; exit 1; fi\nrun $TP", ["run", "4"]),
        ("if [ -f x ]; then A=1; B=1; else A=1; B=2; fi\nrun $A $B", ["run", "1", "<$B>"]),
        ("L=(--a 1)\nif [ -f x ]; then L+=(--b 2); fi\nrun ${L[@]}",
         ["run", "--a", "1", "<--b>", "<2>"]),
        ("L='--a 1'\nif [ -f x ]; then L=\"$L --b 2\"; fi\nrun $L",
         ["run", "--a", "1", "<--b>", "<2>"]),
        ("cd x && TP=4\nrun $TP", ["run", "4"]),
        ("cd x || TP=4\nrun $TP", ["run", "<$TP>"]),
        ("(TP=4)\nTP=2 | cat\nrun $TP", ["run", "<$TP>"]),
        ("TP=4\nwhile true; do TP=$((TP * 2)); done\nrun $TP", ["run", "<$TP>"]),
        ("TP=4\nfor i in 1 2; do echo $i; done\nrun $TP", ["run", "4"]),
        ("for TP in 4; do run $TP; done", ["run", "4"]),
        ("for TP in 1 2; do run $TP; done", ["run", "<$TP>"]),
        ('if [ 1 -eq 1 ] && [ -n "a" ]; then N=1; fi\nrun $N', ["run", "<$N>"]),
        ("if [[ 1 -eq 1 && ! -z a ]]; then N=1; fi\nrun $N", ["run", "1"]),
    ],
)  # fmt: skip
def test_conditions_and_loops(text: str, expected: list[str]) -> None:
    assert last(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f() { run $1 \"$@\" $#; }\nf a 'b c'", ["run", "a", "a", "b c", "2"]),
        ("function f { local TP=8; run $TP; }\nTP=4\nf\nrun $TP", ["run", "4"]),
        ("f() { TP=8; }\nTP=4\nf\nrun $TP", ["run", "8"]),
        ("f() { return; run a; }\nf\nrun b", ["run", "b"]),
        ("f() { f; run a; }\nf", ["run", "a"]),
        ("CMD='run --a 1'\n$CMD --b", ["run", "--a", "1", "--b"]),
        ('CMD="run --a $X"\neval $CMD', ["run", "--a", "<$X>"]),
        ('eval "TP=4"\nrun $TP', ["run", "4"]),
        ("srun -N 2 bash -c 'run --a'", ["srun", "-N", "2", "run", "--a"]),
        ("export TP=4\nsrun bash -lc 'run $TP $PP'", ["srun", "run", "4", "<$PP>"]),
        ("TP=4\nbash -c 'run $TP'\n", ["run", "<$TP>"]),
        ('TP=4\nbash -c "run $TP"\n', ["run", "4"]),
        ("bash -c 'cd x; bash -c \"run 1\"'", ["run", "1"]),
        ("bash other.sh -c 'run'", ["bash", "other.sh", "-c", "run"]),
        ("set -- a b\nrun $2; shift; run $1", ["run", "b"]),
        ("run a | tee log", ["tee", "log"]),
        ("cat <<EOF\nrun --never\nEOF\nrun a", ["run", "a"]),
        ("exec run a\nrun b", ["exec", "run", "a"]),
        ("exec > log\nrun b", ["run", "b"]),
        ("{ run a; }", ["run", "a"]),
        ("! run a", ["run", "a"]),
    ],
)
def test_functions_and_shells_in_shells(text: str, expected: list[str]) -> None:
    assert last(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("run $TP", "it takes TP from its caller (line 1)"),
        ("\nrun $1", "it takes its argument 1 from its caller (line 2)"),
        ('run "$@"', "it takes arguments from its caller (line 1)"),
        ("source env.sh\nrun $TP",
         "it takes TP from its caller, or from env.sh that line 1 reads (line 2)"),
        ("TP=1\nif x; then\n TP=2\nfi\nrun $TP", "line 3 sets TP where a condition holds"),
        ("TP=$(nproc)\nrun $TP", "line 1 takes it from the output of a command: $(nproc)"),
        ("for T in 1 2; do\nrun $T\ndone", "line 1 gives T 1 2 in turn"),
        ("read TP\nrun $TP", "line 1 reads it, so TP is not known"),
        ("A=1\nbash -c 'run $A'", "it is not exported to the shell that takes A (line 2)"),
        ("run $?", "$? is known only while it runs (line 1)"),
    ],
)  # fmt: skip
def test_why_a_word_is_not_known(text: str, reason: str) -> None:
    assert reasons(text)[-1] == reason.replace("1 2 in turn", "1, 2 in turn")


def test_what_is_exported() -> None:
    text = "A=1\nexport B=2 C\nexport A\nD=4 run\nunset A\ndeclare -x E=5\n(export F=6)\nrun $D"
    first, second = (
        {name: word.text for name, word in command.environment.items()}
        for command in commands("run.sh", text)
    )
    assert first == {"A": "1", "B": "2", "D": "4"}
    assert second == {"B": "2", "E": "5"}
    assert commands("run.sh", text)[1].words[1].unknown


def test_slurm_lines_are_commands_until_the_first_command() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=4 -J 'a b' # c\n##SBATCH --nodes=8\nrun $SLURM_NNODES\n"
    found = commands("run.sh", text + "#SBATCH --nodes=2\n")
    assert [[word.text for word in command.words] for command in found] == [
        ["#SBATCH", "--nodes=4", "-J", "a b"],
        ["run", "4"],
    ]
    assert found[0].words[1].place == Place(2, 9)


def places(command: Command) -> list[tuple[int, int]]:
    return [(word.place.line, word.place.column) for word in command.words]


def test_a_word_is_where_its_text_is_written() -> None:
    text = 'L=(\n  --tp 4\n)\nA="--x 1 \\\n  --y ü 3"\nrun "${L[@]}" $A\n  ärger -z'
    run, after = commands("run.sh", text)
    assert places(run) == [(6, 1), (2, 3), (2, 8), (4, 4), (4, 8), (5, 3), (5, 7), (5, 9)]
    assert places(after) == [(7, 3), (7, 9)]


def test_a_string_of_another_shell_keeps_its_places() -> None:
    (run,) = commands("run.sh", "srun bash -c '\n  run \\\n   --tp 4'")
    assert places(run) == [(1, 1), (2, 3), (3, 4), (3, 9)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('run a\nrun "b c\n', 'run.sh:2:5: the quote " is never closed'),
        ("run a\nrun 'b c\n", "run.sh:2:5: "),
        ("A=(a b\nrun c\n", "run.sh:"),
        ("if run; then\n a\n", "run.sh:"),
        ("run $(a\n", "run.sh:"),
        ("run )\n", "run.sh:1:5: "),
        ("run a\0b\n", "run.sh:1:6: a NUL byte: this is no text file"),
        ("#SBATCH --a 'b\n", "run.sh:1:1: #SBATCH: No closing quotation"),
        ("x" * (2**20), "run.sh:1:1: larger than 131,072 bytes"),
        ("(" * 100, "run.sh:1:1: more than 64 brackets are open at once"),
        ("if a; then " * 60 + "run; " + "fi; " * 60, "nested more than 32 levels deep"),
        ("A=xx\n" + "A=$A$A\n" * 60, "grows beyond any launch script"),
        ("A=(x y)\n" + "A=(${A[@]} ${A[@]})\n" * 60, "grows beyond any launch script"),
        ("A=$Q\n" + "A=$A$A\n" * 60, "grows beyond any launch script"),
        ("A='$A$A'\n" + 'eval "A=$A"\n' * 60, "grows beyond any launch script"),
        ("f0() { run; }\n"
         + "".join(f"f{i + 1}() {{ f{i}; f{i}; }}\n" for i in range(30)) + "f30",
         "run.sh:"),
        ("".join(f"f{i}() {{ f{i + 1}; f{i + 1}; f{i + 1}; f{i + 1}; f{i + 1}; f{i + 1}; }}\n"
         for i in range(10)) + "f0", "grows beyond any launch script"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, message: str) -> None:
    start = time.monotonic()
    with pytest.raises(FileProblem) as raised:
        commands("run.sh", text)
    assert message in str(raised.value)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "line",
    ['run --tp 4 $A "b $A"\n', "A+=(--x 1)\n", 'A="$A x"\n', "if x; then A=1; fi\n", "ü",
     "export A=1\n", "[[ (", "a|", '"${A:-', "'", "f() { a; }\n", "a && ", "#SBATCH -a b\n"],
)  # fmt: skip
def test_large_input_ends(line: str) -> None:
    start = time.monotonic()
    with contextlib.suppress(FileProblem):
        commands("run.sh", line * (40_000 // len(line)))
    assert time.monotonic() - start < 30


@given(st.lists(st.text(st.characters(exclude_characters="\0\r", codec="utf-8")), min_size=1))
@settings(deadline=None)
def test_quoted_words_come_back(given_words: list[str]) -> None:
    (command,) = commands("run.sh", shlex.join(["run", *given_words]))
    assert [word.text for word in command.words] == ["run", *given_words]


FRAGMENTS = st.sampled_from(
    ["$", "{", "}", "(", ")", "[", "]", "'", '"', "`", "\\", "\n", " ", "A", "=", "+=", "if ",
     "then ", "fi", "case ", " in ", "esac", "for ", "do ", "done", "${A[@]}", "$((", "))", "<<E",
     ";", ";;", "&&", "|", "#", "-z", "eval ", "bash -c ", "export ", "1", "ü", "@", ":-", "*"]
)  # fmt: skip


@given(st.lists(FRAGMENTS).map("".join) | st.text())
@settings(deadline=None, max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        commands("run.sh", text)
    except FileProblem as problem:
        assert problem.place is not None  # noqa: PT017  (most texts are read)


@pytest.mark.parametrize("before", ["{", "a{1..", "eval {"])
def test_characters_that_the_grammar_dies_of_are_refused(before: str) -> None:
    with pytest.raises(FileProblem, match=r"run\.sh:1:1: a character of a private plane"):
        commands("run.sh", f"{before}\U0010ffff")
    commands("run.sh", "echo {\U0001f680")
