import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { runProgram, startProgram } from "../harness/process.ts";
import { svc } from "../harness/svc.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// The output of `svc ca` with other TLS implementations: Node's and OpenSSL's, as clients and as servers,
// with the strictest path validation of OpenSSL.

const files = temporaryDirectory("ca-interop");
const at = (name: string) => join(files.path, name);
const day = 86_400_000;

afterAll(() => files[Symbol.dispose]());

/** Runs `svc ca` on the CA of this test, some days from now. */
async function ca(days: number, ...argv: string[]): Promise<string> {
  const clock = { ...systemClock, now: () => systemClock.now() + days * day };
  const { exit, stdout, stderr } = await svc(["ca", ...argv, "--dir", at("ca")], {
    hostname: "localhost",
    clock,
  });
  if (exit !== 0) throw new Error(stderr);
  return stdout;
}

beforeAll(async () => {
  await ca(-400, "init", "--org", "Interop, Ünlimited");
  writeFileSync(at("root-old.crt"), readFileSync(at("ca/root.crt")));
  await ca(-1, "issue", "enroll", "--out", at("before"), "--ip", "127.0.0.1,::1", "--dns", "localhost");
  await ca(-1, "issue", "nats-server", "--out", at("before"), "--ip", "127.0.0.1", "--dns", "localhost");
  await ca(-1, "renew-root");
  await ca(-1, "renew-intermediate");
  await ca(0, "issue", "enroll", "--out", at("after"), "--ip", "127.0.0.1", "--dns", "localhost");
  await ca(0, "issue", "nats-server", "--out", at("after"), "--ip", "127.0.0.1", "--dns", "localhost");
  writeFileSync(at("root-new.crt"), readFileSync(at("ca/root.crt")));
});

/** A TLS server of this process that answers with the name of a chain. */
function serve(name: string) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: readFileSync(at(`${name}.crt`), "utf8"), key: readFileSync(at(`${name}.key`), "utf8") },
    fetch: () => new Response(name),
  });
}

const nodeClient = `
  const [port, ca, servername] = process.argv.slice(1);
  const tls = require("node:tls");
  const socket = tls.connect({ host: "127.0.0.1", port, ca: require("node:fs").readFileSync(ca), servername, minVersion: "TLSv1.3" });
  socket.on("secureConnect", () => { console.log(socket.authorized, socket.getProtocol()); socket.destroy(); });
  socket.on("error", (error) => { console.log(error.code); });
`;

const connectNode = async (port: number | undefined, root: string, servername = "localhost") =>
  (await runProgram(["node", "-e", nodeClient, `${port}`, at(root), servername])).stdout.trim();

const connectOpenssl = (port: number | undefined, root: string, hostname = "localhost") =>
  runProgram([
    ...["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-servername", hostname, "-tls1_3"],
    ...[
      "-CAfile",
      at(root),
      "-no-CApath",
      "-x509_strict",
      "-verify_hostname",
      hostname,
      "-verify_return_error",
    ],
  ]);

const chains = ["before/enroll", "before/nats-server", "after/enroll", "after/nats-server"];
const roots = ["root-old.crt", "root-new.crt"];
const cases = chains.flatMap((chain) => roots.map((root) => [chain, root] as const));

describe("chains from before and after a renewal of root and intermediate", () => {
  test.each(cases)(
    "%s verifies under %s with Node, OpenSSL and in the strictest check",
    async (chain, root) => {
      await using server = serve(chain);
      expect(await connectNode(server.port, root)).toBe("true TLSv1.3");
      const connected = await connectOpenssl(server.port, root);
      expect(connected.stdout).toContain("Verify return code: 0 (ok)");
      expect(connected.code).toBe(0);
      const purposes = chain.endsWith("nats-server") ? ["sslserver", "sslclient"] : ["sslserver"];
      for (const purpose of purposes) {
        const flags = ["-x509_strict", "-purpose", purpose, "-verify_ip", "127.0.0.1", "-CAfile", at(root)];
        const crt = at(`${chain}.crt`);
        const checked = await runProgram([
          "openssl",
          "verify",
          ...flags,
          "-no-CApath",
          "-untrusted",
          crt,
          crt,
        ]);
        expect(checked.stdout).toBe(`${crt}: OK\n`);
      }
    },
  );

  test("another name and another root are refused by both", async () => {
    await using server = serve("after/enroll");
    expect(await connectNode(server.port, "root-new.crt", "other.example.com")).toBe(
      "ERR_TLS_CERT_ALTNAME_INVALID",
    );
    expect((await connectOpenssl(server.port, "root-new.crt", "other.example.com")).code).not.toBe(0);
    const made = await runProgram([
      ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ...["-subj", "/CN=Other", "-keyout", at("other.key"), "-out", at("other.crt")],
    ]);
    expect(made.code).toBe(0);
    expect(await connectNode(server.port, "other.crt")).toBe("UNABLE_TO_GET_ISSUER_CERT_LOCALLY");
    expect((await connectOpenssl(server.port, "other.crt")).code).not.toBe(0);
  });

  test("the pin of the old root is that of the new one", async () => {
    const pinOf = (root: string) =>
      runProgram([
        "sh",
        "-c",
        `openssl x509 -in ${at(root)} -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum`,
      ]);
    const [old, renewed] = [await pinOf("root-old.crt"), await pinOf("root-new.crt")];
    expect(renewed.stdout).toBe(old.stdout);
    expect((await ca(0, "fingerprint")).trim()).toBe(`sha256:${old.stdout.slice(0, 64)}`);
  });

  test("OpenSSL serves them too, to Node and to Bun", async () => {
    const [crt, key] = [at("after/enroll.crt"), at("after/enroll.key")];
    await using server = startProgram([
      ...["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", crt, "-cert_chain", crt, "-key", key],
      ...["-tls1_3", "-www"],
    ]);
    await server.waitFor(/ACCEPT 127\.0\.0\.1:\d+/);
    const port = Number(/ACCEPT 127\.0\.0\.1:(\d+)/.exec(server.output())?.[1]);
    expect(await connectNode(port, "root-new.crt")).toBe("true TLSv1.3");
    const tls = { ca: readFileSync(at("root-new.crt"), "utf8"), rejectUnauthorized: true };
    expect((await fetch(`https://localhost:${port}/`, { tls })).status).toBe(200);
  });
});
