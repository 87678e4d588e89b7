#!/usr/bin/env python3
"""Writes the schemas of Kubernetes' objects for kubeconform, which then needs no network.

They come from the OpenAPI description of Kubernetes and from definitions of custom resources.
Unlike there, an unknown field is a mistake: Kubernetes would drop a misspelt field.
"""

from __future__ import annotations

import argparse
import json
import pathlib
from typing import Any

import yaml

Schema = dict[str, Any]

# The API server defines these types; their JSON is wider than the description says.
ANY_OF = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ["number", "string"],
}


class Loader(yaml.SafeLoader):
    """PyYAML reads the scalar `=` as YAML 1.1 defines it; Kubernetes reads it as text."""


def construct_text(loader: Loader, node: yaml.ScalarNode) -> Any:
    return loader.construct_scalar(node)


Loader.add_constructor("tag:yaml.org,2002:value", construct_text)


def strict(schema: Any) -> Any:
    """Forbids fields that the schema does not name, unless it says that it takes any."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items() if key != "format"}
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
    takes_any = "additionalProperties" in schema or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if isinstance(schema.get("properties"), dict) and not takes_any:
        result["additionalProperties"] = False
    return result


def file_name(group: str, version: str, kind: str) -> str:
    # For kubeconform, the group of the core API is its version.
    return f"{kind}-{group or version}-{version}.json".lower()


def references(schema: Any) -> set[str]:
    """The names of the definitions that the schema refers to directly."""
    if isinstance(schema, list):
        return {name for each in schema for name in references(each)}
    if not isinstance(schema, dict):
        return set()
    found = {name for each in schema.values() for name in references(each)}
    if isinstance(schema.get("$ref"), str):
        found.add(schema["$ref"].removeprefix("#/definitions/"))
    return found


def write_core(swagger: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes a file for each kind, with all definitions that it needs."""
    definitions = json.loads(swagger.read_text())["definitions"]
    kinds: dict[tuple[str, str, str], str] = {}
    for name, definition in definitions.items():
        for each in definition.get("x-kubernetes-group-version-kind", []):
            kinds.setdefault((each["group"], each["version"], each["kind"]), name)
        if name in ANY_OF:
            definitions[name] = {"type": ANY_OF[name]}
    for (group, version, kind), name in kinds.items():
        needed: dict[str, Schema] = {}
        waiting = {name}
        while waiting:
            each = waiting.pop()
            needed[each] = strict(definitions[each])
            waiting |= references(needed[each]) - needed.keys()
        schema = {"$ref": f"#/definitions/{name}", "definitions": needed}
        (folder / file_name(group, version, kind)).write_text(json.dumps(schema))


def write_custom(definition: Schema, folder: pathlib.Path) -> None:
    spec = definition["spec"]
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        # The description leaves out what is in the metadata of every object.
        schema["properties"]["metadata"] = {"type": "object"}
        path = folder / file_name(spec["group"], version["name"], spec["names"]["kind"])
        path.write_text(json.dumps(schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--swagger", type=pathlib.Path, required=True)
    parser.add_argument("crds", type=pathlib.Path, nargs="*", help="folders of definitions")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_core(arguments.swagger, arguments.output)
    # The test with a control plane installs these.
    installed = arguments.output / "crds"
    installed.mkdir(exist_ok=True)
    for folder in arguments.crds:
        for path in sorted(folder.glob("*.yaml")):
            for definition in yaml.load_all(path.read_text(), Loader):
                if definition and definition.get("kind") == "CustomResourceDefinition":
                    write_custom(definition, arguments.output)
                    name = definition["metadata"]["name"]
                    # Some have labels that a chart fills in.
                    definition["metadata"] = {"name": name}
                    (installed / f"{name}.json").write_text(json.dumps(definition))


if __name__ == "__main__":
    main()
