"""Tests all features of `sp mcp` with the official Python client, over stdio and HTTP, in every protocol version.

Sizes and digests of files are compared with the bytes, frontmatter with the result of another YAML parser, and both
with the files on disk. The client validates every response with its models, and every tool result with its schema.

Usage: python_client.py SP HOME REPOSITORY SCRATCH URL. The counts are appended to `counted` in SCRATCH.
"""

import base64
import contextlib
import datetime
import hashlib
import json
import math
import os
import pathlib
import sys
import time
import traceback
import urllib.parse
import warnings
from typing import Any

import anyio
import jsonschema
import mcp.client.session
import mcp_types as types
from mcp import Client, MCPError
from mcp.client import advertise
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import TypeAdapter
from ruamel.yaml import YAML

EXTENSION = "io.modelcontextprotocol/skills"
NEWEST, OLDER, OLDEST = "2026-07-28", "2025-11-25", "2025-06-18"
# The modes of the client, and the protocol version of each handshake.
MODES = {"auto": NEWEST, NEWEST: NEWEST, OLDER: OLDER, OLDEST: OLDEST}
# `./test` uses fewer modes.
if "MODES" in os.environ:
    MODES = {mode: MODES[mode] for mode in os.environ["MODES"].split(",")}

sp, home, repository, scratch, url = sys.argv[1:]
repository, scratch = pathlib.Path(repository), pathlib.Path(scratch)
warnings.simplefilter("ignore")


def only_this_machine(event, args):
    """Blocks connections to other machines."""
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in ("127.0.0.1", "::1"):
        raise PermissionError(f"connection to {args[1][0]} blocked")


sys.addaudithook(only_this_machine)


class Asked(types.Request[dict, str]):
    """A request that the client does not define."""


async def ask(client, method, **params):
    return await client.session.send_request(Asked(method=method, params=params), TypeAdapter(dict[str, Any]))


async def pages(ask_for, member):
    """Returns the items of all pages of a list, and the number of pages."""
    items, cursor, count = [], None, 0
    while True:
        page = await ask_for(cursor)
        count += 1
        items += page[member] if isinstance(page, dict) else getattr(page, member)
        cursor = page.get("nextCursor") if isinstance(page, dict) else page.next_cursor
        if cursor is None:
            return items, count
        assert count < 50, "the list does not end"


def bytes_of(contents):
    (one,) = contents
    if isinstance(one, types.TextResourceContents):
        return one.text.encode()
    return base64.b64decode(one.blob, validate=True)


def plain(value):
    """Converts a YAML value to JSON."""
    if isinstance(value, dict):
        return {str(key): plain(value) for key, value in value.items()}
    if isinstance(value, list):
        return [plain(value) for value in value]
    assert not (isinstance(value, float) and not math.isfinite(value)), value
    assert not isinstance(value, (datetime.date, datetime.datetime)), value
    return value


def frontmatter(text):
    """Returns the frontmatter of a `SKILL.md`, read by another YAML parser."""
    yaml = YAML(typ="safe", pure=True)
    lines = text.replace("\r\n", "\n").split("\n")
    end = next(at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    return plain(yaml.load("\n".join(lines[1:end])))


def is_error(code, error):
    assert error.code == code, f"expected {code}, not {error.code} {error.message}"


@contextlib.asynccontextmanager
async def refused(code):
    try:
        yield
    except MCPError as error:
        is_error(code, error)
    else:
        raise AssertionError(f"expected {code}, but the request succeeded")


class Session:
    """The tests of one connection."""

    def __init__(self, client, version):
        self.client, self.version = client, version

    async def declares_its_capabilities(self):
        client = self.client
        assert client.protocol_version == self.version, client.protocol_version
        if self.version == NEWEST:
            discovered = types.DiscoverResult.model_validate(await client.session.send_discover(NEWEST))
            assert discovered.supported_versions == [OLDEST, OLDER, NEWEST], discovered.supported_versions
            capabilities, instructions = discovered.capabilities, discovered.instructions
        else:
            capabilities, instructions = client.server_capabilities, client.instructions
            assert client.server_info.name == "skillpack", client.server_info
            await client.send_ping()
        declared = capabilities.model_dump(by_alias=True, exclude_none=True)
        # If the server declares more, update the scenarios that do not apply in `expected.json`.
        wanted = {"tools": {}, "resources": {}, "prompts": {}}
        skills = declared.pop("extensions", {})
        assert declared == wanted, declared
        assert skills == {EXTENSION: {"directoryRead": True}}, skills
        assert "list_skills" in instructions, instructions

    async def lists_tools_with_schemas(self):
        self.tools, _ = await pages(lambda cursor: self.client.list_tools(cursor=cursor), "tools")
        names = [tool.name for tool in self.tools]
        assert {"search", "fetch", "list_skills", "read_skill"} <= set(names), names
        assert len(names) == len(set(names)), names
        for tool in self.tools:
            assert tool.title and tool.description and tool.output_schema and tool.annotations, tool.name
            for schema in (tool.input_schema, tool.output_schema):
                jsonschema.Draft202012Validator.check_schema(schema)
                assert schema["type"] == "object", tool.name

    async def call(self, name, /, **arguments):
        """Calls a tool. The client validates the result with the schema."""
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None, name
        text = json.loads(result.content[0].text)
        assert text == result.structured_content, f"the text of {name} differs from its structured content"
        return result.structured_content

    async def calls_tools(self):
        found = await self.call("search", query="deploys carefully with a checklist")
        first = found["results"][0]
        assert first["title"] == "deploy", first
        text = (repository / "skills/deploy/SKILL.md").read_text()
        fetched = await self.call("fetch", id=first["id"])
        assert text in fetched["text"] and fetched["url"] == first["url"], fetched
        skills, cursor = [], {}
        while cursor is not None:
            page = await self.call("list_skills", **cursor)
            skills += page["skills"]
            cursor = {"cursor": page["next"]} if "next" in page else None
        assert len(skills) > 100, len(skills)
        read = await self.call("read_skill", skill=first["id"], file="references/日本語 ✓.md")
        assert "日本語" in read["text"], read
        # All read-only tools without required arguments are called as well.
        known = {"graph_neighbors": {"node": "F1"}, "bag_run": {"skill": "skillbag_get_skills"}}
        for tool in self.tools:
            harmless = tool.annotations.read_only_hint and not tool.annotations.open_world_hint
            if tool.name in known or harmless and not tool.input_schema.get("required"):
                await self.call(tool.name, **known.get(tool.name, {}))

    async def changes_nothing(self):
        """A plan is not applied without permission."""
        before = sorted(pathlib.Path(home).glob(".claude/skills/*"))
        wanted = {"packs": ["shop"], "agents": ["claude"]}
        plan = (await self.call("plan_install", **wanted))["plan"]
        refused = await self.client.call_tool("install", {**wanted, "plan": plan})
        assert refused.is_error and "--allow-write" in refused.content[0].text, refused
        assert sorted(pathlib.Path(home).glob(".claude/skills/*")) == before

    async def applies_a_plan(self):
        """Applies a plan exactly, then reverts it."""
        sink = pathlib.Path(home) / ".claude/skills"
        before = sorted(sink.iterdir())
        wanted = {"packs": ["shop"], "agents": ["claude"]}
        wrong = await self.client.call_tool("install", {**wanted, "plan": "sha256:" + 64 * "0"})
        assert wrong.is_error and sorted(sink.iterdir()) == before, wrong
        plan = await self.call("plan_install", **wanted)
        assert not plan["applied"] and sorted(sink.iterdir()) == before, plan
        done = await self.call("install", **wanted, plan=plan["plan"])
        assert done["applied"], done
        new = set(sink.iterdir()) - set(before)
        assert {path.name for path in new} == {one["folder"] for one in plan["sinks"][0]["folders"]}, new
        plan = await self.call("plan_uninstall", **wanted)
        await self.call("uninstall", **wanted, plan=plan["plan"])
        assert sorted(sink.iterdir()) == before

    async def reports_errors(self):
        wrong = await self.client.call_tool("search", {"query": 7})
        assert wrong.is_error and "search" in wrong.content[0].text, wrong
        nothing = await self.client.call_tool("read_skill", {"skill": "skill://repo/none/SKILL.md"})
        assert nothing.is_error, nothing
        async with refused(types.INVALID_PARAMS):
            await self.client.call_tool("no_such_tool", {})
        async with refused(types.INVALID_PARAMS):
            await self.client.get_prompt("no-such-prompt")
        # The error code of missing resources differs between versions.
        async with refused(types.INVALID_PARAMS if self.version == NEWEST else -32002):
            await self.client.read_resource("skill://repo/none/SKILL.md")
        for method in ("skills/get", "resources/directory/read"):
            async with refused(types.INVALID_PARAMS):
                await ask(self.client, method, uri="skill://repo/none/SKILL.md")
        for path in ("/etc/passwd", "repo/deploy/../../../etc/passwd", "repo/deploy/%2e%2e/%2e%2e/x"):
            uri = f"file://{path}" if path.startswith("/") else f"skill://{path}"
            async with refused(types.INVALID_PARAMS if self.version == NEWEST else -32002):
                await self.client.read_resource(uri)
        async with refused(types.INVALID_PARAMS):
            await self.client.list_resources(cursor="nonsense")
        for method in ("no/such/method", "logging/setLevel", "resources/subscribe", "completion/complete", "tasks/get"):
            async with refused(types.METHOD_NOT_FOUND):
                await ask(self.client, method)

    async def reads_every_resource(self):
        resources, count = await pages(lambda cursor: self.client.list_resources(cursor=cursor), "resources")
        assert count > 1, "there was only one page"
        uris = [resource.uri for resource in resources]
        assert len(uris) == len(set(uris)), "duplicate resource"
        skills = [f"skill://{origin}/" for origin in ("repo", "bag", "sink", "package")]
        for scheme in [*skills, "context-pack://", "ctxpkg://"]:
            assert any(uri.startswith(scheme) for uri in uris), f"no resource has the scheme {scheme}"
        for resource in resources:
            contents = (await self.client.read_resource(resource.uri)).contents
            assert contents[0].uri == resource.uri and contents[0].mime_type == resource.mime_type, resource
            assert len(bytes_of(contents)) == resource.size, resource
        templates, _ = await pages(
            lambda cursor: self.client.list_resource_templates(cursor=cursor), "resource_templates"
        )
        assert any(one.uri_template == "skill://{+path}/SKILL.md" for one in templates), templates

    async def serves_skills_byte_for_byte(self):
        """Compares every file of every skill: its metadata, its content, and the file on disk."""
        skills, count = await pages(
            lambda cursor: ask(self.client, "skills/list", **({"cursor": cursor} if cursor else {})), "skills"
        )
        assert count > 1, "there was only one page"
        self.skills = {skill["uri"]: skill for skill in skills}
        assert len(self.skills) == len(skills), "duplicate skill"
        seen = set()
        for skill in skills:
            if "/not-served/" in skill["uri"]:
                continue
            root = skill["uri"].removesuffix("/SKILL.md")
            assert skill["resources"] and root.rsplit("/", 1)[-1] == skill["frontmatter"]["name"], skill["uri"]
            for file in skill["resources"]:
                data = bytes_of((await self.client.read_resource(file["uri"])).contents)
                assert len(data) == file["size"], file
                assert "sha256:" + hashlib.sha256(data).hexdigest() == file["digest"], file
                assert file["uri"].startswith(root + "/") and file["uri"] not in seen, file
                seen.add(file["uri"])
                place = urllib.parse.unquote(file["uri"])
                if place.startswith("skill://repo/"):
                    on_disk = repository / "skills" / place.removeprefix("skill://repo/")
                    assert on_disk.read_bytes() == data, file
                if file["uri"] == skill["uri"]:
                    theirs = frontmatter(data.decode())
                    assert theirs == skill["frontmatter"], (skill["uri"], theirs, skill["frontmatter"])
        ours = {urllib.parse.unquote(uri) for uri in seen if uri.startswith("skill://repo/")}
        there = {f"skill://repo/{path.relative_to(repository / 'skills')}" for path in repository.glob("skills/**/*")
                 if path.is_file() and "not-served" not in path.parts}
        assert ours == there, ours ^ there

    async def lists_skills_that_are_not_served(self):
        """Skills that are not served are listed with a reason, and searches do not find them."""
        left_out = (await self.call("list_skills"))["left_out"]
        wrong = []
        for place in sorted((repository / "skills/not-served").iterdir()):
            path = f"repo/not-served/{place.name}"
            if any(uri.startswith(f"skill://{path}/") for uri in self.skills):
                wrong.append(f"{path} is served")
                continue
            if not any(why.startswith(f"{path}: ") for why in left_out):
                wrong.append(f"there is no reason why {path} is not served")
            found = await self.call("search", query=(place / "SKILL.md").read_text())
            if any(one["id"].startswith(f"skill://{path}/") for one in found["results"]):
                wrong.append(f"{path} is not served, but can be found")
        assert not wrong, "; ".join(wrong)

    async def returns_skills_and_directories(self):
        for name in ("a-big", "deploy", "general/write-commit-message"):
            uri = f"skill://repo/{name}/SKILL.md"
            got = (await ask(self.client, "skills/get", uri=uri))["skill"]
            assert got == self.skills[uri], uri
            files, folders, turned = set(), [uri.removesuffix("/SKILL.md")], 0
            while folders:
                folder = folders.pop()
                children, count = await pages(
                    lambda cursor: ask(
                        self.client, "resources/directory/read", uri=folder, **({"cursor": cursor} if cursor else {})
                    ),
                    "resources",
                )
                turned = max(turned, count)
                for child in children:
                    assert child["uri"].rsplit("/", 1)[0] == folder, child
                    if child["mimeType"] == "inode/directory":
                        folders.append(child["uri"])
                    else:
                        files.add((child["uri"], child["size"]))
            assert files == {(file["uri"], file["size"]) for file in got["resources"]}, uri
            assert turned > 1 or name != "a-big", "there was only one page"

    async def serves_prompts(self):
        prompts, _ = await pages(lambda cursor: self.client.list_prompts(cursor=cursor), "prompts")
        assert prompts, "there are no prompts"
        for prompt in prompts:
            got = await self.client.get_prompt(prompt.name)
            assert got.messages and got.messages[0].content.text, prompt.name

    async def shows_changes(self):
        """Changes on disk are visible immediately."""
        place = repository / "skills/newcomer/SKILL.md"
        uri = "skill://repo/newcomer/SKILL.md"
        place.parent.mkdir()
        try:
            digests = []
            for text in ("first", "second"):
                place.write_text(f"---\nname: newcomer\ndescription: Came {text}.\n---\n{text}\n")
                data = bytes_of((await self.client.read_resource(uri, cache_mode="refresh")).contents)
                assert data == place.read_bytes(), text
                skill = (await ask(self.client, "skills/get", uri=uri))["skill"]
                digests.append(skill["resources"][0]["digest"])
                assert digests[-1] == "sha256:" + hashlib.sha256(data).hexdigest(), text
            assert digests[0] != digests[1], digests
        finally:
            place.unlink()
            place.parent.rmdir()
        async with refused(types.INVALID_PARAMS):
            await ask(self.client, "skills/get", uri=uri)

    async def answers_concurrent_requests(self):
        results = []

        async def one(at):
            results.append((at, await self.client.call_tool("read_skill", {"skill": f"s-{at:03}"})))

        async with anyio.create_task_group() as group:
            for at in range(1, 41):
                group.start_soon(one, at)
        assert len(results) == 40
        for at, result in results:
            assert f"Number {at} of many." in result.structured_content["text"], at

    async def cancels_requests(self):
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(self.client.call_tool, "list_skills", {})
            await anyio.sleep(0.02)
            group.cancel_scope.cancel()
        # The server still responds to new requests in time.
        with anyio.fail_after(10):
            assert (await self.call("search", query="deploy"))["results"]

    async def reports_progress(self, tool="check", arguments=None):
        reported = []

        async def progress(done, total, message):
            reported.append((done, total, message))

        result = await self.client.call_tool(tool, arguments or {}, progress_callback=progress)
        assert not result.is_error, result.content
        assert reported, "there was no progress notification"
        assert all(before[0] < after[0] for before, after in zip(reported, reported[1:])), reported
        assert all(total is None or done <= total for done, total, _ in reported), reported
        return result.structured_content

    async def generates_a_pack(self):
        """Reports progress, and returns the same files for the same input, with their digests."""
        wanted = {
            "name": "Appointments",
            "description": "People in several countries book slots. After the clocks changed, reminders came an hour off.",
            "prompt": "Correct the data model, including repeated sessions and invitations by mail.",
            "stack": ["python", "postgresql"],
            "kb": [str(repository / "notes")],
            "generated_at": "2026-11-01T00:00:00Z",
        }
        outside = await self.client.call_tool("generate_pack", {**wanted, "kb": [home]})
        assert outside.is_error and "outside" in outside.content[0].text, outside
        made = await self.reports_progress("generate_pack", wanted)
        assert made == await self.call("generate_pack", **wanted), "the same input produced different files"
        folder = scratch / f"pack-{time.monotonic_ns()}"
        folder.mkdir()
        for file in made["files"]:
            data = file["text"].encode() if "text" in file else base64.b64decode(file["blob"], validate=True)
            assert len(data) == file["size"], file["path"]
            assert "sha256:" + hashlib.sha256(data).hexdigest() == file["digest"], file["path"]
            (folder / file["path"]).write_bytes(data)
        environment = {"HOME": home, "PATH": os.environ["PATH"]}
        checked = await anyio.run_process([sp, "context", "check", str(folder)], env=environment, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr

    async def everything(self, tried):
        steps = [
            self.declares_its_capabilities,
            self.lists_tools_with_schemas,
            self.calls_tools,
            self.reports_errors,
            self.reads_every_resource,
            self.serves_skills_byte_for_byte,
            self.lists_skills_that_are_not_served,
            self.returns_skills_and_directories,
            self.serves_prompts,
            self.shows_changes,
            self.answers_concurrent_requests,
            self.cancels_requests,
        ]
        for step in steps:
            await tried(step.__name__, step)
        # Tools that do not exist yet are tested as soon as they exist.
        later = {"install": self.changes_nothing, "check": self.reports_progress}
        later["generate_pack"] = self.generates_a_pack
        for tool, step in later.items():
            if any(one.name == tool for one in getattr(self, "tools", [])):
                await tried(step.__name__, step)
            else:
                print(f"--    python: there is no `{tool}` yet", flush=True)

    async def writing_tools(self, tried):
        self.tools = (await self.client.list_tools()).tools
        if any(tool.name == "install" for tool in self.tools):
            await tried("applies_a_plan", self.applies_a_plan)


class RecordedServer:
    """A server over stdio whose messages are recorded."""

    # The shell records the exit code of the server, and `tee` its messages.
    RUN = 'set -o pipefail; tee "$1.in" | "$0" mcp "${@:2}" 2>"$1.err" | tee "$1.out"; echo $? >"$1.code"'

    def __init__(self, name, *options):
        self.tape = scratch / f"tape-{name}"
        self.parameters = StdioServerParameters(
            command="bash", args=["-c", self.RUN, sp, str(self.tape), *options], cwd=repository,
            env={"HOME": home, "PATH": os.environ["PATH"]},
        )

    def lines(self, which):
        return [json.loads(line) for line in self.tape.with_name(f"{self.tape.name}.{which}").read_text().splitlines()]

    async def check_messages(self):
        """Checks that the server exited, printed nothing else, and answered each request once unless cancelled."""
        code = self.tape.with_name(f"{self.tape.name}.code")
        assert code.read_text() == "0\n", code.read_text()
        assert self.tape.with_name(f"{self.tape.name}.err").read_text() == ""
        asked, answered = self.lines("in"), self.lines("out")
        ids = [line["id"] for line in asked if "id" in line]
        cancelled = {line["params"]["requestId"] for line in asked if line["method"] == "notifications/cancelled"}
        assert cancelled, "no request was cancelled"
        answers = [line["id"] for line in answered if "result" in line or "error" in line]
        assert len(answers) == len(set(answers)), "a request was answered twice"
        assert set(ids) - cancelled <= set(answers), "a request was not answered"
        # Some responses may have been sent before the cancellation.
        late = cancelled & set(answers)
        assert len(late) <= len(cancelled) // 2, f"{len(late)} of {len(cancelled)} cancelled requests were answered"


async def main():
    tried, failed = 0, 0

    def reporter(where):
        async def one(what, step):
            nonlocal tried, failed
            start = time.monotonic()
            try:
                with anyio.fail_after(120):
                    await step()
                tried += 1
                print(f"ok    python, {where}: {what.replace('_', ' ')} ({time.monotonic() - start:.1f}s)", flush=True)
            except Exception as error:
                failed += 1
                at = traceback.extract_tb(error.__traceback__)[-1].lineno
                reported = f"{type(error).__name__} in line {at}: {error}"[:2000]
                print(f"FAIL  python, {where}: {what.replace('_', ' ')}\n{reported}", file=sys.stderr, flush=True)

        return one

    for transport in ("stdio", "http"):
        for mode, version in MODES.items():
            report = reporter(f"{transport}, {mode}")
            # The handshake uses the newest version that has one; older clients use an older one.
            mcp.client.session.LATEST_HANDSHAKE_VERSION = version if version != NEWEST else OLDER
            recorded = RecordedServer(f"{transport}-{mode}")
            server = stdio_client(recorded.parameters) if transport == "stdio" else url
            how = mode if mode in ("auto", NEWEST) else "legacy"

            async def connected():
                known = [advertise(EXTENSION)]
                async with Client(server, mode=how, extensions=known, read_timeout_seconds=60) as client:
                    await Session(client, version).everything(report)

            await report("the connection", connected)
            if transport == "stdio":
                await report("the messages", recorded.check_messages)

    async def writing():
        server = stdio_client(RecordedServer("writing", "--allow-write").parameters)
        async with Client(server, read_timeout_seconds=60) as client:
            await Session(client, NEWEST).writing_tools(reporter("stdio, writing"))

    await reporter("stdio, writing")("the connection", writing)
    with open(scratch / "counted", "a") as counted:
        print("python", tried, failed, sep="\t", file=counted)
    sys.exit(bool(failed))


anyio.run(main)
