import { join } from "node:path";

/** The files of a CA directory (specification, "Operator CLI"). */
export function authorityPaths(dir: string): Record<"rootCrt" | "rootKey" | "subCrt" | "subKey", string> {
  return {
    rootCrt: join(dir, "root.crt"),
    rootKey: join(dir, "root.key"),
    subCrt: join(dir, "intermediate.crt"),
    subKey: join(dir, "intermediate.key"),
  };
}

/** The files of the rotation of a root, in the CA directory. */
export function rotationPaths(dir: string): Record<"next" | "phase" | "cross" | "retired", string> {
  const next = join(dir, "next");
  return {
    /** A CA directory of its own, with the two files below. */
    next,
    phase: join(next, "phase"),
    /** The next root, signed by the current one. */
    cross: join(next, "cross.crt"),
    /** The certificates that this authority had before, or prepared in vain, and why each left. */
    retired: join(dir, "retired.crt"),
  };
}
