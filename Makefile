# Everything runs in environments of its own. Each is made with pip alone from a lock in requirements/,
# and is made again when the lock changes:
#   .venv      forklore and its tests                   Python 3.11 or newer
#   .run       the local server and the command line    Python 3.11 or newer
#   .adapters  the agent frameworks and their adapters  Python 3.11 or newer
#   .newest    the same with the newest frameworks      Python 3.11 or newer
#              and .newest-openhands, .newest-mastra
#   .openhands OpenHands and its adapter                the functions' Python
#   .agent-server the same with OpenHands' agent server  the functions' Python
#   .web       the tests of the explorer in a browser   Python 3.11 or newer
#   .sam       AWS SAM                                  Python 3.11 or newer
#   .checks    the checks of what is deployed           Python 3.11 or newer
#   .release   builds the package and checks it         Python 3.11 or newer
#   .runtime   what AWS puts around a function          the functions' Python
#   .emulator  an emulator of CloudFormation            the functions' Python
# .programs has the real agent programs, each in a folder of its own (tools/programs).
# .sam, .checks and .emulator need other versions of the packages that .venv has, so they cannot be one.
# node_modules has what checks the explorer's JavaScript, and clients/typescript/node_modules what checks the
# client for TypeScript. clients/node_modules has what the packages for chat interfaces and Mastra are built on, which needs
# the newer Node of clients/typescript/tests/runtimes. npm makes each from the package-lock.json beside it.
# Paths are relative, so a checkout may be in a folder whose name has spaces. Two makes at once make each
# environment once: tools/make/once.py.

PYTHON ?= python3
VENV ?= .venv
RUN ?= .run
ADAPTERS ?= .adapters
NEWEST ?= .newest
OPENHANDS ?= .openhands
AGENT_SERVER ?= .agent-server
WEB ?= .web
SAM ?= .sam
CHECKS ?= .checks
RELEASE ?= .release
RUNTIME ?= .runtime
EMULATOR ?= .emulator
# The functions' version of Python, from the PATH or from pyenv. The tests of what is built need it, and
# say so when it is missing.
RUNTIME_PYTHON ?= $(firstword $(foreach one,python3.13 $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python3.13),\
	$(shell "$(one)" -c 'print("$(one)")' 2>/dev/null)))
CONTAINERS ?= $(firstword $(foreach one,docker podman,$(shell command -v $(one))) docker)
# Which deployment. Each stage is a stack of its own and has its own parameters in samconfig.toml.
STAGE ?= default
SAMCONFIG ?= samconfig.toml
# The processor to build for: the one of the stage's last deployment, or arm64.
ARCHITECTURE ?= $(or $(call kept,Architecture),arm64)

python := "$(VENV)/bin/python"
run := "$(RUN)/bin/python"
pip := -m pip --quiet --disable-pip-version-check
# Most modules are never imported: those that are, are compiled then. Functions cannot keep byte-code, and
# in .run the first start of each command would take twice as long.
install = $(pip) install $(compiled) --no-deps --require-hashes
compiled := --no-compile
# Runs a command that makes the target and fills its folder, unless another make has done it meanwhile.
once = "$(PYTHON)" tools/make/once.py "$@" $(foreach one,$^,"$(one)") --
# SAM needs a region even for commands that do not call AWS, and sends usage data unless this is turned
# off. SAM's own `python3` runs the Makefiles of the layer and of the authorizer.
region := $${AWS_REGION:-$${AWS_DEFAULT_REGION:-us-east-1}}
sam = PATH="$(abspath $(SAM))/bin:$$PATH" SAM_CLI_TELEMETRY=0 sam
offline = AWS_DEFAULT_REGION="$(region)" $(sam)
kept = $(shell SAMCONFIG="$(SAMCONFIG)" "$(SAM)/bin/python" -m tools.deployment.samconfig "$(STAGE)" $(1) 2>/dev/null)
# What the tests run is built for this machine, in another folder than what is deployed.
machine := $(subst aarch64,arm64,$(shell uname -m))
here := .aws-sam/here/build
runtime := $(if $(RUNTIME_PYTHON),$(RUNTIME)/locked)
in_runtime := $(if $(RUNTIME_PYTHON),FORKLORE_SAM="$(SAM)" FORKLORE_RUNTIME="$(RUNTIME)")
# Many tests start processes. Without byte-code each of them compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE
# One more than there are cores, as many tests wait for other processes.
waiting := $(shell expr 1 + "$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN || echo 1)")
pytest := $(python) -m pytest --numprocesses=$(waiting) --dist=loadfile --no-loadscope-reorder
reliability := tests/service/reliability
checks := $(reliability) tests/service/authorization tests/service/credentials/test_bad_credentials.py tests/local/server/test_schemathesis.py \
	tests/service/aws/test_canaries.py tests/service/aws/test_fuzz.py tests/service/domain tests/local/fsck tests/local/embedded tests/local/in_process tests/service/http/test_model.py
# These use all cores.
alone := $(reliability)/test_append_log.py $(reliability)/test_answers.py $(reliability)/test_cascade.py
on_engine := tests/service/http/test_model.py $(addprefix $(reliability)/test_,$(addsuffix .py,answers conditions crashes races torn_reads same_key))
long := tests/service/usecases tests/clients/python tests/clients/cli tests/clients/importing tests/local/embedded tests/local/in_process tests/local/fsck tests/local/server tests/service/aws tests/tools tests/examples tests/service/domain tests/test_package.py
# What needs Node is left out without a Node that is new enough, and said. With FORKLORE_REQUIRE_CHROMIUM
# it is an error.
npm := $(shell { echo v20.19; node --version || echo v0; } 2>/dev/null | sort -CV && command -v npm)
node_bin := node_modules/.bin
typescript := clients/typescript
runtimes := $(typescript)/tests/runtimes
kits := $(addprefix clients/,assistant-ui ai-sdk langgraph mastra)
newer_node = PATH="$$(cd $(runtimes)/node_modules/node-*/bin 2>/dev/null && pwd || dirname "$$(command -v node)"):$$PATH"
# Two at a time; what each prints comes whole.
in_kits = $(newer_node) && printf '%s\n' $(kits) | xargs -P 2 -I '{}' sh -c 'told="$$(npm --prefix {} run --silent $(1) 2>&1)"; failed=$$?; \
	printf "%s\n" "$$told"; [ $$failed = 0 ] || { echo "FAILED: npm run $(1) in {}"; exit 1; }'
random := tests/service/http tests/service/aws/test_fuzz.py tests/local/server/test_schemathesis.py
compile := uv pip compile --quiet --no-header --no-emit-index-url --generate-hashes --universal --python-version 3.11 \
	$(UPGRADE)
locks := requirements
extras := service authorizer lambda local cli mcp metrics
adapters := claude-agent google-adk langgraph openai-agents pydantic-ai strands
frameworks := claude-agent-sdk google-adk langgraph langgraph-checkpoint-conformance openai-agents 'pydantic-ai-slim[mcp]' strands-agents
openhands := tests/clients/adapters/openhands clients/python/forklore/adapters/openhands
agent_server := openhands-agent-server==1.58.2
on_agent_server := $(addprefix --ignore=,tests/clients/adapters/openhands/test_agent_server.py clients/python/forklore/adapters/openhands/server.py)

.DEFAULT_GOAL := help
.PHONY: help run check test test-adapters test-newest newest-adapters newest-openhands newest-mastra test-openhands test-agent-server test-web build-web pictures chromium environments fix-web test-typescript build-typescript build-kits fix-typescript chat test-random test-reliability programs bench gate demo openapi fix build build-here size size-deployed validate test-deployment client package package-npm deploy-emulated sam-local image deploy restore upgrade try-recall lock clean

help: ## list what make can do
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 22

run: $(RUN)/ready ## start the local server; HOST=… and PORT=… choose where, ALLOW_HOST=… is another name, INSECURE=1 lets other machines in, DATA=./data keeps what is stored, WORKERS=… processes serve it, ON_EVENT=… gets events
	@exec $(run) -m forklore_local.server $(if $(DATA),--data "$(DATA)")$(if $(WORKERS), --workers $(WORKERS))$(if $(ALLOW_HOST), --allow-host "$(ALLOW_HOST)")$(if $(INSECURE), --insecure)$(if $(ON_EVENT), --on-event "$(ON_EVENT)")

check: $(VENV)/ready ## check what your change touches: format, lint, types, the tests of its rooms; say what CI runs; SINCE=… compares with a commit
	$(python) -m tools.check $(SINCE)

test: $(VENV)/ready ## check format, lint and types, then run all tests but those of the other test commands
	$(python) -m ruff format --check
	$(python) -m ruff check
	$(python) -m mypy & types=$$!; \
	$(pytest) -m "not long" $(addprefix --ignore=,$(random) $(reliability) tests/clients/adapters tests/web tests/clients/typescript tests/deployment clients/python/forklore/adapters); \
	tests=$$?; wait $$types && exit $$tests

test-random: $(VENV)/ready ## run the tests that make up thousands of requests: histories, hostile requests, the OpenAPI document
	$(pytest) $(random)

test-reliability: $(VENV)/ready ## run the checks of docs/reliability.md; a few need DynamoDB Local, with Java, and Maven the first time
	$(python) -m pytest --numprocesses=$(waiting) --dist=worksteal $(reliability)
	$(python) -m pytest --numprocesses=$(waiting) --dist=worksteal -m long $(long)

programs: $(VENV)/ready ## let real agent programs write sessions, and hold the readers against them; ARGUMENTS='--only codex' is one of them
	$(python) -m tools.programs $(ARGUMENTS)

bench: $(VENV)/ready $(if $(AGAINST),,size-deployed) ## measure costs, times and cold starts: five minutes, for which nothing else should run; AGAINST=… is a commit that one machine is measured in turn with
ifdef AGAINST
	test -d ".cache/against/$(AGAINST)" || git worktree add --detach ".cache/against/$(AGAINST)" "$(AGAINST)"
	cd ".cache/against/$(AGAINST)" && $(MAKE) $(VENV)/ready
	$(python) -m tools.bench.machine --against ".cache/against/$(AGAINST)"
else
	$(python) -m tools.bench.costs
	$(python) -m tools.bench.passed
	$(python) -m tools.bench.times
	$(python) -m tools.bench.machine
endif

gate: export FORKLORE_FIGURES := gate
gate: $(VENV)/ready ## run the checks of docs/reliability.md at the gate's figures: about an hour, for which nothing else should run
	failed=0; \
	$(python) -m pytest --numprocesses=auto --dist=worksteal $(addprefix --ignore=,$(alone)) $(checks) || failed=1; \
	$(python) -m pytest $(alone) || failed=1; \
	FORKLORE_TEST_ENGINE=embedded $(python) -m pytest --numprocesses=auto --dist=worksteal $(on_engine) || failed=1; \
	exit $$failed

demo: $(RUN)/ready ## import two examples, or FILE=…, into the local server when it runs, and draw the last tree
	@unset FORKLORE_DATA FORKLORE_FUNCTION FORKLORE_PROFILE; export FORKLORE_URL="$${FORKLORE_URL:-http://127.0.0.1:$${PORT:-8080}}" FORKLORE_TOKEN="$${FORKLORE_TOKEN:-demo}"; \
		$(run) -m tools.make.wait_for_server "$$FORKLORE_URL" && rows=$$("$(RUN)/bin/forklore" import $(if $(FILE),"$(FILE)",examples/trees.jsonl examples/agent_run.jsonl)) && \
		"$(RUN)/bin/forklore" log --graph "$$(printf '%s\n' "$$rows" | tail -n 1 | cut -f 1)"

test-adapters: $(ADAPTERS)/ready ## run the agent frameworks' own tests, and more, on the adapters
	"$(ADAPTERS)/bin/python" -m mypy --config-file tests/clients/adapters/mypy.ini & types=$$!; \
	"$(ADAPTERS)/bin/python" -m pytest -c tests/clients/adapters/pytest.ini --rootdir=. --numprocesses=$(waiting) --dist=loadgroup --doctest-modules tests/clients/adapters clients/python/forklore/adapters $(addprefix --ignore=,$(openhands)); \
	tests=$$?; wait $$types && exit $$tests

# The frameworks beside the locked ones: what is newer is printed before the tests say what it breaks.
# pip would rather take an old framework than an old package that another one wants, so the lock's are the oldest.
# $(call newest,VARIABLE,FOLDER,FRAMEWORKS,NAME): NAME is of the lock and of the tests.
define newest
	@$(MAKE) --no-print-directory "$(1)=$(2)" "$(2)/ready"
	@for one in $(3); do grep -o "^$${one%[*}==[^ ]*" $(locks)/$(4).txt; done | sed 's/==/>=/' > "$(2)/oldest.txt"
	@"$(2)/bin/python" $(pip) install --upgrade --upgrade-strategy eager --constraint "$(2)/oldest.txt" $(3)
	@"$(2)/bin/python" -m pip --disable-pip-version-check list --format=freeze | sed ':a;s/^\([^=]*\)[_.]/\1-/;ta' | \
		while read -r one; do grep -qiF "$$one " $(locks)/$(4).txt || echo "not in the lock: $$one"; done
	@FORKLORE_TEST_NEWEST=1 $(MAKE) --no-print-directory "$(1)=$(2)" test-$(4)
endef

test-newest: ## run the tests of the adapters with the newest agent frameworks, in environments of their own; not in CI
	@$(MAKE) --no-print-directory --keep-going newest-adapters $(if $(RUNTIME_PYTHON),newest-openhands) newest-mastra

newest-adapters:
	$(call newest,ADAPTERS,$(NEWEST),$(frameworks),adapters)

newest-openhands:
	$(call newest,OPENHANDS,$(NEWEST)-openhands,openhands-sdk,openhands)

# Node looks into the package's own folder first.
newest-mastra: $(VENV)/ready build-kits
	@rm -rf "$(NEWEST)-mastra" && mkdir "$(NEWEST)-mastra"
	@$(newer_node) && npm install --silent --no-save --prefix "$(NEWEST)-mastra" @mastra/core@latest @mastra/memory@latest && \
		grep -o '"version": *"[^"]*"' "$(NEWEST)-mastra"/node_modules/@mastra/*/package.json && cd clients/mastra && \
		trap 'rm -f node_modules' EXIT && ln -sfn "$(abspath $(NEWEST))-mastra/node_modules" node_modules && \
		npm run --silent check && FORKLORE_PYTHON="$(abspath $(VENV))/bin/python" npm test --silent

test-openhands: $(if $(RUNTIME_PYTHON),$(OPENHANDS)/ready) ## run the tests of OpenHands' adapter; needs Python 3.13
ifdef RUNTIME_PYTHON
	"$(OPENHANDS)/bin/python" -m mypy --config-file tests/clients/adapters/openhands/mypy.ini & types=$$!; \
	LITELLM_LOCAL_MODEL_COST_MAP=True "$(OPENHANDS)/bin/python" -m pytest -c tests/clients/adapters/pytest.ini --rootdir=. --doctest-modules $(openhands) $(on_agent_server); \
	tests=$$?; wait $$types && exit $$tests
else
	@echo "There is no Python 3.13, so OpenHands is not tested."
endif

# The server and 54 more packages beside the locked ones. It wants an older tenacity than the lock has.
test-agent-server: ## run the real agent server of OpenHands with its conversations in forklore, in an environment of its own; not in CI
	@$(MAKE) --no-print-directory "OPENHANDS=$(AGENT_SERVER)" "$(AGENT_SERVER)/ready"
	@"$(AGENT_SERVER)/bin/python" $(pip) install "$(agent_server)"
	"$(AGENT_SERVER)/bin/python" -m mypy --config-file tests/clients/adapters/openhands/mypy.ini
	"$(AGENT_SERVER)/bin/python" -m pytest -c tests/clients/adapters/pytest.ini --rootdir=. tests/clients/adapters/openhands/test_agent_server.py

test-web: $(WEB)/ready $(if $(npm),node_modules/ready) chromium ## check the explorer in web/, and walk through it in a real Chromium; needs Node, too
ifndef npm
	@test -z "$$FORKLORE_REQUIRE_CHROMIUM" || { echo "There is no npm of Node 20.19 or newer: install it." >&2; exit 1; }
endif
	$(if $(npm),npm run --silent check && npm run --silent test,true) & checks=$$!; \
	"$(WEB)/bin/python" -m mypy --config-file tests/web/mypy.ini && \
	"$(WEB)/bin/python" -m pytest -c tests/web/pytest.ini --rootdir=. --numprocesses=3 --dist=worksteal tests/web; \
	tests=$$?; wait $$checks && exit $$tests
	@$(if $(npm),,echo "NOT TESTED: the types, the lint, the format and the functions of web/, and whether web/built is what they make, as there is no npm of Node 20.19 or newer: install it.")

build-web: node_modules/ready ## build the explorer into web/built, which is committed
	npm run --silent build

test-typescript: export FORKLORE_PYTHON := $(abspath $(VENV))/bin/python
test-typescript: $(VENV)/ready build-typescript build-kits chromium ## check the packages for TypeScript; run their tests on Node, Bun, Deno, workerd and Chromium, against the local server
	( cd $(typescript) && npm run --silent check ) && ( $(call in_kits,check) ) & checks=$$!; \
	( cd $(typescript) && npm run --silent test ) && ( $(call in_kits,test) ) && $(python) -m pytest tests/clients/typescript; \
	tests=$$?; wait $$checks && exit $$tests

build-typescript: $(typescript)/node_modules/ready ## build what npm would publish of the client for TypeScript
	cd $(typescript) && npm run --silent build

build-kits: build-typescript clients/node_modules/ready ## the same of the packages for assistant-ui, the AI SDK, LangGraph and Mastra
	$(call in_kits,build)

pictures: $(WEB)/ready chromium ## take the pictures of the explorer in docs/images anew
	"$(WEB)/bin/python" -m tests.web.pictures

chromium: ## as root, install Debian's Chromium without windows, if there is none
	@command -v chromium-headless-shell >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && \
		apt-get install --yes -qq --no-install-recommends chromium-headless-shell; } 2>/dev/null || command -v chromium >/dev/null || \
		echo "Chromium is missing. On Debian: sudo apt-get install chromium-headless-shell" >&2

# `make --jobs=2 environments` makes two at a time. The tests make those that they need, too.
parts := $(addsuffix /locked,$(VENV) $(ADAPTERS) $(WEB) $(SAM) $(CHECKS) $(RELEASE)) $(runtime)
parts += node_modules/ready $(typescript)/node_modules/ready clients/node_modules/ready chromium
environments: $(parts) ## make what the tests run in

openapi: $(VENV)/ready ## write docs/openapi.json anew from the operations
	$(python) -m forklore_local.server.openapi > docs/openapi.json

client: $(VENV)/ready ## write what is generated of the clients anew from the operations, and docs/openapi.json
	$(python) -m tools.client

fix: $(VENV)/ready ## format, and mend what the linter can
	$(python) -m ruff check --fix-only
	$(python) -m ruff format

fix-web: node_modules/ready ## the same for web/
	npm run --silent fix

fix-typescript: $(typescript)/node_modules/ready clients/node_modules/ready ## the same for clients/
	cd $(typescript) && npm run --silent fix
	$(call in_kits,fix)

chat: $(RUN)/ready build-kits ## start the example of a chat page, with a scripted model and a forklore of its own; PORT=… chooses where
	@$(newer_node) && cd clients/ai-sdk && FORKLORE_PYTHON="$(abspath $(RUN))/bin/python" exec node example/server.ts

# $(call byte-code,FOLDER,PLACE): compile the code in FOLDER, which Lambda has at PLACE. Lambda uses this
# byte-code and cannot keep any that it compiles itself (docs/decisions/0012). SAM's cache serves every
# version of Python, so the byte-code is not in it.
byte-code = PYTHONHASHSEED=0 "$(RUNTIME_PYTHON)" -m compileall -q -f --invalidation-mode unchecked-hash -s "$(1)" -p "$(2)" "$(1)"

# $(call build-for,ARCHITECTURE,FOLDER): build. SAM's output is shown only when it fails.
define build-for
	@echo "Building for $(1); this takes about half a minute, once."
	@log=$$(mktemp) && { FORKLORE_ARCHITECTURE="$(1)" $(offline) build --build-dir "$(2)/build" --cache-dir "$(2)/cache" \
		--parameter-overrides Architecture="$(1)" >"$$log" 2>&1 || { cat "$$log" >&2; rm -f "$$log"; exit 1; }; } && rm -f "$$log"
	@"$(SAM)/bin/python" -m tools.deployment.built_for "$(2)/build/template.yaml" "$(1)"
	@"$(SAM)/bin/python" -m tools.deployment.release "$(2)/build"
	@$(if $(RUNTIME_PYTHON),for part in "$(2)"/build/*Function; do $(call byte-code,$$part,/var/task) || exit 1; done && \
		for layer in "$(2)"/build/*Layer; do $(call byte-code,$$layer,/opt) || exit 1; done,echo "Built without byte-code, as there is no Python 3.13:" \
		"each cold start takes about twice as long. RUNTIME_PYTHON=… names one.")
endef

build: $(SAM)/locked ## build what is deployed into .aws-sam, without Docker; ARCHITECTURE=x86_64 for another processor
	$(call build-for,$(ARCHITECTURE),.aws-sam)

build-here: $(SAM)/locked
	$(call build-for,$(machine),$(patsubst %/build,%,$(here)))

size: $(VENV)/ready ## print how many lines each room has: code, signatures, docstrings, tests, and what is generated
	$(python) -m tools.size

size-deployed: build-here $(VENV)/ready $(runtime) ## print how large each part of the deployment is, and how long each function takes to start
	@du -sh "$(here)"/*/ | sort -h
	$(in_runtime) $(python) -m tools.bench.cold_start --build "$(here)"

validate: $(SAM)/locked ## hold template.yaml against the rules of CloudFormation and SAM
	$(offline) validate --lint
	$(offline) validate --lint --template examples/agent_on_events/template.yaml

package: $(RELEASE)/locked ## build the sdist, and the wheel from it, into dist; check what a registry would refuse or not show
	rm -rf dist
	"$(RELEASE)/bin/python" -m build --outdir dist
	"$(RELEASE)/bin/python" -m twine check --strict dist/*

package-npm: build-kits ## pack what npm would publish, into dist-npm
	rm -rf dist-npm && mkdir dist-npm
	@$(newer_node) && for one in $(typescript) $(kits); do \
		( cd "$$one" && npm pack --silent --pack-destination "$(CURDIR)/dist-npm" ) || exit 1; done

# checkov is started as a module, because its script fails in a folder whose name has a space. Of a template that it
# cannot parse it looks at nothing, and exits with 0.
test-deployment: package validate build-here $(CHECKS)/locked $(VENV)/ready $(runtime) ## check the template, the code and the packages that are deployed, and run them
	@told="$$("$(CHECKS)/bin/python" -m checkov.main --config-file .checkov.yaml 2>&1)"; failed=$$?; echo "$$told"; \
		case "$$told" in *"Parsing errors"*) exit 1;; esac; exit $$failed
	"$(CHECKS)/bin/bandit" --quiet --configfile pyproject.toml --recursive layers/core/forklore_service functions tools/deployment \
		examples/agent_on_events
	$(python) -m tests.deployment.audit "$(CHECKS)/bin/pip-audit" \
		layers/core/requirements.txt functions/authorizer/requirements.txt clients/python/requirements.txt
	FORKLORE_BUILD="$(here)" $(in_runtime) $(python) -m pytest tests/deployment
	@$(if $(RUNTIME_PYTHON),,echo "NOT TESTED: the built functions were not run, as there is no Python 3.13: RUNTIME_PYTHON=…")

deploy-emulated: build-here $(VENV)/ready $(if $(RUNTIME_PYTHON),$(EMULATOR)/locked) ## deploy to an emulator of AWS on this machine, and send it requests
	@test -n "$(RUNTIME_PYTHON)" || { echo "The functions need Python 3.13 to run here." >&2; exit 1; }
	FORKLORE_BUILD="$(here)" FORKLORE_EMULATOR="$(EMULATOR)" FORKLORE_SAM="$(SAM)" \
		$(python) -m pytest tests/deployment/test_emulated.py tests/deployment/test_emulated_make.py tests/deployment/test_emulated_restore.py \
		tests/deployment/test_emulated_upgrade.py

sam-local: build-here $(VENV)/ready ## serve the built functions with `sam local`; needs Docker or podman and DynamoDB Local (docs/deploy.md)
	$(python) -m tools.deployment.sam_local env.local.json
	$(offline) local start-api --template "$(here)/template.yaml" --port "$${PORT:-3000}" --env-vars env.local.json \
		--add-host "host.docker.internal:$${HOST_GATEWAY:-host-gateway}" --warm-containers LAZY \
		--parameter-overrides Architecture="$(machine)" $(ARGUMENTS)

# The first line checks the account, asks for what is missing and keeps the answers. Only then it is built,
# for the architecture that is kept. `sam deploy` reads the rest from samconfig.toml.
deploy: $(SAM)/locked ## deploy to AWS; asks for the issuer and the audience the first time, for all with ASK=yes; CONFIRM=no asks nothing; STAGE=try is another deployment
	@SAMCONFIG="$(SAMCONFIG)" "$(SAM)/bin/python" -m tools.deployment.deploy "$(STAGE)"
	@$(MAKE) --no-print-directory build
	@$(sam) deploy --config-file "$(abspath $(SAMCONFIG))" --config-env "$(STAGE)" $(if $(filter no,$(CONFIRM)),--no-confirm-changeset)

image: ## build the image of a server on one machine; needs Docker or podman; IMAGE_OPTIONS=… are more of its options
	$(CONTAINERS) build $(IMAGE_OPTIONS) -t forklore .

restore: $(SAM)/locked $(RUN)/ready ## restore the table to TIME=2026-11-23T17:15:00Z and let the stack use it; started again, it goes on where it stopped
	@SAMCONFIG="$(SAMCONFIG)" FSCK_PYTHON="$(abspath $(RUN))/bin/python" "$(SAM)/bin/python" -m tools.deployment.restore "$(STAGE)" "$(TIME)"

upgrade: $(SAM)/locked $(RUN)/ready ## move the data into a new table of this version's form, if they have another, and deploy; BACK=TABLE goes back; started again, it goes on where it stopped
	@SAMCONFIG="$(SAMCONFIG)" FSCK_PYTHON="$(abspath $(RUN))/bin/python" "$(SAM)/bin/python" -m tools.deployment.upgrade "$(STAGE)"
	@$(MAKE) --no-print-directory deploy
	@SAMCONFIG="$(SAMCONFIG)" "$(SAM)/bin/python" -m tools.deployment.upgrade "$(STAGE)" start

try-recall: $(RUN)/ready ## measure on AWS what only AWS can tell of recall, in tables that are deleted again; costs about $$0.05
	@$(run) -m tools.deployment.try_recall $(ARGUMENTS)

lock: ## write all locks from pyproject.toml and the three requirements.in; needs uv; UPGRADE=--upgrade takes newer versions
	@command -v uv >/dev/null || { echo "make lock needs uv on the PATH" >&2; exit 1; }
	$(compile) layers/core/requirements.in -o layers/core/requirements.txt
	$(compile) functions/authorizer/requirements.in -o functions/authorizer/requirements.txt
	$(compile) clients/python/requirements.in -c layers/core/requirements.txt -c functions/authorizer/requirements.txt \
		$(addprefix --no-emit-package ,pydantic pydantic-core annotated-types typing-extensions typing-inspection) \
		-o clients/python/requirements.txt
	$(compile) pyproject.toml $(addprefix --extra ,$(extras)) --group dev -c layers/core/requirements.txt \
		-c functions/authorizer/requirements.txt -o $(locks)/dev.txt
	$(compile) pyproject.toml --extra local --extra cli --group run -c $(locks)/dev.txt -o $(locks)/run.txt
	$(compile) pyproject.toml $(addprefix --extra ,local lambda cli mcp $(adapters)) --group adapters -c layers/core/requirements.txt \
		-o $(locks)/adapters.txt
	$(subst 3.11,3.12,$(compile)) pyproject.toml --extra local --extra openhands --group openhands -c layers/core/requirements.txt \
		-o $(locks)/openhands.txt
	$(compile) pyproject.toml --extra local --extra cli --extra metrics -c $(locks)/dev.txt -o $(locks)/image.txt
	$(compile) pyproject.toml --extra local --extra cli --group web -c $(locks)/dev.txt -o $(locks)/web.txt
	for group in pip sam checks release runtime emulator; do \
		$(compile) --group $$group -o $(locks)/$$group.txt || exit 1; done

clean: ## remove the environments and whatever was built or cached
	rm -rf "$(VENV)" "$(RUN)" "$(ADAPTERS)" "$(NEWEST)" "$(NEWEST)-openhands" "$(NEWEST)-mastra" "$(OPENHANDS)" "$(AGENT_SERVER)" "$(WEB)" "$(SAM)" "$(CHECKS)" "$(RELEASE)" "$(RUNTIME)" "$(EMULATOR)" .programs .aws-sam env.local.json .cache .hypothesis .mypy_cache .pytest_cache \
		.ruff_cache build dist dist-npm node_modules clients/node_modules $(foreach one,$(typescript) $(kits),$(addprefix $(one)/,node_modules build dist LICENSE)) \
		$(runtimes)/node_modules *.egg-info .*.lock node_modules.lock clients/node_modules.lock $(typescript)/node_modules.lock \
		$(runtimes)/node_modules.lock
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# These are two steps, so a change of pyproject.toml does not make the environment again.
$(VENV)/ready $(RUN)/ready $(ADAPTERS)/ready $(OPENHANDS)/ready $(WEB)/ready: %/ready: %/locked pyproject.toml
	@PYTHONWARNINGS=ignore $(once) "$(@D)/bin/python" $(pip) install --no-deps --no-build-isolation --editable .

$(VENV)/locked: $(locks)/dev.txt
$(RUN)/locked: $(locks)/run.txt
$(ADAPTERS)/locked: $(locks)/adapters.txt
$(OPENHANDS)/locked: $(locks)/openhands.txt
$(WEB)/locked: $(locks)/web.txt
$(SAM)/locked: $(locks)/sam.txt
$(CHECKS)/locked: $(locks)/checks.txt
$(RELEASE)/locked: $(locks)/release.txt
$(RUNTIME)/locked: $(locks)/runtime.txt
$(EMULATOR)/locked: $(locks)/emulator.txt
# Each gets this pip first: Python's own takes twice as long for the rest.
environment := $(addsuffix /locked,$(VENV) $(RUN) $(ADAPTERS) $(OPENHANDS) $(WEB) $(SAM) $(CHECKS) $(RELEASE) $(RUNTIME) $(EMULATOR))
$(environment): $(locks)/pip.txt
$(RUN)/locked $(RUNTIME)/locked: compiled :=
$(RUNTIME)/locked $(EMULATOR)/locked $(OPENHANDS)/locked: PYTHON = $(RUNTIME_PYTHON)

$(environment):
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "forklore needs Python 3.11 or newer, but $(PYTHON) is: $$("$(PYTHON)" --version 2>&1)." \
			"Name a newer one: make PYTHON=python3.13 …" >&2; exit 1; }
	@$(once) sh -c 'echo "Installing $< into $(@D); this takes about half a minute, once." && \
		"$(PYTHON)" -m venv --clear "$(@D)" && for lock in "$(locks)/pip.txt" "$<"; do \
			"$(@D)/bin/python" $(install) --requirement "$$lock" || exit 1; done'

node_modules/ready $(addsuffix /node_modules/ready,$(typescript) $(runtimes)): %node_modules/ready: %package-lock.json %package.json .npmrc
	$(if $(npm),,$(error There is no npm of Node 20.19 or newer: install it))
	@$(once) sh -c 'cd "./$*" && npm ci --loglevel=error'

# These packages are folders here, and not of a registry. npm would follow a link to a folder itself, and tidy it up.
clients/node_modules/ready: clients/package-lock.json clients/package.json clients/.npmrc $(runtimes)/node_modules/ready
	@$(newer_node) && $(once) sh -c 'cd clients && npm ci --loglevel=error && \
		for one in typescript:client assistant-ui:assistant-ui ai-sdk:ai-sdk langgraph:langgraph mastra:mastra; do \
			made="node_modules/@forklore/$${one#*:}"; mkdir -p "$$made"; \
			for part in package.json dist; do ln -sfn "../../../$${one%:*}/$$part" "$$made/$$part" || exit 1; done; \
		done'
