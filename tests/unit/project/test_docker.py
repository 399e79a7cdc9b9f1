"""Dockerfile and docker-compose.yml, as far as they can be checked without Docker: by their parsers."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
import yaml
from dockerfile_parse import DockerfileParser
from lodestar.engine.neo4j.home import ServerState, configuration
from lodestar.engine.neo4j.jars import NEO4J_VERSION
from lodestar.engine.settings import Settings

from tests.places import ROOT


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def steps() -> list[dict[str, str]]:
    """The instructions of the Dockerfile and what they are given, in order."""
    with (ROOT / "Dockerfile").open("rb") as file:
        parser = DockerfileParser(fileobj=cast(Any, file))
        return [cast(dict[str, str], step) for step in parser.structure if step["instruction"] != "COMMENT"]


def test_what_the_image_copies_is_there_and_no_address_is_in_it(steps: list[dict[str, str]]) -> None:
    for step in steps:
        if step["instruction"] == "COPY" and "--from" not in step["value"]:
            for name in step["value"].split()[:-1]:
                assert (ROOT / name).exists(), name
    assert {step["value"].partition("=")[0] for step in steps if step["instruction"] == "ARG"} == {
        "PYTHON", "EXTRAS", "TORCH_INDEX"
    }  # fmt: skip
    assert not re.search(r"https?://(?!127\.0\.0\.1)", (ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_its_environment_is_settings(steps: list[dict[str, str]], compose: dict[str, Any]) -> None:
    (environment,) = (step["value"] for step in steps if step["instruction"] == "ENV")
    names = re.findall(r"LODESTAR_(\w+)=", environment)
    given = compose["services"]["lodestar"]["environment"]
    names += [name.removeprefix("LODESTAR_") for name in given if name != "LODESTAR_TOKEN"]
    assert names
    assert set(map(str.lower, names)) <= set(Settings.__dataclass_fields__)


def test_neo4j_is_the_version_of_the_embedded_server_and_has_settings_that_it_knows(compose: dict[str, Any]) -> None:
    service = compose["services"]["neo4j"]
    assert service["image"] == f"neo4j:{'.'.join(NEO4J_VERSION.split('.')[:2])}-community"
    names = (name.removeprefix("NEO4J_") for name in service["environment"] if name != "NEO4J_AUTH")
    given = {name.replace("__", " ").replace("_", ".").replace(" ", "_") for name in names}
    assert len(given) > 5
    assert given <= set(configuration(ServerState(NEO4J_VERSION, 7687, 7474, 512, 128)))


def test_every_variable_of_the_compose_file_is_documented() -> None:
    variables = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text(encoding="utf-8")))
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("database.md", "install.md"))
    assert len(variables) > 5
    assert {name for name in variables if name not in pages} == set()
