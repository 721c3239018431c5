"""Krippendorff's alpha on a published matrix."""

import json

import pytest

from store.measures.agreement import krippendorff_alpha


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_the_published_one(shared_data, level):
    example = json.loads((shared_data("krippendorff") / "matrix.json").read_text(encoding="utf-8"))
    result = krippendorff_alpha(example["reliability_data"], level)
    assert result.value == pytest.approx(example["expected"][level], abs=1e-12)
    columns = zip(*example["reliability_data"], strict=True)
    counts = [sum(value is not None for value in column) for column in columns]
    assert result.units == sum(count >= 2 for count in counts)
    assert result.dropped == sum(count < 2 for count in counts)
    assert result.values == sum(count for count in counts if count >= 2)
