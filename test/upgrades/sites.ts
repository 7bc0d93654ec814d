import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerVersions } from "../harness/bus.ts";
import { startSiteFleet, untilSite } from "../harness/site-fleet.ts";

// docs/sites.md with each pair of supported versions: that of the masters' bus, and that of the site.

const versions = natsServerVersions().filter(({ version }) => !version.startsWith("2.9."));
// Two of the same version are what the other tests have.
const pairs = versions.flatMap((hub) =>
  versions
    .filter((site) => site.version !== hub.version)
    .map((site) => ({ hub, site, name: `${hub.version} and ${site.version}` })),
);

test.each(pairs)(
  "a bus and a site of $name: jobs, and a revocation",
  async ({ hub, site }) => {
    await using fleet = await startSiteFleet(5, ["--site-port", "PORT"]);
    const useServer = (path: string, server: string) =>
      writeFileSync(path, `${readFileSync(path, "utf8")}embedded_bus_path: ${server}\n`);
    useServer(join(fleet.dir, "master.yaml"), hub.path);
    await fleet.startMaster();
    const adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
    await adding.waitFor("waiting for the server of berlin");
    expect(adding.output()).not.toContain("systemctl restart");
    useServer(join(fleet.siteDir("berlin"), "master.yaml"), site.path);
    const server = fleet.startSite("berlin", 2);
    expect(await adding.exited).toBe(0);
    expect(server.output()).toContain(site.version);
    // No more: they enroll from one address, which may not ask often.
    const ids = ["web-1", "web-2"];
    const peels = await Promise.all(ids.map((id, at) => fleet.startPeel(id, at + 2, { site: "berlin" })));
    await untilSite(fleet, "berlin", "up", ids.length);
    const ran = await fleet.svc("run", "web-*", "cmd.run", "echo once", "--output", "json");
    expect([ran.code, ran.stdout.match(/once/g)?.length]).toEqual([0, expect.any(Number)]);
    for (const peel of peels) expect(peel.output().match(/job taken/g)?.length).toBe(1);
    expect((await fleet.svc("enroll", "revoke", "--peel", "web-1")).code).toBe(0);
    await peels[0]?.waitFor("bus disconnected");
    expect(existsSync(fleet.siteDir("berlin"))).toBe(true);
  },
  120_000,
);
