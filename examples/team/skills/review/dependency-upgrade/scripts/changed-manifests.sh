#!/bin/sh
# Lists manifests and lockfiles that differ between a base and HEAD, with the number of changed lines.
set -eu

base=${1:?usage: changed-manifests.sh <base>}

git diff --stat "$base...HEAD" -- \
    '*Cargo.toml' '*Cargo.lock' \
    '*package.json' '*package-lock.json' '*pnpm-lock.yaml' '*yarn.lock' \
    '*go.mod' '*go.sum' \
    '*pyproject.toml' '*requirements*.txt' '*uv.lock' '*poetry.lock' \
    '*pom.xml' '*build.gradle*' '*Gemfile*'
