import { isOlderVersion } from "../../base/dotted-version.ts";
import { SvcError } from "../../base/errors.ts";

/** The oldest server that has `sync_interval`. */
export const oldestThatSyncs = "2.10.0";

/**
 * Whether a server with this configuration acknowledges before a write is on the disk, although it could wait.
 *
 * @param configuration text of nats-server.conf
 * @throws SvcError `bad_request` when the server does not know the setting, and would not start
 */
export function acknowledgesEarly(configuration: string, version: string): boolean {
  const isSet = /^\s*sync_interval\b/m.test(configuration);
  const knowsIt = !isOlderVersion(version, oldestThatSyncs);
  if (isSet && !knowsIt) {
    throw new SvcError(
      "bad_request",
      `embedded_bus: nats-server.conf has sync_interval, which nats-server ${version} does not know: run ${oldestThatSyncs} or newer, or remove that line`,
    );
  }
  return knowsIt && !isSet;
}
