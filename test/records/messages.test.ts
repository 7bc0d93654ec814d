import { expect, test } from "bun:test";
import { decode } from "../../internal/base/msgpack.ts";
import { acknowledgement } from "../../internal/wire/acknowledgement.ts";
import { encodeItem, encodePart, openItems, openPart } from "../../internal/wire/feed-part.ts";
import * as fetched from "../../internal/wire/fetch.ts";
import { encodeHeartbeat, openHeartbeat } from "../../internal/wire/heartbeat.ts";
import { encodeOutput, encodeProgress, readOutput, readProgress } from "../../internal/wire/progress.ts";
import * as renewal from "../../internal/wire/renewal.ts";
import { decodeReturn, encodeReturn } from "../../internal/wire/return.ts";

// Peels and masters of other versions read and write exactly these bytes.

const bytes = (length: number, of = 7) => new Uint8Array(length).fill(of);
const digest = "ab".repeat(32);
const [started_at, sent_at] = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:10.000Z"];
const subject = "svc.job.job-1.progress.web_1";
const signed = {
  enrollmentId: "enr-000000000000000000000000000",
  busPublicKey: "UCATS5YOVB6ROX2WUNKGNQ2MP3GMXDMKSG2O4N5CLX3A6W4PZGZZJPJO",
  signedAt: started_at,
};
const ownKey = "UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L";
const curvePublicKey = "XBQDI3T4SENF625BKQJJC5GK7Z23FFFMHO6VKSLDF5EM5RRGN6CBB75S";

const items = [
  { event: "a", data: 1, id: "x" },
  { event: "b", data: null },
];
/** The encoder returns a part of a buffer that it writes again. */
const copied = (one: Uint8Array) => new Uint8Array(one);

const same = <T>(value: T, encode: (value: T) => Uint8Array, open: (bytes: Uint8Array) => unknown) => ({
  written: encode(value),
  opened: open(encode(value)),
  value,
});

const messages = {
  "fetch, state files": [
    same({ digests: [digest] }, fetched.encodeFetch, fetched.openFetch),
    "gadkaWdlc3RzkdlAYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYg==",
  ],
  "fetch, a binary": [
    same({ binary: ["cd".repeat(32)] }, fetched.encodeFetch, fetched.openFetch),
    "gaZiaW5hcnmR2UBjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNk",
  ],
  "fetch, an environment": [
    same({ environment: "base" }, fetched.encodeFetch, fetched.openFetch),
    "gatlbnZpcm9ubWVudKRiYXNl",
  ],
  "fetch, a commit": [
    same({ environment: "feature/web-2", commit: "0123abc" }, fetched.encodeFetch, fetched.openFetch),
    "gqtlbnZpcm9ubWVudK1mZWF0dXJlL3dlYi0ypmNvbW1pdKcwMTIzYWJj",
  ],
  "answer to fetch, blobs": [
    same([bytes(3), bytes(1)], fetched.encodeBlobs, fetched.openBlobs),
    "gaVibG9ic5LEAwcHB8QBBw==",
  ],
  "answer to fetch, a snapshot": [
    {
      written: fetched.encodeSnapshot({ manifest: digest, commits: ["0123abc"], statement: bytes(4) }),
      opened: fetched.openSnapshot(
        fetched.encodeSnapshot({ manifest: digest, commits: [], statement: bytes(4) }),
      ),
      value: bytes(4),
    },
    "g6htYW5pZmVzdNlAYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYqdjb21taXRzkacwMTIzYWJjqXN0YXRlbWVudMQEBwcHBw==",
  ],
  acknowledgement: [
    { written: acknowledgement, opened: decode(acknowledgement), value: { accepted: true } },
    "gahhY2NlcHRlZMM=",
  ],
  progress: [
    same({ done: 3, total: 9, failed: 1, current: "web.sls" }, encodeProgress, ofSubject(readProgress)),
    "hKRkb25lA6V0b3RhbAmmZmFpbGVkAadjdXJyZW50p3dlYi5zbHM=",
  ],
  output: [
    same({ output: "line\n", skipped: 12 }, encodeOutput, ofSubject(readOutput)),
    "gqZvdXRwdXSlbGluZQqnc2tpcHBlZAw=",
  ],
  return: [
    same(
      {
        ...{ success: false, retcode: 1, return: { a: 1 }, error: "no", started_at, duration_ms: 12.5 },
        outcome: "timeout" as const,
      },
      encodeReturn,
      decodeReturn,
    ),
    "h6dzdWNjZXNzwqdyZXRjb2RlAaZyZXR1cm6BoWEBpWVycm9yom5vqnN0YXJ0ZWRfYXS4MjAyNi0wMS0wMVQwMDowMDowMC4wMDBaq2R1cmF0aW9uX21zy0ApAAAAAAAAp291dGNvbWWndGltZW91dA==",
  ],
  "heartbeat, the usual": [
    same({ peel_id: "web_1", version: "0.1.0", started_at, sent_at }, encodeHeartbeat, openHeartbeat),
    "hKdwZWVsX2lkpXdlYl8xp3ZlcnNpb26lMC4xLjCqc3RhcnRlZF9hdLgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqnc2VudF9hdLgyMDI2LTAxLTAxVDAwOjAwOjEwLjAwMFo=",
  ],
  "heartbeat, everything": [
    same(
      {
        ...{ peel_id: "web_1", version: "0.1.0", started_at, sent_at, commands_refused: { expired: 2 } },
        ...{ knows_command_keys: ["UA", "UB"], administrators: "", site: "hut", leaving_after: 41 },
      },
      encodeHeartbeat,
      openHeartbeat,
    ),
    "iadwZWVsX2lkpXdlYl8xp3ZlcnNpb26lMC4xLjCqc3RhcnRlZF9hdLgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqnc2VudF9hdLgyMDI2LTAxLTAxVDAwOjAwOjEwLjAwMFqwY29tbWFuZHNfcmVmdXNlZIGnZXhwaXJlZAKya25vd3NfY29tbWFuZF9rZXlzkqJVQaJVQq5hZG1pbmlzdHJhdG9yc6Ckc2l0ZaNodXStbGVhdmluZ19hZnRlcik=",
  ],
  renew: [
    same({ ...signed, renews: ownKey, signature: bytes(64) }, renewal.encodeRenewal, renewal.openRenewal),
    "ha1lbnJvbGxtZW50X2lkv2Vuci0wMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDCmcmVuZXdz2ThVQ0ZJUlk2NU9RRTdERlA1S0xOUzJQRjJMVlpNVVpZSlg0T1pJRVEzNk4ySVFBTlVCNVhWWjQ1TK5idXNfcHVibGljX2tledk4VUNBVFM1WU9WQjZST1gyV1VOS0dOUTJNUDNHTVhETUtTRzJPNE41Q0xYM0E2VzRQWkdaWkpQSk+pc2lnbmVkX2F0uDIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWqlzaWduYXR1cmXEQAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
  ],
  rekey: [
    same(
      {
        ...{ ...signed, publicKey: ownKey, curvePublicKey },
        ...{ signatureOld: bytes(64), signatureNew: bytes(64, 8) },
      },
      renewal.encodeRekey,
      renewal.openRekey,
    ),
    "h61lbnJvbGxtZW50X2lkv2Vuci0wMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDCqcHVibGljX2tledk4VUNGSVJZNjVPUUU3REZQNUtMTlMyUEYyTFZaTVVaWUpYNE9aSUVRMzZOMklRQU5VQjVYVlo0NUywY3VydmVfcHVibGljX2tledk4WEJRREkzVDRTRU5GNjI1QktRSkpDNUdLN1oyM0ZGRk1ITzZWS1NMREY1RU01UlJHTjZDQkI3NVOuYnVzX3B1YmxpY19rZXnZOFVDQVRTNVlPVkI2Uk9YMldVTktHTlEyTVAzR01YRE1LU0cyTzRONUNMWDNBNlc0UFpHWlpKUEpPqXNpZ25lZF9hdLgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqtc2lnbmF0dXJlX29sZMRABwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHB61zaWduYXR1cmVfbmV3xEAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI",
  ],
  "answer to renew and rekey": [
    same(
      { jwt: "e.j.s", expiresAt: Date.UTC(2026, 0, 2) },
      (issued) =>
        renewal.encodeIssued(issued, {
          ...{ commandKeys: () => ["UA"], recoveryKeys: ["UB"], administratorsVersion: () => 4 },
          administrators: () => [{ name: "root", publicKey: "UC" }],
        }),
      (answer) => {
        const { jwt, expires_at } = renewal.openIssued(answer);
        return { jwt, expiresAt: Date.parse(String(expires_at)) };
      },
    ),
    "h6Jva8Ojand0pWUuai5zqmV4cGlyZXNfYXS4MjAyNi0wMS0wMlQwMDowMDowMC4wMDBarGNvbW1hbmRfa2V5c5GiVUGtcmVjb3Zlcnlfa2V5c5GiVUKuYWRtaW5pc3RyYXRvcnORgqRuYW1lpHJvb3SqcHVibGljX2tleaJVQ7ZhZG1pbmlzdHJhdG9yc192ZXJzaW9uBA==",
  ],
  "part of a stream, items": [
    {
      written: encodePart({ seq: 3, kind: "item", items: items.map(encodeItem).map(copied) }),
      opened: itemsIn("g6NzZXEDpGtpbmSkaXRlbaVpdGVtc5LEFIOlZXZlbnShYaRkYXRhAaJpZKF4xA+CpWV2ZW50oWKkZGF0YcA="),
      value: items,
    },
    "g6NzZXEDpGtpbmSkaXRlbaVpdGVtc5LEFIOlZXZlbnShYaRkYXRhAaJpZKF4xA+CpWV2ZW50oWKkZGF0YcA=",
  ],
  "part of a stream, a piece": [
    same({ seq: 4, kind: "item" as const, items: [bytes(2)], more: true as const }, encodePart, openPart),
    "hKNzZXEEpGtpbmSkaXRlbaVpdGVtc5HEAgcHpG1vcmXD",
  ],
  "part of a stream, alive": [
    same({ seq: 5, kind: "alive", place: "x" } as const, encodePart, openPart),
    "g6NzZXEFpGtpbmSlYWxpdmWlcGxhY2WheA==",
  ],
  "part of a stream, its end": [
    same({ seq: 6, kind: "end", place: "x", reason: "no" } as const, encodePart, openPart),
    "hKNzZXEGpGtpbmSjZW5kpXBsYWNloXimcmVhc29uom5v",
  ],
  "refusal of renew and rekey": [
    same(
      { code: "clone_suspected", message: "another host" },
      ({ message }) => renewal.encodeRenewalRefused("clone_suspected", message),
      refusalIn,
    ),
    "gqJva8KlZXJyb3KCpGNvZGWvY2xvbmVfc3VzcGVjdGVkp21lc3NhZ2WsYW5vdGhlciBob3N0",
  ],
} as const;

for (const [name, [{ written, opened, value }, fixed]] of Object.entries(messages)) {
  test(`the bytes of a message stay as they are: ${name}`, () => {
    expect(Buffer.from(written).toString("base64")).toBe(fixed);
    expect(opened).toEqual(value);
  });
}

/** Reads what the subject of a peel carried, without the peel. */
function ofSubject<T extends { peel: string }>(read: (subject: string, data: Uint8Array) => T | undefined) {
  return (data: Uint8Array) => {
    const { peel, ...rest } = read(subject, data) ?? { peel: "" };
    return peel === "web_1" ? rest : undefined;
  };
}

function refusalIn(answer: Uint8Array): unknown {
  try {
    return renewal.openIssued(answer);
  } catch (thrown) {
    if (!(thrown instanceof renewal.RenewalRefused)) throw thrown;
    expect(thrown.kind).toBe("forbidden");
    return { code: thrown.code, message: thrown.message };
  }
}

function itemsIn(fixed: string): unknown {
  const part = openPart(Buffer.from(fixed, "base64"));
  return part?.kind === "item" ? openItems(part.items) : undefined;
}
