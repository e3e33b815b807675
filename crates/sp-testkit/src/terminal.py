# Runs a command on a terminal: terminal.py WIDTH PROMPT INPUT COMMAND...
#
# The input is typed when the command has printed the prompt. The exit code of a command that a signal
# ended is the one that a shell reports.
import fcntl
import os
import pty
import struct
import sys
import termios

width, prompt, typed, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    os.execvp(command[0], command)
modes = termios.tcgetattr(terminal)
shown = b""
is_typed = False
while True:
    if not is_typed and prompt.encode() in shown:
        os.write(terminal, typed.encode())
        is_typed = True
    try:
        output = os.read(terminal, 65536)
    except OSError:
        # Linux reports an error, not the end, when the last process has closed the terminal.
        break
    if not output:
        break
    shown += output
if termios.tcgetattr(terminal) != modes:
    shown += b"the modes of the terminal were not restored"
sys.stdout.buffer.write(shown)
sys.stdout.buffer.flush()
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
