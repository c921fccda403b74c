# The server with the shipped model; docs/server.md says how to run it.
FROM python:3.13-slim
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# hadolint ignore=DL3013  # what is installed is this folder
RUN pip install --no-cache-dir '.[serve,files,inflect]' \
    && useradd --system --uid 10001 --create-home alidade \
    && install -d -o alidade /data
WORKDIR /data
USER 10001
VOLUME /data
EXPOSE 5000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/readyz')"]
ENTRYPOINT ["alidade"]
CMD ["serve", "--host", "0.0.0.0", "--database", "/data/server.sqlite"]
