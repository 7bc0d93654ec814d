import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { builtinFacts, collectFacts, type FactProblem } from "./collect.ts";
import { readCustomFacts } from "./custom.ts";
import type { Facts, FactTable } from "./fact.ts";
import type { Host } from "./host.ts";
import { readKeptFacts, withFact, writeKeptFacts } from "./kept.ts";
import { lookUpFact } from "./look-up.ts";
import { encodeFacts, type FactLayer, mergeFacts } from "./merge.ts";

/** The facts of one peel. */
export interface FactStore {
  /** Resolves when everything was collected once, the programs of `facts.d` included; never rejects. */
  readonly ready: Promise<void>;
  items(): Facts;
  /** The fact at a path such as `os` or `mounts:/:fstype`, or the fallback. */
  get(path: string, fallback?: Plain): Plain | undefined;
  /**
   * Keeps a fact of this name until it is set to null.
   *
   * @throws SvcError `bad_request` for a name or value that no fact may have, or when there would be too
   *   much; `storage` when it cannot be written
   */
  set(name: string, value: Plain): void;
  /** Collects everything again. @returns whether anything changed */
  refresh(): Promise<boolean>;
  /** Calls `run` after every change; returns the way to stop it. */
  onChange(run: () => void): () => void;
}

export interface FactStoreOptions {
  dataDir: string;
  host: Host;
  /** Facts that only this program knows: `id`, `svc_version`. */
  own: Facts;
  /** Runs a program of `facts.d`. @throws when it fails, hangs or prints too much */
  run(path: string): Promise<string>;
  clock: Clock;
  log: Log;
  /** What is built in; the whole table unless a test says otherwise. */
  table?: FactTable;
}

/** Collects the built-in facts and begins to collect the others. */
export async function openFactStore(options: FactStoreOptions): Promise<FactStore> {
  const { host, clock, log } = options;
  const file = join(options.dataDir, "facts.yaml");
  const listeners = new Set<() => void>();
  const complain = complainOnce(log);
  let builtin: Facts = {};
  let custom: FactLayer[] = [];
  let kept: Facts = {};
  let merged: ReturnType<typeof mergeFacts> = { facts: {}, dropped: [] };
  let bytes: Uint8Array | undefined;

  const mergedWith = (keptFacts: Facts) =>
    mergeFacts(builtin, [...custom, { source: "facts.set", facts: keptFacts }]);
  const show = (next: ReturnType<typeof mergeFacts>): boolean => {
    merged = next;
    const encoded = encodeFacts(next.facts);
    if (bytes !== undefined && Buffer.compare(bytes, encoded) === 0) return false;
    bytes = encoded;
    for (const run of listeners) run();
    return true;
  };
  const readKept = (): FactProblem[] => {
    try {
      kept = readKeptFacts(file);
      return [];
    } catch (thrown) {
      return [{ source: file, reason: describeError(thrown) }];
    }
  };
  const readBuiltin = async () => {
    const found = await collectFacts(options.table ?? builtinFacts, host, clock);
    builtin = { ...found.facts, ...options.own };
    return found.problems;
  };
  const collect = async (reading: Promise<FactProblem[]>): Promise<boolean> => {
    const [problems, found] = await Promise.all([
      reading,
      readCustomFacts({
        directory: join(options.dataDir, "facts.d"),
        uid: host.user?.uid ?? 0,
        run: options.run,
      }),
    ]);
    custom = found.layers;
    const unread = readKept();
    const next = mergedWith(kept);
    const dropped = next.dropped.map(({ name, source, bytes }) => ({
      source: name,
      reason: `left out: the facts are larger than 256 KiB together, and this one of ${source} takes ${bytes} bytes`,
    }));
    complain([...problems, ...unread, ...found.problems, ...dropped]);
    return show(next);
  };

  let running: Promise<boolean> | undefined;
  let waiting: Promise<boolean> | undefined;
  const start = (reading: Promise<FactProblem[]>): Promise<boolean> => {
    running = collect(reading).finally(() => {
      running = undefined;
    });
    return running;
  };
  // What asks while facts are collected may have changed one that was looked at already.
  const refresh = (): Promise<boolean> => {
    if (running === undefined) return start(readBuiltin());
    waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = undefined;
        return refresh();
      });
    return waiting;
  };

  const problems = await readBuiltin();
  complain([...problems, ...readKept()]);
  show(mergedWith(kept));
  // What is built in was found out just now.
  const ready = start(Promise.resolve(problems)).then(
    () => {},
    (thrown) => log.error("facts not collected", { error: describeError(thrown) }),
  );
  return {
    ready,
    items: () => merged.facts,
    get: (path, fallback) => lookUpFact(merged.facts, path) ?? fallback,
    set(name, value) {
      const next = withFact(readKeptFacts(file), name, value);
      const shown = mergedWith(next);
      if (shown.dropped.length > merged.dropped.length) {
        throw new SvcError(
          "bad_request",
          `the fact ${name} is too large: all facts may take 256 KiB together`,
        );
      }
      writeKeptFacts(file, next);
      kept = next;
      show(shown);
    },
    refresh,
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
  };
}

/** Warns of each problem when it comes up, and again only after it was gone. */
function complainOnce(log: Log): (problems: readonly FactProblem[]) => void {
  let known = new Set<string>();
  return (problems) => {
    const next = new Set<string>();
    for (const { source, reason } of problems) {
      const key = `${source}\0${reason}`;
      if (!known.has(key)) log.warn("fact not collected", { source, reason });
      next.add(key);
    }
    known = next;
  };
}
