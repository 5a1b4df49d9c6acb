"""Every bundled file fits its schema, and files with typical faults do not. Usage: check.py PROJECT_ROOT"""

import copy
import json
import sys
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed: schemas not checked")
    sys.exit(77)

root = Path(sys.argv[1])
folder = root / "configs/schema"
FILES = {
    "topology": sorted((root / "topologies").glob("*.json")),
    "device": sorted((root / "configs/devices").glob("*.json")),
    "workload": sorted((root / "workloads").glob("*.json")),
    "experiment": sorted((root / "configs").glob("*.json")),
    "study": sorted((root / "configs/studies").glob("*.json")),
}
schemas = {p.name: json.loads(p.read_text()) for p in folder.glob("*.schema.json")}


def inlined(node):
    """References to another schema file, replaced by a permissive object: jsonschema 4 would fetch them."""
    if isinstance(node, dict):
        if str(node.get("$ref", "")).endswith(".schema.json"):
            name = Path(node["$ref"]).name.split(".")[0]
            return {"type": "object", "required": ["workloads"] if name == "experiment" else ["kind"]}
        return {k: inlined(v) for k, v in node.items()}
    return [inlined(v) for v in node] if isinstance(node, list) else node


validators = {}
for kind in FILES:
    schema = inlined(schemas[f"{kind}.schema.json"])
    jsonschema.Draft7Validator.check_schema(schema)
    validators[kind] = jsonschema.Draft7Validator(schema)

failures = 0
for kind, files in FILES.items():
    if not files:
        failures += 1
        print(f"no files of kind {kind}")
    for path in files:
        data = json.loads(path.read_text())
        expected = f"{kind}.schema.json"
        if Path(data.get("$schema", "")).name != expected or not (path.parent / data["$schema"]).exists():
            failures += 1
            print(f"{path}: $schema must lead to {expected}")
        for error in validators[kind].iter_errors(data):
            failures += 1
            print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")


def faults(data):
    """Copies of the file with one fault each."""
    extra = copy.deepcopy(data)
    extra["unknown_key"] = 1
    yield "an unknown key", extra
    for key, value in data.items():
        if isinstance(value, dict) and key != "experiment":  # a file of its own kind, checked as such
            inner = copy.deepcopy(data)
            inner[key]["unknown_key"] = 1
            yield f"an unknown key in {key}", inner
            for name, old in value.items():
                if isinstance(old, str) and name in ("bandwidth", "latency", "fixed", "kernel_gap"):
                    for bad in (5, "5", "5 parsecs", "-1 us", "nan us"):
                        wrong = copy.deepcopy(data)
                        wrong[key][name] = bad
                        yield f"{key}/{name} = {bad!r}", wrong


for kind, files in FILES.items():
    for path in files:
        for what, data in faults(json.loads(path.read_text())):
            if validators[kind].is_valid(data):
                failures += 1
                print(f"{path}: the schema accepts {what}")

for path in FILES["study"]:  # the experiment that stands inside
    inner = json.loads(path.read_text())["experiment"]
    if isinstance(inner, dict):
        for error in validators["experiment"].iter_errors(inner):
            failures += 1
            print(f"{path}: experiment/{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")

print(f"{sum(map(len, FILES.values()))} files checked, {failures} failures")
sys.exit(1 if failures else 0)
