import { describeError, SvcError } from "../../base/errors.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import { isPresent } from "../../base/files/new-files.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { spkiPin, splitPem } from "../trust/mod.ts";
import { crossesTo } from "./crosses.ts";
import { type Authority, loadAuthority, parseAuthority, readAuthorityFile } from "./load.ts";
import { authorityPaths, rotationPaths } from "./paths.ts";

/** The phases of a rotation. In `finish` only the next root counts, and its files take the place of the others. */
export type RotationPhase = "start" | "activate" | "finish";

/** A root certificate. */
export interface Root {
  pem: string;
  /** SPKI pin. */
  pin: string;
}

/** The rotation of a root, as masters publish it. */
export interface Rotation {
  phase: "start" | "activate";
  next: Root;
}

/** What a CA directory means in the phase that it is in. */
export interface AuthorityInForce {
  /** Issues certificates. */
  authority: Authority;
  /** The current root: the root before until the rotation is finished. */
  root: Root;
  rotation?: Rotation;
  /** PEM of all certificates of this authority: those that were, are, and are prepared. */
  known: readonly string[];
  /**
   * PEM of certificates that lead to the current root from the roots before it, the newest first: each is the key of
   * one root, signed by the root that it followed.
   */
  crosses: readonly string[];
  /** Why the next authority in the directory does not count yet. */
  problem?: string;
}

/**
 * Reads the phase of the rotation in a CA directory; `undefined` when there is none.
 *
 * @throws SvcError `bad_request` naming the file
 */
export function readPhase(dir: string): RotationPhase | undefined {
  const { next, phase } = rotationPaths(dir);
  if (!isPresent(next)) return undefined;
  const text = readTextIfPresent(phase)?.trim();
  switch (text) {
    case "start":
    case "activate":
    case "finish":
      return text;
    case undefined:
      throw new SvcError(
        "bad_request",
        `${phase} does not exist: copy the whole directory ${next} from the master where svc ca rotate start ran, or run svc ca rotate abort`,
      );
    default:
      throw new SvcError(
        "bad_request",
        `${phase} contains neither start, activate nor finish: copy ${next} again from another master, or run svc ca rotate abort`,
      );
  }
}

/**
 * Reads what issues certificates now, and which roots are sent to the fleet.
 *
 * @param options.lenient an incomplete next authority, as during a copy, does not count before it is activated
 * @throws SvcError `bad_request` naming the file that is missing or does not fit
 */
export async function loadInForce(
  dir: string,
  options: { lenient?: boolean } = {},
): Promise<AuthorityInForce> {
  try {
    return await loadPhase(dir, readPhase(dir));
  } catch (thrown) {
    if (options.lenient !== true || !isPresent(rotationPaths(dir).next) || isActivated(dir)) throw thrown;
    return { ...(await loadPhase(dir, undefined)), problem: describeError(thrown) };
  }
}

async function loadPhase(dir: string, phase: RotationPhase | undefined): Promise<AuthorityInForce> {
  const known = knownIn(dir);
  const retired = splitPem(readTextIfPresent(rotationPaths(dir).retired) ?? "");
  if (phase === undefined) {
    const authority = await loadAuthority(dir);
    const root = rootIn(authority.rootPem);
    return { authority, root, known, crosses: crossesTo(root, retired) };
  }
  const { next: nextDir, cross } = rotationPaths(dir);
  const next = await loadAuthority(nextDir);
  const nextRoot = rootIn(next.rootPem);
  if (phase === "finish") {
    return { authority: next, root: nextRoot, known, crosses: crossesTo(nextRoot, retired) };
  }
  const root = currentRoot(dir);
  if (root.pin === nextRoot.pin) {
    throw new SvcError(
      "bad_request",
      `${authorityPaths(nextDir).rootCrt} has the key of the current root: run svc ca rotate abort, then start`,
    );
  }
  const rotation: Rotation = { phase, next: nextRoot };
  const crossPem = readTextIfPresent(cross);
  if (crossPem !== undefined) assertCross(crossPem, { path: cross, root: root.pem, next: nextRoot });
  const crosses = crossesTo(root, retired);
  if (phase === "start") return { authority: await loadAuthority(dir), root, rotation, known, crosses };
  return {
    authority: crossPem === undefined ? next : { ...next, crossPem },
    root,
    rotation,
    known,
    crosses,
  };
}

function knownIn(dir: string): string[] {
  const { next, retired } = rotationPaths(dir);
  const [own, other] = [authorityPaths(dir), authorityPaths(next)];
  const texts = [own.rootCrt, own.subCrt, other.rootCrt, other.subCrt, retired].map(
    (path) => readTextIfPresent(path) ?? "",
  );
  return [...new Set(splitPem(texts.join("\n")))];
}

/** The current root, which is all that is needed of it once the next authority issues. */
function currentRoot(dir: string): Root {
  const path = authorityPaths(dir).rootCrt;
  const pem = readAuthorityFile(path, dir);
  parseAuthority(pem, path);
  return rootIn(pem);
}

function assertCross(pem: string, { path, root, next }: { path: string; root: string; next: Root }): void {
  const certificate = parseAuthority(pem, path);
  const issuer = parseAuthority(root, path);
  if (spkiPin(pem) === next.pin && certificate.verify(issuer.publicKey)) return;
  throw new SvcError(
    "bad_request",
    `${path} does not lead from the current root to the next one: copy the whole CA directory again from one master`,
  );
}

function isActivated(dir: string): boolean {
  try {
    const phase = readPhase(dir);
    return phase === "activate" || phase === "finish";
  } catch {
    return false;
  }
}

function rootIn(pem: string): Root {
  return { pem, pin: spkiPin(pem) };
}

/**
 * A digest of everything in a CA directory that decides what is in force; `undefined` while a file of the CA is
 * missing, as during a copy.
 */
export function authorityStamp(dir: string): string | undefined {
  const { next, phase, cross, retired } = rotationPaths(dir);
  const [own, other] = [authorityPaths(dir), authorityPaths(next)];
  try {
    const [root, intermediate, ...rest] = [
      own.rootCrt,
      own.subCrt,
      own.subKey,
      other.rootCrt,
      other.subCrt,
      other.subKey,
      phase,
      cross,
      retired,
    ].map((path) => readTextIfPresent(path));
    if (root === undefined || intermediate === undefined) return undefined;
    return sha256Hex(JSON.stringify([root, intermediate, ...rest]));
  } catch {
    return undefined;
  }
}
