import { connect } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";

const maxAnswerBytes = 64 * 1024;

/** A response of the health server of a peel. */
export interface Answer {
  status: number;
  body: string;
}

export interface ProbeOptions {
  host: string;
  port: number;
  /** `/healthz` or `/readyz`. */
  path: string;
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Queries the health server of this host. Ignores proxies in the environment.
 *
 * @returns `undefined` on timeout, or when the response is not HTTP
 */
export function probe(options: ProbeOptions): Promise<Answer | undefined> {
  const { path, timeoutMs, clock, signal, port } = options;
  const host = reachable(options.host);
  return new Promise((resolve) => {
    let text = "";
    const finish = (answer: Answer | undefined) => {
      timer.cancel();
      signal.removeEventListener("abort", give);
      socket.destroy();
      resolve(answer);
    };
    const give = () => finish(undefined);
    const socket = connect({ host, port }, () => {
      // HTTP/1.0: the response ends with the connection, and is not chunked.
      socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    });
    const timer = clock.after(timeoutMs, give);
    socket.setEncoding("utf8");
    socket.on("data", (piece) => {
      text += piece;
      if (text.length > maxAnswerBytes) give();
      else if (isWhole(text)) finish(parseAnswer(text));
    });
    socket.on("error", give);
    socket.on("close", () => finish(parseAnswer(text)));
    signal.addEventListener("abort", give, { once: true });
    if (signal.aborted) give();
  });
}

/** The address at which this host reaches a server that listens on all addresses. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

function isWhole(text: string): boolean {
  const [head = "", body] = text.split("\r\n\r\n", 2);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  return body !== undefined && length !== undefined && Buffer.byteLength(body) >= Number(length);
}

function parseAnswer(text: string): Answer | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  if (status === undefined) return undefined;
  return { status: Number(status), body: text.slice(text.indexOf("\r\n\r\n") + 4) };
}

/**
 * Why a peel is not ready, from its `/readyz`, such as `bus: not connected`.
 *
 * @returns `undefined` when it is ready
 */
export function unreadiness(answer: Answer | undefined): string | undefined {
  if (answer === undefined) return "it does not respond";
  if (answer.status === 200) return undefined;
  const down = downChecks(answer.body);
  return down.length === 0 ? `it responds with status ${answer.status}` : beginningOf(down.join(", "), 300);
}

function downChecks(body: string): string[] {
  try {
    const { checks } = JSON.parse(body) as { checks: Record<string, { status: string; message?: string }> };
    return Object.entries(checks)
      .filter(([, { status }]) => status === "down")
      .map(([name, { message = "down" }]) => `${name}: ${message}`);
  } catch {
    return [];
  }
}
