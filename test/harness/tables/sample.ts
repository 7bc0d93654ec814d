import type { TableStyle } from "../../../internal/program/command-line/mod.ts";

/**
 * Every table of a file below `internal/cli`, by the name of that file, with much in it: hosts, operators and files
 * chose the names.
 */
export type Samples = Readonly<Record<string, (style: TableStyle, name: string) => string>>;

/** Two ids of one second, as some of many hosts that joined together have. */
export const ids = (kind: string): string[] =>
  ["a", "b"].map((end) => `${kind}-3MRxAb12C${end}${"0".repeat(17)}`);
export const idOf = (kind: string): string => ids(kind)[0] ?? "";
export const at = "2026-01-08T00:00:00.000Z";
export const end = "2027-01-09T00:00:00.000Z";
export const key = `U${"A".repeat(55)}`;
export const fingerprint = "K7QX-2M4P-A5DE-3FGH";
export const many = 1_000_000;
const some = 9_999;
export const counts = { ok: some, failed: some, offline: some, timeout: some, cancelled: some };
