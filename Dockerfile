# forklore on one machine, without a root user and with a root filesystem that may be read-only:
#
#   docker build -t forklore .
#   docker run --read-only --tmpfs /tmp -v forklore:/data -p 127.0.0.1:8080:8080 forklore --token-file /data/tokens
#
# compose.yaml has it behind TLS. docs/operate.md says what to do with the volume.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS built
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv
COPY requirements/image.txt /src/requirements/
RUN python3 -m venv --without-pip /opt/forklore && python3 -m venv /pip \
	&& /pip/bin/pip --python /opt/forklore/bin/python install --no-compile --no-deps --require-hashes \
		-r /src/requirements/image.txt
COPY pyproject.toml MANIFEST.in README.md LICENSE /src/
COPY clients/python /src/clients/python
COPY layers/core /src/layers/core
COPY local /src/local
COPY web/built /src/web/built
RUN /pip/bin/pip install --no-deps setuptools wheel \
	&& /pip/bin/pip --python /opt/forklore/bin/python install --no-compile --no-deps /src \
	&& cd /opt/forklore/lib/python3*/site-packages \
	# botocore describes 400 services; forklore calls these.
	&& find botocore/data -mindepth 1 -maxdepth 1 -type d \
		! -name s3 ! -name sts ! -name dynamodb ! -name sqs ! -name events ! -name sso ! -name sso-oidc \
		-exec rm -r '{}' + \
	&& find . -depth -type d '(' -name tests -o -name __pycache__ ')' -exec rm -r '{}' + \
	&& python3 -m compileall -q forklore forklore_local forklore_service

# What Python and its packages need of the system, and nothing else: no shell, no package manager.
FROM built AS root
RUN apt-get install -y --no-install-recommends ca-certificates \
	&& mkdir -p /out/usr/bin /out/usr/lib /out/usr/lib64 /out/etc/ssl/certs /out/opt && cd /out \
	&& ln -s usr/lib lib && ln -s usr/lib64 lib64 \
	&& cp -a /usr/bin/python3 /usr/bin/python3.[0-9]* usr/bin/ && cp -a /usr/lib/python3.[0-9]* usr/lib/ \
	&& rm -rf usr/lib/python3*/ensurepip usr/lib/python3*/idlelib usr/lib/python3*/lib2to3 \
		usr/lib/python3*/pydoc_data usr/lib/python3*/test usr/lib/python3*/config-* \
	&& cp -a /opt/forklore opt/ && cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/ \
	&& cp /etc/nsswitch.conf /etc/os-release etc/ \
	&& find usr opt '(' -name '*.so' -o -name '*.so.*' -o -name 'python3.*[0-9]' ')' -type f -exec ldd '{}' + \
		| grep -o '/[^ )]*[.]so[^ )]*' | grep -v '^/opt\|:$' | sort -u \
		| while read -r file; do mkdir -p "/out$(dirname "$file")" && cp -L "$file" "/out$file"; done \
	&& echo 'forklore:x:10001:10001::/tmp:/' > etc/passwd && echo 'forklore:x:10001:' > etc/group \
	&& install -d -m 1777 tmp && install -d -o 10001 -g 10001 -m 700 data && mkdir -p dev proc sys run

FROM scratch
COPY --from=root /out /
ENV PATH=/opt/forklore/bin:/usr/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1 HOST=0.0.0.0 PORT=8080 \
	FORKLORE_DATA=/data/forklore SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD \
	["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/v1/ready', timeout=9)"]
ENTRYPOINT ["forklore", "serve"]
