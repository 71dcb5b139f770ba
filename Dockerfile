# The service as an image: docker build -t transduce . && docker run -p 127.0.0.1:5000:5000 transduce
FROM python:3.11-slim AS build
COPY . /source
RUN python -m venv /opt/transduce \
 && /opt/transduce/bin/pip install --no-cache-dir --constraint /source/constraints.txt '/source[serve]'

FROM python:3.11-slim
COPY --from=build /opt/transduce /opt/transduce
# converted models and the like are kept in /cache, own models are mounted at /models
RUN useradd --system --uid 10001 transduce && install -d -o transduce /cache /models
ENV PATH=/opt/transduce/bin:$PATH PYTHONUTF8=1 XDG_CACHE_HOME=/cache
USER 10001
EXPOSE 5000
# 503 while it stops: no new requests are sent to it
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
  ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:5000/health', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["transduce"]
CMD ["serve", "--host", "0.0.0.0"]
