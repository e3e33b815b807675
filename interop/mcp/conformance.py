"""Compares the results of the official suite with `expected.json`.

A scenario passes if it ran at least one check and all checks passed, without warnings or skipped checks. A scenario
that does not apply must fail with the text in `expected.json`. Another text, or none, is a failure too.

Usage: conformance.py LIST RESULTS COUNTED. LIST is the output of `conformance list --server`, RESULTS has a directory
for each version of the protocol, and the counts are appended to COUNTED.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
GOOD = ("SUCCESS", "INFO")
# Scenarios without a version run at each version, or at the newest one.
AT_EACH, AT_NEWEST = "sep-2640-", "tasks-"


def scenarios(listed, versions):
    """Returns each scenario with the versions at which it must have been run."""
    wanted = {}
    for name, tags in re.findall(r"^  - (\S+) \[(.*)\]$", listed, re.MULTILINE):
        tags = tags.split(",")
        if tags != ["extension"]:
            wanted[name] = [version for version in versions if version in tags]
        elif name.startswith(AT_EACH):
            wanted[name] = versions
        else:
            assert name.startswith(AT_NEWEST), f"unknown extension: {name}"
            wanted[name] = versions[-1:]
    return wanted


def found(results):
    """Returns the checks of each scenario at each version."""
    all_of = {}
    for file in sorted(results.glob("*/server-*/checks.json")):
        scenario = STAMP.sub("", file.parent.name.removeprefix("server-"))
        all_of[scenario, file.parent.parent.name] = json.loads(file.read_text())
    return all_of


def judged(scenario, version, checks, expected):
    """Returns the result of a scenario for the table, and its problems."""
    excused = lambda one: one is not None and version in one.get("at", [version])
    whole = expected["scenarios"].get(scenario)
    whole = whole if excused(whole) else None
    some = {id: one for id, one in expected["checks"].get(scenario, {}).items() if excused(one)}
    text = lambda check: json.dumps(check, ensure_ascii=False).replace('\\"', '"')
    problems = []
    for id, one in some.items():
        bad = [check for check in checks if check["id"] == id and check["status"] not in GOOD]
        if not any(one["says"] in text(check) for check in bad):
            problems.append(f"{id} does not fail as listed in `expected.json`")
    if whole and whole["says"] not in text(checks):
        problems.append("it does not fail as listed in `expected.json`")
    for check in checks:
        # Messages of the server must always be valid.
        if check["status"] in GOOD or check["id"] in some or whole and not check["id"].startswith("wire-schema"):
            continue
        problems.append(f"{check['id']}: {check.get('errorMessage') or check['description']}")
    good = sum(check["status"] == "SUCCESS" for check in checks)
    if not whole and not good:
        problems.append("no check ran")
    if problems:
        return "FAIL", problems
    return "n/a" if whole else f"{good} of {good + len(some)}", []


def main():
    listed, results = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    expected = json.loads((HERE / "expected.json").read_text())
    versions = sorted(path.name for path in results.iterdir())
    wanted, all_of = scenarios(listed, versions), found(results)
    for name in [*expected["scenarios"], *expected["checks"]]:
        assert name in wanted, f"`expected.json` lists an unknown scenario: {name}"

    wide = max(map(len, wanted))
    print(f"{'scenario':{wide}}", *(f"{version:>10}" for version in versions))
    failed, counts = [], {"pass": 0, "n/a": 0, "FAIL": 0}
    for scenario, at in wanted.items():
        row = []
        for version in versions:
            if version not in at:
                row.append("")
                continue
            checks = all_of.get((scenario, version))
            word, problems = judged(scenario, version, checks, expected) if checks else ("FAIL", ["it did not run"])
            counts[word if word in counts else "pass"] += 1
            failed += [f"{scenario} at {version}: {problem}" for problem in problems]
            row.append(word)
        print(f"{scenario:{wide}}", *(f"{word:>10}" for word in row))

    print("\nScenarios that do not apply:")
    for name, one in expected["scenarios"].items():
        print(f"  {name}{' at ' + ', '.join(one['at']) if 'at' in one else ''}: {one['why']}")
    for name, checks in expected["checks"].items():
        for id, one in checks.items():
            print(f"  {name}, only {id}{' at ' + ', '.join(one['at']) if 'at' in one else ''}: {one['why']}")
    passed, others = counts["pass"], counts["n/a"]
    print(f"\n{sum(counts.values())} runs of {len(wanted)} scenarios:", end=" ")
    print(f"{passed} pass, {others} do not apply, {counts['FAIL']} fail")
    with open(sys.argv[3], "a") as counted:
        print("suite", counts["pass"], counts["FAIL"], counts["n/a"], sep="\t", file=counted)
    for problem in failed:
        print(f"FAIL  {problem}")
    sys.exit(bool(failed))


main()
