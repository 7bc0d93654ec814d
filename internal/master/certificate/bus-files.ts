import { X509Certificate } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { publicMode, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import {
  type AuthorityInForce,
  isKeyOf,
  issueCertificate,
  namesOfLeaf,
  remainingLife,
} from "../../identity/ca/mod.ts";
import { rootsOf, spkiPin, splitPem } from "../../identity/trust/mod.ts";

/** How long the certificate of a server of the bus lasts, milliseconds. */
export const busValidityMs = 8760 * 3_600_000;
/** A certificate with less of its life left is issued again. */
const minLife = 1 / 3;

interface BusFilesOptions {
  /** What the authority of this master is now. */
  inForce: AuthorityInForce;
  clock: Clock;
  random: Random;
  log: Log;
}

/**
 * Brings the certificate of the embedded bus in line with the authority in force: issues it again when the authority
 * before or after it signed it, when its key is not its own, because a run was interrupted
 * between two writes, or when it ends. A certificate of another CA is not touched.
 *
 * @param dir the value of `embedded_bus_dir`
 * @returns whether the bus must read it again
 */
export async function renewBusCertificate(dir: string, options: BusFilesOptions): Promise<boolean> {
  const { clock, random, log } = options;
  const { authority } = options.inForce;
  const paths = { cert: join(dir, "nats-server.crt"), key: join(dir, "nats-server.key") };
  const [cert, key] = [readTextIfPresent(paths.cert), readTextIfPresent(paths.key)];
  if (cert === undefined || key === undefined) return false;
  const [leafPem, ...chain] = splitPem(cert);
  const leaf = read(leafPem);
  const intermediate = new X509Certificate(authority.intermediatePem);
  if (leaf === undefined || !options.inForce.known.some((pem) => isSignedBy(leaf, pem))) return false;
  const fits =
    leaf.verify(intermediate.publicKey) && isKeyOf(leaf, key) && isIncluded(authority.crossPem, chain);
  const [from, until] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  if (fits && remainingLife(from, until, clock.now()) >= minLife) return false;
  const issued = await issueCertificate(authority, {
    commonName: "nats",
    names: namesOfLeaf(leaf),
    usage: "nats-server",
    validityMs: busValidityMs,
    clock,
    random,
  });
  // Where it ends with the intermediate, another one would not last longer.
  if (fits && issued.notAfter <= until) return false;
  // The key first: a server that starts between the two would refuse the pair, and masters repair it before.
  replace(paths.key, issued.keyPem, secretMode);
  replace(paths.cert, issued.certPem, publicMode);
  log.info("the certificate of the bus was issued again", { not_after: rfc3339(issued.notAfter) });
  return true;
}

/**
 * Brings a file of roots in line with the authority in force. Certificates of others stay, and a file without any
 * root of this authority is not touched.
 *
 * @returns whether it was written
 */
export function renewRootFile(
  path: string,
  { inForce, log }: Pick<BusFilesOptions, "inForce" | "log">,
): boolean {
  const text = readTextIfPresent(path);
  if (text === undefined) return false;
  const { root, rotation } = inForce;
  const own = new Set(rootsOf(inForce.known.join("\n")).map(spkiPin));
  const found = splitPem(text);
  const foreign = found.filter((pem) => read(pem) === undefined || !own.has(spkiPin(pem)));
  if (foreign.length === found.length) return false;
  const wanted = [...foreign, root.pem, ...(rotation === undefined ? [] : [rotation.next.pem])];
  const trimmed = wanted.map((pem) => pem.trim());
  if (trimmed.join() === found.map((pem) => pem.trim()).join()) return false;
  replace(path, `${trimmed.join("\n")}\n`, publicMode);
  log.info("the roots in a file were brought up to date", { path, roots: trimmed.length });
  return true;
}

/** Keeps the owner of the file: a master that runs as root must not take it from the user of the bus. */
function replace(path: string, text: string, mode: number): void {
  writing(path, () => {
    const { uid, gid } = statSync(path);
    writeFileAtomic(path, text, mode);
    if (process.getuid?.() === 0) chownSync(path, uid, gid);
  });
}

function isSignedBy(leaf: X509Certificate, pem: string): boolean {
  const issuer = read(pem);
  return issuer !== undefined && leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey);
}

/** Whether the chain has the certificate that crosses to the root before exactly when it is needed. */
function isIncluded(crossPem: string | undefined, chain: readonly string[]): boolean {
  if (crossPem === undefined) return chain.length <= 1;
  return chain.some((pem) => pem.trim() === crossPem.trim());
}

function read(pem: string | undefined): X509Certificate | undefined {
  return attempt(() => (pem === undefined ? undefined : new X509Certificate(pem)));
}
