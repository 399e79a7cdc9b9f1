# Lodestar with the extra serve, as `lodestar serve` or any other verb. Nothing in it is root's to run, and the root can be read-only.
#
#   docker build -t lodestar .
#   docker build -t lodestar --build-arg EXTRAS=serve,train --build-arg TORCH_INDEX=ADDRESS .    with PyTorch
#
# EXTRAS: extras of pyproject.toml, parted by commas. TORCH_INDEX: a package index with the CPU wheels of PyTorch, which the usual
# one does not have for Linux on x86-64: without it, its wheels come with CUDA (3 GB).

ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ARG EXTRAS=serve
ARG TORCH_INDEX=
WORKDIR /src
COPY locks/bootstrap.txt locks/core.txt locks/encoder.txt locks/
RUN python -m venv /opt/tools && /opt/tools/bin/pip install --no-cache-dir --require-hashes -r locks/bootstrap.txt \
    && /opt/tools/bin/uv venv --python /usr/local/bin/python3 /opt/lodestar \
    && /opt/tools/bin/uv pip install --no-cache --python /opt/lodestar --compile-bytecode --require-hashes -r locks/core.txt \
    && /opt/tools/bin/uv pip install --no-cache --python /opt/lodestar --compile-bytecode --no-deps --require-hashes -r locks/encoder.txt
COPY . .
RUN sed -nE 's/^([a-z0-9].*[^\\ ]) *\\?$/\1/p' locks/dev.txt > /tmp/pins.txt \
    && /opt/tools/bin/uv build --wheel --out-dir /tmp/dist . \
    && if [ -n "$TORCH_INDEX" ]; then /opt/tools/bin/uv pip install --no-cache --python /opt/lodestar -c /tmp/pins.txt --index "$TORCH_INDEX" torch; fi \
    && /opt/tools/bin/uv pip install --no-cache --python /opt/lodestar --compile-bytecode -c /tmp/pins.txt "$(ls /tmp/dist/*.whl)${EXTRAS:+[$EXTRAS]}"

FROM python:${PYTHON}-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/lodestar --create-home lodestar
COPY --from=build /opt/lodestar /opt/lodestar
ENV PATH=/opt/lodestar/bin:$PATH \
    LODESTAR_HOME=/var/lib/lodestar/home \
    LODESTAR_CACHE=/var/lib/lodestar/cache \
    PYTHONDONTWRITEBYTECODE=1
USER lodestar
WORKDIR /var/lib/lodestar
VOLUME /var/lib/lodestar
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=5)"]
ENTRYPOINT ["lodestar"]
CMD ["serve", "--host", "0.0.0.0"]
