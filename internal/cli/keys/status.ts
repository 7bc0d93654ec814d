import { describeError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { readCommandKeys, readKeySlot } from "../../bus/accounts/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { keyOperations } from "../../fleet/keys/mod.ts";
import {
  type Cli,
  command,
  Exit,
  formatFields,
  formatTable,
  type TableStyle,
} from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { dirArg } from "./args.ts";
import { issuingSince, type MasterKeys, readMasterKeys, unconfirmedOf } from "./fleet-keys.ts";
import { type KeyRow, listKeys } from "./inventory.ts";
import { accountObstacle, commandObstacle, settingsObstacle } from "./obstacle.ts";
import { assertAuthDirectory } from "./rotate.ts";

/** A key that can be replaced, and how far that is. */
interface Change {
  current?: string;
  next?: string;
  /** `none`, `waiting` for masters and peels, or `ready` to be finished. */
  phase: "none" | "waiting" | "ready";
  reason?: string;
}

export interface KeysStatus {
  keys: KeyRow[];
  command: Change & { unconfirmed: string[]; unconfirmed_count: number };
  account: Change & { dependents: string[] };
  /** Without `current` the fleet never had one. */
  settings: Change;
  masters: MasterKeys[];
  /** Members whose keys the fleet has: each holds its own. */
  peels: number;
  notes: string[];
}

export const statusCommand = command({
  name: "status",
  description: "Show every key of a fleet, who holds it, since when, and what depends on it.",
  examples: ["svc keys status"],
  lists: true,
  args: { dir: dirArg },
  async run({ dir }, cli) {
    assertAuthDirectory(dir);
    const { status, failed } = await readKeysStatus(dir, cli);
    await cli.print(status, () => formatKeys(status, cli));
    if (failed) throw new Exit(1);
  },
});

async function readKeysStatus(dir: string, cli: Cli): Promise<{ status: KeysStatus; failed: boolean }> {
  const keys = listKeys(dir);
  const own = readCommandKeys(dir);
  const account = readKeySlot(dir, "account");
  const settings = readKeySlot(dir, "settings");
  const notes: string[] = [];
  let failed = false;
  const { masters, members, dependents } = await withBus(cli, (bus) =>
    readFleet(bus, account.next !== undefined),
  ).catch((thrown) => {
    failed = true;
    notes.push(`only the files of ${dir} are shown: ${describeError(thrown)}`);
    return { masters: [], members: 0, dependents: [] };
  });
  if (!failed && masters.length === 0)
    notes.push("no master is running: nothing is known about confirmations");
  notes.push(...differences({ own, account, settings }, masters));
  const waits = (obstacle: string | undefined): Pick<Change, "phase" | "reason"> =>
    obstacle === undefined ? { phase: "ready" } : { phase: "waiting", reason: obstacle };
  const { named, count } = unconfirmedOf(masters);
  const nobody = masters.length === 0 ? "no master is running" : undefined;
  const status: KeysStatus = {
    keys,
    command: {
      current: own.current.publicKey,
      ...(own.next === undefined
        ? { phase: "none" }
        : {
            next: own.next.publicKey,
            ...waits(nobody ?? commandObstacle(own.next.publicKey, masters)),
          }),
      unconfirmed: named,
      unconfirmed_count: count,
    },
    account: {
      ...(account.current === undefined ? {} : { current: account.current.publicKey }),
      ...(account.next === undefined
        ? { phase: "none" }
        : {
            next: account.next.publicKey,
            ...waits(nobody ?? accountObstacle(account.next.publicKey, masters, dependents)),
          }),
      dependents,
    },
    settings: {
      ...(settings.current === undefined ? {} : { current: settings.current.publicKey }),
      ...(settings.next === undefined
        ? { phase: "none" }
        : {
            next: settings.next.publicKey,
            ...waits(nobody ?? settingsObstacle(settings.next.publicKey, masters)),
          }),
    },
    masters,
    peels: members,
    notes,
  };
  return { status, failed };
}

/** What the masters report, and which peels depend on the account key before, while it is replaced. */
async function readFleet(bus: Bus, isReplaced: boolean) {
  const masters = await readMasterKeys(bus);
  if (masters.length === 0) return { masters, members: 0, dependents: [] };
  const since = isReplaced ? issuingSince(masters) : undefined;
  const requested = since === undefined ? {} : { issued_before: since };
  const { members, peels } = await request(bus, keyOperations.listDependents, requested, {
    timeoutMs: 30_000,
  });
  return { masters, members, dependents: peels };
}

interface PublicSlot {
  current: { publicKey: string } | undefined;
  next: { publicKey: string } | undefined;
}

/** What masters have that this directory lacks, and the other way round. */
function differences(
  { own, account, settings }: Record<"own" | "account" | "settings", PublicSlot>,
  masters: readonly MasterKeys[],
): string[] {
  const keysOf = (slot: PublicSlot) =>
    [slot.current, slot.next].flatMap((pair) => (pair === undefined ? [] : [pair.publicKey]));
  const differs = (one: readonly string[], other: readonly string[]) =>
    [...one].sort().join() !== [...other].sort().join();
  return masters.flatMap(({ name, command_keys, account_keys, settings_keys = [], keys_problem }) => [
    ...(
      [
        ["command keys", command_keys, own],
        ["signing keys of the account", account_keys, account],
        ["keys of settings", settings_keys, settings],
      ] as const
    )
      .filter(([, reported, slot]) => differs(reported, keysOf(slot)))
      .map(
        ([keys]) =>
          `master ${name} does not have the same ${keys} as this directory: copy the files of one to the other`,
      ),
    ...(keys_problem === undefined ? [] : [`master ${name} cannot read its keys: ${keys_problem}`]),
  ]);
}

/** The keys for people: a table of them, and how far their replacement is. */
export function formatKeys(status: KeysStatus, style: TableStyle): string {
  const { keys, command: commandKey, account, settings, masters, peels, notes } = status;
  const reported = ({ phase, reason }: Change) =>
    phase === "none" ? "not being replaced" : phase === "ready" ? "can be finished" : `waits: ${reason}`;
  return [
    formatTable(
      { KEY: "prose", "PUBLIC KEY": "text", "HELD BY": "prose", SINCE: "ago", "NEEDED FOR": "prose" },
      keys.map((row) => [row.key, row.public_key, row.holder, row.since ?? "-", row.depends]),
      style,
    ),
    formatFields([
      ["command key", reported(commandKey)],
      ["account signing key", reported(account)],
      ["settings key", reportSettings(settings)],
      ["keys of peels", `${peels} members hold their own`],
    ]),
    ...(masters.length === 0
      ? []
      : [
          formatTable(
            { MASTER: "text", "COMMAND KEYS": "word", "SIGNS WITH": "text", "SETTINGS KEYS": "word" },
            masters.map((one) => [
              ...[one.name, `${one.command_keys.length}`, one.signs_with || "-"],
              `${one.settings_keys?.length ?? 0}`,
            ]),
            style,
          ),
        ]),
    ...(commandKey.unconfirmed.length === 0
      ? []
      : [
          formatTable(
            { "NOT CONFIRMED": "text" },
            commandKey.unconfirmed.map((peel) => [displayPeelId(peel)]),
            style,
          ),
        ]),
    ...(notes.length === 0 ? [] : [notes.map((note) => `note: ${note}`).join("\n")]),
  ].join("\n\n");
}

function reportSettings({ current, phase, reason }: Change): string {
  if (current === undefined) return "missing: run svc keys rotate settings";
  if (phase === "none") return "not being replaced";
  return phase === "waiting" ? `waits: ${reason}` : "every master has the next one";
}
