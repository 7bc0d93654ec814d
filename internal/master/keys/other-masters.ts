import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { decodeForeign } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/mod.ts";

/** Heartbeats of masters expire after this time. */
const aliveMs = 15_000;

const form = v.object({
  command_keys: v.optional(v.array(v.string()), []),
  signs_with: v.optional(v.string(), ""),
  account_keys: v.optional(v.array(v.string()), []),
  issues_with: v.optional(v.string(), ""),
});

/** What another master reports about its keys. */
export interface MasterKeyView {
  commandKeys: readonly string[];
  /** The command key that it signs with. */
  signsWith: string;
  /** Its signing keys of the peels' account. */
  accountKeys: readonly string[];
  /** The key that it signs credentials of peels with. */
  issuesWith: string;
}

/** Follows what the other live masters report about their keys. */
export interface OtherMasters {
  /** Resolves when all stored heartbeats were read. */
  readonly ready: Promise<void>;
  current(): readonly MasterKeyView[];
  stop(): void;
}

export function followOtherMasters(options: {
  /** The bucket `master-heartbeat`. */
  heartbeats: Pick<Bucket, "watch">;
  /** Of this master. */
  name: string;
  clock: Clock;
}): OtherMasters {
  const { heartbeats, name, clock } = options;
  const seen = new Map<string, MasterKeyView & { at: number }>();
  const watch = heartbeats.watch(({ key, value }) => {
    if (key === name) return;
    const view = value === undefined ? undefined : readView(value);
    if (view === undefined) seen.delete(key);
    else seen.set(key, { ...view, at: clock.monotonic() });
  });
  return {
    ready: watch.ready,
    current() {
      for (const [key, { at }] of seen) if (clock.monotonic() - at > aliveMs) seen.delete(key);
      return [...seen.values()];
    },
    stop: () => watch.stop(),
  };
}

function readView(bytes: Uint8Array): MasterKeyView | undefined {
  try {
    const parsed = v.safeParse(form, decodeForeign(bytes));
    if (!parsed.success) return undefined;
    const { command_keys, signs_with, account_keys, issues_with } = parsed.output;
    return {
      commandKeys: command_keys,
      signsWith: signs_with,
      accountKeys: account_keys,
      issuesWith: issues_with,
    };
  } catch {
    return undefined;
  }
}
