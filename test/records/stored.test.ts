import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { decode } from "../../internal/base/msgpack.ts";
import * as approvals from "../../internal/fleet/approvals/record.ts";
import * as binaries from "../../internal/fleet/binaries/catalog.ts";
import * as enrollments from "../../internal/fleet/enrollment/record/record.ts";
import * as expected from "../../internal/fleet/expected/record.ts";
import * as jobs from "../../internal/fleet/jobs/records/record.ts";
import * as joinTokens from "../../internal/fleet/join-tokens/record.ts";
import * as uses from "../../internal/fleet/join-tokens/use.ts";
import * as masters from "../../internal/fleet/masters/heartbeats.ts";
import * as rollouts from "../../internal/fleet/rollout/record.ts";
import * as sessions from "../../internal/fleet/sessions/record.ts";
import * as settings from "../../internal/fleet/settings/record.ts";
import * as certificates from "../../internal/fleet/sites/certificate-record.ts";
import * as sites from "../../internal/fleet/sites/record.ts";
import * as tokens from "../../internal/fleet/tokens/record.ts";
import { recordMacOf } from "../../internal/identity/record-mac.ts";
import * as operators from "../../internal/wire/operator-record.ts";
import { decodeReport, encodeReport } from "../../internal/wire/state-report.ts";

// What masters stored stays readable, and is written as it was: the MACs of masters and the signatures of
// administrators cover these bytes. Each file in `stored` has generated records of one kind.

interface Stored {
  key: string;
  /** The record as the code has it, MessagePack in base64. */
  value: string;
  /** What is stored of it, in base64. */
  stored: string;
}

const mac = recordMacOf(new Uint8Array(32).fill(7));

/** Reads and writes the records of a kind. */
interface Codec {
  encode(value: never, key: string): Uint8Array;
  decode(bytes: Uint8Array, key: string): unknown;
}

const codecs: Record<string, Codec> = {
  approval: {
    encode: (value) => approvals.encodeApproval(mac, value),
    decode: (bytes, key) => approvals.readApproval(mac, key, bytes),
  },
  binaries: { encode: binaries.encodeBinaryCatalog, decode: binaries.decodeBinaryCatalog },
  "compliance-report": { encode: encodeReport, decode: decodeReport },
  enrollment: { encode: enrollments.encodeRecord, decode: enrollments.decodeRecord },
  expected: {
    encode: (value) => expected.encodeExpected(mac, value),
    decode: (bytes, key) => expected.decodeExpected(mac, key, bytes),
  },
  job: { encode: jobs.encodeJob, decode: jobs.decodeJob },
  "join-token": {
    encode: (value) => joinTokens.encodeToken(mac, value),
    decode: (bytes, key) => joinTokens.decodeToken(mac, key, bytes),
  },
  "join-token-use": {
    encode: (value, key) => uses.encodeUse(mac, value, key),
    decode: (bytes, key) => uses.decodeUse(mac, key, bytes),
  },
  "master-heartbeat": { encode: masters.encodeMasterBeat, decode: masters.decodeMasterBeat },
  operator: { encode: operators.encodeOperator, decode: (bytes) => operators.decodeOperator(bytes) },
  rollout: { encode: rollouts.encodeRollout, decode: rollouts.decodeRollout },
  session: {
    encode: (value) => sessions.encodeSession(mac, value),
    decode: (bytes, key) => sessions.readSession(mac, key, bytes),
  },
  settings: { encode: settings.encodeSettingsRecord, decode: settings.decodeSettingsRecord },
  site: {
    encode: (value) => sites.encodeSite(mac, value),
    decode: (bytes, key) => sites.decodeSite(mac, key, bytes),
  },
  "site-certificate": {
    encode: (value) => certificates.encodeCertificate(mac, value),
    decode: (bytes, key) => certificates.decodeCertificate(mac, key, bytes),
  },
  token: {
    encode: (value) => tokens.encodeToken(mac, value),
    decode: (bytes, key) => tokens.decodeToken(mac, key, bytes),
  },
};

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, "base64"));

for (const [kind, { encode, decode: read }] of Object.entries(codecs)) {
  test(`what is stored of a record stays as it is: ${kind}`, () => {
    const file = new URL(`stored/${kind}.json`, import.meta.url);
    const records: Stored[] = JSON.parse(readFileSync(file, "utf8"));
    expect(records.length).toBeGreaterThan(0);
    for (const { key, value, stored } of records) {
      const one: unknown = decode(bytesOf(value));
      expect(Buffer.from(encode(one as never, key)).toString("base64")).toBe(stored);
      expect(read(bytesOf(stored), key)).toEqual(one);
    }
  });
}
