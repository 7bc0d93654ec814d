import { expect, test } from "bun:test";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { openStatement, signStatement } from "../../internal/tree/files/statement.ts";
import * as administrators from "../../internal/wire/administrators-statement.ts";
import { openCommand, signCommand } from "../../internal/wire/command.ts";
import * as events from "../../internal/wire/peel-event.ts";
import { decodeScheduledRun, encodeScheduledRun } from "../../internal/wire/scheduled-run.ts";
import { openRequest, signRequest } from "../../internal/wire/signed-request.ts";
import { openSiteCommand, signForSite } from "../../internal/wire/site-command.ts";

// What is signed, and what others store: peels, masters and operators of other versions read and write these bytes.

const key = newKeyPair("user", (length) => new Uint8Array(length).fill(1));
const account = newKeyPair("account", (length) => new Uint8Array(length).fill(3));
const at = Date.UTC(2026, 0, 1);
const body = new Uint8Array(2).fill(7);
const order = { kind: "dispatch" as const, jid: "job-1", deadline: at, body };
const trust = { keys: [key.publicKey], now: at - 1 };

/** The same bytes again, of what they say. */
const messages: Record<string, { fixed: string; again(bytes: Uint8Array): Uint8Array | undefined }> = {
  "event of a peel": {
    fixed: "gqRkYXRhgaFhAaJpZKF4",
    again: (bytes) => events.encodePeelEvent(events.decodePeelEvent(bytes)),
  },
  "event of a master": {
    fixed: "g6RkYXRhgaFhAaZzb3VyY2Wld2ViXzGlZGVwdGgC",
    again: (bytes) => events.encodeServiceEvent(events.decodeServiceEvent(bytes)),
  },
  "run of a schedule": {
    fixed:
      "iKdzdWNjZXNzw6dyZXRjb2RlAKZyZXR1cm4BqnN0YXJ0ZWRfYXS4MjAyNi0wMS0wMVQwMDowMDowMC4wMDBaq2R1cmF0aW9uX21zAqhzY2hlZHVsZaduaWdodGx5qGZ1bmN0aW9uqXRlc3QucGluZ6RhcmdzgaFiww==",
    again: (bytes) => encodeScheduledRun(decodeScheduledRun(bytes)),
  },
  "command for a peel": {
    fixed:
      "iKRraW5kqGRpc3BhdGNoo2ppZKVqb2ItMahkZWFkbGluZbgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqkYm9kecQCBweja2V52ThVQ0ZJUlk2NU9RRTdERlA1S0xOUzJQRjJMVlpNVVpZSlg0T1pJRVEzNk4ySVFBTlVCNVhWWjQ1TKlzaWduYXR1cmXEQOSStb6RoN0oEmr4oswclyavT1kqbgFzYJVTbuIIb3fv0o/Zu9Z8qWsGgIB8LmjCiqzEorGYzhL6IT7rFvHEBACkcGVlbKV3ZWJfMaVwcm9vZsQA",
    again(bytes) {
      const { proof, ...command } = openCommand(bytes, { peel: "web_1" }, trust);
      expect(proof).toEqual([]);
      return signCommand(command, key);
    },
  },
  "command for a site": {
    fixed:
      "h6RraW5kqGRpc3BhdGNoo2ppZKVqb2ItMahkZWFkbGluZbgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqkYm9kecQCBweja2V52ThVQ0ZJUlk2NU9RRTdERlA1S0xOUzJQRjJMVlpNVVpZSlg0T1pJRVEzNk4ySVFBTlVCNVhWWjQ1TKlzaWduYXR1cmXEQKe3SFTH7pynZuKo53GCbqdbdmBpvXCd3yp4IKUpyuOLhMKxVeTrQMXizCSRz8E99v0q8QyStqPz4XlN8kwdEwmlcGVlbHOSpXdlYl8xpXdlYl8y",
    again(bytes) {
      const found = openSiteCommand(bytes, { peel: "web_2", jid: "job-1" }, trust);
      return found && signForSite({ ...order, body: found.body }, { peels: ["web_1", "web_2"] }, key);
    },
  },
  "request of an operator": {
    fixed:
      "h6F2AaRib2R5xAIHB6hvcGVyYXRvcqRyb290o2tledk4VUNGSVJZNjVPUUU3REZQNUtMTlMyUEYyTFZaTVVaWUpYNE9aSUVRMzZOMklRQU5VQjVYVlo0NUync2VudF9hdLgyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFqlbm9uY2XEEAkJCQkJCQkJCQkJCQkJCQmpc2lnbmF0dXJlxECu8Iy5LBFLMvE2uLudjxLFciTeVKCOZ+/PHDhMtmEZoVyHQ0foDYDPRxd2wdZFPUmEvIf+DYNjEHhjgQnRxnwB",
    again: (bytes) => signRequest("svc.job.request", openRequest(bytes), key),
  },
  "statement about administrators": {
    fixed:
      "h6F2AaVmbGVldNk4QURXVVNLR0dGREk0RlJYSzVFQlRSRUNaU1ZRU1NXSkhISk9HSDZKV0czQVVNRkZNUTQzNUQ2SESndmVyc2lvbgOuYWRtaW5pc3RyYXRvcnORgqRuYW1lpHJvb3SqcHVibGljX2tledk4VUNGSVJZNjVPUUU3REZQNUtMTlMyUEYyTFZaTVVaWUpYNE9aSUVRMzZOMklRQU5VQjVYVlo0NUypaXNzdWVkX2F0uDIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWqNrZXnZOFVDRklSWTY1T1FFN0RGUDVLTE5TMlBGMkxWWk1VWllKWDRPWklFUTM2TjJJUUFOVUI1WFZaNDVMqXNpZ25hdHVyZcRAyv01rixo7jzIquOeUHG2sPHgLuKKI5GYlrCIogSo+RVu93onk+L2NtkSsIv70JnE93jFiSEIRyjDGMAS88H2AQ==",
    again(bytes) {
      const { key: _, signature: __, ...statement } = administrators.decodeAdministrators(bytes);
      expect(statement).toEqual({
        ...{ fleet: account.publicKey, version: 3, issuedAt: at },
        administrators: [{ name: "root", publicKey: key.publicKey }],
      });
      return administrators.encodeAdministrators(administrators.signAdministrators(statement, key));
    },
  },
  "statement about state files": {
    fixed:
      "h6F2Aad2ZXJzaW9uBaV0b2tlbgKnY2F0YWxvZ9lAYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYqRiYXNl2UBjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNko2tledk4VUNGSVJZNjVPUUU3REZQNUtMTlMyUEYyTFZaTVVaWUpYNE9aSUVRMzZOMklRQU5VQjVYVlo0NUypc2lnbmF0dXJlxEB3Tk7V3/A+sos2n0qRhsjyIfKeNvGVk6tYVjj8+QAKSdsSrPPQbk/eVNBVFlyco2UICph/CrAL8SWZ+kaLVtsM",
    again: (bytes) => signStatement(openStatement(bytes, trust.keys), key),
  },
};

for (const [name, { fixed, again }] of Object.entries(messages)) {
  test(`the bytes stay as they are: ${name}`, () => {
    const bytes = new Uint8Array(Buffer.from(fixed, "base64"));
    expect(Buffer.from(again(bytes) ?? "").toString("base64")).toBe(fixed);
  });
}
