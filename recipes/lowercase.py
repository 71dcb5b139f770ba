"""Writes a gzipped text in lower case to another file: lowercase.py IN OUT."""

import gzip
import sys
from pathlib import Path

source, target = map(Path, sys.argv[1:])
text = gzip.decompress(source.read_bytes()).decode()
target.write_bytes(gzip.compress(text.lower().encode(), mtime=0))  # always the same bytes
