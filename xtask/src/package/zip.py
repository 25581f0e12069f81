"""Writes a zip of a folder: the same bytes for the same files. A wheel also gets its list of digests.

Usage: zip.py FOLDER FILE [RECORD]
"""
import base64
import hashlib
import os
import sys
import zipfile

folder, file, record = sys.argv[1], sys.argv[2], (sys.argv[3:] + [None])[0]
names = []
for root, folders, files in os.walk(folder):
    folders.sort()
    names += [os.path.relpath(os.path.join(root, name), folder) for name in files]
names.sort()
lines = []


def put(out, name, content, mode):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.create_system = 3
    entry.compress_type = zipfile.ZIP_DEFLATED
    out.writestr(entry, content)


with zipfile.ZipFile(file, "w") as out:
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as opened:
            content = opened.read()
        put(out, name, content, 0o755 if os.access(path, os.X_OK) else 0o644)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    if record:
        put(out, record, "".join(lines) + f"{record},,\n", 0o644)
