import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import {
  type Impostor,
  startImpostor,
  type TestAuthority,
  testAuthority,
} from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { createTrust, type TrustOptions } from "./anchor.ts";
import { exchange } from "./exchange.ts";
import type { Rung } from "./ladder.ts";
import { TrustError } from "./mismatch.ts";
import { spkiPin, splitPem } from "./pin.ts";

// Each rung with a master it must accept and masters it must not. A refused master must never get the
// request that follows: "GET /secret" stands for it.

let fleet: TestAuthority;
let other: TestAuthority;
let twin: TestAuthority;
const running: Impostor[] = [];

beforeAll(async () => {
  [fleet, other, twin] = await Promise.all([
    testAuthority("Fleet"),
    testAuthority("Other"),
    testAuthority("Fleet"),
  ]);
});
afterAll(async () => {
  for (const server of running) await server[Symbol.asyncDispose]();
});

const documentOf = (bundle: string) => ({ v: 1, ca_bundle_pem: bundle, fingerprint: "", nats_urls: [] });
const serve = (tls: { cert: string; key: string }, bundle: string | (() => Response | Promise<Response>)) => {
  const server = startImpostor({
    tls,
    answer: (_, { pathname }) => {
      if (pathname !== "/api/v1/enroll/ca") return new Response("told");
      return typeof bundle === "string" ? Response.json(documentOf(bundle)) : bundle();
    },
  });
  running.push(server);
  return server;
};
const honest = async () => serve(await fleet.issue(), fleet.rootPem);

const file = (pem: string) => ({ path: "/data/auth/enroll-ca.crt", pem });
const rungs = {
  enrollCa: (): Rung => ({ rung: 1, ca: { path: "/etc/ca.crt", pem: fleet.rootPem } }),
  pin: (): Rung => ({ rung: 2, pins: [fleet.pin] }),
  anchor: (): Rung => ({ rung: 3, ca: file(fleet.rootPem) }),
  system: (): Rung => ({ rung: 4, firstUse: false }),
  firstUse: (): Rung => ({ rung: 4, firstUse: true }),
};

/** Asks a master for its secret; also what was kept as an anchor, and the log. */
async function request(server: { url: string }, rung: Rung, more: Partial<TrustOptions> = {}) {
  const log = recordingLog();
  const kept: string[] = [];
  const signal = new AbortController().signal;
  const trust = createTrust({
    rung,
    storeAnchor: (pem) => kept.push(pem),
    clock: systemClock,
    log,
    signal,
    ...more,
  });
  const report = (url: string) =>
    trust.use(url, async (anchor) => {
      const verify = { ca: anchor.ca };
      const options = { timeoutMs: 5_000, maxBytes: 100, clock: systemClock, signal };
      const { text } = await exchange({ url: `${url}/secret`, verify, ...options });
      return { text, spki: anchor.spki, ca: anchor.ca };
    });
  const result = await report(server.url).catch((thrown: Error) => thrown);
  return { result, kept, log, report };
}

async function expectRefused(server: Impostor, rung: Rung, message: RegExp) {
  const { result, kept } = await request(server, rung);
  expect(result).toBeInstanceOf(TrustError);
  expect((result as Error).message).toMatch(message);
  expect((result as Error).message).not.toContain("\n");
  expect(kept).toEqual([]);
  expect(server.requests).not.toContain("GET /secret");
}

const strict = ["enrollCa", "pin", "anchor"] as const;

describe.each(strict)("the strict rung %s", (name) => {
  test("accepts the fleet's master, and attests the root", async () => {
    const { result, kept } = await request(await honest(), rungs[name]());
    expect(result).toMatchObject({ text: "told", spki: fleet.pin });
    expect(kept).toEqual([]);
  });

  test("refuses another CA", async () => {
    await expectRefused(
      serve(await other.issue(), other.rootPem),
      rungs[name](),
      /is not trusted by (?:enroll_ca|enroll_ca_pin|the stored root)\b/,
    );
  });

  test("refuses a CA of the same name with another key", async () => {
    await expectRefused(
      serve(await twin.issue(), twin.rootPem),
      rungs[name](),
      /is not trusted by (?:enroll_ca|enroll_ca_pin|the stored root)\b/,
    );
  });

  test("refuses an attacker's certificate with a bundle that contains the honest root", async () => {
    for (const bundle of [fleet.rootPem + other.rootPem, other.rootPem + fleet.rootPem]) {
      await expectRefused(
        serve(await other.issue(), bundle),
        rungs[name](),
        /is not trusted by (?:enroll_ca|enroll_ca_pin|the stored root)\b/,
      );
    }
  });

  test("refuses a man in the middle that relays the honest document byte by byte", async () => {
    const master = await honest();
    const relay = async () => {
      const trust = {
        verify: { ca: fleet.rootPem },
        clock: systemClock,
        signal: new AbortController().signal,
      };
      const { text } = await exchange({
        url: `${master.url}/api/v1/enroll/ca`,
        timeoutMs: 5_000,
        maxBytes: 100_000,
        ...trust,
      });
      return new Response(text);
    };
    await expectRefused(
      serve(await other.issue(), relay),
      rungs[name](),
      /is not trusted by (?:enroll_ca|enroll_ca_pin|the stored root)\b/,
    );
  });

  test("refuses an expired certificate of the right CA", async () => {
    const at = systemClock.now() - 3 * 24 * 3600_000;
    const refusal =
      /CERT_HAS_EXPIRED.*check the clock of this host first .*renew the certificate of the master$/;
    await expectRefused(serve(await fleet.issue({ at }), fleet.rootPem), rungs[name](), refusal);
  });

  test("asks for the clock first when a certificate is not valid yet", async () => {
    const at = systemClock.now() + 3 * 24 * 3600_000;
    const refusal = /CERT_NOT_YET_VALID.*check the clock of this host first/;
    await expectRefused(serve(await fleet.issue({ at }), fleet.rootPem), rungs[name](), refusal);
  });

  test("refuses a certificate of the right CA for another name", async () => {
    const tls = await fleet.issue({ names: ["elsewhere.example"] });
    await expectRefused(serve(tls, fleet.rootPem), rungs[name](), /ALTNAME_INVALID/);
  });

  test("refuses a chain without its intermediate", async () => {
    const { cert, key } = await fleet.issue();
    const leaf = splitPem(cert)[0] ?? "";
    await expectRefused(serve({ cert: leaf, key }, fleet.rootPem), rungs[name](), /UNABLE_TO_/);
  });

  test("an unreachable master is not a mismatch", async () => {
    const { result } = await request({ url: "https://localhost:1" }, rungs[name]());
    expect(result).toBeInstanceOf(Error);
    expect(result).not.toBeInstanceOf(TrustError);
  });
});

describe("the message contains the remedy", () => {
  test("of the anchor: which file to delete", async () => {
    await expectRefused(
      serve(await other.issue(), other.rootPem),
      rungs.anchor(),
      /the stored root .*delete \/data\/auth\/enroll-ca\.crt/,
    );
  });

  test("of a damaged or empty anchor the same: it never counts as none", async () => {
    for (const pem of ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]) {
      await expectRefused(
        await honest(),
        { rung: 3, ca: file(pem) },
        /does not contain a CA certificate; .*delete/,
      );
    }
  });

  test("of a pin: the command that prints it", async () => {
    await expectRefused(
      serve(await other.issue(), other.rootPem),
      rungs.pin(),
      /by enroll_ca_pin: .*does not match any pin; .*svc ca fingerprint/,
    );
  });
});

describe("pins", () => {
  test("a pinned intermediate or leaf is not an anchor, only a root is", async () => {
    const tls = await fleet.issue();
    const pins = splitPem(tls.cert).map(spkiPin);
    await expectRefused(serve(tls, tls.cert + fleet.rootPem), { rung: 2, pins }, /does not match any pin/);
  });

  test("of two pinned roots the one that verifies is used and attested", async () => {
    const server = serve(await fleet.issue(), other.rootPem + fleet.rootPem);
    const { result } = await request(server, { rung: 2, pins: [other.pin, fleet.pin] });
    expect(result).toMatchObject({ text: "told", spki: fleet.pin });
  });

  test("a document without a CA matches nothing", async () => {
    await expectRefused(serve(await fleet.issue(), ""), rungs.pin(), /does not serve a CA/);
  });

  test("a root that was renewed under its pin since is looked at again", async () => {
    const server = await honest();
    const pins = [fleet.pin, twin.pin];
    const { result, report } = await request(server, { rung: 2, pins });
    expect(result).toMatchObject({ spki: fleet.pin });
    await server[Symbol.asyncDispose]();
    const tls = await twin.issue();
    const port = Number(new URL(server.url).port);
    running.push(
      startImpostor({
        tls,
        port,
        answer: (_, { pathname }) =>
          pathname === "/secret" ? new Response("told") : Response.json(documentOf(twin.rootPem)),
      }),
    );
    expect(await report(server.url)).toMatchObject({ spki: twin.pin });
  });
});

describe("the system trust store", () => {
  test("does not know the fleet's CA: a peel with credentials, or with enroll_trust strict, stops", async () => {
    await expectRefused(
      await honest(),
      rungs.system(),
      /the trust store of this host: .*set enroll_ca or enroll_ca_pin/,
    );
  });
});

describe("trust on first use", () => {
  test("trusts only the root that verifies, stores it, and logs its fingerprint", async () => {
    const server = serve(await fleet.issue(), other.rootPem + fleet.rootPem);
    const { result, kept, log } = await request(server, rungs.firstUse());
    expect(result).toMatchObject({ text: "told", spki: fleet.pin });
    expect(kept.map((pem) => pem.trim())).toEqual([fleet.rootPem.trim()]);
    expect(log.records).toContainEqual({
      level: "warn",
      event: "trusting the master's CA on first use; compare with svc ca fingerprint",
      fields: { url: server.url, fingerprint: fleet.pin },
    });
  });

  test("happens once: the next master must stand below the same root", async () => {
    const { report } = await request(await honest(), rungs.firstUse());
    const second = serve(await other.issue(), other.rootPem);
    await expect(report(second.url)).rejects.toBeInstanceOf(TrustError);
    expect(second.requests).toEqual([]);
    expect(await report((await honest()).url)).toMatchObject({ spki: fleet.pin });
  });

  test("refuses a document whose root did not sign the certificate", async () => {
    await expectRefused(
      serve(await other.issue(), fleet.rootPem),
      rungs.firstUse(),
      /trust on first use: .*does not verify its own certificate/,
    );
  });

  test("refuses an expired certificate, another name, and a document without a CA", async () => {
    const at = systemClock.now() - 3 * 24 * 3600_000;
    const refuse = async (tls: { cert: string; key: string }, bundle: string, message: RegExp) =>
      expectRefused(serve(tls, bundle), rungs.firstUse(), message);
    await refuse(await fleet.issue({ at }), fleet.rootPem, /CERT_HAS_EXPIRED/);
    await refuse(await fleet.issue({ names: ["elsewhere.example"] }), fleet.rootPem, /ALTNAME_INVALID/);
    await refuse(await fleet.issue(), "", /does not serve a CA to trust/);
    const tls = await fleet.issue();
    await refuse(tls, tls.cert, /does not serve a CA to trust/);
  });

  test("an anchor that cannot be kept is not used", async () => {
    const server = await honest();
    const { result } = await request(server, rungs.firstUse(), {
      storeAnchor() {
        throw new Error("disk full");
      },
    });
    expect(result).toEqual(new Error("disk full"));
    expect(server.requests).not.toContain("GET /secret");
  });
});

describe("a bootstrap document without verification", () => {
  const odd: Record<string, () => Response | Promise<Response>> = {
    "that redirects to http": () => Response.redirect("http://localhost:1/"),
    "that is huge": () => new Response("x".repeat(300 * 1024)),
    "that never ends": () =>
      new Response(new ReadableStream({ pull: (sink) => sink.enqueue(new Uint8Array(65_536)) })),
    "that is junk": () => new Response("<html>sign in to use this network</html>"),
    "that is not an object": () => Response.json([1, 2, 3]),
    "that is an error": () => new Response("{}", { status: 503 }),
  };
  test.each(Object.keys(odd))("%s is not a document, and not a mismatch", async (name) => {
    const server = serve(await other.issue(), odd[name] ?? (() => new Response()));
    for (const rung of [rungs.pin(), rungs.firstUse()]) {
      const { result, kept } = await request(server, rung);
      expect(result).toBeInstanceOf(Error);
      expect(result).not.toBeInstanceOf(TrustError);
      expect(kept).toEqual([]);
    }
    expect(server.requests).not.toContain("GET /secret");
  });

  test("that does not come in time is given up", async () => {
    const requested = Promise.withResolvers<void>();
    const server = serve(await other.issue(), () => {
      requested.resolve();
      return new Promise<Response>(() => {});
    });
    const clock = manualClock();
    const pending = request(server, rungs.pin(), { clock });
    await requested.promise;
    clock.advance(15_000);
    expect((await pending).result).toMatchObject({ kind: "unavailable", message: "no response in time" });
    expect(clock.pending).toBe(0);
  });
});
