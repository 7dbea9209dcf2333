# The image of the trainer, on Vertex AI or any machine with a GPU, and of the workers of `corpus` and `negatives`.
# torch brings its own CUDA, the machine the driver.
#
#   docker build -f docker/gpu.Dockerfile -t REGION-docker.pkg.dev/PROJECT/REPOSITORY/wikianchor-gpu:VERSION .
#   docker run --gpus=all --user=10001 --entrypoint=python IMAGE -m wikianchor train ease --preset=ease-bert-paper \
#       --data=gs://bucket/pairs --output=gs://bucket/model
#   wikianchor negatives ... --runner=DataflowRunner --sdk_container_image=IMAGE
FROM apache/beam_python3.11_sdk:2.77.0 AS beam
FROM python:3.11.13-slim-bookworm

COPY --from=beam /opt/apache/beam /opt/apache/beam

COPY docker/gpu.lock docker/build.lock /opt/wikianchor/
RUN pip install --no-cache-dir --require-hashes -r /opt/wikianchor/gpu.lock -r /opt/wikianchor/build.lock
COPY setup.py pyproject.toml README.md /opt/wikianchor/
COPY demo /opt/wikianchor/demo
COPY pipelines /opt/wikianchor/pipelines
COPY schemas /opt/wikianchor/schemas
COPY trainer /opt/wikianchor/trainer
COPY wikianchor /opt/wikianchor/wikianchor
# By the locked build tools: an isolated build would download others. There is no git here that knows the version.
ARG VERSION=0.1.dev0
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_WIKIANCHOR=$VERSION pip install --no-cache-dir --no-deps --no-build-isolation /opt/wikianchor && pip check

ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1 \
    MALLOC_ARENA_MAX=2 \
    HOME=/home/worker
# Root and these directories: see worker.Dockerfile. The trainer needs neither: `docker run --user=10001`.
RUN useradd --create-home --uid 10001 worker \
    && install --directory --owner=10001 --group=10001 /var/opt/google /var/log/dataflow
# hadolint ignore=DL3002
USER 0
WORKDIR /home/worker
ENTRYPOINT ["/opt/apache/beam/boot"]
