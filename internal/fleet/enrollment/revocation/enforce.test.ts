import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { systemRandom } from "../../../base/id.ts";
import { encodePeelsAccount } from "../../../bus/accounts/peels-account.ts";
import { readClaims } from "../../../identity/jwt.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { createEnforcer } from "./enforce.ts";
import type { Revocation } from "./revocations.ts";

const hour = 3_600_000;
const signer = newKeyPair("operator", systemRandom);
const account = newKeyPair("account", systemRandom).publicKey;
const masters = newKeyPair("account", systemRandom).publicKey;
const user = newKeyPair("user", systemRandom).publicKey;

/** One server, which has the account in memory from the third look on: as it was before the first push. */
function loadingServer(clock: ReturnType<typeof manualClock>) {
  const encodeAccount = (revocations: Record<string, number>, issuedAt: number) =>
    encodePeelsAccount({ account, masters, revocations, issuedAt, signer });
  const before = encodeAccount({}, 1);
  let [stored, loaded, checks, pushes] = [before, "", 0, 0];
  return {
    encodeAccount,
    get pushes() {
      return pushes;
    },
    /** The keys that it refuses. */
    refused: () => Object.keys(Object(readClaims(loaded === "" ? stored : loaded).nats.revocations)),
    system: {
      servers: () => ({ total: 1, jetstream: 1 }),
      onServerJoin: () => () => {},
      async lookupClaims() {
        if (++checks === 3) loaded = before;
        return [stored, loaded]
          .filter((jwt, at, all) => jwt !== "" && all.indexOf(jwt) === at)
          .map((jwt) => ({ jwt }));
      },
      endConnections: async () => false,
      async pushClaims(jwt: string) {
        pushes++;
        stored = jwt;
        if (loaded !== "") loaded = jwt;
        return true;
      },
    },
    clock,
  };
}

test("a server that loaded the account while it stored a revocation gets it again", async () => {
  const clock = manualClock();
  const server = loadingServer(clock);
  const entry: Revocation = {
    ...{ busPublicKey: user, peelId: "web_1", enrollmentId: "enr-1" },
    ...{ revokedAt: clock.now(), expiresAt: clock.now() + hour },
  };
  const entries = new Map([[user, entry]]);
  const enforcer = createEnforcer({
    ...{
      system: server.system,
      account,
      encodeAccount: server.encodeAccount,
      mayPrune: () => false,
      ended: async () => true,
      clock,
    },
    revocations: {
      seen: async () => entries,
      current: async () => entries,
      prune: async () => 0,
      onForeign: () => () => {},
    },
    log: recordingLog(),
  });
  const running = enforcer.start();
  await clock.pass(0);
  expect([server.pushes, server.refused()]).toEqual([1, [user]]);
  // It finishes loading what it read before. Nobody stores anything; the next look comes by itself.
  await clock.pass(5_000);
  expect([server.pushes, server.refused()]).toEqual([2, [user]]);
  // And when it agrees, nothing more is pushed.
  await clock.pass(120_000);
  expect(server.pushes).toBe(2);
  running.stop();
  expect(clock.pending).toBe(0);
});
