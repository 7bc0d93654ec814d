import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** A shell that somebody sits at, in a directory of its own. */
export interface Session extends AsyncDisposable {
  readonly dir: string;
  /** Types commands. @returns what was printed, and the last command that failed */
  type(commands: string): Promise<{ printed: string; failed: string }>;
  write(path: string, text: string): void;
  /** Waits until a file says something. */
  waitFor(path: string, says: string): Promise<void>;
}

/** @param env beside that of the tests; HOME is a directory of the session */
export async function openSession(env: Readonly<Record<string, string>>): Promise<Session> {
  const files = temporaryDirectory("pages");
  const dir = join(files.path, "work");
  const home = join(files.path, "home");
  for (const path of [dir, home]) mkdirSync(path);
  const shell = Bun.spawn(["bash", "--noprofile", "--norc"], {
    cwd: dir,
    env: { ...process.env, HOME: home, NO_COLOR: "1", ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = shell.stdout.getReader();
  const decoder = new TextDecoder();
  let buffered = "";
  let count = 0;
  // With -m each daemon is a group of its own, as in a terminal, and can be named by its number.
  shell.stdin.write("exec 2>&1; set -m; trap 'failed=\"$BASH_COMMAND (exit $?)\"' ERR\n");
  const readTo = async (end: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = end.exec(buffered);
      if (found !== null) {
        buffered = buffered.slice(found.index + found[0].length);
        return found;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error(`the shell ended: ${buffered}`);
      buffered += decoder.decode(value, { stream: true });
    }
  };
  return {
    dir,
    async type(commands) {
      // A daemon begins its log anew, at a moment nobody knows: what the one before wrote must not be taken for it.
      for (const [, log = ""] of commands.matchAll(/ > ([\w-]+\.log) 2>&1 &/g)) {
        rmSync(join(dir, log), { force: true });
      }
      const script = join(files.path, `block-${++count}.sh`);
      writeFileSync(script, `${commands}\n`);
      shell.stdin.write(`failed=; . ${script} </dev/null; printf '\\n<<${count} %s>>\\n' "$failed"\n`);
      await shell.stdin.flush();
      const [, printed = "", failed = ""] = await readTo(new RegExp(`^([^]*)\\n<<${count} ([^]*?)>>\\n`));
      return { printed, failed };
    },
    write(path, text) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    },
    async waitFor(path, says) {
      await using tail = startProgram(["tail", "-n", "+1", "-F", join(dir, path)]);
      await tail.waitFor(says);
    },
    async [Symbol.asyncDispose]() {
      if (shell.exitCode === null) {
        shell.stdin.write("trap - ERR; for job in $(jobs -p); do kill $job; done; wait; exit\n");
        await shell.stdin.end();
        await shell.exited;
      }
      files[Symbol.dispose]();
    },
  };
}
