"""Finds Google's default credentials that the JVM's connector does not find by itself."""

from collections.abc import Mapping
from pathlib import Path

from headwater.config.settings import Settings
from headwater.lake.prerequisites.spark_settings import list_file_systems

_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_FILE = "application_default_credentials.json"


def find_google_credentials(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for the JVM of a session that accesses Cloud Storage.

    The connector reads the variable, or asks the metadata server. The file of `gcloud auth
    application-default login`, which Google's libraries read in between, it ignores unless named.
    """
    if "gs" not in list_file_systems(settings) or environ.get(_VARIABLE):
        return {}
    folder = environ.get("CLOUDSDK_CONFIG") or Path(environ.get("HOME", "/"), ".config", "gcloud")
    file = Path(folder, _FILE)
    return {_VARIABLE: str(file)} if file.is_file() else {}
