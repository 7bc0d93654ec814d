import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Member, mintMember, peelsAccountKey } from "../../../test/fleet/credentials.ts";
import { connectTo, natsServerVersions, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { connectPeel, type PeelConnection } from "../../../test/harness/peel-connection.ts";
import { isOlderVersion } from "../../base/dotted-version.ts";
import { keyPairFromSeed } from "../../identity/nkey.ts";
import { encodePeelsAccount } from "../accounts/peels-account.ts";
import type { Bus } from "../connection/connect.ts";
import { oldestToEnd } from "./end-connections.ts";
import { createSystemBus } from "./system.ts";

const read = (bus: TestBus, name: string) => readFileSync(join(bus.authDir, name), "utf8").trim();

describe.each(natsServerVersions())("nats-server $version", ({ version, path }) => {
  const canEnd = !isOlderVersion(version, oldestToEnd);
  let bus: TestBus;
  let connection: Bus;
  let account: string;
  beforeAll(async () => {
    bus = await startBus({ server: path });
    connection = await connectTo(bus, "system");
    account = peelsAccountKey(bus.authDir).publicKey;
  }, 60_000);
  afterAll(async () => {
    await connection?.nats.close();
    await bus?.[Symbol.asyncDispose]();
  });

  const mint = (name: string) => mintMember(name, peelsAccountKey(bus.authDir));
  const isUp = async (peel: PeelConnection) => {
    await peel.nats.flush();
    return peel.records.length === 0;
  };
  let issuedAt = 2_000_000_000;
  const claims = (...revoked: Member[]) =>
    encodePeelsAccount({
      account,
      masters: peelsMasters(),
      revocations: Object.fromEntries(revoked.map(({ key }) => [key.publicKey, issuedAt])),
      issuedAt: issuedAt++,
      signer: keyPairFromSeed("operator", read(bus, "operator-signing.seed")),
    });
  const peelsMasters = () =>
    JSON.parse(Buffer.from(read(bus, "masters.jwt").split(".")[1] ?? "", "base64url").toString()).sub;

  test("all connections of one user are ended, and no others; its client may come back", async () => {
    const [member, other] = [mint("one"), mint("other")];
    await using first = await connectPeel(bus, member);
    await using second = await connectPeel(bus, member);
    await using bystander = await connectPeel(bus, other);
    const system = await createSystemBus(connection);
    const requested = await system.endConnections(account, [member.key.publicKey]);
    expect(requested).toBe(canEnd);
    if (canEnd) {
      await Promise.all([first, second].map((one) => one.logged("bus disconnected")));
      await using again = await connectPeel(bus, member);
      expect(await isUp(again)).toBe(true);
    }
    expect(await isUp(bystander)).toBe(true);
    // Nothing is asked for nobody.
    expect(await system.endConnections(account, [])).toBe(true);
    system.stop();
  });

  test("a refused client gets the reason where servers have few connections", async () => {
    const member = mint("told");
    await using peel = await connectPeel(bus, member);
    const system = await createSystemBus(connection);
    expect(system.takesLong()).toBe(false);
    const reported = peel.logged("bus error");
    expect(await system.pushClaims(claims(member), [member.key.publicKey])).toBe(true);
    expect(JSON.stringify(await reported)).toContain("Revoked");
    system.stop();
  });

  test("who is refused by claims that a server has not answered yet is known, and disconnected", async () => {
    const [member, other] = [mint("revoked"), mint("stays")];
    await using peel = await connectPeel(bus, member);
    await using bystander = await connectPeel(bus, other);
    // As a server with thousands of connections: it takes the claims, and answers when it has looked through them.
    const silent: Bus["nats"] = Object.create(connection.nats, {
      requestMany: {
        async value(subject: string, data: string) {
          connection.nats.publish(subject, data);
          return (async function* () {
            await new Promise(() => {});
          })();
        },
      },
    });
    const slow: Bus = Object.create(connection, { nats: { value: silent } });
    const system = await createSystemBus(connection, { claims: slow, few: 0 });
    const pushed = system.pushClaims(claims(member), [member.key.publicKey]);
    if (canEnd) expect(await pushed).toBe(true);
    await peel.logged("bus disconnected");
    const [held] = await system.lookupClaims(account);
    expect(held?.jwt).toContain(".");
    expect(await isUp(bystander)).toBe(true);
    system.stop();
  });
});
