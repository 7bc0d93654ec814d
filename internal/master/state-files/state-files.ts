import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { contend, type Lease } from "../../bus/lease/mod.ts";
import { type Bucket, openBlobStore } from "../../bus/storage/mod.ts";
import { hintSubject } from "../../bus/subjects/subjects.ts";
import { serveFetch } from "../../doors/peels/mod.ts";
import type { CompareFiles } from "../../fleet/approvals/mod.ts";
import type { Budgets, LogLines } from "../../fleet/budget/mod.ts";
import type { PublishersReport } from "../../fleet/releases/mod.ts";
import type { Check } from "../../program/health/mod.ts";
import {
  assertSshKeygen,
  type GitSync,
  openGit,
  openMirror,
  type Remote,
  startGitSync,
} from "../../tree/git/mod.ts";
import {
  type BlobCache,
  createBlobCache,
  createHeadSeal,
  followCatalog,
} from "../../tree/publication/mod.ts";
import type { Keyring } from "../keys/mod.ts";
import type { StateStage } from "./check-states.ts";
import { comparePublished } from "./compare-published.ts";
import { type CountChanges, countChanges } from "./count-changes.ts";
import { requestReport, serveReport } from "./files-report.ts";
import type { NamedSnapshots } from "./held-snapshots.ts";
import { type FilesInForce, readInForce } from "./in-force.ts";
import { type OpenFiles, openPublished } from "./open-files.ts";
import type { GitHooks } from "./publication.ts";
import { publishStates } from "./publish-states.ts";
import type { Releases } from "./releases.ts";
import { createFilesStatus } from "./status.ts";

/** Bytes of state files that a master keeps in memory for requests of peels. */
const cacheBytes = 256 * 1024 * 1024;
/** By then the other masters know the change, whichever of them serves a peel. */
const hintDelayMs = 1_000;
const hintEveryMs = 100;
/**
 * A fleet of ten thousand peels gets hints within ten seconds, and sends its requests spread over this time.
 */
const hintsAtOnce = 100;

/** State files on a master: the holder of the lease publishes them, and every master serves them to peels. */
export interface MasterStateFiles extends FilesInForce {
  /** `gitfs` of /readyz; absent without repositories. */
  check?: Check;
  /** `states` of /readyz. */
  statesCheck: Check;
  /** How many refs and environments are not published; `undefined` on a master that does not read them now. */
  refused(): number | undefined;
  compareFiles: CompareFiles;
  openFiles: OpenFiles;
  countChanges: CountChanges;
  /** What the master that publishes refuses. */
  publishersReport(): Promise<PublishersReport>;
  lease: Pick<Lease, "name" | "tenure">;
  stop(): Promise<void>;
}

export interface MasterStateFilesOptions {
  bus: Bus;
  /** Where requests of peels arrive. */
  peelDoor: Pick<Bus, "serve" | "nats">;
  /** The bucket `leases`. */
  leases: Bucket;
  /** The command keys: the one in use signs what is published. */
  keyring: Pick<Keyring, "signer" | "onChange">;
  /** Peels that get hints about changes. */
  members(): readonly string[];
  /** The binaries that peels fetch through the same door. */
  binaries: BlobCache;
  budgets: Pick<Budgets, "take">;
  lines: Pick<LogLines, "say">;
  statesDir: string;
  git: {
    remotes: readonly Remote[];
    intervalMs: number;
    sshKey: string;
    maxBytes: number;
    maxEnvironments: number;
    /** What git runs in place of ssh-keygen. */
    sshProgram: string;
  };
  /** Calls `run` when other settings are in force: what was refused may be good now. */
  onSettings(run: () => void): () => void;
  /** What state files pass before they come into force. */
  stage: StateStage;
  /** What operators released. It also lets refs move whose commits need signatures. */
  releases: Releases;
  /** `states.require_release` */
  requiresRelease: boolean;
  /** What another master says of its check `states`, while it is not well. */
  statesOf(master: string): Promise<string | undefined>;
  /** What requests need that have not ended, of all masters. */
  named: NamedSnapshots;
  /** Where copies of repositories are kept. */
  gitDir: string;
  /** Of this master. */
  name: string;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/** @throws SvcError `bad_request` when there are repositories and no git */
export function startStateFiles(options: MasterStateFilesOptions): MasterStateFiles {
  const { bus, clock, jitter, log } = options;
  const store = openBlobStore(bus, "states");
  const startGit = gitStarter(options);
  const seal = createHeadSeal(options.keyring.signer, clock);
  const catalog = followCatalog({ store, seal, bus, clock, log });
  const blobs = createBlobCache(store, cacheBytes);
  const fetching = serveFetch({
    ...{ bus: options.peelDoor, catalog, blobs, binaries: options.binaries },
    ...{ budgets: options.budgets, lines: options.lines },
  });
  const hints = createHints(options);
  const publishing = new Set<Promise<void>>();
  const needsSignatures = options.git.remotes.some(({ signers }) => signers !== undefined);
  const status = createFilesStatus(() => lease, options.stage.found);
  const report = () => status.report([...(catalog.latest?.environments.keys() ?? [])]);
  const reporting = serveReport(bus, options.name, report);
  const lease = contend({
    bucket: options.leases,
    name: "publisher",
    self: options.name,
    onTenure(tenure) {
      const published = publishStates({
        store,
        seal,
        statesDir: options.statesDir,
        tenure,
        ...(startGit === undefined
          ? {}
          : {
              startGit: (hooks: GitHooks) => status.reads(startGit(hooks, tenure.signal), tenure),
            }),
        onReconnect: bus.onReconnect,
        onForeignHead: catalog.onForeign,
        onSettings: options.onSettings,
        onRelease: options.releases.onChange,
        onKeyChange: options.keyring.onChange,
        recall: catalog.recall,
        stages: [options.stage],
        refReleases: needsSignatures ? options.releases : undefined,
        releases: options.requiresRelease ? options.releases : undefined,
        named: options.named,
        maxEnvironments: options.git.maxEnvironments,
        onRefusals: status.refuses,
        onPublished(environments) {
          if (environments.includes("base")) hints.send();
        },
        clock,
        log,
      }).finally(() => publishing.delete(published));
      publishing.add(published);
    },
    clock,
    jitter,
    log,
  });
  const compareFiles = comparePublished(catalog, blobs);
  return {
    ...readInForce(catalog, options),
    ...{ compareFiles, countChanges: countChanges(compareFiles), openFiles: openPublished(catalog, blobs) },
    ...(startGit === undefined ? {} : { check: status.gitfs }),
    statesCheck: () => status.states(options.statesOf),
    refused: status.refused,
    async publishersReport() {
      if (lease.tenure !== undefined) return { publisher: options.name, report: report() };
      const publisher = lease.holder?.holder;
      if (publisher === undefined) return {};
      return { publisher, ...defined({ report: await requestReport(bus, publisher) }) };
    },
    lease,
    async stop() {
      reporting.stop();
      await lease.stop();
      await Promise.all(publishing);
      hints.stop();
      fetching.stop();
      catalog.stop();
    },
  };
}

function gitStarter(
  options: MasterStateFilesOptions,
): ((hooks: GitHooks, signal: AbortSignal) => GitSync) | undefined {
  const { git: config, gitDir, clock, jitter, log } = options;
  if (config.remotes.length === 0) return undefined;
  const open = (signal: AbortSignal) =>
    openGit({ sshKey: config.sshKey, knownHosts: join(gitDir, "known_hosts"), clock, signal });
  // A master without git reports this when it starts, not when it gets the lease.
  open(options.signal);
  if (config.remotes.some(({ signers }) => signers !== undefined)) assertSshKeygen();
  return (hooks, signal) => {
    const git = open(signal);
    return startGitSync({
      mirrors: config.remotes.map((remote) => openMirror(remote, { ...config, git, dir: gitDir, clock })),
      intervalMs: config.intervalMs,
      ...hooks,
      clock,
      jitter,
      log,
      signal,
    });
  };
}

/** Sends a hint to every peel, spread over a period; a later change starts the period again. */
function createHints({ bus, members, clock }: MasterStateFilesOptions): { send(): void; stop(): void } {
  let timer: { cancel(): void } | undefined;
  return {
    send() {
      timer?.cancel();
      timer = clock.after(hintDelayMs, () => {
        const waiting = [...members()];
        const some = () => {
          for (const peelId of waiting.splice(0, hintsAtOnce)) bus.nats.publish(hintSubject(peelId));
          if (waiting.length > 0) timer = clock.after(hintEveryMs, some);
        };
        some();
      });
    },
    stop: () => timer?.cancel(),
  };
}
