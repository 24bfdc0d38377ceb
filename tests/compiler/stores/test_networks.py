"""A network is quantised once for equal data; what is recalled has the very same bytes."""

import dataclasses
import logging
import os
import signal

import numpy as np
import pytest

from accnn.compiler.options import CompileOptions
from accnn.compiler.stores.networks import QuantisedNetworks, key_of
from accnn.compiler.stores.store import Store
from accnn.ir.errors import ModelError
from accnn.models.quantisation.ranges import CalibrationMethod as Method
from accnn.models.session import serialized
from tests.onnx_rows import convolutions_in_a_row

NETWORK = convolutions_in_a_row((3, 4, 3, 1), size=4)
OPTIONS = CompileOptions(samples=1)


def test_a_network_comes_back_byte_for_byte(tmp_path, monkeypatch):
    first = QuantisedNetworks(Store(tmp_path))(NETWORK, OPTIONS)
    monkeypatch.setattr(
        "accnn.compiler.stores.networks.quantize", lambda *_, **__: pytest.fail("once more")
    )

    again = QuantisedNetworks(Store(tmp_path))(NETWORK, OPTIONS)

    assert serialized(again.model) == serialized(first.model)
    assert dataclasses.replace(again, model=first.model) == first
    assert first.layers


def test_without_a_store_it_is_the_same():
    anew = QuantisedNetworks(None)(NETWORK, OPTIONS)

    assert serialized(anew.model) == serialized(QuantisedNetworks(None)(NETWORK, OPTIONS).model)


def test_a_crash_of_onnxruntime_is_a_message(monkeypatch):
    monkeypatch.setattr(
        "accnn.models.quantisation.ranges.run", lambda *_: os.kill(os.getpid(), signal.SIGSEGV)
    )

    with pytest.raises(ModelError, match="onnxruntime ends with SIGSEGV when it is to quantise"):
        QuantisedNetworks(None)(NETWORK, OPTIONS)


def test_model_data_and_options_change_the_key(tmp_path):
    data = tmp_path / "data.npy"
    np.save(data, np.zeros((1, 3, 4, 4), np.float32))
    given = dataclasses.replace(OPTIONS, calibration=data)
    keys = [
        key_of(NETWORK, OPTIONS),
        key_of(convolutions_in_a_row((3, 5, 3, 1), size=4), OPTIONS),
        key_of(NETWORK, dataclasses.replace(OPTIONS, seed=1)),
        key_of(NETWORK, dataclasses.replace(OPTIONS, samples=2)),
        key_of(NETWORK, given),
        key_of(NETWORK, dataclasses.replace(OPTIONS, calibration_method=Method.ENTROPY)),
        key_of(NETWORK, dataclasses.replace(OPTIONS, calibration_method=Method.PERCENTILE)),
        key_of(
            NETWORK,
            dataclasses.replace(OPTIONS, calibration_method=Method.PERCENTILE, percentile=99.0),
        ),
    ]
    np.save(data, np.ones((1, 3, 4, 4), np.float32))
    keys.append(key_of(NETWORK, given))

    assert len(set(keys)) == len(keys)
    assert key_of(NETWORK, OPTIONS) == keys[0]


def test_a_weight_changes_the_key():
    other = convolutions_in_a_row((3, 4, 3, 1), size=4)
    weight = next(item for item in other.graph.initializer if len(item.dims) == 4)
    weight.raw_data = bytes(len(weight.raw_data))

    assert key_of(other, OPTIONS) != key_of(NETWORK, OPTIONS)


@pytest.mark.parametrize("damaged", [b"", b"{}\n", b'{"samples": 1}\nno model'])
def test_a_damaged_entry_is_made_anew(tmp_path, caplog, damaged):
    networks = QuantisedNetworks(Store(tmp_path))
    first = networks(NETWORK, OPTIONS)
    (entry,) = tmp_path.rglob("*.quantised")
    entry.write_bytes(damaged)

    with caplog.at_level(logging.WARNING):
        again = networks(NETWORK, OPTIONS)

    assert serialized(again.model) == serialized(first.model)
    assert "solving anew" in caplog.text
