import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { createSearch, type Leak, minSecret, type Secret, secretsBelow, secretsIn } from "./secrets.ts";

// A run of all tests keeps all its logs and secrets, and at the end searches the logs for the secrets.
// release/run-tests.sh sets the directory; without it nothing is kept.

/** Keeps what is written to one log. */
export interface KeptLog {
  write(text: string): void;
  close(): void;
}

/** What one run keeps. */
export interface RunRecord {
  /** Opens a log of this name in the name of the test file that runs. */
  openLog(name: string): KeptLog;
  /** Keeps a secret without a recognizable form. */
  register(kind: string, value: string): void;
  /** Keeps the seeds, JWTs and private keys in a text. */
  registerSecrets(text: string): void;
  /** Keeps the secrets in the files below a directory, before it is removed. */
  harvest(directory: string): void;
}

const secretsFile = "secrets";

/** @param directory of the run, which is there and only its owner may look into */
export function openRunRecord(directory: string): RunRecord {
  const logs = join(directory, "logs");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const known = new Set<string>();
  let count = 0;
  const add = (secrets: readonly Secret[]) => {
    const fresh = secrets.filter(({ value }) => !known.has(value));
    for (const { value } of fresh) known.add(value);
    const lines = fresh.map((secret) => `${JSON.stringify(secret)}\n`).join("");
    if (lines !== "") appendFileSync(join(directory, secretsFile), lines, { mode: 0o600 });
  };
  return {
    openLog(name) {
      const path = join(logs, `${basename(Bun.main, ".ts")}.${name}.${process.pid}-${++count}`);
      let fd: number | undefined = openSync(path, "a", 0o600);
      let waiting = "";
      return {
        write(text) {
          waiting += text;
          try {
            // What comes when nothing more was expected is kept as well.
            if (fd === undefined) appendFileSync(path, waiting);
            else writeSync(fd, waiting);
            waiting = "";
          } catch {
            // A test that lets its process write nothing: with the next record, then.
          }
        },
        close() {
          if (fd !== undefined) closeSync(fd);
          fd = undefined;
        },
      };
    },
    register(kind, value) {
      if (value.length < minSecret) throw new Error(`too short to be searched for: a ${kind}`);
      add([{ kind, value }]);
    },
    registerSecrets: (text) => add(secretsIn(text)),
    harvest: (from) => add(secretsBelow(from)),
  };
}

/** A secret in a log: where, and of which kind. */
export interface FoundSecret extends Leak {
  file: string;
}

/** Looks for every secret of a run in every log of it. */
export function searchRun(directory: string): { logs: number; secrets: number; found: FoundSecret[] } {
  const list = join(directory, secretsFile);
  const secrets = (existsSync(list) ? readFileSync(list, "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Secret);
  const search = createSearch(secrets);
  const logs = join(directory, "logs");
  const files = existsSync(logs) ? readdirSync(logs).sort() : [];
  const found = files.flatMap((file) =>
    search(readFileSync(join(logs, file))).map((leak) => ({ file, ...leak })),
  );
  return { logs: files.length, secrets: secrets.length, found };
}

const nothing: RunRecord = {
  openLog: () => ({ write() {}, close() {} }),
  register() {},
  registerSecrets() {},
  harvest() {},
};

const { TEST_RUN_DIR: runDirectory } = process.env;
/** What this run keeps. */
export const runRecord: RunRecord = runDirectory === undefined ? nothing : openRunRecord(runDirectory);
