import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { isVersionText, maxBinaryBytes } from "../binary/manifest.ts";
import { define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

const defaultReadyWithin = "2m";
const leastReadyMs = 5_000;
const mostReadyMs = 30 * 60_000;

/** The function that renews the peel itself. */
export const upgradeFunctions: readonly ModuleFunction[] = [
  define({
    name: "upgrade.apply",
    doc: "Changes the peel over to another executable, and back when that does not become ready; svc upgrade calls it.",
    args: {
      manifest: { type: "string", required: true, doc: "SHA-256 of the manifest of the binary." },
      sha256: { type: "string", required: true, doc: "SHA-256 of the binary." },
      size: {
        type: "integer",
        required: true,
        min: 1,
        max: maxBinaryBytes,
        doc: "Size of the binary in bytes.",
      },
      version: { type: "string", doc: "The version it must be of; by default any." },
      ready_within: {
        type: "duration",
        doc: `How long it may take to connect and become ready, ${defaultReadyWithin} by default, from 5s to 30m.`,
      },
    },
    refuse({ manifest, sha256, version = "", ready_within = defaultReadyWithin }) {
      for (const [name, digest] of Object.entries({ manifest, sha256 })) {
        if (!/^[0-9a-f]{64}$/.test(digest)) return `${name}: expected 64 hexadecimal digits`;
      }
      if (!isVersionText(version)) return "version: not the version of a binary";
      const ms = parseDuration(ready_within);
      return ms < leastReadyMs || ms > mostReadyMs ? "ready_within: expected 5s to 30m" : undefined;
    },
    run({ manifest, sha256, size, version = "", ready_within = defaultReadyWithin }, { upgrade, signal }) {
      if (upgrade === undefined) {
        throw new SvcError("unavailable", "only a running peel can be upgraded: send it the job");
      }
      const readyWithinMs = parseDuration(ready_within);
      return upgrade.apply({ manifest, sha256, size, version, readyWithinMs }, signal);
    },
  }),
];
