import sys

from zeromemory.command_line import main

sys.argv[0] = "zeromemory"  # as help names it
main()
