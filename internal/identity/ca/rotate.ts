import { chownSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import {
  publicMode,
  readTextIfPresent,
  secretMode,
  syncDirectory,
  writeFileAtomic,
} from "../../base/files/file.ts";
import {
  createFiles,
  isPresent,
  makePrivateDirectory,
  type NewFile,
  writing,
} from "../../base/files/new-files.ts";
import { removeLeftovers } from "../../base/files/remove-leftovers.ts";
import type { Random } from "../../base/id.ts";
import { spkiPin, splitPem } from "../trust/mod.ts";
import { buildCrossCertificate, newSerial } from "./build.ts";
import { buildHierarchy } from "./create.ts";
import { describeCertificate } from "./describe.ts";
import { loadInForce, type Root, type Rotation, type RotationPhase, readPhase } from "./in-force.ts";
import { loadAuthority, loadRoot, readAuthorityFile } from "./load.ts";
import { authorityPaths, rotationPaths } from "./paths.ts";
import { validityFrom } from "./validity.ts";

/** A directory with this prefix is being made, or is being removed. It never counts. */
const unfinishedPrefix = ".rotation-";

/** The roots of a rotation that runs. */
export interface Rotating extends Rotation {
  current: Root;
}

interface StartOptions {
  dir: string;
  rootValidityMs: number;
  /** Without the key of the current root nothing leads from it to the next one. */
  withoutRootKey: boolean;
  clock: Clock;
  random: Random;
}

/**
 * Makes the next root and its intermediate, in `next/` of the CA directory: completely or not at all. Does nothing
 * where they exist.
 *
 * @returns also whether it made them
 * @throws SvcError `bad_request` where the root key is missing or the CA cannot be read, `conflict` in another phase
 */
export async function startRotation(options: StartOptions): Promise<Rotating & { made: boolean }> {
  const { dir, clock, random } = options;
  assertAuthority(dir);
  removeUnfinished(dir);
  const phase = readPhase(dir);
  if (phase === "activate" || phase === "finish") throw wrongPhase("start", phase);
  if (phase === "start") return { ...(await readRotating(dir)), made: false };

  const current = await loadAuthority(dir);
  const root = describeCertificate(current.rootPem);
  if (root.notAfter <= clock.now()) {
    throw new SvcError(
      "bad_request",
      `root.crt ended at ${rfc3339(root.notAfter)}: first run svc ca renew-root --dir ${dir}, so that peels can verify masters until the rotation ends`,
    );
  }
  const hasKey = current.hasRootKey;
  if (!hasKey && !options.withoutRootKey) {
    throw new SvcError(
      "bad_request",
      `${authorityPaths(dir).rootKey} does not exist: run svc ca rotate start where root.key is kept, and copy ${join(dir, "next")} to the masters; if the key is lost, add --without-root-key, and peels that are off until activate need a visit`,
    );
  }
  const paths = rotationPaths(dir);
  const unfinished = join(dir, `${unfinishedPrefix}${newSerial(random).slice(0, 12)}`);
  const made = await buildHierarchy({
    ...options,
    dir: unfinished,
    rootName: { of: current.rootPem },
    intermediateName: { of: current.intermediatePem },
  });
  const open = (name: string, data: string): NewFile => ({
    path: join(unfinished, name),
    data,
    mode: publicMode,
  });
  const cross = hasKey ? [open("cross.crt", await crossFrom(options, made.authority.rootPem))] : [];
  writing(unfinished, () => makePrivateDirectory(unfinished));
  const files = [...made.files, ...cross, open("phase", "start\n")];
  createFiles(files);
  for (const path of [unfinished, ...files.map(({ path }) => path)]) giveToOwner(dir, path);
  writing(paths.next, () => {
    renameSync(unfinished, paths.next);
    syncDirectory(dir);
  });
  return { ...(await readRotating(dir)), made: true };
}

/** The next root, signed by the current one. It ends with the earlier of the two. */
async function crossFrom({ dir, clock, random }: StartOptions, nextPem: string): Promise<string> {
  const { pem, signingKey } = await loadRoot(dir);
  const [before, next] = [describeCertificate(pem), describeCertificate(nextPem)];
  const validity = validityFrom(clock.now(), Math.max(0, next.notAfter - clock.now()), before);
  return buildCrossCertificate(
    { root: nextPem, serial: newSerial(random), validity },
    { certificate: pem, key: signingKey },
  );
}

/**
 * Masters issue from the next authority from now on.
 *
 * @throws SvcError `conflict` in another phase, `bad_request` when a file of the next authority does not fit
 */
export async function activateRotation(dir: string): Promise<Rotating> {
  assertAuthority(dir);
  removeUnfinished(dir);
  const phase = readPhase(dir);
  if (phase === undefined || phase === "finish") throw wrongPhase("activate", phase);
  await loadInForce(dir);
  if (phase === "start") writePhase(dir, "activate");
  return readRotating(dir);
}

/**
 * Ends a rotation: the next root is the only one. From the first write on it cannot be undone, and a run that was
 * interrupted is completed by the next one.
 *
 * @returns the root that is in force now
 * @throws SvcError `conflict` in another phase, `bad_request` when a file of the next authority does not fit
 */
export async function finishRotation(dir: string): Promise<Root> {
  assertAuthority(dir);
  removeUnfinished(dir);
  const phase = readPhase(dir);
  const paths = rotationPaths(dir);
  if (phase === undefined) {
    const { root } = await loadInForce(dir);
    // Already finished, by a run whose end nobody saw.
    if (lastRetired(dir) === finishLine(root.pin)) return root;
    throw wrongPhase("finish", phase);
  }
  if (phase === "start") throw wrongPhase("finish", phase);
  const next = await loadAuthority(paths.next);
  const root = { pem: next.rootPem, pin: spkiPin(next.rootPem) };
  if (phase === "activate") writePhase(dir, "finish");
  // With the certificate that leads from the old root to this one, for peels that were off since before `start`.
  retire(dir, dir, finishLine(root.pin), [paths.cross]);
  // Everything that reads the directory from here on uses next/, so the files can change one by one.
  const [own, other] = [authorityPaths(dir), authorityPaths(paths.next)];
  for (const name of ["subKey", "rootKey", "subCrt", "rootCrt"] as const) {
    const text = readTextIfPresent(other[name]);
    const mode = name === "subKey" || name === "rootKey" ? secretMode : publicMode;
    // The next root key may have been taken away already. The old one must not stay in its place.
    if (text === undefined) writing(own[name], () => rmSync(own[name], { force: true }));
    else replaceFile(dir, own[name], text, mode);
  }
  putAside(dir);
  return root;
}

/**
 * Goes back to the current root. Does nothing when no rotation runs.
 *
 * @returns the root that is in force, and whether a rotation ran
 * @throws SvcError `conflict` when the rotation is already being finished
 */
export async function abortRotation(dir: string): Promise<{ root: Root; ran: boolean }> {
  assertAuthority(dir);
  removeUnfinished(dir);
  const { next, phase } = rotationPaths(dir);
  const ran = isPresent(next);
  if (ran && readTextIfPresent(phase)?.trim() === "finish") throw wrongPhase("abort", "finish");
  if (ran) {
    retire(dir, next, abortLine);
    putAside(dir);
  }
  return { root: (await loadInForce(dir)).root, ran };
}

/**
 * The phase of the rotation in a CA directory, and its roots.
 *
 * @throws SvcError `bad_request` when a file is missing or does not fit
 */
export async function readRotation(dir: string): Promise<{ current: Root; rotation?: Rotation }> {
  assertAuthority(dir);
  const { root, rotation } = await loadInForce(dir);
  return rotation === undefined ? { current: root } : { current: root, rotation };
}

async function readRotating(dir: string): Promise<Rotating> {
  const { root, rotation } = await loadInForce(dir);
  if (rotation === undefined) throw wrongPhase("activate", undefined);
  return { ...rotation, current: root };
}

/** @throws SvcError `bad_request` when the directory is not that of an embedded CA */
function assertAuthority(dir: string): void {
  const path = authorityPaths(dir).rootCrt;
  if (isPresent(path)) {
    readAuthorityFile(path, dir);
    return;
  }
  throw new SvcError(
    "bad_request",
    `${path} does not exist: name the CA directory of a master with --dir; a fleet with ca.mode external has none, and the operator of that CA rotates its root there, and replaces enroll.tls_cert, bus_ca and enroll_ca`,
  );
}

function writePhase(dir: string, phase: RotationPhase): void {
  replaceFile(dir, rotationPaths(dir).phase, `${phase}\n`, publicMode);
}

function replaceFile(dir: string, path: string, text: string, mode: number): void {
  writing(path, () => writeFileAtomic(path, text, mode));
  giveToOwner(dir, path);
}

/** Root makes files for the user of the master, who owns the directory and must read the keys. */
function giveToOwner(dir: string, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dir);
  writing(path, () => chownSync(path, uid, gid));
}

const abortLine = "# aborted:";
const finishLine = (pin: string) => `# followed by ${pin}:`;

/** Notes the certificates in a directory as retired, under a line that says why, once. */
function retire(dir: string, from: string, line: string, more: readonly string[] = []): void {
  const path = rotationPaths(dir).retired;
  const before = readTextIfPresent(path) ?? "";
  if (line !== abortLine && lastRetired(dir) === line) return;
  const { rootCrt, subCrt } = authorityPaths(from);
  const texts = [rootCrt, subCrt, ...more].flatMap((file) => splitPem(readTextIfPresent(file) ?? ""));
  replaceFile(dir, path, `${[before.trimEnd(), line, ...texts].join("\n").trim()}\n`, publicMode);
}

/** The last line that says why certificates were retired. */
function lastRetired(dir: string): string | undefined {
  const text = readTextIfPresent(rotationPaths(dir).retired) ?? "";
  return text.match(/^# .+$/gm)?.at(-1);
}

/** Takes `next/` away in one step, and then removes its files. */
function putAside(dir: string): void {
  const { next } = rotationPaths(dir);
  const aside = join(dir, `${unfinishedPrefix}old`);
  writing(next, () => {
    rmSync(aside, { recursive: true, force: true });
    renameSync(next, aside);
    syncDirectory(dir);
  });
  writing(aside, () => rmSync(aside, { recursive: true, force: true }));
}

/** Removes what an interrupted run left. */
function removeUnfinished(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    const path = join(dir, name);
    writing(path, () => rmSync(path, { recursive: true, force: true }));
  }
  const { phase, retired } = rotationPaths(dir);
  const paths = [...Object.values(authorityPaths(dir)), retired, phase];
  writing(dir, () => removeLeftovers(paths));
}

function wrongPhase(wanted: string, phase: RotationPhase | undefined): SvcError {
  const now =
    phase === undefined
      ? "no rotation runs: begin with svc ca rotate start"
      : phase === "finish"
        ? "the rotation is being finished and cannot be undone: run svc ca rotate finish again"
        : phase === "start"
          ? "the rotation is in its phase start: run svc ca rotate activate first, or svc ca rotate abort"
          : "the rotation is in its phase activate: run svc ca rotate finish, or svc ca rotate abort";
  return new SvcError("conflict", `svc ca rotate ${wanted}: ${now}`);
}
