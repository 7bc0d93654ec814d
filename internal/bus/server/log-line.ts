import type { LogLevel } from "../../base/log.ts";

/** One line of the log of a nats-server. */
export interface ServerLine {
  level: LogLevel;
  text: string;
}

const form = /^\[\d+\](?: \d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d+)? \[([A-Z]{3})\] ?(.*)$/;
const levels: Record<string, LogLevel> = {
  TRC: "debug",
  DBG: "debug",
  INF: "info",
  WRN: "warn",
  ERR: "error",
  FTL: "error",
};

/**
 * A client or a site that was refused, or what it wanted to publish or read: the server works, and the refused one logs
 * the reason. Routes are servers.
 */
const refusal =
  /^\S+ - [cl]id:\d+ - .*(?:authentication error|TLS handshake error|(?:Publish|Subscription) Violation)/;

/**
 * Reads a log line of nats-server. Lines in another form are its output before the log is open: the reason
 * why it cannot start.
 *
 * @returns `undefined` for a line without words, such as its banner
 */
export function readServerLine(line: string): ServerLine | undefined {
  const [, level = "", text = line] = form.exec(line.trimEnd()) ?? [];
  const words = text.replace(/^nats-server: /, "").trim();
  if (!/[a-z]{2}/i.test(words)) return undefined;
  const found = levels[level] ?? "error";
  return { level: found === "error" && refusal.test(words) ? "warn" : found, text: words };
}
