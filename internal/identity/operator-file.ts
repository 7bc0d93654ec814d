import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { readDocument } from "../base/document/read.ts";
import { fields, list, refuse, text } from "../base/document/schemas.ts";
import { attempt, SvcError } from "../base/errors.ts";
import { reasonOf } from "../base/files/file.ts";
import { busUrlProblem } from "../base/names/bus-url.ts";
import { formatYaml } from "../base/yaml/yaml.ts";
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

const maxBytes = 256 * 1024;
const maxUrls = 64;

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
 * Checks that an operator file is for the expected fleet.
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
export function parseOperatorFile(written: string, path: string): OperatorFile {
  const { fleet, bus_urls, ca_pem, name, public_key, jwt, seed } = readDocument(
    written,
    path,
    schema(),
  ).value;
  return {
    fleet,
    busUrls: bus_urls,
    caPem: ca_pem,
    name,
    publicKey: public_key,
    jwt,
    ...defined({ key: seed === undefined ? undefined : keyOf(seed) }),
  };
}

function schema() {
  const isKey = (written: string) => decodePublicKey("user", written) !== undefined;
  return v.pipe(
    fields(
      {
        fleet: text(256),
        bus_urls: v.pipe(
          list(v.pipe(text(512), refuse(busUrlProblem)), maxUrls),
          v.minLength(1, "expected a URL at least"),
        ),
        ca_pem: v.string(),
        name: text(256),
        public_key: v.pipe(text(64), v.check(isKey, "expected a key, U…")),
        jwt: text(64 * 1024),
        seed: v.exactOptional(text(64)),
      },
      { missing: (key) => `${key} is missing: get the whole file again` },
    ),
    refuse(({ public_key, jwt, seed }) => {
      if (subjectOf(jwt) !== public_key)
        return { message: "it is for another key than public_key", at: ["jwt"] };
      if (seed === undefined || keyOf(seed)?.publicKey === public_key) return undefined;
      return { message: "it is not the seed of public_key", at: ["seed"] };
    }),
  );
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
    if (size > maxBytes) throw new SvcError("bad_request", `${path} is too large for an operator file`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("bad_request", `cannot read the operator file ${path}: ${reasonOf(cause)}`);
  } finally {
    closeSync(file);
  }
}

function subjectOf(jwt: string): string | undefined {
  return attempt(() => readClaims(jwt).sub);
}

function keyOf(seed: string): KeyPair | undefined {
  return attempt(() => keyPairFromSeed("user", seed));
}
