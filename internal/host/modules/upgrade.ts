import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { isVersionText, maxBinaryBytes } from "../binary/mod.ts";
import { arg, define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

const defaultReadyWithin = "2m";
const minReadyMs = 5_000;
const maxReadyMs = 30 * 60_000;

/** The function that upgrades the peel itself. */
export const upgradeFunctions: readonly ModuleFunction[] = [
  define({
    name: "upgrade.apply",
    doc: "Switches the peel to another executable, and back if that does not become ready. Called by svc upgrade.",
    args: {
      manifest: arg.string("SHA-256 of the manifest of the binary.", { required: true }),
      sha256: arg.string("SHA-256 of the binary.", { required: true }),
      size: arg.integer("Size of the binary in bytes.", { required: true, min: 1, max: maxBinaryBytes }),
      version: arg.string("Version that the binary must report; any by default."),
      ready_within: arg.duration(
        `Deadline to connect and become ready, from 5s to 30m; ${defaultReadyWithin} by default.`,
      ),
    },
    refuse({ manifest, sha256, version = "", ready_within = defaultReadyWithin }) {
      for (const [name, digest] of Object.entries({ manifest, sha256 })) {
        if (!/^[0-9a-f]{64}$/.test(digest)) return `${name}: expected 64 hexadecimal digits`;
      }
      if (!isVersionText(version)) return "version: expected the version of a binary";
      const ms = parseDuration(ready_within);
      return ms < minReadyMs || ms > maxReadyMs
        ? "ready_within: expected a duration from 5s to 30m"
        : undefined;
    },
    run({ manifest, sha256, size, version = "", ready_within = defaultReadyWithin }, { upgrade, signal }) {
      if (upgrade === undefined) {
        throw new SvcError("unavailable", "only a running peel can be upgraded: send the upgrade as a job");
      }
      const readyWithinMs = parseDuration(ready_within);
      return upgrade.apply({ manifest, sha256, size, version, readyWithinMs }, signal);
    },
  }),
];
