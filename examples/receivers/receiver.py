"""A receiver in Python that needs nothing but Python: the whole of Standard Webhooks (v1) in one function.

    WEBHOOK_SECRET=whsec_… python3 examples/receivers/receiver.py

Two secrets with a comma between them while it is changed.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
BODY_BYTES_MAX = 1024 * 1024
KEY_BYTES_MIN = 24


def refusal(body, headers, secrets, now=None):
    """Why it is not to be trusted; None: it is from who has one of the secrets, and not old.

    body: the bytes as they came. headers: anything with get(name).
    """
    id = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp")
    signatures = headers.get("webhook-signature")
    if not id or not timestamp or not signatures:
        return "missing_header"
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return "bad_timestamp"
    message = f"{id}.{timestamp}.".encode() + body
    given = [text.encode() for text in signatures.split(" ")[:8]]
    is_known = False
    for secret in secrets:
        # A public key, or anything else that is no shared secret, must never be the key of an HMAC.
        if not secret.startswith("whsec_"):
            continue
        try:
            key = base64.b64decode(secret[len("whsec_"):], validate=True)
        except ValueError:
            continue
        # Anybody can sign with an empty key.
        if len(key) < KEY_BYTES_MIN:
            continue
        digest = hmac.new(key, message, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(digest)
        for one in given:
            is_known = hmac.compare_digest(one, expected) or is_known
    if not is_known:
        return "no_match"
    age = int(time.time() if now is None else now) - int(timestamp)
    if age > TOLERANCE_SECONDS:
        return "too_old"
    return "too_new" if -age > TOLERANCE_SECONDS else None


# The same event comes again when an answer got lost: its id tells. Here the latest are remembered in memory; in earnest the id is a
# unique key in your database, written in the transaction that does the work.
had = OrderedDict()
had_lock = threading.Lock()
HAD_MAX = 10_000


def is_new(id):
    with had_lock:
        if id in had:
            return False
        had[id] = True
        if len(had) > HAD_MAX:
            had.popitem(last=False)
        return True


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A sender that says how much it sends and then does not must not keep us.
    timeout = 15

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(413, "too large")
        body = self.rfile.read(int(length))
        reason = refusal(body, self.headers, SECRETS)
        if reason is not None:
            return self.answer(400, reason)
        if not is_new(self.headers["webhook-id"]):
            return self.answer(200, "known")
        self.answer(200, "taken")
        event = json.loads(body)
        print(event["type"], event["id"], flush=True)

    def answer(self, status, text):
        content = text.encode()
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


SECRETS = os.environ.get("WEBHOOK_SECRET", "").split(",")

if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
