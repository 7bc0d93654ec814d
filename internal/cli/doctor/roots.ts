import type { Finding } from "../../program/diagnosis/mod.ts";
import type { Masters } from "../fleet-reads.ts";
import { excerpt, type ReportedTrust } from "./reported.ts";

type MasterRoots = Pick<Masters["masters"][number], "name" | "ca_spki" | "ca_next_spki" | "ca_phase">;

const pinForm = /^sha256:[0-9a-f]{64}$/;
const maxShown = 4;

/**
 * Whether a peel trusts the root that masters present, and while a root is rotated the next one.
 *
 * @param reported what the facts of the peel say; `undefined` without facts
 */
export function judgeRoots(
  reported: ReportedTrust | undefined,
  masters: readonly MasterRoots[],
  alive: boolean,
): Finding {
  const presenting = masters.flatMap(({ ca_spki, ...one }) =>
    ca_spki === undefined ? [] : [{ ...one, ca_spki }],
  );
  if (presenting.length === 0) {
    return {
      level: "skip",
      message: "no running master reports a root: none runs, or the CA is external",
      next: "see the step masters; with ca.mode external, compare enroll.tls_cert with enroll_ca on the host",
    };
  }
  if (reported === undefined) {
    return { level: "skip", message: "it has stored no facts", next: "see the step facts" };
  }
  const { roots } = reported;
  if (roots !== undefined) {
    const foreign = presenting.filter((one) => !presentedBy(one).some((pin) => roots.includes(pin)));
    const [first] = foreign;
    if (first !== undefined) {
      const every = foreign.length === presenting.length;
      return {
        level: "fail",
        message: `wrong root: it trusts ${pinsOf(roots)}, and ${namesOf(foreign)} ${foreign.length === 1 ? "presents" : "present"} ${first.ca_spki}`,
        next: every
          ? "compare svc ca fingerprint with enroll_ca_pin and enroll-ca.crt on its host; if this is its fleet, set enroll_ca_pin to that pin there, copy nats-ca.crt to bus-ca.crt in its auth directory, and restart svc-peel"
          : `copy the CA directory to ${namesOf(foreign)}: the other masters are in another phase (svc ca rotate status)`,
      };
    }
  }
  const rotating = presenting.find(({ ca_next_spki }) => ca_next_spki !== undefined);
  const nextPin = rotating?.ca_next_spki;
  if (nextPin === undefined) {
    return roots === undefined
      ? { level: "ok", message: "it does not report its roots, and no root is rotated" }
      : { level: "ok", message: "it trusts the root that masters present" };
  }
  if (roots?.includes(nextPin) === true) {
    return {
      level: "ok",
      message: `it trusts the next root as well (phase ${rotating?.ca_phase ?? "start"})`,
    };
  }
  const phase = presenting.some(({ ca_phase }) => ca_phase === "activate") ? "activate" : "start";
  return {
    // Before activate there is time: a peel that just got the root needs a few seconds.
    level: phase === "activate" ? "fail" : "warn",
    message: `next root missing: the root is rotated (phase ${phase}), and it has not confirmed ${nextPin}`,
    next: `before svc ca rotate finish, ${remedyOf(reported, alive)}`,
  };
}

/** The roots of which one is enough to verify a master. */
function presentedBy({ ca_spki, ca_next_spki, ca_phase }: MasterRoots & { ca_spki: string }): string[] {
  // From activate on the next root signs, and a certificate leads to it from the current one.
  return ca_phase === "activate" && ca_next_spki !== undefined ? [ca_spki, ca_next_spki] : [ca_spki];
}

function remedyOf({ busCaFile, refused }: ReportedTrust, alive: boolean): string {
  if (busCaFile !== undefined) {
    return `add the next root to ${excerpt(busCaFile)} on its host, and restart it: a file that bus_ca or BUS_CA_FILE names never follows`;
  }
  if (!alive) return "start it: it learns the next root when it connects";
  if (refused.some(({ kind }) => kind === "rotation"))
    return "see the step statements: it refuses the rotation";
  return "run svc-peel check on its host: it fetches roots over HTTPS from a master in master_urls";
}

/** A peel may report anything: only what has the form of a pin is shown. */
function pinsOf(roots: readonly string[]): string {
  const pins = roots.filter((pin) => pinForm.test(pin));
  if (pins.length === 0) return "no root";
  const more = pins.length > maxShown ? ` and ${pins.length - maxShown} more` : "";
  return `${pins.slice(0, maxShown).join(", ")}${more}`;
}

const namesOf = (masters: readonly { name: string }[]) => masters.map(({ name }) => name).join(", ");
