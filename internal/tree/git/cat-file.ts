import type { Clock, Timer } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { stopGroup } from "../../base/process/process-group.ts";
import type { Git } from "./git.ts";

/** Timeout after which a silent reader counts as hung. */
const silenceMs = 60_000;
/** Larger commits and tags count as missing. */
const maxMessageBytes = 1024 * 1024;

/** An object of a repository. */
export interface GitObject {
  id: string;
  /** `commit`, `tag`, `tree` or `blob`. */
  type: string;
  data: Uint8Array;
}

/** Reads the contents of a repository through one long-running process. */
export interface CatFile {
  /** @param object id of a blob. @throws SvcError `unavailable` when it does not exist or cannot be read */
  read(object: string): Promise<Uint8Array>;
  /** @param name an id or a ref. @throws SvcError `unavailable`. @returns `undefined` when there is none */
  find(name: string): Promise<GitObject | undefined>;
  /** Ends the process, which may know files that are removed; the next read starts another one. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

interface Waiting {
  name: string;
  resolve(object: GitObject | undefined): void;
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
    const parse = createParser((object) => {
      const first = waiting.shift();
      confirmed();
      const isOther =
        object !== undefined && first !== undefined && idForm.test(first.name) && object.id !== first.name;
      if (first === undefined || isOther) {
        first?.reject(new SvcError("unavailable", "git cat-file returned unexpected output"));
        void end("returned unexpected output");
      } else first.resolve(object);
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
        child.stdin.write(`${item.name}\n`);
        child.stdin.flush();
      },
    };
    return self;
  };

  const find = (name: string) =>
    new Promise<GitObject | undefined>((resolve, reject) => {
      if (stopped) return reject(new SvcError("unavailable", "the reader of this repository is closed"));
      running ??= start();
      running.request({ name, resolve, reject });
    });
  return {
    find,
    async read(object) {
      const found = await find(object);
      if (found?.type === "blob") return found.data;
      throw new SvcError("unavailable", `the repository has no object ${object}`);
    },
    async restart() {
      await running?.end("was started again");
    },
    async stop() {
      stopped = true;
      await running?.end("was stopped");
    },
  };
}

const idForm = /^[0-9a-f]{40,64}$/;

/**
 * Parses the output of `git cat-file --batch`: for each existing object `<object> <type> <size>`, the bytes
 * and a line break, otherwise `<object> missing` (see git-cat-file(1)).
 */
function createParser(onObject: (object: GitObject | undefined) => void): (chunk: Uint8Array) => void {
  let chunks: Uint8Array[] = [];
  let length = 0;
  let expected: { id: string; type: string; size: number } | undefined;
  return (chunk) => {
    chunks.push(chunk);
    length += chunk.length;
    if (expected !== undefined && length < expected.size + 1) return;
    let rest = Buffer.concat(chunks);
    for (;;) {
      if (expected === undefined) {
        const lineEnd = rest.indexOf(10);
        if (lineEnd === -1) break;
        const [id = "", type = "", size] = rest.subarray(0, lineEnd).toString("latin1").split(" ");
        rest = rest.subarray(lineEnd + 1);
        if (!/^\d+$/.test(size ?? "")) onObject(undefined);
        else expected = { id, type, size: Number(size) };
      } else {
        if (rest.length < expected.size + 1) break;
        const { size, ...object } = expected;
        expected = undefined;
        const isHeld = object.type === "blob" || size <= maxMessageBytes;
        onObject(isHeld ? { ...object, data: Uint8Array.from(rest.subarray(0, size)) } : undefined);
        rest = rest.subarray(size + 1);
      }
    }
    chunks = rest.length === 0 ? [] : [rest];
    length = rest.length;
  };
}
