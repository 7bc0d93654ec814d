import type { Clock, Timer } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { stopGroup } from "../../base/process/process-group.ts";
import type { Git } from "./git.ts";

/** Timeout after which a silent reader counts as hung. */
const silenceMs = 60_000;

/** Reads the contents of a repository through one long-running process. */
export interface CatFile {
  /** @param object id of a blob. @throws SvcError `unavailable` when it does not exist or cannot be read */
  read(object: string): Promise<Uint8Array>;
  stop(): Promise<void>;
}

interface Waiting {
  object: string;
  resolve(data: Uint8Array): void;
  reject(reason: SvcError): void;
}

/** Opens the contents of a repository; the process starts with the first read. */
export function openCatFile(git: Git, repository: string, clock: Clock): CatFile {
  let running: ReturnType<typeof start> | undefined;
  let stopped = false;

  const start = () => {
    const [program = "", ...args] = git.command;
    const child = Bun.spawn([program, ...args, "cat-file", "--batch"], {
      cwd: repository,
      env: { ...git.env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
      detached: true,
    });
    const waiting: Waiting[] = [];
    let silence: Timer | undefined;
    let ending: Promise<void> | undefined;
    const end = (reason: string) => {
      if (running === self) running = undefined;
      silence?.cancel();
      for (const { reject } of waiting.splice(0))
        reject(new SvcError("unavailable", `git cat-file ${reason}`));
      ending ??= stopGroup(child.pid, child.exited, clock);
      return ending;
    };
    const confirmed = () => {
      silence?.cancel();
      silence = waiting.length === 0 ? undefined : clock.after(silenceMs, () => void end("hangs"));
    };
    const parse = createParser((object, data) => {
      const first = waiting.shift();
      confirmed();
      if (first === undefined || (data !== undefined && object !== first.object)) {
        first?.reject(new SvcError("unavailable", "git cat-file returned unexpected output"));
        void end("returned unexpected output");
      } else if (data === undefined) {
        first.reject(new SvcError("unavailable", `the repository has no object ${first.object}`));
      } else first.resolve(data);
    });
    void (async () => {
      for await (const chunk of child.stdout) parse(chunk);
    })()
      .catch(() => {})
      .finally(() => void end("ended"));
    const self = {
      end,
      request(item: Waiting) {
        waiting.push(item);
        if (waiting.length === 1) confirmed();
        child.stdin.write(`${item.object}\n`);
        child.stdin.flush();
      },
    };
    return self;
  };

  return {
    read: (object) =>
      new Promise((resolve, reject) => {
        if (stopped) return reject(new SvcError("unavailable", "the reader of this repository is closed"));
        running ??= start();
        running.request({ object, resolve, reject });
      }),
    async stop() {
      stopped = true;
      await running?.end("was stopped");
    },
  };
}

/**
 * Parses the output of `git cat-file --batch`: for each existing object `<object> <type> <size>`, the bytes
 * and a line break, otherwise `<object> missing` (see git-cat-file(1)).
 */
function createParser(
  onObject: (object: string, data: Uint8Array | undefined) => void,
): (chunk: Uint8Array) => void {
  let chunks: Uint8Array[] = [];
  let length = 0;
  let expected: { object: string; size: number } | undefined;
  return (chunk) => {
    chunks.push(chunk);
    length += chunk.length;
    if (expected !== undefined && length < expected.size + 1) return;
    let rest = Buffer.concat(chunks);
    for (;;) {
      if (expected === undefined) {
        const lineEnd = rest.indexOf(10);
        if (lineEnd === -1) break;
        const [object = "", type, size] = rest.subarray(0, lineEnd).toString("latin1").split(" ");
        rest = rest.subarray(lineEnd + 1);
        if (type === "blob") expected = { object, size: Number(size) };
        else onObject(object, undefined);
      } else {
        if (rest.length < expected.size + 1) break;
        const { object, size } = expected;
        expected = undefined;
        onObject(object, Uint8Array.from(rest.subarray(0, size)));
        rest = rest.subarray(size + 1);
      }
    }
    chunks = rest.length === 0 ? [] : [rest];
    length = rest.length;
  };
}
