"""Which names look like secrets."""

from __future__ import annotations

import pytest

from lakebed.manifest.references import is_secret_name, secret_in_setting, secret_in_url


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.s3a.session.token", "password",
        "fs.azure.account.key.shop.dfs.core.windows.net", "spark.ssl.keyStorePassword", "client_secret", "apiKey", "spark.authenticate.secret",
    ],
)  # fmt: skip
def test_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert secret_in_setting(name, "hush")
    assert not secret_in_setting(name, "${env:X}")


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.shuffle.partitions", "header", "spark.hadoop.fs.s3a.aws.credentials.provider", "hadoop.security.credential.provider.path",
        "spark.kubernetes.authenticate.oauthTokenFile", "primary_key", "spark.sql.tokenizer", "compass",
    ],
)  # fmt: skip
def test_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("postgresql://me:hush@db/x", True),
        ("postgresql://me:${env:PW}@db/x", False),
        ("postgresql://me@db:5432/x", False),
        ("postgresql://db/x?password=hush", True),
        ("postgresql://db/x?password=${env:PW}", False),
        ("s3a://bucket/path", False),
        ("sqlite:///.lakebed/control.db", False),
        ("spark://host:7077", False),
        ("${env:CONTROL}", False),
    ],
)
def test_urls(url: str, secret: bool) -> None:  # noqa: FBT001 - a column of the table above
    assert secret_in_url(url) is secret
