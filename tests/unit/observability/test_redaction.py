import pytest

from headwater.observability.redaction import holds_secret, is_secret_name, redact


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "fs.s3a.secret.key",
        "fs.s3a.access.key",
        "fs.s3a.session.token",
        "AWS_SECRET_ACCESS_KEY",
        "aws_access_key_id",
        "sessionToken",
        "spark.ssl.keyPassword",
        "fs.azure.account.key.x.dfs.core.windows.net",
        "fs.azure.account.oauth2.client.secret",
        "hoodie.datasource.hive_sync.password",
        "api_key",
        "accesskey",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "record_key",
        "hoodie.datasource.write.recordkey.field",
        "fs.s3a.aws.credentials.provider",
        "spark.kubernetes.authenticate.oauthTokenFile",
        "spark.hadoop.fs.s3a.server-side-encryption.key",
        "fs.s3a.access.style",
        "tokenizer",
        "keys",
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    assert not is_secret_name(name)


def test_secrets_are_detected_by_their_format() -> None:
    assert holds_secret("https://me:pass@host/x")
    assert holds_secret("id AKIAABCDEFGHIJKLMNOP")
    assert not holds_secret("https://sqs.eu-central-1.amazonaws.com/1/q")
    assert not holds_secret("s3a://bucket/a:b@c")


def test_redaction_reaches_nested_values_and_keeps_the_rest() -> None:
    data = {"a": {"password": "x", "n": 1}, "urls": ["http://u:p@h/"], "token": None}
    assert redact(data) == {"a": {"password": "***", "n": 1}, "urls": ["http://***@h/"], "token": None}
