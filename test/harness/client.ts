import { request as httpsRequest } from "node:https";

// A client of the listener that shares no code with the product's own peel: it speaks plain HTTPS from
// any source address, so that tests are not limited by one address's rate budget.

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The parsed body; `undefined` when it is not JSON. */
  json: unknown;
}

export interface Send {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Source address, such as 127.0.0.7; absent means 127.0.0.1. */
  from?: string;
}

/**
 * Sends a request until it is not refused for being one of too many: a test sends more in a moment than one operator may.
 */
export async function sendUntilServed(base: string, ca: string, options: Send): Promise<Reply> {
  for (;;) {
    const reply = await send(base, ca, options);
    if (reply.status !== 429) return reply;
  }
}

/** Sends one request to a listener at `base`, verified with `ca`, and reads the whole answer. */
export function send(base: string, ca: string, options: Send): Promise<Reply> {
  const url = new URL(base);
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: "127.0.0.1",
        servername: "localhost",
        port: url.port,
        method: options.method ?? "GET",
        path: options.path,
        // For a DELETE with a body the library does not tell its length.
        headers: {
          host: url.host,
          ...(options.method === "DELETE" && options.body !== undefined
            ? { "content-length": String(Buffer.byteLength(options.body)) }
            : {}),
          ...options.headers,
        },
        ca,
        minVersion: "TLSv1.3",
        ...(options.from === undefined ? {} : { localAddress: options.from }),
        agent: false,
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
        });
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(options.body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let lastAddress = 0;

/** An unused loopback address, which has a full rate budget. */
export function freshAddress(): string {
  lastAddress++;
  return `127.${1 + ((lastAddress >> 16) & 127)}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
}
