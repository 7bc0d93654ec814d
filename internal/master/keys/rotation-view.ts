import { statSync } from "node:fs";
import { keyFile } from "../../bus/accounts/mod.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { describeCertificate } from "../../identity/ca/mod.ts";
import type { EnrollCertificate } from "../certificate/mod.ts";
import type { RotationsView } from "../metrics/mod.ts";
import type { Rotation } from "./rotation.ts";

type FleetView = Pick<FleetIndex, "peels" | "alive" | "running">;

/**
 * The rotations that run, for metrics: since when, and how many alive peels they wait for. Nothing is kept for it, so
 * that every master shows the same, and a restart changes nothing.
 */
export function viewRotations(options: {
  /** The certificate of the listener, with what the authority of this master has in force. */
  certificate: Pick<EnrollCertificate, "root" | "rotation">;
  index: FleetView;
  rotation: Pick<Rotation, "unconfirmed">;
  authDir: string;
  /** The public key of the next command key, if there is one. */
  nextKey: string | undefined;
}): RotationsView {
  const { certificate, index, rotation, authDir, nextKey } = options;
  return {
    ...(certificate.root === undefined ? {} : { root: viewRoot(certificate.rotation, index) }),
    commandKey:
      nextKey === undefined
        ? { unconfirmed: 0 }
        : { startedAt: madeAt(keyFile(authDir, "command", "next")), unconfirmed: rotation.unconfirmed },
  };
}

function viewRoot(
  rotation: EnrollCertificate["rotation"],
  index: FleetView,
): NonNullable<RotationsView["root"]> {
  if (rotation === undefined) return { phases: { start: 0, activate: 0 }, lacking: 0 };
  const { phase, next } = rotation;
  return {
    phases: { start: Number(phase === "start"), activate: Number(phase === "activate") },
    startedAt: describeCertificate(next.pem).notBefore,
    lacking: index.running
      ? index.peels().filter(({ id, facts }) => index.alive(id) && !trusts(facts, next.pin)).length
      : undefined,
  };
}

/** Whether a peel reports that it trusts a root. */
function trusts(facts: ReturnType<FleetIndex["peels"]>[number]["facts"], pin: string): boolean {
  const roots = facts?.values[facts.keys.indexOf("trust_roots")];
  return Array.isArray(roots) && roots.includes(pin);
}

function madeAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
