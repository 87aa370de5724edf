"""The session: what it is set to, that it stays quiet and private, and what it says when it cannot start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from lakebed import session as module
from lakebed.errors import SetupError
from lakebed.jars import delta_jars
from lakebed.session import CATALOG, EXTENSION, log_file, session, settings_for

JARS = (Path("/jars/spark.jar"), Path("/jars/storage.jar"))
LISTENING = "0A"


def _run(script: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, where no session is active yet."""
    return subprocess.run(
        [*(command or (sys.executable, "-c")), script],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=600,
        check=False,
    )


class Test_settings:
    def test_local_by_default_on_loopback_and_for_small_tables(self) -> None:
        settings = settings_for("local[3]", {}, JARS)
        assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
        assert settings["spark.ui.enabled"] == "false"
        assert settings["spark.sql.shuffle.partitions"] == settings["spark.default.parallelism"] == "3"
        assert settings["spark.databricks.delta.snapshotPartitions"] == "3"
        assert settings["spark.sql.session.timeZone"] == "UTC"
        assert settings["spark.sql.ansi.enabled"] == "true"
        assert settings["spark.driver.extraClassPath"] == "/jars/spark.jar:/jars/storage.jar"
        assert "spark.jars" not in settings

    def test_a_cluster_gets_the_jars_and_keeps_its_own_addresses(self) -> None:
        settings = settings_for("spark://host:7077", {}, JARS)
        assert settings["spark.master"] == "spark://host:7077"
        assert settings["spark.jars"] == "/jars/spark.jar,/jars/storage.jar"
        for local in (
            "spark.driver.host",
            "spark.driver.bindAddress",
            "spark.driver.memory",
            "spark.ui.enabled",
        ):
            assert local not in settings
        assert settings["spark.sql.extensions"] == EXTENSION

    def test_what_is_given_wins(self) -> None:
        given = {
            "spark.sql.session.timeZone": "Europe/Berlin",
            "spark.driver.memory": "3g",
            "spark.own": "yes",
        }
        assert given.items() <= settings_for("local[*]", given, JARS).items()

    def test_lists_are_joined_and_nothing_is_in_them_twice(self) -> None:
        given = {
            "spark.sql.extensions": f"my.Extension,{EXTENSION}",
            "spark.driver.extraClassPath": "/my.jar",
            "spark.jars": "/other.jar",
        }
        local = settings_for("local", given, JARS)
        assert local["spark.sql.extensions"] == f"{EXTENSION},my.Extension"
        assert local["spark.driver.extraClassPath"] == "/jars/spark.jar:/jars/storage.jar:/my.jar"
        assert local["spark.jars"] == "/other.jar"
        remote = settings_for("yarn", given, JARS)
        assert remote["spark.jars"] == "/jars/spark.jar,/jars/storage.jar,/other.jar"

    @pytest.mark.parametrize(("master", "cores"), [("local", 1), ("local[4]", 4), ("local[4, 2]", 4)])
    def test_partitions_follow_the_cores(self, master: str, cores: int) -> None:
        assert settings_for(master, {}, JARS)["spark.sql.shuffle.partitions"] == str(cores)

    def test_memory_is_a_share_of_the_machine(self) -> None:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
        memory = int(settings_for("local[*]", {}, JARS)["spark.driver.memory"].removesuffix("m"))
        assert 1024 <= memory <= max(1024, machine // 2)


class Test_active_session:
    def test_is_returned_untouched(self, spark: SparkSession) -> None:
        spark.createDataFrame([], "n int")  # makes it the active one: a test before may have used another
        before = dict(spark.conf.getAll)
        assert session("local[1]", {"spark.sql.session.timeZone": "Asia/Tokyo"}) is spark
        assert dict(spark.conf.getAll) == before

    def test_is_returned_untouched_in_other_threads_too(self, spark: SparkSession) -> None:
        before = dict(spark.conf.getAll)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(session, conf={"spark.sql.session.timeZone": "Asia/Tokyo"}).result() is spark
        assert dict(spark.conf.getAll) == before

    def test_has_what_was_asked_for(self, spark: SparkSession, tmp_path: Path) -> None:
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.sql.catalog.spark_catalog") == CATALOG
        spark.range(3).write.format("delta").save(str(tmp_path / "table"))
        assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 3

    def test_is_refused_with_the_settings_it_lacks_if_it_does_not_know_delta(self) -> None:
        ran = _run(
            "from pyspark.sql import SparkSession\n"
            "from lakebed.session import session\n"
            "SparkSession.builder.master('local[1]').config('spark.ui.enabled', False).getOrCreate()\n"
            "session()"
        )
        assert "[session_without_delta]" in ran.stderr
        assert f"spark.sql.extensions={EXTENSION}" in ran.stderr
        assert f"spark.sql.catalog.spark_catalog={CATALOG}" in ran.stderr


class Test_start:
    @pytest.fixture
    def nothing_active(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As if no session were active; and a start that gets as far as a JVM fails the test."""
        monkeypatch.setattr(module, "running", lambda: None)
        monkeypatch.setattr(module, "_start_jvm", lambda *_: pytest.fail("a JVM would be started"))

    @pytest.mark.usefixtures("nothing_active")
    def test_a_missing_java_is_told_before_a_JVM_is_tried(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(SetupError) as raised:
            session()
        assert raised.value.code == "java_missing"

    @pytest.mark.usefixtures("nothing_active")
    def test_a_connect_server_is_no_master(self) -> None:
        with pytest.raises(SetupError, match="Spark Connect") as raised:
            session("sc://host")
        assert raised.value.code == "connect_not_started_here"
        assert "builder.remote" in str(raised.value.hint)

    def test_is_quiet_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """Also with a blank in the cache's path, where an option in want of quotes would break."""
        cache = tmp_path / "the cache"
        (cache / "jars").mkdir(parents=True)
        for jar in delta_jars():
            shutil.copy(jar, cache / "jars")
        work = tmp_path / "work"
        work.mkdir()
        ran = _run(
            f"""
import os
os.chdir({str(work)!r})
from lakebed.session import end, log_file, session
assert log_file() is None
spark = session("local[2]", {{"spark.driver.memory": "1g"}}, short=True)
spark.range(9).write.format("delta").save({str(tmp_path / "table")!r})
assert spark.read.format("delta").load({str(tmp_path / "table")!r}).where("id > 3").count() == 5
try:
    spark.range(1).select("nowhere")
except Exception as error:
    assert "nowhere" in str(error)
else:
    raise AssertionError
end(spark)
assert log_file().parent == __import__("pathlib").Path({str(cache / "logs")!r})
assert "NativeCodeLoader" in log_file().read_text()
assert os.listdir() == []
""",
            LAKEBED_CACHE=str(cache),
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    def test_one_that_fails_says_why_and_the_next_one_works(self) -> None:
        ran = _run("""
from lakebed.errors import SetupError
from lakebed.session import log_file, session
for master, memory, told in [
    ("nonsense", "1g", "Master must"),
    ("local[1]", "1m", "initialization of VM"),
    ("local[x]", "1g", "local[x]"),
]:
    try:
        session(master, {"spark.driver.memory": memory}, short=True)
    except SetupError as error:
        assert error.code == "spark_not_started", error
        assert told in str(error), error
        assert str(log_file()) in error.hint, error
    else:
        raise AssertionError(master)
assert session("local[1]", short=True).range(3).count() == 3
""")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    def test_one_whose_JVM_died_is_replaced_or_ended(self) -> None:
        ran = _run("""
import logging, os, signal
from pyspark import SparkContext
from pyspark.sql import functions as F
from lakebed.session import end, has_died, running, session

logging.getLogger().addHandler(logging.NullHandler())  # py4j tells it there

def kill():
    assert not has_died()
    process = SparkContext._gateway.proc
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert has_died()
    assert running() is None

assert not has_died()
first = session("local[1]", short=True)
assert first.range(3).count() == 3
kill()
second = session("local[1]", short=True)
assert second is not first
assert second.newSession().range(3).where(F.col("id") > 0).count() == 2
kill()
end(second)
assert not has_died()
assert running() is None
""")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    def test_takes_what_spark_submit_gives(self, tmp_path: Path) -> None:
        script = tmp_path / "job.py"
        script.write_text(
            "from lakebed.session import end, log_file, session\n"
            "spark = session()\n"
            "assert spark.sparkContext.master == 'local[1]', spark.sparkContext.master\n"
            "assert spark.conf.get('spark.sql.session.timeZone') == 'UTC'\n"
            f"spark.range(2).write.format('delta').save({str(tmp_path / 'table')!r})\n"
            "assert log_file() is None\n"
            "print('written')\n",
            encoding="utf-8",
        )
        home = _find_spark_home()
        submit = f"{home}/bin/spark-submit"
        jars = ",".join(map(str, delta_jars()))
        quick = "spark.databricks.delta.snapshotPartitions=1"
        command = (
            submit,
            "--master",
            "local[1]",
            "--jars",
            jars,
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            quick,
        )
        ran = _run(str(script), *command, SPARK_HOME=home, PYSPARK_PYTHON=sys.executable)
        assert ran.stdout.strip() == "written", ran.stderr


class Test_log:
    @pytest.mark.usefixtures("spark")
    def test_is_in_the_cache(self) -> None:
        path = log_file()
        assert path is not None
        assert path.exists()

    def test_the_last_ten_are_kept_and_those_in_use(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path))
        (tmp_path / "logs").mkdir()
        ended = subprocess.Popen(["true"])
        ended.wait()
        in_use = f"spark-20000101T000000-{os.getpid()}.log"
        names = [f"spark-200001{day}T000000-{ended.pid}.log" for day in range(10, 30)]
        for name in (in_use, names[0].replace(".log", "-crash.log"), *names):
            (tmp_path / "logs" / name).touch()
        new = module._new_log_file()
        kept = sorted(path.name for path in (tmp_path / "logs").iterdir())
        assert kept == [in_use, *names[-9:], new.name]

    def test_goes_elsewhere_if_the_cache_is_only_to_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "logs").touch()  # in the way, as no permission can be for root
        new = module._new_log_file()
        assert new.parent.parent == tmp_path
        assert new.parent.stat().st_mode & 0o077 == 0


def test_the_jvm_is_asked_once_for_a_function(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    functions = jvm.functions
    assert jvm.functions is functions
    assert functions.col is functions.col


@pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="the kernel's tables of sockets are only on Linux"
)
def test_nothing_listens_but_on_loopback(spark: SparkSession) -> None:
    spark.range(4).repartition(2).count()  # a shuffle, so that every service that ever listens is up
    processes = [os.getpid(), *_descendants(os.getpid())]
    assert SparkContext._gateway is not None
    assert SparkContext._gateway.proc.pid in processes
    own = {inode for process in processes for inode in _sockets(process)}
    addresses = {address for inode, address in _listeners() if inode in own}
    assert addresses, "Spark listens somewhere, or this test looks at the wrong processes"
    assert {address for address in addresses if not _is_loopback(address)} == set()


def _descendants(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in map(int, (task / "children").read_text(encoding="ascii").split()):
            yield child
            yield from _descendants(child)


def _sockets(process: int) -> Iterator[str]:
    for opened in Path(f"/proc/{process}/fd").iterdir():
        try:
            target = str(opened.readlink())
        except OSError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")


def _listeners() -> Iterator[tuple[str, str]]:
    """Inode and address, as the kernel writes it, of every listening TCP socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENING:
                yield rest[5], local.rpartition(":")[0]


def _is_loopback(address: str) -> bool:
    """127.0.0.0/8, ::1, and the first written as an IPv6 address; words are in the machine's byte order."""
    words = [bytes.fromhex(address[i : i + 8]) for i in range(0, len(address), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return (raw[-4] == 127 and raw[:-4] in (b"", b"\0" * 10 + b"\xff\xff")) or raw == b"\0" * 15 + b"\1"
