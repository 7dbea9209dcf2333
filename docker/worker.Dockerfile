# The image of Dataflow's and Flink's workers, and of the launcher of the Flex Templates: one environment for all three,
# so that what is submitted and what runs are the same versions. Nothing is installed when a worker starts. The stages
# `corpus` and `negatives`, which need GiNZA and torch, run in that of gpu.Dockerfile.
#
#   docker build -f docker/worker.Dockerfile -t REGION-docker.pkg.dev/PROJECT/REPOSITORY/wikianchor:VERSION .
FROM ghcr.io/pyo3/maturin:v1.9.6 AS core
COPY core /core
# One wheel for every CPython from 3.10, by the lock of the crate.
RUN maturin build --release --locked --manifest-path=/core/python/Cargo.toml --out=/wheels

FROM gcr.io/dataflow-templates-base/python311-template-launcher-base:20230622_RC00 AS launcher
FROM apache/beam_python3.11_sdk:2.77.0 AS beam
FROM python:3.11.13-slim-bookworm

COPY --from=beam /opt/apache/beam /opt/apache/beam
COPY --from=launcher /opt/google/dataflow/python_template_launcher /opt/google/dataflow/python_template_launcher

# What is pinned changes seldom, so it is a layer of its own.
COPY docker/requirements.lock docker/build.lock /opt/wikianchor/
RUN pip install --no-cache-dir --require-hashes -r /opt/wikianchor/requirements.lock -r /opt/wikianchor/build.lock
COPY setup.py pyproject.toml README.md /opt/wikianchor/
COPY demo /opt/wikianchor/demo
COPY pipelines /opt/wikianchor/pipelines
COPY schemas /opt/wikianchor/schemas
COPY trainer /opt/wikianchor/trainer
COPY wikianchor /opt/wikianchor/wikianchor
COPY docker/launch.py /opt/wikianchor/launch.py
COPY --from=core /wheels /opt/wikianchor/wheels
# By the locked build tools: an isolated build would download others. There is no git here that knows the version.
ARG VERSION=0.1.dev0
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_WIKIANCHOR=$VERSION pip install --no-cache-dir --no-deps --no-build-isolation /opt/wikianchor /opt/wikianchor/wheels/*.whl && pip check

# Beam would else make an environment of its own at each start.
ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1 \
    MALLOC_ARENA_MAX=2 \
    FLEX_TEMPLATE_PYTHON_PY_FILE=/opt/wikianchor/launch.py \
    HOME=/home/worker
# Root, as in Beam's own image: Dataflow mounts directories of its machine, which root owns, at /var/opt/google
# (pangeo-docker-images#360) and writes logs below /var/log/dataflow (python-docs-samples#13213). A mount hides the
# owner that a directory has in the image. Where nothing is mounted there, `docker run --user=10001` works too.
RUN useradd --create-home --uid 10001 worker \
    && install --directory --owner=10001 --group=10001 /var/opt/google /var/log/dataflow /var/log/dataflow/template_launcher
# hadolint ignore=DL3002
USER 0
WORKDIR /home/worker
ENTRYPOINT ["/opt/apache/beam/boot"]
