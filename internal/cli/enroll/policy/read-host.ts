import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { parseIp } from "../../../base/names/ip-network.ts";
import { encodePeelId, isPeelId } from "../../../base/names/peel-id.ts";
import { isMap } from "../../../base/plain-map.ts";
import { parseStrictJson } from "../../../base/yaml/strict-json.ts";
import type { DescribedApplicant } from "../../../fleet/policy/mod.ts";
import { evidenceTypes } from "../../../identity/evidence/mod.ts";
import { readFlag } from "../../../program/command-line/mod.ts";

/** The options that describe a host. */
export interface HostWords {
  peel: string;
  address?: string | undefined;
  trust: string;
  evidence?: string | undefined;
  fields?: string | undefined;
}

/** @throws SvcError `usage` naming the option */
export function readHost({ peel, address, trust, evidence, fields }: HostWords): DescribedApplicant {
  const type = evidenceTypes.find((one) => one === evidence);
  if (fields !== undefined && type === undefined) throw new SvcError("usage", "--fields is for --evidence");
  return {
    peel: readFlag("--peel", peel, readPeelId),
    trust: trust === "unknown" ? "unknown" : "ok",
    ...(address === undefined ? {} : { address: readFlag("--address", address, readAddress) }),
    ...(type === undefined ? {} : { evidence: type }),
    ...(fields === undefined ? {} : { fields: readFlag("--fields", fields, readFields) }),
  };
}

function readPeelId(text: string): string {
  const encoded = encodePeelId(text);
  if (isPeelId(encoded)) return encoded;
  throw new SvcError("bad_request", `${JSON.stringify(text.slice(0, 80))} is not a peel id`);
}

function readAddress(text: string): string {
  if (parseIp(text) !== undefined) return text;
  throw new SvcError("bad_request", "expected an IP address, such as 10.20.0.7");
}

function readFields(text: string): Record<string, Plain> {
  const value = parseStrictJson(text);
  if (isMap(value)) return value as Record<string, Plain>;
  throw new SvcError("bad_request", 'expected an object, such as {"subject": "CN=web-1"}');
}
