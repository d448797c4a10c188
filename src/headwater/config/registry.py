"""Credentials of the schema registry, from the environment."""

from base64 import b64encode
from collections.abc import Mapping

from headwater.errors import ConfigError

USER_VARIABLE = "HEADWATER_REGISTRY_USER"
PASSWORD_VARIABLE = "HEADWATER_REGISTRY_PASSWORD"  # noqa: S105 - the name of the variable
TOKEN_VARIABLE = "HEADWATER_REGISTRY_TOKEN"  # noqa: S105 - the name of the variable


def read_authorization(environ: Mapping[str, str]) -> str:
    """Return the value of the header Authorization; empty without credentials. Raises `ConfigError`."""
    user, password, token = (environ.get(n, "") for n in (USER_VARIABLE, PASSWORD_VARIABLE, TOKEN_VARIABLE))
    if token and (user or password):
        raise ConfigError(
            f"{TOKEN_VARIABLE} and {USER_VARIABLE} are both set",
            hint="unset one of them: a request sends one",
        )
    if bool(user) != bool(password):
        missing = PASSWORD_VARIABLE if user else USER_VARIABLE
        raise ConfigError(
            f"{missing} is not set", hint="set both, or neither for a registry without access control"
        )
    if token:
        return f"Bearer {token}"
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""
