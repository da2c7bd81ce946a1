# SPDX-License-Identifier: Apache-2.0
"""Usage: validate.py SCHEMA DOCUMENT: a JSON document, or a pickled one (.pickle), against a JSON schema. Then each
field that the schema requires is taken out of a copy, once, which must be noticed: a schema that lets all pass
would show nothing."""
import json
import pickle
import sys

try:
    import jsonschema
except ImportError:
    print("skip no jsonschema module")
    sys.exit(77)


def dicts(node, path=()):
    """The first dictionary of each shape: PATH without list indices."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from dicts(value, path + (key,))
    elif isinstance(node, list) and node:
        yield from dicts(node[0], path)


schema = json.load(open(sys.argv[1]))
document = pickle.load(open(sys.argv[2], "rb")) if sys.argv[2].endswith(".pickle") else json.load(open(sys.argv[2]))
validator = jsonschema.Draft7Validator(schema)
errors = list(validator.iter_errors(document))
for error in errors[:5]:
    print(f"{'/'.join(map(str, error.absolute_path))}: {error.message}"[:300])
noticed = 0
for path, node in list(dicts(document)):
    for key in list(node):
        value = node.pop(key)
        noticed += not validator.is_valid(document)
        node[key] = value
print(f"{len(errors)} errors; {'some' if noticed >= 3 else 'too few'} missing fields are noticed")
sys.exit(0 if not errors and noticed >= 3 else 1)
