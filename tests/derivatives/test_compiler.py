"""Compilers that fail, hang or lie, and caches that are damaged, full or another user's."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pinnsig
from pinnsig import Callback
from pinnsig.derivatives.compiled import commands, compiler
from pinnsig.derivatives.compiled import tape as compiled_tape
from pinnsig.derivatives.compiled.cache import check_parents, user_folder
from pinnsig.derivatives.compiled.compiler import compiler_notice, load
from pinnsig.derivatives.compiled.programs import find_interpreter
from pinnsig.optim.packed import find_kernel
from tests.conftest import SMALL
from tests.processes import wait_until_gone

SOURCE = "int answer(void) { return 42; }\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="compilers and owners of POSIX")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """An empty cache of its own, and compilers that nobody has asked yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "pinnsig"
    forget()


def forget() -> None:
    """Have everything compiled or loaded anew."""
    for cached in (
        compiler._toolchain, compiled_tape.find_library, compiled_tape._network, find_interpreter,
        find_kernel,
    ):  # fmt: skip
        cached.cache_clear()


Script = Callable[[str], Path]


@pytest.fixture
def script(tmp_path: Path, monkeypatch) -> Script:
    """Makes a compiler of a shell script, in which OUT is the file that it is to make."""

    def make(text: str) -> Path:
        path = tmp_path / "compiler"
        path.write_text(
            "#!/bin/sh\n"
            'if [ "$1" = --version ]; then echo 1.0; exit 0; fi\n'
            'while [ $# -gt 0 ]; do [ "$1" = -o ] && OUT="$2"; shift; done\n' + text,
            encoding="utf-8",
        )
        path.chmod(0o700)
        monkeypatch.setenv("CC", str(path))
        return path

    return make


@pytest.fixture
def compiled(cache: Path) -> Path:
    """The library of SOURCE, in the cache."""
    if load(SOURCE) is None:
        pytest.skip(f"there is no C compiler here: {compiler_notice()}")
    (library,) = cache.iterdir()
    forget()
    return library


def answer(source: str = SOURCE) -> int:
    library = load(source)
    assert library is not None, compiler_notice()
    return library.answer()


def test_a_library_is_kept_for_its_user_alone(compiled: Path):
    inode = compiled.stat().st_ino
    assert answer() == 42
    assert compiled.stat().st_ino == inode  # and not made again
    assert compiled.stat().st_mode & 0o077 == 0
    assert [path.stat().st_mode & 0o777 for path in (compiled.parent, compiled.parents[1])] == [
        0o700, 0o700,
    ]  # fmt: skip
    assert compiler_notice() is None


def test_other_flags_versions_and_processors_have_libraries_of_their_own(compiled, monkeypatch):
    monkeypatch.setattr(compiler, "processor_features", lambda: "flags : other")
    assert answer() == 42
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-g"))
    forget()
    assert answer() == 42
    assert len({path.name.split("-")[0] for path in compiled.parent.iterdir()}) == 3


def test_code_is_for_no_processor_in_particular_where_it_cannot_be_told(monkeypatch):
    monkeypatch.setattr(compiler, "processor_features", lambda: "")
    assert compiler.Toolchain("cc").tuned == ((),)


def emptied(data: bytes) -> bytes:
    return b""


def zeroed(data: bytes) -> bytes:
    return data[:4096] + bytes(len(data) - 4096)


def one_bit(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


@pytest.mark.parametrize(
    "damage", [*(pytest.param(d, marks=pytest.mark.slow) for d in (emptied, zeroed)), one_bit]
)
def test_a_damaged_library_is_made_again(compiled: Path, damage: Callable[[bytes], bytes]):
    """In a process of its own, which loading such a file could kill."""
    whole = compiled.read_bytes()
    compiled.unlink()  # which this process has loaded
    compiled.write_bytes(damage(whole))
    compiled.chmod(0o600)
    code = (
        "from pinnsig.derivatives.compiled.compiler import compiler_notice, load\n"
        f"assert load({SOURCE!r}).answer() == 42\n"
        "assert compiler_notice() is None\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (library,) = compiled.parent.iterdir()
    assert library.read_bytes() == whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('printf part > "$OUT"\nexit 1\n', "exit code 1"),
        ('printf part > "$OUT"\nexit 0\n', "no library that can be loaded"),
        (": > $OUT\n", "no library that can be loaded"),
        ("exit 0\n", "no library that can be loaded"),
        ("echo kernel.c: fatal error: no room >&2; exit 4\n", "4: kernel.c: fatal error: no room"),
        ('kill -9 $$\n', "exit code -9"),
    ],
)  # fmt: skip
def test_what_a_failing_compiler_leaves_is_never_kept(cache, script, text: str, words: str):
    script(text)
    assert load(SOURCE) is None
    assert words in (compiler_notice() or "")
    assert list(cache.iterdir()) == []


def test_a_library_that_kills_whoever_loads_it_is_not_loaded(cache, script):
    """One whose start-up code crashes, as that of a cut file can."""
    script(
        'printf "__attribute__((constructor)) void f(void) { *(volatile int *)0 = 1; }" > $OUT.c\n'
        'exec cc -shared -fPIC -o "$OUT" "$OUT.c"\n'
    )
    assert load(SOURCE) is None
    assert "no library that can be loaded" in (compiler_notice() or "")
    assert list(cache.iterdir()) == []


def test_a_hanging_compiler_is_killed_with_its_children_and_not_asked_again(
    tmp_path, script, monkeypatch
):
    monkeypatch.setattr(commands, "LIMIT", 0.2)
    script(f"sleep 1000 &\necho $$ $! >> {tmp_path}/began\nwait\n")
    while load(SOURCE) is None and not (tmp_path / "began").exists():
        forget()  # a machine so busy that it did not get as far
    assert load(SOURCE) is None
    assert load(SOURCE + "\n") is None
    assert "did not end within 0.2 s" in (compiler_notice() or "")
    began = (tmp_path / "began").read_text(encoding="ascii").splitlines()
    assert len(began) == 1
    for process in began[0].split():
        wait_until_gone(int(process))


def test_a_compiler_may_be_several_words(script, tmp_path: Path, monkeypatch):
    wrapper = tmp_path / "cache of compilers"
    wrapper.write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
    wrapper.chmod(0o700)
    monkeypatch.setenv("CC", f"{shlex.quote(str(wrapper))} cc")
    assert answer() == 42
    monkeypatch.setenv("CC", str(wrapper))  # one word with spaces in it, but no compiler
    assert load(SOURCE) is None
    for asked, words in (("'gcc", "cannot be read"), ("no-such-cc -O2", "no C compiler 'no-such")):
        monkeypatch.setenv("CC", asked)
        assert load(SOURCE) is None
        assert words in (compiler_notice() or "")


@pytest.mark.parametrize("why", ["open", "open above", "another user's", "another user's above"])
def test_a_folder_that_others_could_fill_is_not_used(compiled: Path, why: str, monkeypatch):
    """Not even its library, though it is whole; a private folder takes its place."""
    folder = compiled.parent.parent if why.endswith("above") else compiled.parent
    if why.startswith("open"):
        folder.chmod(0o777)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: compiled.stat().st_uid + 1)
    before = compiled.read_bytes()
    assert answer() == 42
    assert str(folder if why.startswith("open") else compiled.parent) in (compiler_notice() or "")
    assert "each process compiles it anew" in (compiler_notice() or "")
    assert [compiled] == list(compiled.parent.iterdir())
    assert compiled.read_bytes() == before


def test_root_makes_nothing_in_the_home_of_another(tmp_path: Path, monkeypatch):
    """As `sudo` with HOME kept would, and leave a folder that its owner cannot use."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    if os.geteuid() == 0:
        os.chown(home, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(OSError, match="belongs to another user"):
        user_folder()
    assert list(home.iterdir()) == []


def test_a_file_that_others_could_write_is_not_loaded(compiled: Path):
    compiled.chmod(0o666)
    assert answer() == 42
    assert compiled.stat().st_mode & 0o077 == 0  # made again


def test_a_link_to_a_library_is_not_followed(compiled: Path, tmp_path: Path):
    compiled.rename(tmp_path / "elsewhere.so")
    compiled.symlink_to(tmp_path / "elsewhere.so")
    assert answer() == 42
    assert not compiled.is_symlink()


def test_a_folder_may_be_a_link_to_one_of_the_user(cache: Path, tmp_path: Path):
    (tmp_path / "scratch").mkdir(mode=0o700)
    cache.parent.mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "scratch")
    assert answer() == 42
    assert len(list((tmp_path / "scratch").iterdir())) == 1


def test_where_nobody_may_move_what_is_not_theirs_others_may_write(tmp_path: Path):
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o1777)
    check_parents(shared / "mine")
    shared.chmod(0o777)
    with pytest.raises(OSError, match=r"can write to .*shared \(mode 777\)"):
        check_parents(shared / "mine")


def test_without_a_home(monkeypatch):
    def lost() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", lost)
    assert answer() == 42
    assert "no home directory (HOME)" in (compiler_notice() or "")


@pytest.mark.parametrize("fault", ["No space left on device", "Read-only file system"])
def test_a_cache_that_cannot_be_written_is_done_without(cache: Path, fault: str, monkeypatch):
    from pinnsig.derivatives.compiled import cache as module

    write = module.write_whole

    def refuse(path: Path, data: bytes, private: bool = False) -> Path:
        if path.parent == cache:
            raise OSError(28, fault, str(path))
        return write(path, data, private=private)

    monkeypatch.setattr(module, "write_whole", refuse)
    assert answer() == 42
    assert f": {fault})" in (compiler_notice() or "")


def test_the_private_folder_goes_with_its_process(tmp_path: Path):
    """And not with a copy of the process that a fork makes."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "cache").write_text("a file is in the way", encoding="utf-8")
    code = (
        "import os, pathlib, sys\n"
        "from pinnsig.derivatives.compiled.compiler import load\n"
        f"assert load({SOURCE!r}).answer() == 42\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "(folder,) = pathlib.Path(os.environ['TMPDIR']).iterdir()\n"
        "assert len(list(folder.iterdir())) == 1\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_switched_off_nothing_is_said(monkeypatch):
    monkeypatch.setenv("PINNSIG_COMPILE", "0")
    assert load(SOURCE) is None
    assert compiler_notice() is None


class Notices(Callback):
    """What a run says before it trains."""

    def started(self, parts, path):
        self.found = parts.notices


@pytest.mark.parametrize(
    "phases", [pytest.param(["adam:2"], marks=pytest.mark.slow), ["adam:2", "ssbroyden:2"]]
)
def test_a_run_says_it_once_and_what_it_costs(tmp_path: Path, monkeypatch, phases):
    said = Notices()
    small = {name: value for name, value in SMALL.items() if name not in ("adam", "lbfgs")}
    flags = {**small, "phases": phases, "runs": tmp_path, "figures": False, "callbacks": [said]}
    with_c = pinnsig.solve("burgers", **flags)
    assert [text for text in said.found if "compiled C" in text] == []
    monkeypatch.setenv("CC", "no-such-compiler")
    forget()
    without = pinnsig.solve("burgers", **flags)
    (notice,) = [text for text in said.found if "compile" in text]
    assert "no-such-compiler" in notice
    assert "three to six times as long" in notice
    assert without.best_loss == pytest.approx(with_c.best_loss, rel=1e-9)
    forget()
    pinnsig.resume(without.path, phases=["adam:1"], figures=False, callbacks=[said])
    assert [text for text in said.found if "compile" in text] == [notice]
