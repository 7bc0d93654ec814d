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
