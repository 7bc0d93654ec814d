import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Peers } from "./programs.ts";

/**
 * Makes a work directory of CFEngine, with the programs that its programs call.
 *
 * @returns the environment in which they use it
 */
export function makeWorkDirectory(peers: Peers, directory: string): Record<string, string> {
  mkdirSync(join(directory, "bin"), { recursive: true, mode: 0o700 });
  for (const name of ["cf-agent", "cf-execd", "cf-key", "cf-promises", "cf-serverd"]) {
    const program = peers.program(name);
    if (program !== undefined) symlinkSync(program, join(directory, "bin", name));
  }
  return { CFENGINE_TEST_OVERRIDE_WORKDIR: directory };
}
