"""Hide secrets in texts: passwords and tokens of URLs, and values of their parameters.

Messages, records and reports are printed, logged and shared, so all of them pass through `masked`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
# a URL in a text, or the parameters of one; spaces and the next URL end it, and after its @ quotes
_URL = re.compile(
    rf"(?:{_SCHEME}(?:[^\s/?#@]*@)?|[?&][\w.%-]+=)(?:(?!{_SCHEME})[^\s'\"<>])*(?<![),.:;\]}}])",
    re.ASCII,
)
# schemes of files; their parameters are often no secrets, and their paths may contain @
_OF_FILES = r"(?:file|https?|s3[an]?|r2|gc?s|az|abfss?|hf)://"
_IS_OF_FILES = re.compile(rf"{_OF_FILES}|[?&]", re.IGNORECASE)
# user:password@, the token alone before @, and the parameters
_SECRETS = (
    re.compile(r"(?P<before>\A(?:databricks|https?)://)(?P<secret>[^:@/?#]+)(?=@)", re.IGNORECASE),
    re.compile(
        rf"(?P<before>\A{_OF_FILES}[^:@/?#]*:)"
        r"(?P<secret>[^/?#]*(?=@)|(?!\d*[/?#]).*(?=@))",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        rf"(?P<before>\A(?!{_OF_FILES})[^:/?#]*://[^:@/?#]*:)(?P<secret>.*)(?=@)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"(?P<before>[?&](?P<name>[^=&#]*)=)(?P<secret>[^&#]*)"),
)
# parameters, and values of parameters, that are no secrets; others can be
_CLEAR_NAMES = (
    "account", "api_endpoint", "application_name", "auth_type", "authenticator", "catalog",
    "connect_timeout", "connection_name", "database", "dialect", "host", "http_path", "http_scheme",
    "location",
    "maximum_bytes_billed", "options", "port", "private_key_file", "region", "role", "schema",
    "service", "sslmode", "user", "verify", "versionid", "warehouse",
)  # fmt: skip
_CLEAR_VALUES = ("0", "1", "true", "false", "yes", "no", "on", "off")
# parameters of files: secrets have such a name, or a long value
_OF_SECRETS = re.compile(r"auth|code|cred|jwt|key|pass|policy|pwd|secret|session|sig|token")
_LONG = 16  # characters


def masked(text: str) -> str:
    """Return a text with `***` instead of the secrets in its URLs."""
    return _URL.sub(lambda match: masked_url(match[0]), text)


def masked_url(url: str) -> str:
    """Return a URL with `***` instead of its passwords, and of parameters that can be secret."""

    def hidden(match: re.Match[str]) -> str:
        return match["before"] + (MASK if _is_secret(match) else match["secret"])

    for pattern in _SECRETS:
        url = pattern.sub(hidden, url)
    return url


def without_secrets(text: str, url: str) -> str:
    """Return the message of a driver without the secrets of the URL that was passed to it."""
    matches = (match for pattern in _SECRETS for match in pattern.finditer(url))
    found = [match["secret"] for match in matches if _is_secret(match)]
    secrets = {spelled for secret in found for spelled in (secret, unquote(secret))}
    text = text.replace(url, masked_url(url))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _is_secret(match: re.Match[str]) -> bool:
    name = match.groupdict().get("name")
    if name is None:
        return True
    name, value = unquote(name).lower(), match["secret"]
    if name in _CLEAR_NAMES or value.lower() in _CLEAR_VALUES:
        return False
    of_file = _IS_OF_FILES.match(match.string) is not None
    return not of_file or bool(_OF_SECRETS.search(name)) or len(value) >= _LONG
