import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory of its own that is removed in the end. */
export function temporaryDirectory(name: string): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), `svc-${name}-`));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
