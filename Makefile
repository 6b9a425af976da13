# The front door. Meson does the building; this file only names the errands.
#
#   make run                a first box
#   make test               everything that can be checked
#   make install PREFIX=DIR

PREFIX  ?= /usr/local
DESTDIR ?=

release := build/release

.DEFAULT_GOAL := help
.PHONY: help build run test bench install uninstall deps deps-test deps-bench format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: deps ## build the release binaries in build/release
	@scripts/build release

run: build ## build, then run a first command in a box
	@scripts/first-run

test: deps-test ## build and run every check and test
	@scripts/test

bench: deps-bench ## build, then measure against the budgets
	@scripts/build release
	@bench/run

install: build ## install to PREFIX (default /usr/local), below DESTDIR when given
	@scripts/build install "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove what `make install` put in the same PREFIX and DESTDIR
	@scripts/build uninstall "$(PREFIX)" "$(DESTDIR)"

deps: ## install what the build needs (Debian packages), when missing
	@scripts/deps build

deps-test:
	@scripts/deps test

deps-bench:
	@scripts/deps bench

format: ## format all C files with clang-format
	@scripts/check-format --fix

clean: ## remove everything that was built
	rm -rf build
