import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
import type { TestBus } from "./bus.ts";
import { freshAddress } from "./client.ts";
import type { TestMaster } from "./master.ts";

/** A step of an enrollment, by the path that takes it. */
export type Step = "nonce" | "enroll" | "stream" | "creds";

/** When the master dies: before it has the request, with its answer on the way, or just after that. */
export type Moment = "before" | "lost" | "after";

/** A proxy to a master that closes permanently, with all connections, at a given step. */
export interface Front extends AsyncDisposable {
  readonly url: string;
  /** Steps that reached it. */
  readonly seen: Step[];
  /** Resolves when it is shut. */
  readonly dead: Promise<void>;
}

function stepOf(path: string): Step | undefined {
  const last = path.split("/").at(-1);
  return last === "nonce" || last === "enroll" || last === "stream" || last === "creds" ? last : undefined;
}

export async function startFront(
  bus: TestBus,
  master: TestMaster,
  death?: { step: Step; moment: Moment },
): Promise<Front> {
  const authority = await loadAuthority(join(bus.authDir, "ca"));
  const issued = await issueCertificate(authority, {
    commonName: "front",
    names: ["localhost"],
    usage: "enroll",
    validityMs: 3600_000,
    clock: systemClock,
    random: systemRandom,
  });
  const seen: Step[] = [];
  const { promise: dead, resolve: died } = Promise.withResolvers<void>();
  const die = () => {
    void server.stop(true);
    died();
  };
  let doomed = false;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: issued.certPem, key: issued.keyPem },
    idleTimeout: 0,
    async fetch(request) {
      // What comes between its last answer and its end finds nobody.
      if (doomed) {
        die();
        return new Response();
      }
      const url = new URL(request.url);
      const step = stepOf(url.pathname);
      if (step !== undefined) seen.push(step);
      const fatal = step !== undefined && step === death?.step;
      if (fatal && death.moment === "before") {
        die();
        return new Response();
      }
      const response = await forward(master, request, url);
      if (!fatal) return response;
      if (death.moment === "lost") {
        await response.body?.cancel();
        die();
        return new Response();
      }
      doomed = true;
      return dyingAfter(response, die);
    },
  });
  return {
    url: `https://localhost:${server.port}`,
    seen,
    dead,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** The answer of the master, which sees a source address of its own for each request. */
async function forward(master: TestMaster, request: Request, url: URL): Promise<Response> {
  const body = await request.text();
  return new Promise((resolve, reject) => {
    const upstream = httpsRequest(
      {
        host: "127.0.0.1",
        servername: "localhost",
        port: new URL(master.url).port,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: {
          host: new URL(master.url).host,
          ...Object.fromEntries(request.headers.entries().filter(([name]) => passed.has(name))),
        },
        ca: master.ca,
        localAddress: freshAddress(),
        agent: false,
      },
      (answer) => {
        const stream = new ReadableStream<Uint8Array>({
          start(sink) {
            answer.on("data", (chunk: Buffer) => sink.enqueue(chunk));
            answer.on("end", () => sink.close());
            answer.on("error", () => {});
          },
          cancel() {
            upstream.destroy();
          },
        });
        const type = answer.headers["content-type"] ?? "";
        resolve(
          new Response(stream, { status: answer.statusCode ?? 500, headers: { "content-type": type } }),
        );
      },
    );
    upstream.on("error", reject);
    upstream.end(body);
  });
}

const passed = new Set(["accept", "authorization", "content-type"]);

/** The same answer; the end of a whole one, or the first part of a stream, is the last that gets out. */
function dyingAfter(response: Response, die: () => void): Response {
  const streaming = response.headers.get("content-type") === "text/event-stream";
  const parts = response.body?.getReader();
  const shut = () => systemClock.after(50, die);
  const body = new ReadableStream<Uint8Array>({
    async pull(sink) {
      const part = await parts?.read();
      if (part?.value !== undefined) sink.enqueue(part.value);
      if (part === undefined || part.done) {
        sink.close();
        shut();
      } else if (streaming) shut();
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
