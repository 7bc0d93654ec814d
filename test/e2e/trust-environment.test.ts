import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import type { Rung } from "../../internal/identity/trust/ladder.ts";
import { type Impostor, startImpostor, type TestAuthority, testAuthority } from "../harness/impostor.ts";
import { runProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// Variables in a peel's environment must not weaken a strict trust rung.

const files = temporaryDirectory("trust");
const attackerFile = join(files.path, "attacker.crt");
const fleetFile = join(files.path, "fleet.crt");
let fleet: TestAuthority;
let attacker: TestAuthority;
let honest: Impostor;
let liar: Impostor;

beforeAll(async () => {
  [fleet, attacker] = await Promise.all([testAuthority("Fleet"), testAuthority("Attacker")]);
  writeFileSync(attackerFile, attacker.rootPem);
  writeFileSync(fleetFile, fleet.rootPem);
  const answer = (bundle: string) => (_: Request, url: URL) =>
    url.pathname === "/secret"
      ? new Response("told")
      : Response.json({ v: 1, ca_bundle_pem: bundle, nats_urls: [] });
  honest = startImpostor({ tls: await fleet.issue(), answer: answer(fleet.rootPem) });
  liar = startImpostor({ tls: await attacker.issue(), answer: answer(fleet.rootPem + attacker.rootPem) });
});
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await liar[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const named = (): Record<string, Rung> => ({
  enroll_ca: { rung: 1, ca: { path: "/etc/ca.crt", pem: fleet.rootPem } },
  enroll_ca_pin: { rung: 2, pins: [fleet.pin] },
  anchor: { rung: 3, ca: { path: "/data/auth/enroll-ca.crt", pem: fleet.rootPem } },
});
const system: Rung = { rung: 4, firstUse: false };

async function probe(url: string, rung: Rung, env: Record<string, string>) {
  const script = new URL("../harness/trust-probe.ts", import.meta.url).pathname;
  const ran = await runProgram([process.execPath, script, url, JSON.stringify(rung)], { env });
  if (ran.stdout === "") throw new Error(ran.stderr);
  return JSON.parse(ran.stdout) as Record<string, unknown>;
}

/** A proxy that opens the tunnel asked for, or one to somebody else. */
async function startProxy(target?: () => number): Promise<Server & { url: string; tunnels: string[] }> {
  const tunnels: string[] = [];
  const server = createServer((client: Socket) => {
    client.on("error", () => client.destroy());
    client.once("data", (head) => {
      const wanted = /^CONNECT (\S+):(\d+)/.exec(head.toString("latin1"));
      tunnels.push(wanted?.[0] ?? head.toString("latin1").split("\r\n", 1)[0] ?? "");
      const upstream = connect(target?.() ?? Number(wanted?.[2]), "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        client.pipe(upstream).pipe(client);
      });
      upstream.on("error", () => client.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return Object.assign(server, { url: `http://127.0.0.1:${port}`, tunnels });
}

describe.each(["enroll_ca", "enroll_ca_pin", "anchor"])("the rung %s", (name) => {
  const rung = () => named()[name] ?? system;

  test.each(["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])(
    "is not weakened by %s",
    async (variable) => {
      const env = { [variable]: variable.startsWith("NODE_TLS") ? "0" : attackerFile };
      expect(await probe(liar.url, rung(), env)).toMatchObject({ refused: true, kept: 0 });
      expect(await probe(honest.url, rung(), env)).toMatchObject({ text: "told", spki: fleet.pin });
      expect(liar.requests).not.toContain("GET /secret");
    },
  );

  test("goes through HTTPS_PROXY, and is verified beyond it", async () => {
    const fair = await startProxy();
    const env = { HTTPS_PROXY: fair.url, https_proxy: fair.url, NO_PROXY: "", no_proxy: "" };
    expect(await probe(honest.url, rung(), env)).toMatchObject({ text: "told", spki: fleet.pin });
    expect(fair.tunnels.length).toBeGreaterThan(0);
    fair.close();

    const lying = await startProxy(() => Number(new URL(liar.url).port));
    const detour = { ...env, HTTPS_PROXY: lying.url, https_proxy: lying.url };
    for (const more of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }]) {
      expect(await probe(honest.url, rung(), { ...detour, ...more })).toMatchObject({ refused: true });
    }
    expect(liar.requests).not.toContain("GET /secret");
    lying.close();
  });
});

describe("the system trust store", () => {
  test("accepts a master below one of its roots, and attests the root that the master serves", async () => {
    const env = { NODE_EXTRA_CA_CERTS: fleetFile };
    const expected = { text: "told", spki: fleet.pin, kept: 0 };
    expect(await probe(honest.url, system, env)).toMatchObject(expected);
    expect(await probe(honest.url, { rung: 4, firstUse: true }, env)).toMatchObject(expected);
  });

  test("attests nothing when none of the served roots verifies", async () => {
    const tls = await attacker.issue();
    await using server = startImpostor({
      tls,
      answer: (_, url) =>
        url.pathname === "/secret"
          ? new Response("told")
          : Response.json({ v: 1, ca_bundle_pem: fleet.rootPem }),
    });
    const result = await probe(server.url, system, { NODE_EXTRA_CA_CERTS: attackerFile });
    expect(result).toEqual({ text: "told", kept: 0 });
  });

  test("is not switched off by NODE_TLS_REJECT_UNAUTHORIZED", async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    expect(await probe(liar.url, system, env)).toMatchObject({ refused: true });
    expect(liar.requests).not.toContain("GET /secret");
  });
});

test("a master that speaks nothing newer than TLS 1.2 gets no request", async () => {
  const { cert, key } = await fleet.issue();
  let bytes = 0;
  const server = createTlsServer({ cert, key, maxVersion: "TLSv1.2" }, (socket) => {
    socket.on("data", (data) => {
      bytes += data.length;
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `https://localhost:${typeof address === "object" ? address?.port : 0}`;
  for (const rung of Object.values(named())) {
    expect(await probe(url, rung, {})).toMatchObject({ refused: false });
  }
  expect(bytes).toBe(0);
  server.close();
});
