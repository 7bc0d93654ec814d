import { hostname } from "node:os";

const timeoutMs = 2_000;

/** The fully qualified host name from the resolver, or the plain host name. */
export function qualifiedHostname(): string {
  try {
    const { stdout, success } = Bun.spawnSync(["hostname", "--fqdn"], {
      timeout: timeoutMs,
      stderr: "ignore",
    });
    const name = stdout.toString().trim();
    if (success && name.includes(".")) return name;
  } catch {
    // The command does not exist on every host.
  }
  return hostname();
}
