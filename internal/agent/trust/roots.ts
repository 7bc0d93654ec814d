import type { Clock } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { createFileAtomic, publicMode, readTextIfPresent, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { type BootstrapDocument, pinsOf } from "../../identity/bootstrap/mod.ts";
import { rootsOf, spkiPin } from "../../identity/trust/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { IdentityFiles } from "../identity/mod.ts";
import {
  areFollowed,
  countingRoots,
  followInFile,
  followRoots,
  formatHeldRoots,
  type HeldRoots,
  leadsToRoot,
  parseHeldRoots,
} from "./follow-roots.ts";
import type { RefusedStatements } from "./refused-statements.ts";

/** The roots that this peel trusts, as they change while masters rotate them. */
export interface Roots {
  /** PEM of the roots that verify masters; empty where the rung of the configuration decides alone. */
  counting(): readonly string[];
  /** PEM of the roots that verify masters, or followed from those that do, as far as this peel has them. */
  kept(): readonly string[];
  /** Pins of what this peel trusts for masters and for the bus; `undefined` where the host's trust store decides. */
  trusted(): readonly string[] | undefined;
  /** Whether a document from the bus tells that these roots change. It is only a hint. */
  differs(document: BootstrapDocument): boolean;
  /**
   * Takes in what a document says of the roots.
   *
   * @param document it must come from a master over verified TLS
   * @param verifiedBy pin of the root that verified it; `undefined` when that is not known
   * @param knownKeys the command keys that this peel knew before
   * @returns whether it may be followed when newer command keys are known
   * @throws SvcError `storage` when it cannot be stored
   */
  take(document: BootstrapDocument, verifiedBy: string | undefined, knownKeys: readonly string[]): boolean;
  /** Stores the PEM of a root that was trusted on first use. @throws SvcError `storage` */
  store(pem: string): void;
  /** Calls `run` after each change. */
  onChange(run: () => void): void;
}

/** Where a peel finds what it trusts. */
interface RootSources {
  /** The configuration and the environment as they apply now: a succession outranks parts of them. */
  ways: () => {
    config: Pick<PeelConfig, "enroll_ca" | "enroll_ca_pin" | "bus_ca">;
    env: Readonly<Record<string, string | undefined>>;
  };
  files: Pick<IdentityFiles, "anchor" | "busCa">;
}

/** Reads the roots that a peel trusts, and writes nothing. */
export function readRoots({ ways, files }: RootSources) {
  const readHeld = (): HeldRoots => parseHeldRoots(readTextIfPresent(files.anchor) ?? "");
  const configured = (): readonly string[] | undefined => {
    const { config } = ways();
    if (config.enroll_ca !== "") return pinsIn(config.enroll_ca);
    return config.enroll_ca_pin.length > 0 ? config.enroll_ca_pin : undefined;
  };
  const counting = () => countingRoots(readHeld(), configured());
  /** The file that verifies the bus, where the operator named one: it never follows. */
  const namedBusCa = () => {
    const { config, env } = ways();
    return config.bus_ca || env.BUS_CA_FILE;
  };
  const kept = (): readonly string[] => {
    const found = counting();
    const pins = configured();
    if (found.length > 0 || pins === undefined) return found;
    // The pin decides; any file on this host may have the certificate.
    const { enroll_ca } = ways().config;
    const texts = [enroll_ca, files.anchor, namedBusCa() || files.busCa].flatMap(rootsInFile);
    return [...new Map(texts.map((pem) => [spkiPin(pem), pem])).values()].filter((pem) =>
      pins.includes(spkiPin(pem)),
    );
  };
  return { readHeld, configured, counting, kept, namedBusCa };
}

export function createRoots(
  options: RootSources & {
    refusedStatements: Pick<RefusedStatements, "note" | "clear">;
    clock: Pick<Clock, "now">;
    log: Log;
  },
): Roots {
  const { files, refusedStatements, clock, log } = options;
  const file = files.anchor;
  const listeners: (() => void)[] = [];
  let warned = "";

  const { readHeld, configured, counting, kept, namedBusCa } = readRoots(options);
  /** The pins that verify masters. */
  const own = (): readonly string[] | undefined => {
    const found = counting();
    return found.length > 0 ? found.map(spkiPin) : configured();
  };
  const replace = (before: HeldRoots, held: HeldRoots) => {
    // The anchor first: at the next start the file for the bus follows it.
    writing(file, () => writeFileAtomic(file, formatHeldRoots(held), publicMode));
    log.info("trusted roots replaced", {
      before: before.roots.map(spkiPin),
      roots: held.roots.map(spkiPin),
    });
    if (!namedBusCa()) followBus(files.busCa, held, log);
    for (const run of listeners) run();
  };
  /** @returns whether it may be followed when newer command keys are known */
  const refuse = (reason: keyof typeof refusals): boolean => {
    const words = refusals[reason];
    if (warned !== reason) log.warn("the rotation of the root is not followed", { reason: words });
    refusedStatements.note("rotation", words);
    warned = reason;
    return reason === "unknown-key";
  };

  const stored = readHeld();
  // A peel that ended between the two files brings the second one up to date here.
  if (areFollowed(stored) && !namedBusCa()) followBus(files.busCa, stored, log);
  return {
    counting,
    kept,
    trusted() {
      const pins = own();
      if (pins === undefined) return undefined;
      const bus = pinsIn(namedBusCa() || files.busCa);
      // A bus of another CA does not take part.
      return bus.some((pin) => pins.includes(pin)) ? pins.filter((pin) => bus.includes(pin)) : pins;
    },
    differs(document) {
      const [current, next] = pinsOf(document);
      const held = readHeld();
      const isUnknown = current !== undefined && own()?.includes(current) === false;
      if (isUnknown && leadsToRoot({ ...held, roots: kept() }, document, clock.now())) return true;
      if (next === undefined) return held.roots.length > 1;
      if (current === undefined || held.roots.some((pem) => spkiPin(pem) === next)) return false;
      return own()?.includes(current) ?? true;
    },
    take(document, verifiedBy, knownKeys) {
      if (verifiedBy === undefined) return false;
      const before = heldWith({ held: readHeld(), pins: configured(), kept }, document, verifiedBy);
      const decision = followRoots(before, document, knownKeys, clock.now());
      if (decision.kind === "refuse") return refuse(decision.reason);
      warned = "";
      refusedStatements.clear("rotation");
      if (decision.kind !== "keep") replace(before, decision.held);
      return false;
    },
    store(pem) {
      writing(file, () => createFileAtomic(file, pem, publicMode));
      for (const run of listeners) run();
    },
    onChange(run) {
      listeners.push(run);
    },
  };
}

/** Has the file that verifies the bus follow the roots that verify masters. @throws SvcError `storage` */
function followBus(path: string, held: HeldRoots, log: Log): void {
  const text = followInFile(readTextIfPresent(path) ?? "", held);
  if (text === undefined) return;
  writing(path, () => writeFileAtomic(path, text, publicMode));
  log.info("the roots for the bus were replaced", { path, roots: held.roots.map(spkiPin) });
}

const refusals = {
  "unknown-key": "this peel does not know the command key that signed it",
  malformed: "the document of the master is malformed, or its signature does not match",
} as const;

/** What a peel trusts now, with the root that just verified a master where nothing is stored. */
function heldWith(
  own: { held: HeldRoots; pins: readonly string[] | undefined; kept(): readonly string[] },
  document: BootstrapDocument,
  verifiedBy: string,
): HeldRoots {
  const { held, pins, kept } = own;
  const roots = countingRoots(held, pins);
  if (roots.length > 0) {
    const dropped = held.roots.slice(0, held.roots.length - roots.length).map(spkiPin);
    return { ancestors: [...held.ancestors, ...dropped], roots };
  }
  // Another root verified it: this peel was off while that one followed.
  if (pins !== undefined && !pins.includes(verifiedBy)) return { ancestors: [], roots: kept() };
  return {
    ancestors: [],
    roots: rootsOf(document.ca_bundle_pem).filter((pem) => spkiPin(pem) === verifiedBy),
  };
}

/** The pins of the roots in a file; none when it cannot be read. */
function pinsIn(path: string): string[] {
  return rootsInFile(path).map(spkiPin);
}

function rootsInFile(path: string): string[] {
  return attempt(() => (path === "" ? [] : rootsOf(readTextIfPresent(path) ?? "")), []);
}
