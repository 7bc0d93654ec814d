import { closeSync, fdatasync, ftruncate, openSync, readFileSync, write } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, secretMode, syncDirectory, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { encodeDecision, readDecisions } from "./codec.ts";
import { type Decision, nameOf } from "./decision.ts";

const writeAt = promisify(write);
const sync = promisify(fdatasync);
const truncate = promisify(ftruncate);

/** Records that may be outdated before the file is written again: this number, and as many as are current. */
const slack = 1_000;

/** The decisions of a master on its own disk, which the bus cannot take back. */
export interface DecisionLog {
  /** The latest decision about each record that exists. */
  known(): Iterable<Decision & { value: Uint8Array }>;
  get(record: Pick<Decision, "bucket" | "key">): (Decision & { value: Uint8Array }) | undefined;
  readonly size: number;
  /** How many records the file contains, outdated ones included. */
  readonly written: number;
  /**
   * Logs a decision in place of the known one about the same record.
   *
   * @returns resolves when it is on disk, with everything that was logged earlier
   * @throws SvcError `storage` when it is not; it is kept, and written with the next decision
   */
  store(decision: Omit<Decision, "at">): Promise<void>;
  /**
   * Writes what could not be written.
   *
   * @throws SvcError `storage`
   */
  flush(): Promise<void>;
  /** Why decisions are not on disk; `undefined` when all of them are. */
  readonly failure: string | undefined;
  close(): void;
}

/** How the log deals with the disk; tests break it. */
export interface LogDisk {
  write(file: number, bytes: Uint8Array, position: number): Promise<void>;
  sync(file: number): Promise<void>;
}

const realDisk: LogDisk = {
  async write(file, bytes, position) {
    for (let done = 0; done < bytes.length; ) {
      done += (await writeAt(file, bytes, done, bytes.length - done, position + done)).bytesWritten;
    }
  },
  sync,
};

/**
 * Opens the log at a path, and creates it when it is missing. What a crash cut off at its end is removed; damaged
 * parts between whole records are copied to a separate file and reported.
 *
 * @throws SvcError `storage` when it cannot be read or written
 */
export function openDecisionLog(
  path: string,
  { clock, log, disk = realDisk }: { clock: Clock; log: Log; disk?: LogDisk },
): DecisionLog {
  const attempt = <T>(run: () => T): T => {
    try {
      return run();
    } catch (cause) {
      throw new SvcError("storage", `cannot use ${path}: ${reasonOf(cause)}`, { cause });
    }
  };
  const { decisions, end } = attempt(() => load(path, { clock, log }));
  const open: Open = {
    ...{ path, log, disk, end, written: decisions.length, unsaved: [], failure: undefined, known: new Map() },
    file: attempt(() => openSync(path, "r+")),
  };
  const { known } = open;
  for (const decision of decisions) apply(known, decision);
  /** Decisions that arrive while one batch is written share the next. */
  const share = shareRuns(() => save(open));
  const flush = () => (open.unsaved.length === 0 ? Promise.resolve() : share());
  return {
    known: () => known.values(),
    get: (record) => known.get(nameOf(record)),
    get size() {
      return known.size;
    },
    get written() {
      return open.written;
    },
    store({ bucket, key, value }) {
      const copy = value === undefined ? {} : { value: new Uint8Array(value) };
      const decision: Decision = { at: clock.now(), bucket, key, ...copy };
      apply(known, decision);
      open.unsaved.push(decision);
      return flush();
    },
    flush,
    get failure() {
      return open.failure;
    },
    close() {
      closeSync(open.file);
    },
  };
}

type Known = Map<string, Decision & { value: Uint8Array }>;

/** A log and its file. */
interface Open {
  readonly path: string;
  readonly log: Log;
  readonly disk: LogDisk;
  readonly known: Known;
  file: number;
  /** Where the next record begins. */
  end: number;
  /** How many records the file contains. */
  written: number;
  unsaved: Decision[];
  failure: string | undefined;
}

function apply(known: Known, decision: Decision): void {
  const { value } = decision;
  if (value === undefined) known.delete(nameOf(decision));
  else known.set(nameOf(decision), { ...decision, value });
}

/** @throws SvcError `storage` */
async function save(open: Open): Promise<void> {
  const { path, disk, known, log } = open;
  const batch = [...open.unsaved];
  // The write before took them too.
  if (batch.length === 0) return;
  const bytes = encodeAll(batch, open.end);
  try {
    // What an earlier attempt wrote in part would otherwise follow the new records.
    if (open.failure !== undefined) await truncate(open.file, open.end);
    await disk.write(open.file, bytes, open.end);
    await disk.sync(open.file);
  } catch (cause) {
    open.failure = reasonOf(cause);
    throw new SvcError("storage", `${path} cannot be written: ${open.failure}`, { cause });
  }
  open.end += bytes.length;
  open.written += batch.length;
  open.unsaved = open.unsaved.slice(batch.length);
  open.failure = undefined;
  if (open.written <= 2 * known.size + slack) return;
  try {
    compact(open);
  } catch (cause) {
    log.warn("the log of decisions was not compacted", { path, reason: reasonOf(cause) });
  }
}

/** Writes the file again, without outdated records. */
function compact(open: Open): void {
  const bytes = encodeAll(open.known.values(), 0);
  writeFileAtomic(open.path, bytes, secretMode);
  const fresh = openSync(open.path, "r+");
  closeSync(open.file);
  open.file = fresh;
  open.end = bytes.length;
  open.written = open.known.size;
}

/** Reads the file, creates or repairs it, and reports what was damaged. */
function load(
  path: string,
  { clock, log }: { clock: Clock; log: Log },
): { decisions: Decision[]; end: number } {
  const bytes = readIfPresent(path);
  if (bytes === undefined) {
    makePrivateDirectory(dirname(path));
    writeFileAtomic(path, "", secretMode);
    syncDirectory(dirname(path));
    return { decisions: [], end: 0 };
  }
  const { decisions, end, isTorn, damaged } = readDecisions(bytes);
  if (damaged.length === 0 && end === bytes.length) return { decisions, end };
  if (isTorn) {
    log.warn("the end of the log of decisions was incomplete and was removed", {
      path,
      bytes: bytes.length - end,
    });
  }
  if (damaged.length > 0) {
    const aside = `${path}.damaged-${clock.now()}`;
    const parts = damaged.map(({ from, to }) => bytes.subarray(from, to));
    writeFileAtomic(aside, Buffer.concat(parts), secretMode);
    log.error("parts of the log of decisions are damaged: their records are read again from the bus", {
      path,
      aside,
      parts: parts.length,
      bytes: parts.reduce((sum, { length }) => sum + length, 0),
    });
  }
  // The checksums cover positions, so that what follows a damaged part is encoded again.
  const repaired = encodeAll(decisions, 0);
  writeFileAtomic(path, repaired, secretMode);
  return { decisions, end: repaired.length };
}

/**
 * Reads a log that another program may be writing, and changes nothing.
 *
 * @throws SvcError `bad_request` when it cannot be read or is not a log of decisions
 */
export function readDecisionFile(path: string): { decisions: Decision[]; damagedBytes: number } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read --decisions ${path}: ${reasonOf(cause)}`);
  }
  const { decisions, damaged } = readDecisions(bytes);
  if (decisions.length === 0 && bytes.length > 0) {
    throw new SvcError(
      "bad_request",
      `${path} is not a log of decisions: name the decisions.log of a master`,
    );
  }
  const latest = new Map<string, Decision>();
  for (const decision of decisions) latest.set(nameOf(decision), decision);
  return {
    decisions: [...latest.values()],
    damagedBytes: damaged.reduce((sum, { from, to }) => sum + to - from, 0),
  };
}

function encodeAll(decisions: Iterable<Decision>, from: number): Buffer {
  const parts: Buffer[] = [];
  let position = from;
  for (const decision of decisions) {
    const bytes = encodeDecision(decision, position);
    parts.push(bytes);
    position += bytes.length;
  }
  return Buffer.concat(parts);
}

function readIfPresent(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (cause) {
    if (isErrno(cause, "ENOENT")) return undefined;
    throw cause;
  }
}
