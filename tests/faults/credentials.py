"""Certificates and tokens of a cluster, and their replacement while it runs."""

from __future__ import annotations

import os
import pathlib
import secrets
import subprocess

from fault import Fault

# Roles look at files of tokens every second and at certificates every two.
NOTICED_SECONDS = 4.0


class Credentials:
    """A certificate authority, one certificate for all roles, and the files of both tokens.

    `environment` is added to the environment of openssl, whose clock decides from when on a
    certificate is valid.
    """

    def __init__(self, folder: pathlib.Path, environment: dict[str, str]) -> None:
        folder.mkdir()
        self._environment = environment
        self.folder = folder
        self.ca = folder / "ca.pem"
        self.certificate = folder / "certificate.pem"
        self.key = folder / "key.pem"
        self.token = folder / "token"
        self.admin_token = folder / "admin_token"
        self._ca_key = folder / "ca-key.pem"
        name = ["-subj", "/CN=authority of this test"]
        self._openssl("req", "-x509", *name, "-keyout", self._ca_key, "-out", self.ca)
        self.issue()
        self.write_tokens([secrets.token_hex(16)])
        self.admin_token.write_text(secrets.token_hex(16) + "\n")

    def config(self) -> str:
        """Returns the section `security` of a configuration."""
        return (
            f"security {{\n  ca_file: '{self.ca}'\n  certificate_file: '{self.certificate}'\n"
            f"  key_file: '{self.key}'\n  token_file: '{self.token}'\n"
            f"  admin_token_file: '{self.admin_token}'\n}}\n"
        )

    def issue(self) -> None:
        """Replaces the certificate and its key by new ones of the same authority."""
        new = {path: path.with_suffix(".new") for path in (self.certificate, self.key)}
        request = self.folder / "request.pem"
        names = self.folder / "names"
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
        subject = ["-subj", "/CN=localhost"]
        self._openssl("req", *subject, "-keyout", new[self.key], "-out", request)
        authority: list[str | pathlib.Path] = [
            "-CA",
            self.ca,
            "-CAkey",
            self._ca_key,
            "-CAcreateserial",
        ]
        files: list[str | pathlib.Path] = ["-extfile", names, "-out", new[self.certificate]]
        self._openssl("x509", "-req", "-in", request, *authority, *files)
        for path, replacement in new.items():
            replacement.replace(path)

    def tokens(self) -> list[str]:
        return self.token.read_text().split()

    def write_tokens(self, tokens: list[str]) -> None:
        new = self.token.with_suffix(".new")
        new.write_text("\n".join(tokens) + "\n")
        new.replace(self.token)

    def _openssl(self, command: str, *arguments: str | pathlib.Path) -> None:
        new_key: list[str | pathlib.Path] = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ]
        options = new_key if command == "req" else []
        subprocess.run(
            ["openssl", command, *options, *arguments],
            check=True,
            capture_output=True,
            env=os.environ | self._environment,
        )


class NewCertificate(Fault):
    """A certificate that is replaced under running roles."""

    kind = "new certificate"
    victim = "certificate"

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self.seconds = NOTICED_SECONDS

    def begin(self) -> None:
        self._credentials.issue()

    def end(self) -> None:
        """The new certificate stays."""


class NewToken(Fault):
    """A token that is replaced under running roles, in the steps of docs/operations.md.

    The last step, the removal of the old token, is done when the next token is added.
    """

    kind = "new token"
    victim = "token"

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._old = ""
        self._new = secrets.token_hex(16)
        self.seconds = NOTICED_SECONDS

    def begin(self) -> None:
        self._old = self._credentials.tokens()[0]
        self._credentials.write_tokens([self._old, self._new])

    def end(self) -> None:
        self._credentials.write_tokens([self._new, self._old])
