import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import type { LeafNode } from "../../bus/servers/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { certificateKey, encodeCertificate } from "./certificate-record.ts";
import { followSites } from "./follow.ts";
import { encodeSite, type SiteRecord } from "./record.ts";
import { problemsOf, watchLinks } from "./watch-links.ts";

const mac = createRecordMac(newKeyPair("account", systemRandom));
const account = () => newKeyPair("account", systemRandom).publicKey;
const user = newKeyPair("user", systemRandom).publicKey;
const systemAccount = account();
const day = 24 * 3_600_000;

async function watched() {
  const clock = manualClock();
  const log = recordingLog();
  const bucket = memoryBucket();
  const sites = followSites({ bucket, mac, log });
  const site: SiteRecord = {
    ...{ name: "berlin", urls: ["tls://leaf.example.com:4222"], account: account() },
    ...{ users: { link: user, system: user }, systemSigner: account(), jwts: { link: "a", system: "b" } },
    ...{ createdAt: clock.now(), createdBy: "ann", former: [] },
  };
  await bucket.put("berlin", encodeSite(mac, site));
  const seen: { nodes: LeafNode[] | undefined; checks: number } = { nodes: undefined, checks: 0 };
  const system = {
    leafNodes: async () => {
      seen.checks++;
      return seen.nodes;
    },
  };
  const links = watchLinks({ sites, system, systemAccount, clock, log });
  await settle();
  const up = (name = "site-berlin"): LeafNode[] => [
    { server: "n1", name, account: site.account, roundTripMs: 12 },
    { server: "n1", name, account: systemAccount, roundTripMs: 12 },
  ];
  const certify = (days: number) =>
    bucket.put(
      certificateKey("berlin"),
      encodeCertificate(mac, {
        ...{ site: "berlin", account: site.account, root: "sha256:0", recent: [] },
        ...{ issuedAt: clock.now(), notAfter: clock.now() + days * day },
      }),
    );
  return { clock, log, bucket, links, seen, up, site, certify };
}

test("a site is unknown before a server answered, up with both links, and degraded without the second one", async () => {
  const { links, seen, up } = await watched();
  expect(links.states()).toMatchObject([{ name: "berlin", state: "unknown" }]);
  expect(links.check()).toEqual({ status: "up" });
  seen.nodes = up();
  await links.inspect();
  expect(links.states()).toMatchObject([
    { state: "up", link: { server: "n1", roundTripMs: 12, hasClaims: true } },
  ]);
  expect(links.check()).toEqual({ status: "up" });
  // The second link comes from another server, such as one of a site that takes this name.
  seen.nodes = [...up().slice(0, 1), ...up("site-munich").slice(1)];
  await links.inspect();
  expect(links.check()).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("revocations do not reach site berlin"),
  });
});

test("a link that ends and comes back is reported once each time, with how long it was away", async () => {
  const { clock, log, links, seen, up } = await watched();
  const reported = () => log.records.map(({ event }) => event).filter((event) => event.startsWith("site is"));
  seen.nodes = up();
  await links.inspect();
  seen.nodes = [];
  await clock.pass(10_000);
  await clock.pass(30_000);
  expect(reported()).toEqual(["site is cut off"]);
  expect(links.states()).toMatchObject([{ state: "cut off", cutOffMs: 30_000 }]);
  expect(links.check()).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("cut off: site berlin"),
  });
  // A bus that does not answer says nothing about the site.
  seen.nodes = undefined;
  await clock.pass(10_000);
  expect(links.states()).toMatchObject([{ state: "cut off" }]);
  seen.nodes = up();
  await clock.pass(10_000);
  expect(reported()).toEqual(["site is cut off", "site is linked again"]);
});

test("without sites nothing is asked, and a site that was removed is not watched", async () => {
  const { bucket, clock, links, seen, site } = await watched();
  await bucket.put("berlin", encodeSite(mac, { ...site, removedAt: 2_000 }));
  const before = seen.checks;
  await clock.pass(60_000);
  expect([seen.checks, links.states()]).toEqual([before, []]);
});

test("a certificate that a site should have replaced is a problem, also of a site that never asked", async () => {
  const { clock, links, seen, up, certify } = await watched();
  seen.nodes = up();
  await links.inspect();
  // Nothing looks at links for the next year.
  links.stop();
  clock.advance(273 * day);
  expect(problemsOf(links.states())).toEqual([]);
  clock.advance(day);
  expect(links.check()).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("site berlin is not renewed, and ends at 2027-01-01T00:00:00.000Z"),
  });
  await certify(40);
  expect(links.states()).toMatchObject([{ certificate: { root: "sha256:0" } }]);
  expect(problemsOf(links.states())).toEqual([]);
  clock.advance(31 * day);
  expect(problemsOf(links.states())).toHaveLength(1);
});
