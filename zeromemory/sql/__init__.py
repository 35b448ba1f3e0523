from pathlib import Path

from zeromemory.lib.sql import from_folder

load = from_folder(Path(__file__).parent)
