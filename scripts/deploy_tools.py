"""What the tests of deploy/ need from the packages in .cache/deploy: rendering, schemas, parsing.

Runs in that environment, which `make check-deploy` installs. Reads JSON from stdin and writes JSON to stdout:

    render    {"chart": FOLDER, "cases": [{"values": {...}}]} -> [{"files": {...}, "error": TEXT}]
    validate  {"versions": [VERSION], "documents": [{...}]} -> [TEXT], one for each problem
    parse     {"files": [FILE]} -> {FILE: {...}}, the blocks of each Terraform file
"""

import json
import sys
from pathlib import Path

import yaml


def merge(defaults, values):
    """Return `defaults` with `values` in them, as Helm does: maps merge, anything else replaces."""
    merged = dict(defaults)
    for key, value in values.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def build_context(chart, defaults, case):
    """What Helm gives to a template."""
    meta = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    # Helm writes the keys of Chart.yaml with a capital letter.
    meta = {key[0].upper() + key[1:]: value for key, value in meta.items()}
    release = {"Name": "shop", "Namespace": "data", "Service": "Helm", "Revision": 1}
    return {"Values": merge(defaults, case["values"]), "Chart": meta, "Release": release}


def render_case(engine, chart, sources, defaults, schema, case):
    import jsonschema

    context = build_context(chart, defaults, case)
    try:
        jsonschema.validate(context["Values"], schema)
        names = [name for name in sorted(sources) if not Path(name).name.startswith("_")]
        files = engine.render(dict.fromkeys(names, context))
    except Exception as error:
        return {"files": {}, "error": f"{type(error).__name__}: {error}"}
    return {"files": files, "error": ""}


def render(request):
    from gotpl.exts.helm import HelmTemplateEngine

    chart = Path(request["chart"])
    paths = [path for path in sorted((chart / "templates").rglob("*")) if path.is_file()]
    sources = {str(path.relative_to(chart)): path.read_text("utf-8") for path in paths}
    defaults = yaml.safe_load((chart / "values.yaml").read_text("utf-8"))
    schema = json.loads((chart / "values.schema.json").read_text("utf-8"))
    engine = HelmTemplateEngine(sources)
    return [render_case(engine, chart, sources, defaults, schema, case) for case in request["cases"]]


def validate(request):
    import kubernetes_validate

    problems = []
    for version in request["versions"]:
        for document in request["documents"]:
            where = f"{version} {document.get('kind')} {document.get('metadata', {}).get('name')}"
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except Exception as error:
                problems.append(f"{where}: {getattr(error, 'message', error)}")
    return problems


def parse(request):
    import hcl2

    return {name: hcl2.loads(Path(name).read_text("utf-8")) for name in request["files"]}


def main():
    commands = {"render": render, "validate": validate, "parse": parse}
    answer = commands[sys.argv[1]](json.load(sys.stdin))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
