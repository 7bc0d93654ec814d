import { beginningOf, quote } from "../../../base/cut.ts";
import { reasonOf } from "../../../base/files/file.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { NotReady } from "../not-ready.ts";

/** Arguments of every state of Docker. */
export const engineArgs = {
  socket: arg.path("Socket of Docker or Podman; /var/run/docker.sock by default."),
  client_timeout: arg.any("Seconds until a request fails; 600 by default."),
} as const;

export interface EngineWish {
  socket?: string | undefined;
  client_timeout?: unknown;
}

/** What the API answers with. */
export type Json = { readonly [key: string]: Plain };

/** The API of Docker, over its socket. */
export interface Engine {
  /** @returns `undefined` when there is no such object */
  get(path: string): Promise<Json | undefined>;
  /**
   * @param purpose for the message
   * @param headers never part of a message
   * @throws StateFailure with what Docker says
   */
  send(
    purpose: string,
    method: "POST" | "DELETE",
    path: string,
    body?: Json,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Json>;
  /**
   * Waits for the end of a container.
   *
   * @returns its exit code; `undefined` when it runs after this time
   */
  exitWithin(name: string, ms: number): Promise<number | undefined>;
}

const defaultSocket = "/var/run/docker.sock";
const defaultSeconds = 600;
const maxAnswer = 16 * 1024 * 1024;

/** Opens the API. No request is sent yet. */
export function openEngine(
  { socket = defaultSocket, client_timeout }: EngineWish,
  context: StateContext,
): Engine {
  const seconds = Number(client_timeout ?? defaultSeconds) || defaultSeconds;
  const request = async (
    method: string,
    path: string,
    body?: Json,
    headers: Readonly<Record<string, string>> = {},
    ms = seconds * 1_000,
  ): Promise<{ status: number; text: string }> => {
    const stop = new AbortController();
    const timer = context.clock.after(ms, () => stop.abort(new Error(`no answer within ${ms / 1_000} s`)));
    try {
      const response = await fetch(`http://docker${path}`, {
        method,
        unix: socket,
        signal: AbortSignal.any([context.signal, stop.signal]),
        redirect: "error",
        ...(body === undefined
          ? { headers }
          : { body: JSON.stringify(body), headers: { ...headers, "content-type": "application/json" } }),
      });
      return { status: response.status, text: await readBounded(response) };
    } catch (thrown) {
      context.signal.throwIfAborted();
      if (thrown instanceof StateFailure) throw thrown;
      throw new NotReady(`Docker does not answer at ${socket}: ${reasonOf(thrown)}`);
    } finally {
      timer.cancel();
    }
  };
  return {
    async get(path) {
      const { status, text } = await request("GET", path);
      if (status === 404) return undefined;
      if (status >= 400) throw new StateFailure(`Docker answers ${status}: ${messageOf(text)}`);
      return objectOf(text);
    },
    async send(purpose, method, path, body, headers) {
      const { status, text } = await request(method, path, body, headers);
      if (status >= 400) throw new StateFailure(`cannot ${purpose}: ${messageOf(text)}`);
      // A pull answers with 200, and with a line for each step; the last one may be an error.
      const error = text.split("\n").flatMap((line) => errorIn(line));
      if (error[0] !== undefined) throw new StateFailure(`cannot ${purpose}: ${beginningOf(error[0], 300)}`);
      return text.trimStart().startsWith("{") && !text.trimEnd().includes("\n") ? objectOf(text) : {};
    },
    async exitWithin(name, ms) {
      try {
        const { status, text } = await request("POST", `/containers/${part(name)}/wait`, undefined, {}, ms);
        const code = status === 200 ? objectOf(text).StatusCode : undefined;
        return typeof code === "number" ? code : undefined;
      } catch (thrown) {
        if (thrown instanceof NotReady) return undefined;
        throw thrown;
      }
    },
  };
}

/** A name in a path of the API, which takes the slashes of images as they are. */
export function part(name: string): string {
  return encodeURIComponent(name).replaceAll("%2F", "/").replaceAll("%3A", ":");
}

/** Why Docker would not take a name of a container, network or volume, or `undefined`. */
export function nameProblem(name: string): string | undefined {
  if (/^[a-zA-Z0-9][\w.-]{0,127}$/.test(name)) return undefined;
  return `${quote(name)} is not a name that Docker takes`;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxAnswer) throw new StateFailure("the answer of Docker is larger than 16 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function objectOf(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (isJson(value)) return value;
  } catch {
    // It is refused below.
  }
  throw new StateFailure("Docker answered with something that is not an object");
}

export function isJson(value: unknown): value is Json {
  return isMap(value);
}

function messageOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (isJson(value) && typeof value.message === "string") return beginningOf(value.message, 300);
  } catch {
    // It is shown as it is.
  }
  return beginningOf(text.trim(), 300) || "no reason is given";
}

function errorIn(line: string): string[] {
  if (!line.includes('"error"')) return [];
  try {
    const value: unknown = JSON.parse(line);
    return isJson(value) && typeof value.error === "string" ? [value.error] : [];
  } catch {
    return [];
  }
}
