import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { startBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMaster } from "../harness/master.ts";
import { startPeel } from "../harness/peel.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// Any user of a host can listen on the health port before the daemon does.

test("master and peel start while another program has their health ports, and everybody sees it", async () => {
  const other = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", () => resolve()));
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  using directory = temporaryDirectory("health-off");
  await using bus = await startBus();
  await using master = await startMaster(bus, { flags: ["--health-addr", taken] });
  const off = { level: "warn", event: "health is off: another program listens on health_addr" };
  expect(master.records).toContainEqual(expect.objectContaining({ ...off, fields: { address: taken } }));

  const peel = await enrollPeel(master, "web-1");
  const auth = join(directory.path, "auth");
  mkdirSync(auth, { mode: 0o700 });
  writeFileSync(join(auth, "web-1.creds"), peel.credentials, { mode: 0o600 });
  writeFileSync(join(auth, "web-1.seed"), `${peel.seed}\n`, { mode: 0o600 });
  writeFileSync(join(auth, "web-1.command-keys"), `${peel.commandKeys.join("\n")}\n`);
  const bound = ["--bus-ca", bus.caFile, "--bus-url", bus.url, "--health-addr", taken];
  await using running = startPeel(directory.path, ["--id", "web-1", ...bound]);
  await running.ready;
  expect(running.log.records).toContainEqual(expect.objectContaining(off));

  const read = async () => JSON.parse((await cli(bus, "status", "--output", "json")).stdout);
  await until(async () => {
    const { masters, peels } = await read();
    return masters[0]?.health === "off" && peels.without_health.includes("web-1");
  });
  const shown = (await cli(bus, "status")).stdout;
  expect(shown).toMatch(/^HEALTH OFF\nweb-1$/m);
  expect(shown).toMatch(/^note: master \S+ serves no health and no metrics: another program listens/m);
  other.close();
}, 60_000);
