import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Tracer } from "../../base/trace.ts";
import { createWebhookAddresses } from "../../base/webhook/addresses.ts";
import { addressesOf } from "../../base/webhook/addresses-of.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Lease } from "../../bus/lease/mod.ts";
import { serveRoom } from "../../doors/bus/mod.ts";
import type { Directory } from "../../fleet/enrollment/store/mod.ts";
import type { DispatchDeps } from "../../fleet/jobs/mod.ts";
import type { Gate } from "../../fleet/operation/mod.ts";
import { createJobLookup } from "../../fleet/reactor/events/mod.ts";
import {
  answerMasters,
  type ReactorOperationDeps,
  reactorOperations,
  startReactor,
} from "../../fleet/reactor/mod.ts";
import type { Rule } from "../../fleet/reactor/rules/mod.ts";
import type { OperatorBudgets, RequestJudge } from "../../fleet/requests/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";
import type { Check } from "../../program/health/mod.ts";
import type { Keyring } from "../keys/mod.ts";
import type { MasterMetrics, MasterView } from "../metrics/mod.ts";
import type { Storage } from "../storage/mod.ts";

/** Separates what is signed here from commands, which are MessagePack maps. */
const messageIdDomain = "svc reactor message id v1\n";

/** The reactor on a master: one master reacts. */
export interface MasterReactor {
  /** `reactor` of /readyz. */
  check: Check;
  view: NonNullable<MasterView["reactor"]>;
  lease: Pick<Lease, "name" | "tenure">;
  /** The rules in force. */
  rules(): readonly Rule[];
  /** For the operations on the reactor; `undefined` while another master reacts. */
  reacting(): ReactorOperationDeps | undefined;
  stop(): Promise<void>;
}

export interface MasterReactorOptions {
  config: MasterConfig;
  bus: Bus;
  storage: Storage;
  dispatch: DispatchDeps;
  directory: Pick<Directory, "rivalsOf">;
  keyring: Pick<Keyring, "first">;
  /** Verifies signed requests of operators. */
  requests?: RequestJudge;
  budgets: OperatorBudgets;
  /** Of this master. */
  name: string;
  metrics: MasterMetrics;
  gate: Gate;
  /** Begins a trace for each reaction. */
  tracer: Tracer;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

/** @returns `undefined` when the configuration turns the reactor off */
export function startMasterReactor(options: MasterReactorOptions): MasterReactor | undefined {
  const { config, bus, storage, gate, budgets, clock, log } = options;
  if (!config["reactor.enabled"]) return undefined;
  const dir = config["reactor.dir"];
  const self = options.name;
  const depsOf = (session: ReactorOperationDeps["session"]): ReactorOperationDeps => ({
    session,
    rules: () => reactor.rules,
    problem: () => reactor.problem,
    self,
    dir,
    clock,
  });
  const reactor = startReactor({
    ...options,
    leases: storage.leases,
    bucket: storage.reactor,
    dir,
    config: limitsOf(config),
    self,
    actions: actionsOf(options),
    jobOf: createJobLookup(storage.jobs),
    onSession(session) {
      const requested = depsOf(session);
      const { requests } = options;
      const door = { bus, master: self, clock, log, gate, budgets, ...defined({ requests }) };
      const operators = serveRoom(door, reactorOperations, requested);
      const masters = answerMasters({ bus, clock, log }, requested);
      return {
        stop() {
          operators.stop();
          masters.stop();
        },
      };
    },
  });
  return {
    check: reactor.health,
    view() {
      const { rules, problem, session, waiting } = reactor;
      return {
        rules: rules.rules.length,
        failed: problem !== undefined || rules.refused.length > 0,
        ...defined({ breakersOpen: session?.breakers().length, waiting }),
      };
    },
    lease: reactor.lease,
    rules: () => reactor.rules.rules,
    reacting: () => (reactor.session === undefined ? undefined : depsOf(reactor.session)),
    async stop() {
      await reactor.stop();
    },
  };
}

const limitsOf = (config: MasterConfig) => ({
  maxChainDepth: config["reactor.max_chain_depth"],
  enableChaining: config["reactor.enable_chaining"],
  defaultThrottleMs: config["reactor.default_throttle"],
  sourceRateLimit: config["reactor.source_rate_limit"],
  maxEventAgeMs: config["reactor.max_event_age"],
  stormRate: config["reactor.storm_rate"],
  breakerCooldownMs: config["reactor.breaker_cooldown"],
  workers: config["reactor.workers"],
});

/** What the actions of rules need. */
const actionsOf = ({
  config,
  bus,
  storage,
  dispatch,
  directory,
  gate,
  tracer,
  keyring,
  clock,
  jitter,
}: MasterReactorOptions) => ({
  bus,
  dispatch,
  gate,
  tracer,
  enrollments: { enrollments: storage.enrollments, directory, clock },
  webhook: {
    fetch,
    lookup: addressesOf,
    addresses: createWebhookAddresses(config["reactor.webhook_allow"]),
    clock,
    jitter,
  },
  messageId: (key: string) =>
    // Not the key that signs now: an action that is repeated has the same id, whenever masters change keys.
    sha256(keyring.first.sign(Buffer.from(`${messageIdDomain}${key}`))).toString("base64url"),
});
