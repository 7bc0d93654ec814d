import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { connectBus } from "../../internal/bus/connection/mod.ts";
import { recordingLog } from "../harness/log.ts";
import { letEnroll, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";

// docs/sites.md, "What crosses the link": one command for all peels of a site, with the real programs.

const ids = ["web-1", "web-2", "web-3", "web-4", "web-5"];

test("a job for many peels of a site is one command, each of them runs it once, and no other peel does", async () => {
  await using fleet = await startSiteFleet(8, ["--site-port", "PORT"]);
  letEnroll(fleet);
  await fleet.startMaster();
  const adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  fleet.startSite("berlin", 2);
  expect(await adding.exited).toBe(0);
  const peels = [];
  for (const [at, id] of ids.entries()) peels.push(await fleet.startPeel(id, at + 2, { site: "berlin" }));
  const elsewhere = await fleet.startPeel("web-6", 8);
  await untilSite(fleet, "berlin", "up", ids.length);

  const sent: string[] = [];
  const [name = ""] = fleet.hosts.names;
  const bus = await connectBus({
    urls: [`tls://127.0.0.2:${fleet.hosts.ports.bus}`],
    tlsName: name,
    name: "observer",
    identity: { credentials: readFileSync(join(fleet.dir, "auth/master.creds"), "utf8") },
    ca: readFileSync(join(fleet.dir, "bus/nats-ca.crt"), "utf8"),
    clock: systemClock,
    log: recordingLog(),
  });
  for (const subject of ["svc.site.*.dispatch.*", "svc.job.*.dispatch.*"]) {
    bus.nats.subscribe(subject, { callback: (_, message) => sent.push(message.subject) });
  }
  await bus.nats.flush();

  const run = async (target: string, ...words: string[]) => {
    const { code, stdout, stderr } = await fleet.svc("run", target, ...words, "--output", "json");
    expect([code, stderr]).toEqual([0, expect.anything()]);
    return JSON.parse(stdout) as { jid: string };
  };
  const { jid } = await run("web-*", "cmd.run", "echo once");
  expect(sent.sort()).toEqual([`svc.job.${jid}.dispatch.web-6`, `svc.site.berlin.dispatch.${jid}`]);
  for (const peel of [...peels, elsewhere]) expect(peel.output().match(/job taken/g)?.length).toBe(1);

  // All hear it, and only those that it names obey.
  sent.length = 0;
  const some = await run("L@web-1,web-2,web-3,web-4", "cmd.run", "echo some");
  expect(sent).toEqual([`svc.site.berlin.dispatch.${some.jid}`]);
  expect(peels.map((peel) => peel.output().match(/job taken/g)?.length)).toEqual([2, 2, 2, 2, 1]);

  // Too few for that.
  sent.length = 0;
  const few = await run("L@web-1,web-2", "test.ping");
  await until(() => sent.length === 2);
  expect(sent.sort()).toEqual(["web-1", "web-2"].map((id) => `svc.job.${few.jid}.dispatch.${id}`));
  await bus.nats.close();
}, 120_000);
