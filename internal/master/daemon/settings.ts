import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { createSlots } from "../../base/slots.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { contend, type Lease } from "../../bus/lease/mod.ts";
import { acquireWriter } from "../../bus/storage/mod.ts";
import { hintSubject } from "../../bus/subjects/subjects.ts";
import { memberStates, sealingKeyOf } from "../../fleet/enrollment/record/mod.ts";
import { type Directory, findByPeel } from "../../fleet/enrollment/store/mod.ts";
import {
  answerSettings,
  type CheckTree,
  createKindsReader,
  createSettingsController,
  createSettingsReader,
  createSettingsView,
  followTree,
  type KindsReader,
  type Peels,
  type SettingsReader,
  type SettingsVersions,
  type SettingsView,
  trackSettings,
  watchVersions,
} from "../../fleet/settings/mod.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import type { Check } from "../../program/health/mod.ts";
import { compileSettingsForKinds, createSettingsCheck, headlineOf, summaryOf } from "../../tree/check/mod.ts";
import { createCompilers, type SettingsCompiler, type SettingsTree } from "../../tree/settings/mod.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import { createEnvelopeMaker } from "../../wire/settings-envelope.ts";
import type { Keyring } from "../keys/mod.ts";
import type { MasterMetrics } from "../metrics/mod.ts";
import type { Storage } from "../storage/mod.ts";

/** Envelopes that are read for peels at the same time. */
const readsAtOnce = 64;

/** Settings on a master: the holder of the lease compiles them, and every master sends them to peels. */
export interface MasterSettings {
  /** `settings` of /readyz. */
  check: Check;
  /** For `I@`. */
  view: SettingsView;
  versions: SettingsVersions;
  /** For operators who look at the settings of a peel. */
  reader: SettingsReader;
  /** For checks of files. */
  kinds: KindsReader;
  /** Calls `run` when other files come into force. @returns a function that unsubscribes */
  onFiles(run: () => void): () => void;
  /** The answer to a peel that has this version. @throws SvcError `storage` */
  answer(peelId: string, version: number): Promise<SettingsAnswer>;
  lease: Pick<Lease, "name" | "tenure">;
  /** Resolves when the files that this master found are checked. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

export interface MasterSettingsOptions {
  bus: Bus;
  storage: Pick<Storage, "enrollments" | "facts" | "settings" | "leases">;
  directory: Directory;
  index: Pick<FleetIndex, "onFacts" | "running" | "factsStoredAt">;
  /** `settings_dir` */
  path: string;
  /** Whether settings may not be chosen by facts. */
  strictFacts: boolean;
  /** `states.check`: how files are checked before they come into force. */
  level: "syntax" | "compile" | "off";
  /** Of this master. */
  name: string;
  keyring: Pick<Keyring, "signer" | "onChange">;
  metrics: Pick<MasterMetrics, "settingsRenewal">;
  clock: Clock;
  random: Random;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

export function startSettings(options: MasterSettingsOptions): MasterSettings {
  const { bus, storage, keyring, clock, random, log } = options;
  const command = keyring.signer;
  const peels = peelsOf(options);
  const kinds: KindsReader = {
    version: () => reader.version(),
    read: () => reader.read(),
    stop: () => reader.stop(),
  };
  const check = options.level === "off" ? undefined : checkOf(options, kinds);
  const tree = followTree({ directory: options.path, check, clock, log });
  const compilerOf = createCompilerOf(options);
  const reader = createKindsReader({ tree, peels, compilerOf, random, clock });
  const recipients = followRecipients(options);
  const tracker = trackSettings(tree, peels);
  const controller = createSettingsController({
    peels,
    recipientOf: recipients.of,
    bucket: storage.settings,
    envelopes: createEnvelopeMaker(command, random),
    hint: (peelId) => bus.nats.publish(hintSubject(peelId)),
    tree,
    tracker,
    compilerOf,
    acquireWriter: (token) => acquireWriter(bus, storage.settings.name, token),
    get signer() {
      return command.publicKey;
    },
    onRenewal: options.metrics.settingsRenewal,
    clock,
    log,
  });
  // What the key before signed is signed again, so that it is not needed any longer.
  const forgetKeys = keyring.onChange(tracker.markAll);
  const versions = watchVersions(storage.settings);
  const answering = { bucket: storage.settings, versions, slots: createSlots({ atOnce: readsAtOnce }) };
  const view = createSettingsView({ tree, peels, compilerOf, clock });
  const lease = contend({
    bucket: storage.leases,
    name: "facts-secrets",
    self: options.name,
    onTenure(tenure) {
      void controller.serve(tenure);
    },
    clock,
    jitter: options.jitter,
    log,
  });
  return {
    check: () => controller.health(),
    view,
    versions,
    reader: createSettingsReader({ tree, peels, compilerOf }),
    kinds,
    onFiles: tree.onChange,
    lease,
    ready: tree.checked,
    answer: (peelId, version) => answerSettings(answering, peelId, version),
    async stop() {
      recipients.stop();
      kinds.stop();
      forgetKeys();
      await lease.stop();
      view.stop();
      versions.stop();
      tracker.stop();
      tree.stop();
    },
  };
}

/** The peels as settings need them. */
const peelsOf = ({ directory, index, storage }: MasterSettingsOptions): Peels => ({
  members: directory.members,
  isMember: (peelId) => memberStates.has(directory.stateOf(peelId) ?? "pending"),
  onMember: directory.onMember,
  labelsOf: directory.labelsOf,
  onFacts: index.onFacts,
  async facts(peelId) {
    // Most members that are new have none yet. The index tells when they have.
    if (index.running && index.factsStoredAt(peelId) === undefined) return undefined;
    return (await storage.facts.get(peelId))?.value;
  },
});

/** The compiler of a tree: the same one until the tree changes. */
function createCompilerOf({ strictFacts, random, log }: MasterSettingsOptions) {
  const compilers = createCompilers({
    strictFacts,
    random,
    warn: (at, message) => log.warn("settings: a value may not be what is meant", { at, reason: message }),
  });
  let compiler: SettingsCompiler | undefined;
  return (tree: SettingsTree): SettingsCompiler => {
    if (compiler?.tree === tree) return compiler;
    compiler = compilers(tree);
    warnOfFacts(compiler, log);
    return compiler;
  };
}

/** The keys that settings are sealed to. A peel that enrolls again, or changes its key, has another one: the directory reports both. */
function followRecipients({ directory, storage, log }: MasterSettingsOptions) {
  const known = new Map<string, string>();
  let changes = 0;
  const stop = directory.onMember((peelId) => {
    changes++;
    known.delete(peelId);
  });
  return {
    async of(peelId: string): Promise<string | undefined> {
      const found = known.get(peelId);
      if (found !== undefined) return found;
      const before = changes;
      const record = (await findByPeel(storage.enrollments, peelId))?.current?.record;
      if (record === undefined || !memberStates.has(record.state)) return undefined;
      const key = sealingKeyOf(record);
      if (key === undefined) {
        log.error("the curve key of a peel is not signed by its owner: no settings are sealed to it", {
          enrollment_id: record.id,
          peel_id: peelId,
        });
        return undefined;
      }
      // What was read before a change may be the key before.
      if (changes === before) known.set(peelId, key);
      return key;
    },
    stop,
  };
}

/** Keeps broken files from coming into force. */
function checkOf({ strictFacts, level, clock, log }: MasterSettingsOptions, kinds: KindsReader): CheckTree {
  const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
  const turns = { pause, now: clock.monotonic };
  const checks = createSettingsCheck(turns);
  const compile = async (tree: SettingsTree) => {
    // After a start there is nothing yet that could stay in force: a fault for some peels would leave all without.
    if (level !== "compile" || kinds.version().files.size === 0) return [];
    const found = await compileSettingsForKinds(tree, await kinds.read(), { strictFacts, turns });
    for (const hint of found.hints) log.warn("settings: a hint of the check", { hint: headlineOf(hint) });
    return found.problems;
  };
  return async (tree) => {
    const { problems: broken } = await checks.check(tree, { strictFacts });
    const problems = broken.length > 0 ? broken : await compile(tree);
    const command = `svc settings lint${broken.length > 0 ? "" : " --check compile"}`;
    return problems.length === 0
      ? undefined
      : `${summaryOf(problems, command)}; the last good settings stay in force`;
  };
}

/** A host can report anything about itself. */
function warnOfFacts(compiler: SettingsCompiler, log: Log): void {
  const [first, ...more] = compiler.factTargets();
  if (first === undefined) return;
  log.warn(
    "settings are chosen by facts, and a peel reports its facts itself: an attacker who controls one host can make it " +
      "report what another one reports, and gets the settings of that one. Choose settings with secrets by peel ID",
    { target: first.expression, at: first.at, more: more.length },
  );
}
