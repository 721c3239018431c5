"""PandaLM's test set: agreement and ratings are those computed by plain formulas, from files and from a workspace."""

import json
from collections import Counter

import pytest


def test_agreement_and_ratings_of_pandalm_are_those_expected(shared_data, tmp_path, workbench):
    folder = shared_data("pandalm")
    files = sorted(folder.glob("*.part.json"))
    expected = json.loads((folder / "expected.json").read_text())
    path = tmp_path / "w.duckdb"
    assert workbench("import", path, *files).code == 0
    for k in (4, 32):
        options = ("--elo-k", k, "--bootstrap", 0, "--json")
        of_files = json.loads(workbench("measure", "preference", *files, *options).out)
        of_workspace = json.loads(workbench("report", path, "preference", *options).out)
        for found in (of_files, of_workspace):
            assert found["n"]["battles"] == expected["battles_used"]
            assert found["alpha"] == pytest.approx(expected["krippendorff_alpha_nominal"], abs=1e-6)
            assert found["fleiss"] == pytest.approx(expected["fleiss_kappa"], abs=1e-6)
            kappas = {
                "-".join(name.removeprefix("annotator") for name in pair.split("-")): value
                for pair, value in found["cohen"].items()
            }
            assert kappas == pytest.approx(expected["cohen_kappa"], abs=1e-6)
            by_name = {one["candidate"]: one for one in found["ratings"]}
            assert {name: one["elo"] for name, one in by_name.items()} == pytest.approx(
                expected[f"elo_sequential_k{k}"], abs=1e-6
            )
            assert {name: one["bradley_terry"] for name, one in by_name.items()} == pytest.approx(
                expected["bradley_terry_mean1000_scale400"], abs=1e-6
            )


def test_sides_that_the_pair_of_models_fixes_are_no_bias(shared_data, workbench):
    """The models of each pair are always on the same sides."""
    folder = shared_data("pandalm")
    test_set = json.loads((folder / "testset-v1.part.json").read_text())
    sides = {tuple(one["cmp_key"].split("_")) for one in test_set}
    assert not sides & {pair[::-1] for pair in sides}
    won = Counter(name for one in test_set for name in one if name.startswith("annotator") and one[name] != 0)
    files = sorted(folder.glob("*.part.json"))
    found = workbench("measure", "preference", *files, "--bootstrap", 0, "--json").json()
    people = [one for one in found["position"] if one["group"] == "people"]
    assert {one["rater"]: one["one_sided"] for one in people} == won
    assert {(one["judgments"], one["share_left"], one["p_value"]) for one in found["position"]} == {
        (0, None, None)
    }
