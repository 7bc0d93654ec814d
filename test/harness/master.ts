import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../internal/base/clock.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { defined } from "../../internal/base/defined.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import type { ServedRoute } from "../../internal/doors/rest/listener.ts";
import { type OperatorLimits, operatorLimits } from "../../internal/fleet/requests/operator-budgets.ts";
import type { MasterOptions } from "../../internal/master/daemon/options.ts";
import { runMaster } from "../../internal/master/daemon/run.ts";
import { loadMasterConfig } from "../../internal/program/config/mod.ts";
import type { RequestRegistry } from "../../internal/wire/verify-request.ts";
import type { TestBus } from "./bus.ts";
import { type LogRecord, recordingLog } from "./log.ts";
import { runRecord } from "./run-record.ts";

/** The token every test master accepts, for the operator `tester`. */
export const testToken = "test-token-0123456789";

/** A whole master in this process, on a real bus, with its real HTTPS listener. */
export interface TestMaster extends AsyncDisposable {
  /** `https://localhost:<port>`. */
  readonly url: string;
  readonly healthUrl: string;
  /** PEM of the CA that verifies the listener. */
  readonly ca: string;
  readonly records: LogRecord[];
  readonly routes: readonly ServedRoute[];
}

/** Starts a master; of its settings only those that name this fleet differ from the defaults. */
export async function startMaster(
  bus: TestBus,
  options: {
    /** It is not compared with the bus, unless `comparesClock` says so. */
    clock?: Clock;
    comparesClock?: boolean;
    flags?: readonly string[];
    env?: Readonly<Record<string, string>>;
    /** Operators and the files of their tokens, instead of the one that `testToken` is for. */
    tokens?: readonly { username: string; token_file: string }[];
    /** What else stands in its configuration file. */
    config?: Readonly<Record<string, unknown>>;
    /** The registered operators. */
    operators?: RequestRegistry;
    /** Operators may send this much to it; most tests send more in a moment than a person does. */
    operatorLimits?: OperatorLimits;
    /** How long files of masters may differ; a minute unless given. */
    filePatienceMs?: number;
    /** For a test that waits for a record. */
    log?: ReturnType<typeof recordingLog>;
  } = {},
): Promise<TestMaster> {
  runRecord.register("token", testToken);
  const tokenFile = join(bus.dir, "token");
  writeFileAtomic(tokenFile, `${testToken}\n`, secretMode);
  const configFile = join(bus.dir, "master.yaml");
  const tokens = options.tokens ?? [{ username: "tester", token_file: tokenFile }];
  writeFileAtomic(configFile, JSON.stringify({ api: { tokens }, ...options.config }), secretMode);
  const invocation = loadMasterConfig(
    [
      ...["--config", configFile, "--bus-url", bus.url, "--bus-ca", bus.caFile, "--auth-dir", bus.authDir],
      ...["--enroll-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0", ...(options.flags ?? [])],
    ],
    // Each master of a bus has its own, as two masters never share one.
    { SVC_DATA_DIR: mkdtempSync(join(bus.dir, "data-")), ...options.env },
  );
  if (invocation.kind !== "run") throw new Error("the test master's configuration does not run");
  const log = options.log ?? recordingLog();
  const stopping = new AbortController();
  const ready = Promise.withResolvers<Parameters<NonNullable<MasterOptions["onReady"]>>[0]>();
  const running = runMaster({
    config: invocation.values,
    env: options.env ?? {},
    hostname: "localhost",
    clock: options.clock ?? systemClock,
    trustsClock: options.clock !== undefined && options.comparesClock !== true,
    random: systemRandom,
    jitter: systemJitter,
    ...defined({ operators: options.operators, filePatienceMs: options.filePatienceMs }),
    operatorLimits: options.operatorLimits ?? { ...operatorLimits, perSecond: 1e6, burst: 1e6, forged: 1e6 },
    log,
    signal: stopping.signal,
    onReady: ready.resolve,
  });
  running.catch(ready.reject);
  const serving = await ready.promise;
  return {
    url: `https://localhost:${serving.enroll}`,
    healthUrl: `http://127.0.0.1:${serving.health}`,
    ca: bus.caPem,
    records: log.records,
    routes: serving.routes,
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the test is over"));
      await running;
    },
  };
}
