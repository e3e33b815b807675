"""Holds what the official suite found against `expected.json`.

A scenario passes when something was asked, and every check went well: a warning, or a check that was skipped, is not
well. One that does not apply must say why in the very words of `expected.json`; where it says something else, or
nothing any more, that is a failure too.

Usage: conformance.py LIST RESULTS COUNTED, where LIST is what `conformance list --server` printed, RESULTS has a folder
for each version of the protocol, and the counts are added to COUNTED.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
GOOD = ("SUCCESS", "INFO")
# What is not on the timeline of versions is asked at each, or at the newest.
AT_EACH, AT_NEWEST = "sep-2640-", "tasks-"


def scenarios(listed, versions):
    """Each scenario with the versions at which it must have been run."""
    wanted = {}
    for name, tags in re.findall(r"^  - (\S+) \[(.*)\]$", listed, re.MULTILINE):
        tags = tags.split(",")
        if tags != ["extension"]:
            wanted[name] = [version for version in versions if version in tags]
        elif name.startswith(AT_EACH):
            wanted[name] = versions
        else:
            assert name.startswith(AT_NEWEST), f"an extension that nobody thought of: {name}"
            wanted[name] = versions[-1:]
    return wanted


def found(results):
    """The checks of each scenario at each version."""
    all_of = {}
    for file in sorted(results.glob("*/server-*/checks.json")):
        scenario = STAMP.sub("", file.parent.name.removeprefix("server-"))
        all_of[scenario, file.parent.parent.name] = json.loads(file.read_text())
    return all_of


def judged(scenario, version, checks, expected):
    """A word for the table, and what is wrong."""
    excused = lambda one: one is not None and version in one.get("at", [version])
    whole = expected["scenarios"].get(scenario)
    whole = whole if excused(whole) else None
    some = {id: one for id, one in expected["checks"].get(scenario, {}).items() if excused(one)}
    text = lambda check: json.dumps(check, ensure_ascii=False).replace('\\"', '"')
    problems = []
    for id, one in some.items():
        bad = [check for check in checks if check["id"] == id and check["status"] not in GOOD]
        if not any(one["says"] in text(check) for check in bad):
            problems.append(f"{id} is not what `expected.json` says")
    if whole and whole["says"] not in text(checks):
        problems.append("it does not say what `expected.json` says")
    for check in checks:
        # What the server sent must be valid, whatever was asked.
        if check["status"] in GOOD or check["id"] in some or whole and not check["id"].startswith("wire-schema"):
            continue
        problems.append(f"{check['id']}: {check.get('errorMessage') or check['description']}")
    good = sum(check["status"] == "SUCCESS" for check in checks)
    if not whole and not good:
        problems.append("nothing was asked")
    if problems:
        return "FAIL", problems
    return "n/a" if whole else f"{good} of {good + len(some)}", []


def main():
    listed, results = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    expected = json.loads((HERE / "expected.json").read_text())
    versions = sorted(path.name for path in results.iterdir())
    wanted, all_of = scenarios(listed, versions), found(results)
    for name in [*expected["scenarios"], *expected["checks"]]:
        assert name in wanted, f"`expected.json` knows a scenario that the suite has not: {name}"

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
            word, problems = judged(scenario, version, checks, expected) if checks else ("FAIL", ["it was not run"])
            counts[word if word in counts else "pass"] += 1
            failed += [f"{scenario} at {version}: {problem}" for problem in problems]
            row.append(word)
        print(f"{scenario:{wide}}", *(f"{word:>10}" for word in row))

    print("\nWhat does not apply, and why:")
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
