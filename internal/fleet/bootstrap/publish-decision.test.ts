import { beforeAll, describe, expect, test } from "bun:test";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { type BootstrapDocument, createDocument } from "../../identity/bootstrap/document.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { spkiPin } from "../../identity/trust/pin.ts";
import { type Decision, decide, readStored, type Stance, type Stored } from "./publish-decision.ts";

const at = (fingerprint: string, ...urls: string[]): BootstrapDocument =>
  createDocument({ ca_bundle_pem: "", fingerprint, nats_urls: urls, command_keys: [] }, 0);
const found = (document: BootstrapDocument): Stored => ({ kind: "document", document });
const starting: Stance = { speaks: true, defends: false, yields: false };
const settled: Stance = { speaks: false, defends: true, yields: false };
const split: Stance = { speaks: false, defends: false, yields: true };
const own = at("f", "tls://a");

describe("decide", () => {
  const cases: [name: string, stored: Stored, stance: Stance, decision: string][] = [
    ["nothing, at the start", { kind: "absent" }, starting, "write"],
    ["junk, at the start", { kind: "junk" }, starting, "restore"],
    ["its own document, at the start", found(own), starting, "keep"],
    ["its own of an earlier run", found({ ...own, issued_at: "earlier" }), starting, "keep"],
    ["other URLs of its CA, at the start", found(at("f", "tls://b")), starting, "write"],
    ["another CA, at the start", found(at("g", "tls://a")), starting, "split"],
    ["an external CA, at the start", found(at("")), starting, "split"],
    ["nothing any more", { kind: "absent" }, settled, "restore"],
    ["junk later", { kind: "junk" }, settled, "restore"],
    ["other URLs of its CA later", found(at("f", "tls://b")), settled, "keep"],
    ["another CA later", found(at("g")), settled, "restore"],
    ["an external CA later", found(at("")), settled, "restore"],
    ["nothing, where another CA was", { kind: "absent" }, split, "wait"],
    ["junk, where another CA was", { kind: "junk" }, split, "wait"],
    ["the other CA again", found(at("g")), split, "split"],
    ["its own CA at last", found(own), split, "keep"],
  ];

  test.each(cases)("%s", (_, stored, stance, decision) => {
    expect(decide(stored, own, stance)).toBe(decision as Decision);
  });

  test("two masters with external CAs are not a split", () => {
    expect(decide(found(at("", "tls://b")), at("", "tls://a"), starting)).toBe("write");
    expect(decide(found(at("", "tls://a")), at("", "tls://a"), starting)).toBe("keep");
  });
});

describe("readStored", () => {
  let pem: string;
  let pin: string;

  beforeAll(async () => {
    using files = temporaryDirectory("stored");
    const options = { dir: files.path, organization: "T", rootValidityMs: 86_400_000 };
    await createAuthority({ ...options, clock: systemClock, random: systemRandom });
    pem = (await loadAuthority(files.path)).rootPem;
    pin = spkiPin(pem);
  });

  const kind = (change: Record<string, unknown>) =>
    readStored(
      encode({ v: 1, ca_bundle_pem: pem, fingerprint: pin, nats_urls: ["tls://bus:4222"], ...change }),
      spkiPin,
    ).kind;

  test("accepts the documents of masters", () => {
    expect(kind({})).toBe("document");
    expect(kind({ later: true })).toBe("document");
    expect(kind({ ca_bundle_pem: "", fingerprint: "", nats_urls: [] })).toBe("document");
    expect(readStored(undefined, spkiPin).kind).toBe("absent");
  });

  test("finds junk: other bytes, a pin that is not the bundle's, a second certificate, a loopback URL", () => {
    expect(readStored(new Uint8Array(), spkiPin).kind).toBe("junk");
    expect(readStored(Buffer.from("x".repeat(5000)), spkiPin).kind).toBe("junk");
    expect(readStored(encode([1]), spkiPin).kind).toBe("junk");
    expect(kind({ fingerprint: `sha256:${"0".repeat(64)}` })).toBe("junk");
    expect(kind({ fingerprint: "" })).toBe("junk");
    expect(kind({ ca_bundle_pem: "" })).toBe("junk");
    expect(kind({ ca_bundle_pem: "no certificate" })).toBe("junk");
    expect(kind({ ca_bundle_pem: pem + pem })).toBe("junk");
    expect(kind({ nats_urls: ["tls://127.0.0.1:4222"] })).toBe("junk");
    expect(kind({ nats_urls: ["nats://bus:4222"] })).toBe("junk");
  });
});
