"""A model of the Hub without a network is an error at once; what the cache has is read."""

import socket

import pytest
from huggingface_hub import constants

from wikianchor.trainer.models.hub import check_model


@pytest.mark.parametrize(("proxy", "offline"), [("", True), ("http://127.0.0.1:9", False)])
def test_a_host_without_an_address_is_not_asked(proxy: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if proxy:
        monkeypatch.setenv("https_proxy", proxy)
    check_model("somebody/model")
    assert constants.HF_HUB_OFFLINE is offline
