import { SvcError } from "../../base/errors.ts";
import {
  isFinishInterrupted,
  keyFile,
  type ReplaceableKey,
  readKeySlot,
  replaceKey,
} from "../../bus/accounts/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { keyOperations } from "../../fleet/keys/mod.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { dirArg, keyArg, readKeyName } from "./args.ts";
import { issuingSince, type MasterKeys, readMasterKeys } from "./fleet-keys.ts";
import { accountObstacle, commandObstacle } from "./obstacle.ts";
import { assertAuthDirectory } from "./rotate.ts";

/** A master reads every record for it. */
const slow = { timeoutMs: 30_000 };

export const finishCommand = command({
  name: "finish",
  description: "Drop the key before, when nothing depends on it.",
  examples: ["svc keys finish command"],
  args: { key: keyArg, dir: dirArg },
  async run({ key: name, dir }, cli) {
    const key = readKeyName(name);
    assertAuthDirectory(dir);
    const { current, next } = readKeySlot(dir, key);
    if (next === undefined && !isFinishInterrupted(dir, key)) {
      throw new SvcError("bad_request", `${dir} has no next ${key} key: run svc keys rotate ${key} first`);
    }
    if (next !== undefined) {
      // All is read before anything is written.
      const records = await withBus(cli, async (bus) => {
        const masters = await readMasterKeys(bus);
        if (masters.length === 0) {
          throw new SvcError(
            "unavailable",
            "no master is running: start one, it follows who has confirmed the key",
          );
        }
        return key === "command"
          ? mayDropCommand(bus, next, current, masters)
          : mayDropAccount(bus, next, masters);
      });
      replaceKey(dir, key, records);
    } else replaceKey(dir, key);
    const inUse = readKeySlot(dir, key).current?.publicKey ?? "";
    const file = keyFile(dir, key, "current");
    await cli.print({ key, public_key: inUse, file }, () =>
      formatFields([
        ["Key", inUse],
        ["File", file],
      ]),
    );
    cli.say(`Next: run svc keys finish ${key} on every other master.`);
  },
});

/** @returns the records that stay valid. @throws SvcError `conflict` */
async function mayDropCommand(
  bus: Bus,
  next: KeyPair,
  current: KeyPair | undefined,
  masters: readonly MasterKeys[],
): Promise<string[]> {
  refuse("command", commandObstacle(next.publicKey, masters));
  if (current === undefined) return [];
  return (await request(bus, keyOperations.listDependents, { command_key: current.publicKey }, slow)).records;
}

/** @throws SvcError `conflict` */
async function mayDropAccount(bus: Bus, next: KeyPair, masters: readonly MasterKeys[]): Promise<string[]> {
  const since = issuingSince(masters);
  const { peels } =
    since === undefined
      ? { peels: [] }
      : await request(bus, keyOperations.listDependents, { issued_before: since }, slow);
  refuse("account", accountObstacle(next.publicKey, masters, peels));
  return [];
}

function refuse(key: ReplaceableKey, obstacle: string | undefined): void {
  if (obstacle !== undefined)
    throw new SvcError("conflict", `the ${key} key before is still needed: ${obstacle}`);
}
