# Runs a command on a terminal: terminal.py WIDTH INPUT COMMAND...
import fcntl
import os
import pty
import struct
import sys
import termios

width, typed, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    os.execvp(command[0], command)
os.write(terminal, typed.encode())
while True:
    try:
        output = os.read(terminal, 65536)
    except OSError:
        # Linux reports an error, not the end, when the last process has closed the terminal.
        break
    if not output:
        break
    sys.stdout.buffer.write(output)
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
