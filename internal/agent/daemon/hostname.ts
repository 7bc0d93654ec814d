import { hostname } from "node:os";

const timeoutMs = 2_000;

/** The host's fully qualified name as its resolver knows it, or the plain host name. */
export function qualifiedHostname(): string {
  try {
    const { stdout, success } = Bun.spawnSync(["hostname", "--fqdn"], {
      timeout: timeoutMs,
      stderr: "ignore",
    });
    const name = stdout.toString().trim();
    if (success && name.includes(".")) return name;
  } catch {
    // Not every host has the command.
  }
  return hostname();
}
