export type { SecureConnection } from "./connections.ts";
export { type Certificate, openFront } from "./front.ts";
export { limitsFor } from "./limits.ts";
export { openFilesLimit } from "./open-files.ts";
export { type FrontReason, frontReasons } from "./report.ts";
export type { ConnectionNetwork } from "./sources.ts";
export type { TableCounts, TableLimits } from "./table.ts";
export type { TlsStream } from "./tls-stream.ts";
