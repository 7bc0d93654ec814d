import { arch, platform, release } from "node:os";
import type { Plain } from "../base/msgpack.ts";
import { version } from "../base/version.ts";

/** What a peel tells of its host. */
export function collectFacts(hostname: string): Record<string, Plain> {
  return {
    host: hostname,
    kernel: platform(),
    kernelrelease: release(),
    cpuarch: arch(),
    svc_version: version,
  };
}
