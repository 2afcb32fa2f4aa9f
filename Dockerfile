# docker build -t signoff .
# docker run -p 127.0.0.1:8080:8080 -v signoff-data:/app/data -v ./config.yaml:/app/config.yaml:ro --env-file .env signoff
#
# In a container `bot.http.host` has to be 0.0.0.0, or nothing outside reaches it. Give the container a stop time-out
# above `bot.grace_seconds` (docker run --stop-timeout 30), so that running tasks are put back in order.

FROM python:3.12-slim AS dependencies
COPY requirements/run.txt /tmp/run.txt
# Every locked package has a wheel for this platform: no compiler, and nothing that runs at install time.
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --require-hashes -r /tmp/run.txt

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin signoff \
    && install -d -o signoff -g signoff /app /app/data
COPY --from=dependencies /venv /venv
WORKDIR /app
# The program belongs to root, so that the process cannot change it; the demo workspace is there to be written to.
COPY agent agent
COPY bot bot
COPY channels channels
COPY storage storage
COPY tools tools
COPY skills skills
COPY config.yaml LICENSE ./
# The user who runs it cannot write byte code, and without it every start would compile all of it.
RUN /venv/bin/python -m compileall -q agent bot channels storage tools
COPY --chown=signoff:signoff demo-workspace demo-workspace

ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER signoff
VOLUME /app/data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
ENTRYPOINT ["python", "-m", "bot"]
CMD ["run"]
