import type { Binary } from "./compile.ts";

/** One platform of a release. */
export interface Target {
  /** Suffix of the file names, as in `svc-linux-x64`. With the prefix `bun-` it is the compiler target. */
  name:
    | "linux-x64"
    | "linux-x64-baseline"
    | "linux-x64-musl"
    | "linux-arm64"
    | "linux-arm64-musl"
    | "darwin-arm64";
  /** The npm package with the Bun executable of the platform. */
  runtime: string;
  /** Digest of that package in npm format, if package-lock.json does not contain it. */
  integrity?: string;
  /** The expected header of an executable for the platform. */
  header: Header;
  binaries: readonly Binary[];
}

/** Format and machine of an executable file. */
export interface Header {
  format: "elf" | "mach-o";
  machine: "x64" | "arm64";
}

const all: readonly Binary[] = ["svc-master", "svc-peel", "svc"];

/** All targets of a release: the daemons for Linux, and the operator's command for macOS as well. */
export const targets: readonly Target[] = [
  {
    name: "linux-x64",
    runtime: "@oven/bun-linux-x64",
    header: { format: "elf", machine: "x64" },
    binaries: all,
  },
  {
    name: "linux-x64-baseline",
    runtime: "@oven/bun-linux-x64-baseline",
    integrity:
      "sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==",
    header: { format: "elf", machine: "x64" },
    binaries: all,
  },
  {
    name: "linux-x64-musl",
    runtime: "@oven/bun-linux-x64-musl",
    header: { format: "elf", machine: "x64" },
    binaries: all,
  },
  {
    name: "linux-arm64",
    runtime: "@oven/bun-linux-aarch64",
    header: { format: "elf", machine: "arm64" },
    binaries: all,
  },
  {
    name: "linux-arm64-musl",
    runtime: "@oven/bun-linux-aarch64-musl",
    header: { format: "elf", machine: "arm64" },
    binaries: all,
  },
  {
    name: "darwin-arm64",
    runtime: "@oven/bun-darwin-aarch64",
    header: { format: "mach-o", machine: "arm64" },
    binaries: ["svc"],
  },
];
