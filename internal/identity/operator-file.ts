import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { assertBusUrl } from "../base/bus-url.ts";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { reasonOf } from "../base/file.ts";
import { failure, fieldsOf, itemsOf, type Place, textOf, within } from "../base/read-yaml.ts";
import { formatYaml, parseYaml, type YamlEntry } from "../base/yaml.ts";
import { readClaims } from "./jwt.ts";
import { decodePublicKey, type KeyPair, keyPairFromSeed } from "./nkey.ts";

/** What a person or a pipeline needs to ask a fleet: `operator/<name>.operator`. */
export interface OperatorFile {
  /** Which fleet it is for. */
  fleet: string;
  busUrls: readonly string[];
  /** PEM of the roots that verify the bus; empty for the trust store of the host. */
  caPem: string;
  name: string;
  /** `U…` */
  publicKey: string;
  /** Of the user on the bus; it ends, and is renewed. */
  jwt: string;
  /** Absent where the key is stored elsewhere. */
  key?: KeyPair;
}

const keys = ["fleet", "bus_urls", "ca_pem", "name", "public_key", "jwt", "seed"] as const;
const mostBytes = 256 * 1024;
const mostUrls = 64;

/**
 * Reads the file of an operator. It holds a secret, so nobody else may read it.
 *
 * @throws SvcError `bad_request` with file, line and reason, without any part of a secret; `forbidden` when others
 *   may read it
 */
export function readOperatorFile(path: string): OperatorFile {
  return parseOperatorFile(readPrivate(path), path);
}

/**
 * Checks that an operator file is for the fleet that is asked.
 *
 * @param path for messages
 * @throws SvcError `forbidden` when it is for another one
 */
export function assertFleetOf(file: Pick<OperatorFile, "fleet">, path: string, fleet: string): void {
  if (fleet === file.fleet) return;
  throw new SvcError(
    "forbidden",
    `${path} is an operator file of the fleet ${file.fleet}, and this is the fleet ${fleet}: use the file that was made for it`,
  );
}

/** Writes the file of an operator; with a key the text is a secret. */
export function formatOperatorFile({ key, ...file }: OperatorFile): string {
  return formatYaml({
    fleet: file.fleet,
    bus_urls: [...file.busUrls],
    ca_pem: file.caPem,
    name: file.name,
    public_key: file.publicKey,
    jwt: file.jwt,
    ...defined({ seed: key?.seed }),
  });
}

/**
 * Reads the text of an operator file.
 *
 * @param path for messages
 * @throws SvcError `bad_request` with file, line and reason, without any part of a secret
 */
export function parseOperatorFile(text: string, path: string): OperatorFile {
  const root = parseYaml(text, path);
  const place: Place = { file: path, what: "" };
  const found = fieldsOf(root, place, keys);
  const entry = (name: (typeof keys)[number]): YamlEntry => {
    const value = found.get(name);
    if (value === undefined) throw failure(place, root.at, `${name} is missing: get the whole file again`);
    return value;
  };
  const textIn = (name: (typeof keys)[number], most: number) =>
    textOf(entry(name).value, within(place, name), most);
  const wrong = (name: (typeof keys)[number], reason: string) =>
    failure(within(place, name), entry(name).value.at, reason);
  const publicKey = textIn("public_key", 64);
  if (decodePublicKey("user", publicKey) === undefined) throw wrong("public_key", "expected a key, U…");
  const jwt = textIn("jwt", 64 * 1024);
  if (subjectOf(jwt) !== publicKey) throw wrong("jwt", "it is for another key than public_key");
  const busUrls = itemsOf(entry("bus_urls").value, within(place, "bus_urls"), mostUrls).map((item) => {
    const url = textOf(item, within(place, "bus_urls"), 512);
    assertBusUrl(`${path}: bus_urls`, url);
    return url;
  });
  if (busUrls.length === 0) throw wrong("bus_urls", "expected a URL at least");
  const ca = entry("ca_pem").value;
  const isEmpty = ca.kind === "scalar" && ca.value === "";
  const key = found.has("seed") ? keyOf(textIn("seed", 64)) : undefined;
  if (found.has("seed") && key?.publicKey !== publicKey) {
    throw wrong("seed", "it is not the seed of public_key");
  }
  return {
    fleet: textIn("fleet", 256),
    busUrls,
    caPem: isEmpty ? "" : textIn("ca_pem", mostBytes),
    name: textIn("name", 256),
    publicKey,
    jwt,
    ...defined({ key }),
  };
}

function readPrivate(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read the operator file ${path}: ${reasonOf(cause)}`);
  }
  try {
    const { mode, size } = fstatSync(file);
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, "0");
      throw new SvcError(
        "forbidden",
        `${path} has the mode ${shown}, so others may read your key: chmod 0600 ${path}`,
      );
    }
    if (size > mostBytes) throw new SvcError("bad_request", `${path} is too large for an operator file`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("bad_request", `cannot read the operator file ${path}: ${reasonOf(cause)}`);
  } finally {
    closeSync(file);
  }
}

function subjectOf(jwt: string): string | undefined {
  try {
    return readClaims(jwt).sub;
  } catch {
    return undefined;
  }
}

function keyOf(seed: string): KeyPair | undefined {
  try {
    return keyPairFromSeed("user", seed);
  } catch {
    return undefined;
  }
}
