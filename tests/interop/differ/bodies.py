"""Request bodies, right and wrong."""
import json

from .memory import ref
from .tokens import BYTES_TRICKS, tobase64

MATERIALS = {bits: [tobase64(bytes((start + i) & 0xFF for i in range(bits // 8))) for start in (0x10, 0x80)]
             for bits in (128, 192, 256)}
WRONG_TYPES = (1, 0, -1, 1.5, True, False, [], ["x"], {}, {"a": "b"}, "", 12800000000, 10 ** 30, "128")


def _text(random, value):
    """JSON text of a value in one of several legal forms; references stay as they are."""
    draw = random.random()
    if draw < 0.5:
        return json.dumps(value, ensure_ascii=False)
    if draw < 0.7:
        return json.dumps(value).replace("\\u27e6", "⟦").replace("\\u27e7", "⟧")
    if draw < 0.9:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return " \t\r\n" + json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


BROKEN = (
    ("empty", lambda t: ""),
    ("blank", lambda t: "  \n"),
    ("null", lambda t: "null"),
    ("number", lambda t: "5"),
    ("string", lambda t: '"text"'),
    ("word", lambda t: "nonsense"),
    ("array", lambda t: "[]"),
    ("object", lambda t: "{}"),
    ("in-array", lambda t: f"[{t}]"),
    ("cut", lambda t: t[:len(t) // 2]),
    ("cut-last", lambda t: t.rstrip()[:-1]),
    ("text-after", lambda t: t + " trailing"),
    ("twice", lambda t: t + t),
    ("comment", lambda t: "/* c */" + t),
    ("single-quotes", lambda t: t.replace('"', "'")),
    ("trailing-comma", lambda t: t.rstrip()[:-1] + ",}"),
    ("unquoted-field", lambda t: "{a:1}"),
    ("control-character", lambda t: '{"name":"a\x01b"}'),
    ("bad-escape", lambda t: r'{"name":"\x41"}'),
    ("lone-surrogate", lambda t: r'{"description":"\ud800"}'),
    ("nan", lambda t: '{"length":NaN}'),
    ("leading-zero", lambda t: '{"length":0128}'),
    ("deep", lambda t: '{"x":' * 300 + "1" + "}" * 300),
    ("nul", lambda t: "\0"),
)


def broken(random, text):
    what, change = random.choice(BROKEN)
    return change(text), f" json:{what}"


def spoil(random, fields):
    """The body for these fields, sometimes with a field missing, null, of another type, unknown or double."""
    draw = random.random()
    trick = ""
    if draw < 0.05:
        return broken(random, _text(random, fields))
    if draw < 0.16 and fields:
        field = random.choice(sorted(fields))
        fields = dict(fields)
        how = random.choice(("missing", "null", "empty", "type", "type"))
        if how == "missing":
            del fields[field]
        else:
            fields[field] = {"null": None, "empty": ""}.get(how, random.choice(WRONG_TYPES))
        trick = f" {field}:{how}"
    text = _text(random, fields)
    draw = random.random()
    if draw < 0.02 and text.rstrip().endswith("}") and fields:
        text = text.rstrip()[:-1] + ',"unknown":{"a":[1,2]},"list":[]}'
        trick += " unknown-field"
    elif draw < 0.03 and fields:
        text = text.rstrip()[:-1] + f',"{random.choice(sorted(fields))}":"again"}}'
        trick += " double-field"
    return text, trick


def create(random, name):
    fields, trick = {"name": name}, ""
    if random.random() < 0.6:
        fields["cipher"] = random.choice(("AES/CTR/NoPadding",) * 8 + ("AES", "", "aes/ctr/nopadding", "SM4/CTR/NoPadding", "DES/CTR", "nosuch",
                                                                      "/", "AES/", "HmacSHA256"))
    if random.random() < 0.7:
        fields["length"] = random.choice((128,) * 5 + (256, 256, 192, 0, 64, 129, -128, 512, 2147483647))
    if random.random() < 0.35:
        bits = fields.get("length", 128)
        if bits not in MATERIALS or random.random() < 0.1:
            bits = random.choice(sorted(MATERIALS))
            trick += " material-length"
        fields["material"] = random.choice(MATERIALS[bits])
        if random.random() < 0.1:
            fields["material"] = random.choice(("", "AA", "====", fields["material"] + "==", "!" + fields["material"], "AAAAAAAAAAAAAAAA*AAAAA",
                                                "é"))
            trick += " material-odd"
    if random.random() < 0.4:
        fields["description"] = random.choice(("d", "", "ünïcode ключ", "with \"quotes\" & <tags>", "line\nbreak", None, "x" * 500, "\U0001f511"))
        if random.random() < 0.03:
            fields["description"], trick = "é" * 60000, trick + " description-long"
    if random.random() < 0.4:
        fields["attributes"], more = attributes(random, name)
        trick += more
    text, more = spoil(random, fields)
    return text, trick + more


def attributes(random, name):
    draw = random.random()
    if draw < 0.35:
        return {"team": "blue", "ключ": "значение"}, " attributes"
    if draw < 0.75:
        return {"key.acl.name": random.choice((name, "guarded", "readonly", "nobody", "group.only", "odd", "elsewhere", ""))}, " acl-name"
    return random.choice((None, {}, {"": ""}, {"x": None}, {"x": 5}, {"x": {}}, {"x": []}, {"key.acl.name": None}, {"x": True})), \
        " attributes-odd"


def roll(random):
    draw = random.random()
    if draw < 0.6:
        return _text(random, {}), ""
    if draw < 0.8:
        return _text(random, {"material": random.choice(MATERIALS[random.choice((128, 128, 192, 256))])}), " material"
    text, trick = spoil(random, {"material": random.choice(MATERIALS[128] + ["", "AA", "****"])})
    return text, " material-odd" + trick


def wrapped(random, eek, version_name, key_name):
    """(fields, version name, trick) for decrypt and re-encrypt; `eek` is (label, key, version) or None."""
    if eek is None:
        return {"name": key_name(), "iv": tobase64(bytes(16)), "material": tobase64(bytes(range(16)))}, version_name(), " eek:made-up"
    label, key, version = eek
    fields = {"name": key, "iv": ref("iv", label, "whole"), "material": ref("eek", label, "whole")}
    draw = random.random()
    trick = ""
    if draw < 0.12:
        version, trick = version_name(), " eek:version"
    elif draw < 0.22:
        fields["name"], trick = key_name(), " eek:name"
    elif draw < 0.34:
        how = random.choice(sorted(BYTES_TRICKS))
        fields["iv"], trick = ref("iv", label, how, random.randrange(40)), f" iv:{how}"
    elif draw < 0.48:
        how = random.choice(sorted(BYTES_TRICKS))
        fields["material"], trick = ref("eek", label, how, random.randrange(40)), f" eek:{how}"
    return fields, version, trick


def batch(random, eeks, version_name):
    """An array for re-encryption; of a right one at most one element is spoilt."""
    count = random.choice((0, 1, 2, 3, 6)) if eeks else 0
    if eeks and random.random() < 0.015:
        count = 10001                   # more than the server's warning asks for
    elements = []
    for _ in range(count):
        label, _, version = random.choice(eeks)
        elements.append({"versionName": version, "iv": ref("iv", label, "whole"),
                         "encryptedKeyVersion": {"name": None, "versionName": "EEK", "material": ref("eek", label, "whole")}})
    trick = f" batch:{count}"
    if elements and random.random() < 0.4:
        trick += _spoil_element(random, random.choice(elements), elements, version_name)
    text = _text(random, elements)
    if random.random() < 0.06:
        text, more = broken(random, text)
        trick += more
    return text, trick


def _spoil_element(random, element, elements, version_name):
    inner = element["encryptedKeyVersion"]
    draw = random.randrange(9)
    if draw == 0:
        element["versionName"] = random.choice((None, "", 5, version_name(), "k0@0"))
        return " element:version"
    if draw == 1:
        element["iv"] = random.choice((None, "", 5, "AAAA", [], tobase64(bytes(17))))
        return " element:iv"
    if draw == 2:
        element["encryptedKeyVersion"] = random.choice((None, {}, "", 5, []))
        return " element:inner"
    if draw == 3:
        inner["versionName"] = random.choice((None, "", "EK", "eek", 5))
        return " element:inner-version"
    if draw == 4:
        inner["material"] = random.choice((None, "", "AA", 5, {}))
        return " element:material"
    if draw == 5:
        inner["name"] = random.choice(("x", "", 5, []))
        return " element:inner-name"
    if draw == 6:
        elements[elements.index(element)] = random.choice((None, [], 5, "x", {}))
        return " element:replaced"
    del element[random.choice(sorted(element))]
    return " element:missing"
