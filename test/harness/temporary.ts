import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runRecord } from "./run-record.ts";

/** A directory of its own that is removed in the end. */
export function temporaryDirectory(name: string): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), `svc-${name}-`));
  return {
    path,
    [Symbol.dispose]() {
      if (existsSync(path)) runRecord.harvest(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
