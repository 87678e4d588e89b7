#!/usr/bin/env python3
"""Prints the SPDX 2.3 document of an image: Debian's packages, our executables, Python's packages.

Versions come from the database of dpkg and from the metadata of installed Python packages, so the
document lists what is in the image and not what was asked for.
"""

from __future__ import annotations

import argparse
import datetime
import email.parser
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
from typing import Any

Package = dict[str, Any]


def spdx_id(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(kind: str, name: str, version: str, purl: str, licence: str = "NOASSERTION") -> Package:
    return {
        "SPDXID": spdx_id(f"{kind}-{name}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl,
            }
        ],
    }


def debian_packages(admin: pathlib.Path) -> list[Package]:
    """The licences of Debian's packages stand in /usr/share/doc/PACKAGE/copyright of the image."""
    fields = ["Package", "Version", "Architecture", "source:Package", "source:Version"]
    form = "\t".join(f"${{{field}}}" for field in fields) + "\n"
    listing = subprocess.run(
        ["dpkg-query", f"--admindir={admin}", "-W", "-f", form],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    packages = []
    for line in sorted(listing.splitlines()):
        name, version, architecture, source, source_version = line.split("\t")
        qualifiers = urllib.parse.urlencode(
            {
                "arch": architecture,
                "distro": "debian-12",
                "upstream": f"{source}@{source_version}",
            }
        )
        quoted = urllib.parse.quote(version, safe="")
        purl = f"pkg:deb/debian/{urllib.parse.quote(name, safe='')}@{quoted}?{qualifiers}"
        packages.append(package("deb", name, version, purl))
    return packages


def python_packages(site: pathlib.Path) -> list[Package]:
    """The packages of which the image has libraries: torch and NVIDIA's."""
    packages = []
    for metadata in sorted(site.glob("*.dist-info/METADATA")):
        header = email.parser.Parser().parsestr(metadata.read_text(), headersonly=True)
        name, version = header["Name"].lower().replace("_", "-"), header["Version"]
        if name != "torch" and not name.startswith("nvidia-"):
            continue
        if ".so" not in (metadata.parent / "RECORD").read_text():
            continue
        packages.append(package("pypi", name, version, f"pkg:pypi/{name}@{version}"))
    return packages


def our_package(prefix: pathlib.Path, commit: str) -> tuple[Package, list[dict[str, Any]]]:
    """The package of the two executables and of the file of weights, and these files."""
    ours = package(
        "ours", "mallocmuzero", commit, f"pkg:generic/mallocmuzero@{commit}", "Apache-2.0"
    )
    files: list[dict[str, Any]] = []
    for path in sorted(prefix.rglob("*")):
        relative = path.relative_to(prefix)
        if not path.is_file() or relative.parts[:2] == ("lib", "mallocmuzero"):
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        weak_digest = hashlib.sha1(path.read_bytes()).hexdigest()
        files.append(
            {
                "SPDXID": spdx_id(f"file-{relative}"),
                "fileName": f"./usr/local/{relative}",
                "checksums": [
                    # SPDX 2.3 demands this one.
                    {"algorithm": "SHA1", "checksumValue": weak_digest},
                    {"algorithm": "SHA256", "checksumValue": digest},
                ],
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            }
        )
    # As SPDX defines it for a package whose files are listed.
    weak_digests = sorted(file["checksums"][0]["checksumValue"] for file in files)
    code = hashlib.sha1("".join(weak_digests).encode()).hexdigest()
    ours |= {
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code},
    }
    return ours, files


def relation(element: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def document(arguments: argparse.Namespace) -> dict[str, Any]:
    ours, files = our_package(arguments.executables, arguments.commit)
    packages = [ours, *debian_packages(arguments.dpkg)]
    if arguments.python is not None:
        packages += python_packages(arguments.python)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    contents = json.dumps([packages, files], sort_keys=True).encode()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "mallocmuzero",
        # Unique for each content, as SPDX demands.
        "documentNamespace": f"urn:sha256:{hashlib.sha256(contents).hexdigest()}",
        "creationInfo": {"created": created, "creators": ["Tool: deploy/image/sbom.py"]},
        "packages": packages,
        "files": files,
        "relationships": [
            *(relation("SPDXRef-DOCUMENT", "DESCRIBES", each["SPDXID"]) for each in packages),
            *(relation(ours["SPDXID"], "CONTAINS", each["SPDXID"]) for each in files),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--dpkg", type=pathlib.Path, required=True, help="var/lib/dpkg of the image"
    )
    parser.add_argument(
        "--executables", type=pathlib.Path, required=True, help="usr/local of the image"
    )
    parser.add_argument("--commit", required=True, help="the commit of the executables")
    parser.add_argument("--python", type=pathlib.Path, help="the folder of Python packages")
    json.dump(document(parser.parse_args()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
