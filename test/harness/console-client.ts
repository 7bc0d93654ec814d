import { freshAddress, type Reply, send } from "./client.ts";
import { runRecord } from "./run-record.ts";

/** A master whose console is used. */
interface Door {
  readonly url: string;
  readonly ca: string;
}

/** A browser that shows the console, without its pages: it has one cookie, and an address of its own. */
export class ConsoleClient {
  cookie = "";
  csrf = "";
  readonly from: string;

  /** @param from a session counts from this address alone */
  constructor(from = freshAddress()) {
    this.from = from;
  }

  /** @param headers replace those that a browser would send; an empty one is not sent */
  async request(
    master: Door,
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const { host } = new URL(master.url);
    const given: Record<string, string> = {
      ...{ host, "sec-fetch-site": "same-origin", origin: `https://${host}`, cookie: this.cookie },
      ...(method === "GET" ? {} : { "x-csrf-token": this.csrf, "content-type": "application/json" }),
      ...headers,
    };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
    return send(master.url, master.ca, { method, path, headers: kept, from: this.from, ...content });
  }

  /** @param shown the body: a token, a link, or what a provider gave */
  async signIn(master: Door, shown: object): Promise<Reply> {
    const reply = await this.request(master, "POST", "/api/v1/sessions", { body: shown });
    const [set = ""] = [reply.headers["set-cookie"] ?? ""].flat();
    this.cookie = set.split(";")[0] ?? "";
    if (this.cookie !== "") runRecord.register("token", this.cookie.replace("__Host-svc=", ""));
    this.csrf = (reply.json as { csrf?: string }).csrf ?? "";
    return reply;
  }
}
