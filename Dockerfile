# accnn in an image: `docker build -t accnn .`, then
# `docker run --rm -v "$PWD:/work" accnn acc-compile net.onnx --arch simba`

FROM python:3.12-slim AS build
COPY . /source
RUN pip install --no-cache-dir build \
    && python -m build --wheel --outdir /dist /source

FROM python:3.12-slim
COPY --from=build /dist /dist
# cbcbox ships builds for debugging, too, which nothing loads
RUN pip install --no-cache-dir /dist/*.whl \
    && rm -rf /dist /usr/local/lib/python3.12/site-packages/cbcbox/cbc_dist_debug*
# Machine code of kernels and answers of earlier compilations are kept here: mount a volume to keep them
ENV XDG_CACHE_HOME=/cache
RUN useradd --create-home --uid 1000 user && mkdir /cache /work && chown user /cache /work
USER user
WORKDIR /work
CMD ["acc-compile", "--help"]
