import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf, type Stage, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

/** Gives the bus a certificate, as an operator does for a bus that no master runs. */
async function issue({ fleet }: Stage, ...more: string[]): Promise<void> {
  const bus = join(fleet.dir, "bus");
  const names = ["--dns", "localhost", "--ip", "127.0.0.1", "--dir", join(fleet.dir, "auth", "ca")];
  const issued = await fleet.svc("ca", "issue", "nats-server", ...names, "--out", bus, "--force", ...more);
  expect([issued.code, issued.stderr]).toEqual([0, expect.any(String)]);
  const [, pid] = /(\d+)/.exec(readFileSync(join(bus, "nats-server.process"), "utf8")) ?? [];
  process.kill(Number(pid), "SIGHUP");
}

/** The two parts of the next step: for a bus that a master runs, and for any other. */
const ways: Record<string, (stage: Stage) => Promise<void>> = {
  "where svc-master runs the bus, restart it: it issues one": async (stage) => {
    await stage.stopMaster();
    await stage.startMaster();
  },
  "elsewhere, svc ca issue nats-server --force": (stage) => issue(stage),
};

test.each(Object.entries(ways))("the certificate of the bus expired: %s", async (words, follow) => {
  await using stage = await setStage();
  await issue(stage, "--validity", "1s");
  const { doctor } = await stage.sees({
    doctor: /^FAIL {2}bus TLS +the certificate of the bus expired at \d/m,
    status: /cannot connect to the bus at .*certificate has expired/,
  });
  expect(nextOf(doctor, "bus TLS")).toContain(words);
  await follow(stage);
  await stage.isWell();
});
