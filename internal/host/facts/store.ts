import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { subscribe } from "../../base/subscribe.ts";
import { builtinFacts, collectFacts, type FactProblem } from "./collect.ts";
import { readCustomFacts } from "./custom.ts";
import type { Facts, FactTable } from "./fact.ts";
import { findFact } from "./find-fact.ts";
import type { Host } from "./host.ts";
import { readKeptFacts, withFact, writeKeptFacts } from "./kept.ts";
import { encodeFacts, type FactLayer, mergeFacts } from "./merge.ts";
import { openSentFacts } from "./sent-facts.ts";

/** The facts of one peel. */
export interface FactStore {
  /** Resolves when all facts were collected once, including programs in `facts.d`; never rejects. */
  readonly ready: Promise<void>;
  items(): Facts;
  /** The fact at a path such as `os` or `mounts:/:fstype`, or the fallback. */
  get(path: string, fallback?: Plain): Plain | undefined;
  /**
   * Stores a fact until it is set to null.
   *
   * @param options.asSent whether an operator sent the value, who knows it: it stays also when it is a secret
   * @throws SvcError `bad_request` for an invalid name or value, or when the size limit would be exceeded;
   *   `storage` when it cannot be written
   */
  set(name: string, value: Plain, options?: { asSent?: boolean }): void;
  /** The facts that this program collects itself. */
  collected(): Facts;
  /** Collects all facts again. @returns whether anything changed */
  refresh(): Promise<boolean>;
  /** Calls `run` after every change. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
}

export interface FactStoreOptions {
  dataDir: string;
  host: Host;
  /** Facts provided by this program, at each collection: `id`, `svc_version`. */
  own(): Facts;
  /** Runs a program in `facts.d`. @throws when it fails, times out or prints too much */
  run(path: string): Promise<string>;
  /** Whether a secret of the settings is in a value; a fact with it, from a state or a script, is left out. */
  isSecret?(value: Plain): boolean;
  clock: Clock;
  log: Log;
  /** The built-in facts; tests can replace the table. */
  table?: FactTable;
}

/** Collects the built-in facts and starts to collect the others. */
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

  const sent = openSentFacts(join(options.dataDir, "facts-as-sent"));
  const shownLayers = createSecretFilter(sent, options);
  const mergedWith = (keptFacts: Facts) => mergeFacts(builtin, shownLayers(custom, keptFacts));
  const show = (next: ReturnType<typeof mergeFacts>): boolean => {
    merged = next;
    const encoded = encodeFacts(next.facts);
    if (bytes !== undefined && Buffer.compare(bytes, encoded) === 0) return false;
    bytes = encoded;
    for (const run of listeners) run();
    return true;
  };
  const readKept = (): FactProblem[] => {
    const read = tryKept(file);
    if ("facts" in read) kept = read.facts;
    return "facts" in read ? [] : [read];
  };
  const readBuiltin = async () => {
    const found = await collectFacts(options.table ?? builtinFacts, host, clock);
    builtin = { ...found.facts, ...options.own() };
    return found.problems;
  };
  const collect = async (reading: Promise<FactProblem[]>): Promise<boolean> => {
    const directory = join(options.dataDir, "facts.d");
    const reads = readCustomFacts({ directory, uid: host.user?.uid ?? 0, run: options.run });
    const [problems, found] = await Promise.all([reading, reads]);
    custom = found.layers;
    const unread = readKept();
    const next = mergedWith(kept);
    complain([...problems, ...unread, ...found.problems, ...next.dropped.map(leftOut)]);
    return show(next);
  };

  const rounds = createRounds(collect);
  // A request during collection may follow a change of an already collected fact, so collect again.
  const refresh = () => rounds.next(readBuiltin);

  const problems = await readBuiltin();
  complain([...problems, ...readKept()]);
  show(mergedWith(kept));
  // The built-in facts were just collected.
  const ready = rounds.begin(Promise.resolve(problems)).then(
    () => {},
    (thrown) => log.error("facts not collected", { error: describeError(thrown) }),
  );
  return {
    ready,
    items: () => merged.facts,
    get: (path, fallback) => findFact(merged.facts, path) ?? fallback,
    collected: () => builtin,
    set(name, value, { asSent = false } = {}) {
      const next = withFact(readKeptFacts(file), name, value);
      if (asSent) sent.add(name, value);
      const shown = mergedWith(next);
      if (shown.dropped.length > merged.dropped.length) {
        const problem = `the fact ${name} is too large: all facts together are limited to 256 KiB`;
        throw new SvcError("bad_request", problem);
      }
      writeKeptFacts(file, next);
      kept = next;
      show(shown);
    },
    refresh,
    onChange: (run) => subscribe(listeners, run),
  };
}

/** Leaves out facts with secrets. What an operator sent stays. */
function createSecretFilter(
  sent: ReturnType<typeof openSentFacts>,
  { isSecret = () => false }: Pick<FactStoreOptions, "isSecret">,
) {
  const without = (facts: Facts, isOut: (name: string, value: Plain) => boolean): Facts =>
    Object.fromEntries(Object.entries(facts).filter(([name, value]) => !isOut(name, value)));
  return (custom: readonly FactLayer[], kept: Facts): FactLayer[] => [
    ...custom.map(({ source, facts }) => ({ source, facts: without(facts, (_, value) => isSecret(value)) })),
    { source: "facts.set", facts: without(kept, (name, value) => !sent.has(name, value) && isSecret(value)) },
  ];
}

/** The facts of `facts.set`, or why they cannot be read. */
function tryKept(file: string): { facts: Facts } | FactProblem {
  try {
    return { facts: readKeptFacts(file) };
  } catch (thrown) {
    const reason = `${describeError(thrown)}; correct or delete the file: until then, its facts are missing and facts.set fails`;
    return { source: file, reason };
  }
}

const leftOut = ({ name, source, bytes }: ReturnType<typeof mergeFacts>["dropped"][number]): FactProblem => ({
  source: name,
  reason: `left out: the facts exceed 256 KiB in total, and this one from ${source} takes ${bytes} bytes`,
});

/** Collections, one after the other. */
function createRounds(collect: (reading: Promise<FactProblem[]>) => Promise<boolean>) {
  let running: Promise<boolean> | undefined;
  let waiting: Promise<boolean> | undefined;
  const begin = (reading: Promise<FactProblem[]>): Promise<boolean> => {
    running = collect(reading).finally(() => {
      running = undefined;
    });
    return running;
  };
  /** Collects after the round that runs, together with all callers until then. */
  const next = (read: () => Promise<FactProblem[]>): Promise<boolean> => {
    if (running === undefined) return begin(read());
    waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = undefined;
        return next(read);
      });
    return waiting;
  };
  return { begin, next };
}

/** Logs each problem once, and again only after it was resolved in between. */
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
