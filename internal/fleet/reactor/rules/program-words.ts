import { posix } from "node:path";

// Which programs read their words, or their standard input, as commands. `--` does not protect these. The list
// cannot be complete: it has the usual ones. What a program does with a value is known to its author only.

/** Programs that run what their words name, or that read a word as code, as another host or as an option. */
const readers = new Set(
  [
    "ansible apk apt apt-get at awk batch buildah busybox chroot crictl ctr dialog dnf docker doas dpkg ed emacs",
    "env eval ex exec expect find flock gawk gdb gem git helm incus ionice ip jq kubectl login lxc lxc-attach",
    "m4 machinectl make mawk mysql nawk nerdctl nice nohup npm npx nsenter osascript parallel perl pip pip3",
    "pkexec podman psql rpm rsync ruby run-parts runuser scp screen script sed setarch setpriv setsid sftp socat",
    "sqlite3 ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset tclsh time timeout tmux toolbox",
    "unshare vi view vim virsh watch wget xargs yum zypper",
  ].flatMap((line) => line.split(" ")),
);
/** They run a script that a word names; the words after it are data of the script. */
const interpreters = /^(?:r?(?:ba|da|k|mk|pdk|z|c|tc|a)?sh|fish|python|pypy|node|nodejs|bun|deno|php|lua)$/;
/** Programs that read commands from standard input, and the files that are standard input, in full. */
const inputReaders = new Set(
  [
    "at batch crontab dc ed emacs ex expect gdb irb login m4 mysql parallel perl psql ruby sqlite3 ssh su",
    "tclsh xargs /dev/stdin /dev/fd/0 /proc/self/fd/0 /proc/thread-self/fd/0",
  ].flatMap((line) => line.split(" ")),
);
/** The same for the words of a shell. */
const shellReaders = new Set([".", "eval", "exec", "source"]);

/** Why no word of this program may be data, even after `--`; `undefined` when such words may. */
export function wordsProblem([first = "", second]: readonly unknown[]): string | undefined {
  const program = programOf(String(first));
  if (readers.has(program)) {
    return `${program} runs or interprets its arguments, also after --`;
  }
  if (!interpreters.test(program) || isScript(second)) return undefined;
  return `${program} would run it, unless the absolute path of a script is its first argument`;
}

/** Why the standard input of these words may not be data, or `undefined`. */
export function inputProblem(words: readonly unknown[], by: "program" | "shell"): string | undefined {
  for (const [at, word] of words.entries()) {
    const program = programOf(String(word));
    const isReader =
      inputReaders.has(program) ||
      inputReaders.has(posix.normalize(String(word))) ||
      (by === "shell" && shellReaders.has(String(word)));
    if (isReader) return `${String(word).slice(0, 60)} reads commands from its standard input`;
    if (interpreters.test(program) && !isScript(words[at + 1])) {
      return `${program} reads commands from its standard input, unless the absolute path of a script follows`;
    }
  }
  return undefined;
}

/** The words of a command line as far as they can name programs. */
export function wordsOfShell(command: string): string[] {
  return command.split(/[\s;|&(){}<>`$"'\\=]+/).filter((word) => word !== "");
}

function isScript(word: unknown): boolean {
  return typeof word === "string" && /^\/(?!dev\/|proc\/)/.test(word);
}

/** `/usr/bin/python3.11` is `python`. */
function programOf(word: string): string {
  return posix.basename(word).replace(/[\d.-]+$/, "");
}
