import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { FedSettingsStore, SecretValue } from "../settings/mod.ts";
import { type Classified, classify, longLinesOf } from "./classify.ts";
import { minLength } from "./encodings.ts";
import { createMask, type Mask, noMask } from "./mask.ts";
import { createSearch } from "./search.ts";

/** State files change, and so may the lines that are in them. */
const everyMs = 10 * 60_000;

/** What takes secret values out of everything that leaves this host. */
export interface Masking {
  /** For the secrets that are in force now. */
  current(): Mask;
  /** Names of the settings whose values are too weak to be masked inside of other texts. */
  weak(): readonly string[];
  /** Calls `run` after other values are masked, or others are weak. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
  /** Resolves when everything that is known of this host counts. */
  settled(): Promise<void>;
  stop(): void;
}

export interface MaskingOptions {
  settings: Pick<FedSettingsStore, "secrets" | "onChange">;
  /** Names that this host shows by itself. */
  names(): Promise<ReadonlySet<string>>;
  /** The state files that this host holds. */
  stateFiles(): Iterable<string>;
  clock: Clock;
  log: Log;
}

/**
 * Follows the secret values of the settings. Until it is known which of them are names that this host shows anyway, and
 * which lines are in state files, all of them are masked.
 */
export function createMasking(options: MaskingOptions): Masking {
  const { settings, clock, log } = options;
  const listeners = new Set<() => void>();
  let names: ReadonlySet<string> = new Set();
  let inTree: ReadonlySet<string> = new Set();
  let classified: Classified = { strong: [], weak: [], weakNames: [] };
  let mask: Mask = noMask;
  const apply = () => {
    const isName = (text: string) => names.has(text);
    const isInTree = (line: string) => inTree.has(line);
    const next = classify(settings.secrets(), { isName, isInTree });
    if (Bun.deepEquals(next, classified)) return;
    classified = next;
    mask = createMask(next);
    for (const run of listeners) run();
  };
  const inspect = async () => {
    const secrets = settings.secrets();
    // Most values are not names, and reading the packages of a host takes a moment.
    if (secrets.some(({ text }) => text.length >= minLength && hasFormOfName(text)))
      names = await options.names();
    const lines = longLinesOf(secrets);
    inTree = lines.length === 0 ? new Set() : linesIn(options.stateFiles(), lines);
    apply();
  };
  let inspecting = Promise.resolve();
  const refresh = () => {
    apply();
    inspecting = inspecting.then(inspect).catch((thrown) => {
      log.warn("which secrets are names of this host is not known: all of them are masked", {
        reason: describeError(thrown),
      });
    });
  };
  refresh();
  const forget = settings.onChange(refresh);
  const timer = clock.every(everyMs, refresh);
  return {
    current: () => mask,
    weak: () => classified.weakNames,
    onChange: (run) => subscribe(listeners, run),
    settled: () => inspecting,
    stop() {
      forget();
      timer.cancel();
    },
  };
}

/** Masks these values without anything that is known of this host: rather more than less. */
export const maskOf = (values: readonly SecretValue[]): Mask =>
  createMask(classify(values, { isName: () => false, isInTree: () => false }));

const hasFormOfName = (text: string) => /^[A-Za-z0-9_][\w.+:@-]*$/.test(text.trim());

/** The lines that some file has. */
function linesIn(files: Iterable<string>, lines: readonly string[]): Set<string> {
  const search = createSearch(lines);
  const found = new Set<string>();
  for (const text of files) {
    for (const { from, to } of search.find(text)) found.add(text.slice(from, to));
  }
  return found;
}
