"""What both answers teach: which keys there are, and new tokens, cookies and wrapped keys to use later."""
import json
import re


def _json(answer):
    try:
        return json.loads(answer.body)
    except ValueError:
        return None


def _good(answer):
    return not isinstance(answer, str) and answer.status in (200, 201)


def learn(request, answers, memories):
    """Facts for the generator. A value is kept only when both servers gave one; keys follow the first server."""
    facts = {}
    first = answers[0]
    if _good(first) and request.key is not None:
        _keys(request, first, facts)
    if not all(_good(a) for a in answers):
        return facts
    what = request.keep[0] if request.keep else None
    values = [_json(a) for a in answers]
    if what == "token" and all(isinstance(v, dict) and "Token" in v for v in values):
        for memory, value in zip(memories, values):
            memory.keep("token", request.keep[1], value["Token"]["urlString"])
        facts["token"] = [request.keep[1]]
    elif what == "cancelled":
        facts["cancelled"] = [request.keep[1]]
    elif what == "cookie":
        _cookie(request, answers, memories, facts)
    elif what == "eek" and all(isinstance(v, list) and v and v[0].get("iv") for v in values):
        _eek(request, values, memories, facts)
    return facts


def _keys(request, answer, facts):
    if request.method == "DELETE":
        facts["keys"] = {request.key: 0}
        return
    value = _json(answer)
    version = value.get("versionName") if isinstance(value, dict) else None
    found = re.fullmatch(r"(.*)@(\d+)", version or "", re.S)
    if found:
        facts["keys"] = {found.group(1): int(found.group(2)) + 1}


def _cookie(request, answers, memories, facts):
    values = [re.match(r'hadoop\.auth="([^"]+)"', a.first("Set-Cookie") or "") for a in answers]
    if all(values):
        for memory, value in zip(memories, values):
            memory.keep("cookie", request.keep[1], value.group(1))
        facts["cookie"] = [request.keep[1]]


def _eek(request, values, memories, facts):
    label = request.keep[1]
    for memory, value in zip(memories, values):
        memory.keep("iv", label, value[0]["iv"])
        memory.keep("eek", label, value[0]["encryptedKeyVersion"]["material"])
    version = values[0][0]["versionName"]
    facts["eek"] = [(label, version.rpartition("@")[0], version)]
