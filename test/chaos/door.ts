import { request as httpsRequest } from "node:https";
import { systemClock } from "../../internal/base/clock.ts";
import type { MasterUnit } from "./daemons.ts";
import type { Network } from "./network.ts";

/** An answer of a master; status 0 when there was none. */
export interface Answer {
  readonly status: number;
  readonly json: unknown;
  /** Why there was none, or what the master says about a refusal. */
  readonly error?: string;
  /** The path of the next page. */
  readonly next?: string;
}

export interface Question {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  /** Instead of the token of the operator. */
  readonly authorization?: string;
}

const timeoutMs = 10_000;

/** Asks a master over HTTPS, from an address that no request limit applies to; it never throws. */
export function requestMaster(
  network: Network,
  master: MasterUnit,
  ca: string,
  { method = "GET", path, body, authorization = `Bearer ${master.token}` }: Question,
): Promise<Answer> {
  return new Promise((resolve) => {
    const finish = (answer: Answer) => {
      late.cancel();
      resolve(answer);
    };
    const fail = (error: string) => finish({ status: 0, json: undefined, error });
    const late = systemClock.after(timeoutMs, () => {
      fail(`no answer within ${timeoutMs / 1000} s`);
      request.destroy();
    });
    const request = httpsRequest(
      {
        host: master.host.address,
        port: master.port,
        method,
        path,
        headers: { authorization, ...(method === "GET" ? {} : { "content-type": "application/json" }) },
        ca,
        minVersion: "TLSv1.3",
        localAddress: network.operatorAddress(),
        agent: false,
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("error", (error) => fail(error.message));
        response.on("end", () => {
          const status = response.statusCode ?? 0;
          const next = /<([^>]+)>; *rel="next"/.exec(String(response.headers.link))?.[1];
          const json = parse(text);
          const error = status < 400 ? undefined : String((json as { error?: unknown } | undefined)?.error);
          finish({
            status,
            json,
            ...(next === undefined ? {} : { next }),
            ...(error === undefined ? {} : { error }),
          });
        });
      },
    );
    request.on("error", (error) => fail(error.message));
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
