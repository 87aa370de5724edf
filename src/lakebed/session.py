"""The Spark session: pinned jars, sane local defaults, any master.

This is the one module that may touch Spark's private sides. Importing it starts nothing.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed.archive import archive_options
from lakebed.cache import cache_folder
from lakebed.errors import SetupError
from lakebed.jars import delta_jars
from lakebed.java import Java, require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_JOINED = {"spark.sql.extensions": ",", "spark.jars": ",", "spark.driver.extraClassPath": os.pathsep}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# With one compiler the JVM has room for 48 MB of code, and Spark needs more: it would throw away and compile again.
_SHORT = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m"]
# Most of Spark's planning code runs a few hundred times: on few cores, to optimise it to the last costs more than it gives.
# What loops over rows is still found, by its loops.
_LOCAL = [
    "-XX:Tier4InvocationThreshold=30000",
    "-XX:Tier4MinInvocationThreshold=5000",
    "-XX:Tier4CompileThreshold=60000",
]
_COLLECTOR = "-XX:+UseParallelGC"  # nobody waits for an answer within milliseconds, and it leaves the cores to the work
_ECHOES = (
    "DataFrameQueryContextLogger",
    "SQLQueryContextLogger",
)  # they print each error that is raised anyway
_LOGS_KEPT = 10
_LARGEST_HEAP = 30 * 1024  # MiB; above 32 GiB Java's pointers double in size
_starting = threading.Lock()
_log: Path | None = None


def session(
    master: str | None = None, conf: Mapping[str, str] | None = None, *, short: bool = False
) -> SparkSession:
    """A session that knows Delta: the one that is active already, untouched, else a new one.

    `master` is `local[*]` unless given. `conf` wins over every default; what it says of extensions, jars, class
    path and Java options is added to lakebed's own. `short=True` is for commands and tests: the JVM is ready
    sooner, and computes at half speed. Under spark-submit, its master, jars and memory are taken as they are.
    One whose JVM has died is forgotten: what was made with it is of no use any more.
    """
    with _starting:
        if has_died():
            _forget()
        found = running() or _started(
            master, {name: str(value) for name, value in (conf or {}).items()}, short=short
        )
    return _knowing_delta(found)


def end(spark: SparkSession) -> None:
    """Stops the session and, where this process started it, the JVM too; returns when that has ended."""
    if has_died():
        _forget()
        return
    spark.stop()
    _let_go()


def has_died() -> bool:
    """Whether the JVM is gone that this process started, and nobody asked it to end."""
    from pyspark import SparkContext  # noqa: PLC0415  importing lakebed must stay quick

    process = getattr(SparkContext._gateway, "proc", None)
    return process is not None and process.poll() is not None


def _forget() -> None:
    """Clears what pyspark keeps of a JVM that is gone; else it would go on asking that one, and start no other."""
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession, SQLContext  # noqa: PLC0415

    context = SparkContext._active_spark_context
    if context is not None:
        context._jsc = None  # nobody is there to be told, and pyspark would try
        context.stop()
    SparkSession._instantiatedSession = SparkSession._activeSession = SQLContext._instantiatedContext = None
    _let_go()


def _let_go() -> None:
    """Ends the JVM that this process started, if it still runs, and this process's side of the connection to it."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import SparkContext  # noqa: PLC0415

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process = getattr(gateway, "proc", None)
    if gateway is not None:
        with suppress(Py4JError, OSError):  # it may be gone
            gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait()


def log_file() -> Path | None:
    """Where Spark's log of this process goes; None if lakebed started no JVM here."""
    return _log


def settings_for(master: str, given: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    """All settings of a session on this master: the defaults, and over them the given ones."""
    settings = _everywhere() | {"spark.master": master}
    if not is_local(master):
        return _merged(settings | {"spark.jars": ",".join(map(str, jars))}, given)
    cores = _cores(master)
    settings |= {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": f"{_memory_mib()}m",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.databricks.delta.snapshotPartitions": str(min(cores, 4)),
        # A batch needs more than the default's 100 pieces of generated code, so each would be compiled anew every time.
        "spark.sql.codegen.cache.maxEntries": "3000",
    }
    return _merged(settings, given)


def is_local(master: str) -> bool:
    """Whether all of Spark runs in this machine's one JVM."""
    return master == "local" or master.startswith("local[")


def running() -> SparkSession | None:
    """This process's session, if it has one that lives; not only this thread's, which Spark calls the active one."""
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415  importing lakebed must stay quick
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if has_died():
        return None
    try:
        found = SparkSession.active()
    except PySparkRuntimeError:
        return None
    context = getattr(found, "_sc", None)  # a Connect session has none
    return None if context is not None and context._jsc is None else found


def _started(master: str | None, given: Mapping[str, str], *, short: bool) -> SparkSession:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = master or given.get("spark.master") or (None if submitted else "local[*]")
    if master and master.startswith("sc://"):
        raise SetupError(
            f"{master} is a Spark Connect server, not a master.",
            code="connect_not_started_here",
            hint="open it yourself with SparkSession.builder.remote(…): lakebed takes the session that is active",
        )
    if submitted or master is None:
        return _opened(_merged(_everywhere(), given))
    java = require_java()
    jars = delta_jars(given)
    settings = settings_for(master, given, jars)
    _start_jvm(settings, _java_options(java, jars, settings, short=short))
    return _opened(settings)


def _everywhere() -> dict[str, str]:
    return {
        "spark.app.name": "lakebed",
        "spark.sql.extensions": EXTENSION,
        "spark.sql.catalog.spark_catalog": CATALOG,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # Files come in windows-1252 and others of the encodings that Java knows.
        "spark.sql.legacy.javaCharsets": "true",
        "spark.ui.showConsoleProgress": "false",
        # Every query is described for listeners, also where nobody looks: the short form saves planning time.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.maxPlanStringLength": "10000",
        # PySpark tells the JVM the line of every call, for its error messages: two in three of all calls.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }


def _merged(settings: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The given settings win; lists are joined, since one without Delta's part would not work."""
    merged = dict(settings) | dict(given)
    for name, separator in _JOINED.items():
        if name in settings and name in given:
            ours, theirs = settings[name].split(separator), given[name].split(separator)
            merged[name] = separator.join(dict.fromkeys([*ours, *theirs]))
    return merged


def _cores(master: str) -> int:
    if counted := re.match(r"local\[(\d+)", master):
        return int(counted[1])
    if master == "local":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_mib() -> int:
    """Half of what the machine, or the container around us, has."""
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            has = min(has, int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not in a container, or one without a limit ("max")
            continue
    return max(1024, min(has // 2**21, _LARGEST_HEAP))


def _java_options(java: Java, jars: Sequence[Path], settings: Mapping[str, str], *, short: bool) -> str:
    log4j = Path(str(resources.files("lakebed").joinpath("log4j2.properties"))).as_uri()
    # A database's times without a zone are read in the JVM's (G3).
    options = [f"-Dlog4j2.configurationFile={log4j}", "-Duser.timezone=UTC"]
    if is_local(settings["spark.master"]):
        options += archive_options(java, jars)
    if short:
        options += _SHORT
    elif is_local(settings["spark.master"]):
        options += [*_LOCAL, *([] if "GC" in settings.get(_JAVA_OPTIONS, "") else [_COLLECTOR])]
    return " ".join([*(f'"{option}"' for option in options), settings.get(_JAVA_OPTIONS, "")])


def _start_jvm(settings: Mapping[str, str], java_options: str) -> None:
    """Starts the JVM with all its output going to a file; does nothing if this process has one already."""
    global _log  # noqa: PLW0603  as the JVM itself, there is one in a process
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.logger import PySparkLogger  # noqa: PLC0415

    if SparkContext._gateway is not None:
        return
    _log = _new_log_file()
    conf = SparkConf(loadDefaults=False)
    crash = f'"-XX:ErrorFile={_log.with_suffix("")}-crash.log"'
    conf.setAll([*settings.items(), (_JAVA_OPTIONS, f"{crash} {java_options}")])
    with _log.open("ab") as output:
        try:
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise _not_started("Java ended before Spark was there") from error
    SparkContext._ensure_initialized(gateway=gateway)
    for name in _ECHOES:
        PySparkLogger.getLogger(name).handlers = [logging.NullHandler()]


def _new_log_file() -> Path:
    """In the cache, where the last few are kept, and those of processes that still run; in a folder of its own where the cache is
    only to be read."""
    name = f"spark-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    try:
        folder = cache_folder("logs")
        (folder / name).touch()
    except (SetupError, OSError):
        return Path(tempfile.mkdtemp(prefix="lakebed-"), name)
    for old in sorted(folder.glob("spark-*.log"))[:-_LOGS_KEPT]:
        process = re.search(r"-(\d+)(-crash)?\.log$", old.name)
        if process is None or not _is_alive(int(process[1])):
            old.unlink(missing_ok=True)
    return folder / name


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _opened(settings: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder
    for name, value in settings.items():
        if name != _JAVA_OPTIONS:  # the JVM has them already, together with lakebed's
            builder = builder.config(name, value)
    try:
        opened = builder.getOrCreate()
        _remember_functions(opened)
        return opened
    except ConnectionError as error:
        raise _not_started("Java ended while Spark was starting") from error
    except (Py4JError, PySparkException) as error:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\tat ")]
        raise _not_started(lines[1] if len(lines) > 1 else lines[0]) from error


def _remember_functions(spark: SparkSession) -> None:
    """For each call of one of Spark's functions PySpark asks the JVM for their class, then for the function, then calls it.
    A batch is planned with hundreds of calls, so this process asks once."""
    from py4j.java_gateway import JavaClass  # noqa: PLC0415

    class Remembering(JavaClass):  # type: ignore[misc]  # py4j has no types
        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            setattr(self, name, found)
            return found

    jvm = spark._jvm
    for asked in ("functions", "org.apache.spark.sql.functions", "PythonUtils"):
        found = getattr(jvm, asked)
        setattr(jvm, asked, Remembering(found._fqn, found._gateway_client))


def _not_started(why: str) -> SetupError:
    lines = _log.read_text(encoding="utf-8", errors="replace").splitlines() if _log else []
    return SetupError(
        f"Spark did not start: {why}.",
        code="spark_not_started",
        hint=f"look at Spark's log, {_log}" if _log else "look at Spark's log",
        sample=[line.strip() for line in lines if "Error" in line or "Exception" in line][:1],
    )


def _knowing_delta(spark: SparkSession) -> SparkSession:
    """The session, if it has Delta's extension and a catalog for its tables; else it would fail later, and darkly."""
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if EXTENSION not in extensions or not spark.conf.get("spark.sql.catalog.spark_catalog", ""):
        raise SetupError(
            "The Spark session that is active does not know Delta.",
            code="session_without_delta",
            hint=f"start it with spark.sql.extensions={EXTENSION}, spark.sql.catalog.spark_catalog={CATALOG} "
            "and Delta's jars, or stop it and let lakebed's session() start one",
        )
    return spark
