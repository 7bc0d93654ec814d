import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type UpgradeFiles, upgradeFiles } from "../../internal/agent/upgrade/files.ts";
import type { Limits } from "../../internal/agent/watchdog/limits.ts";
import { freePorts } from "./free-ports.ts";
import { type Program, startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

/** The behavior of a fake peel. */
export type Behavior =
  | "good"
  /** Ends at once. */
  | "crash"
  /** Does not respond, and ignores SIGTERM. */
  | "hang"
  /** Is healthy, but never ready. */
  | "unready"
  /** Is ready, and exits at the next request. */
  | "ready-then-crash"
  /** Is not executable. */
  | "no-program";

const serve = (ready: string, then = "") => `
  Bun.serve({
    hostname: "127.0.0.1",
    port: Number(process.argv[2]),
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/healthz") return Response.json({ status: "ok", component: "peel" });
      ${then}
      return ${ready};
    },
  });`;
const isReady = `Response.json({ status: "ok", checks: {} })`;
const isDown = `Response.json({ status: "down", checks: { bus: { status: "down", message: "not connected" } } }, { status: 503 })`;
/** A client that sends another request has read the previous response. */
const ends = `if (pathname === "/readyz" && globalThis.asked++ > 0) process.exit(3);`;
const programs: Record<Behavior, string> = {
  good: serve(isReady),
  crash: "process.exit(7);",
  hang: `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`,
  unready: serve(isDown),
  "ready-then-crash": `globalThis.asked = 0;${serve(isReady, ends)}`,
  "no-program": "",
};

/** Says that it runs when it serves, or before it ends. */
function script(behavior: Behavior, label: string): string {
  const says = `process.stdout.write("peel ${label} " + process.pid + " runs\\n");`;
  const [before, after] = behavior === "crash" ? [says, ""] : ["", says];
  return `#!${process.execPath}\n${before}${programs[behavior]}${after}\n`;
}

/**
 * Short enough for a test. A fake peel starts in some 50 ms, and in more than a second on a busy machine: until then it
 * does not answer, so only a test of frozen peels lets a few silent tries count.
 */
const limits: Limits = {
  pollMs: 20,
  healthEveryMs: 50,
  answerMs: 1_000,
  healthTries: 1_000,
  firstPauseMs: 10,
  maxPauseMs: 50,
  wellAfterMs: 60_000,
  stopMs: 500,
  settleMs: 200,
  trialStarts: 3,
};

/** A directory with a fake packaged peel, and the watchdogs that run it. */
export interface WatchdogScene extends AsyncDisposable {
  readonly dataDir: string;
  readonly packaged: string;
  readonly port: number;
  readonly files: UpgradeFiles;
  /** Starts a watchdog; it has started the peel when this resolves. */
  start(more?: Partial<Limits>): Promise<Program>;
  /** Starts a watchdog without waiting. The test checks the result. */
  launch(more?: Partial<Limits>): Program;
  /** Puts a binary where a peel stages it. @returns its digest */
  place(behavior: Behavior, label?: string): string;
  /** The same, and asks for it. */
  stage(behavior: Behavior, more?: { jid?: string; readyWithinMs?: number; deadline?: number }): string;
  /** Writes the packaged executable. */
  install(behavior: Behavior, label?: string): void;
  /** Queries the peel's health server. @returns the status, or `undefined` without a response */
  request(path: string): Promise<number | undefined>;
}

const farDeadline = Date.UTC(2100, 0, 1);

export async function watchdogScene(packaged: Behavior = "good"): Promise<WatchdogScene> {
  const temporary = temporaryDirectory("watchdog");
  const dataDir = join(temporary.path, "data");
  const program = join(temporary.path, "packaged", "svc-peel");
  const files = upgradeFiles(dataDir);
  const [port = 0] = await freePorts(1);
  const started: Program[] = [];
  const write = (path: string, behavior: Behavior, label: string): string => {
    const text = behavior === "no-program" ? "\u007fELF and no more" : script(behavior, label);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o755 });
    return createHash("sha256").update(text).digest("hex");
  };
  const place: WatchdogScene["place"] = (behavior, label = behavior) => {
    const aside = join(temporary.path, "aside");
    const sha256 = write(aside, behavior, label);
    write(files.binary(sha256), behavior, label);
    return sha256;
  };
  const install: WatchdogScene["install"] = (behavior, label = "packaged") => {
    write(program, behavior, label);
  };
  const launch: WatchdogScene["launch"] = (more = {}) => {
    const given = {
      program,
      args: [`${port}`],
      dataDir,
      health: { host: "127.0.0.1", port },
      limits: { ...limits, ...more },
    };
    const main = join(import.meta.dir, "watchdog-main.ts");
    const watchdog = startProgram([process.execPath, main, JSON.stringify(given)]);
    started.push(watchdog);
    return watchdog;
  };
  install(packaged);
  return {
    dataDir,
    packaged: program,
    port,
    files,
    launch,
    place,
    install,
    async start(more) {
      const watchdog = launch(more);
      await watchdog.waitFor(/^peel \S+ \d+ runs$/m);
      return watchdog;
    },
    stage(behavior, { jid = "job-1", readyWithinMs = 30_000, deadline = farDeadline } = {}) {
      const sha256 = place(behavior);
      files.writeRequest({ jid, sha256, version: "2.0.0", from: "1.0.0", readyWithinMs, deadline });
      return sha256;
    },
    async request(path) {
      try {
        return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
      } catch {
        return undefined;
      }
    },
    async [Symbol.asyncDispose]() {
      for (const watchdog of started.reverse()) await watchdog[Symbol.asyncDispose]();
      temporary[Symbol.dispose]();
    },
  };
}
