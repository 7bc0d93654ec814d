import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bucket, FencedWriter } from "../../bus/storage/mod.ts";
import { type SettingsCompiler, SettingsFault, topFile } from "../../tree/settings/mod.ts";
import { openFacts } from "../../wire/facts.ts";
import { type EnvelopeMaker, encodeSettings, isGenuine } from "../../wire/settings-envelope.ts";
import { decodeSettingsRecord, encodeSettingsRecord } from "./record.ts";
import type { Stored } from "./stored-versions.ts";
import type { Peels } from "./tracker.ts";

/**
 * The result for the settings of a peel. `kept`: the tree no longer exists, and the settings stay in force.
 */
export type Renewal = "written" | "unchanged" | "failed" | "kept" | "waiting" | "removed";

export interface RenewDeps {
  peels: Pick<Peels, "isMember" | "facts" | "labelsOf">;
  /** The curve key of a member, `X…`. @throws SvcError `storage` */
  recipientOf(peelId: string): Promise<string | undefined>;
  bucket: Pick<Bucket, "get">;
  envelopes: EnvelopeMaker;
  /** Public key of the command key. */
  signer: string;
  /** Notifies a peel of new settings. */
  hint(peelId: string): void;
  clock: Clock;
}

const maxErrorLength = 500;
const nothing = encodeSettings({});

/**
 * Updates the stored settings of one peel. Writes nothing when they are unchanged.
 *
 * @param uses receives the paths that the settings depend on
 * @throws SettingsFault about the whole tree; SvcError `storage` or `conflict` when it cannot be written
 */
export async function renewPeel(
  deps: RenewDeps,
  compiler: SettingsCompiler,
  to: { writer: FencedWriter; stored: Map<string, Stored> },
  peelId: string,
  uses: Set<string>,
): Promise<{ renewal: Renewal; reason?: string }> {
  const { writer, stored } = to;
  const before = stored.get(peelId);
  if (!deps.peels.isMember(peelId)) {
    if (before === undefined) return { renewal: "waiting" };
    await writer.write(peelId, undefined);
    stored.delete(peelId);
    return { renewal: "removed" };
  }
  // A peel that enrolls has no facts yet; its record is read and verified when there is something to seal.
  const facts = await deps.peels.facts(peelId);
  const curvePublicKey = facts === undefined ? undefined : await deps.recipientOf(peelId);
  if (curvePublicKey === undefined || facts === undefined) return { renewal: "waiting" };
  const recipient = { peelId, curvePublicKey };
  const { signer } = deps;
  const digestOf = (settings: Uint8Array, by = signer) =>
    Buffer.from(deps.envelopes.digest(settings, recipient, by)).toString("hex");
  if (before?.claim !== undefined) {
    const { claim } = before;
    const genuine = isGenuine(claim, recipient, claim.key);
    if (genuine && deps.envelopes.counts(claim.key)) {
      before.digest = Buffer.from(claim.digest).toString("hex");
      before.signer = claim.key;
      before.isEmpty = before.digest === digestOf(nothing, claim.key);
    } else before.ofEarlierKey = genuine;
    delete before.claim;
  }

  const fail = async (reason: string) => {
    const error = reason.slice(0, maxErrorLength);
    if (before?.error !== error) {
      const envelope = before === undefined ? undefined : await storedEnvelope(deps.bucket, peelId);
      await writer.write(peelId, encodeSettingsRecord({ peelId, ...withEnvelope(envelope), error }));
      stored.set(peelId, { version: 0, ...before, error });
      deps.hint(peelId);
    }
    return { renewal: "failed", reason: error } as const;
  };

  let bytes: Uint8Array;
  try {
    ({ bytes } = await compiler.compile(
      { peelId, facts: openFacts(facts), labels: deps.peels.labelsOf(peelId) },
      uses,
    ));
  } catch (thrown) {
    if (thrown instanceof SettingsFault && thrown.wholeTree) throw thrown;
    // The message of an unexpected error may contain a value.
    return fail(thrown instanceof SvcError ? thrown.message : "internal error");
  }
  const digest = digestOf(bytes);
  const isEmpty = digest === digestOf(nothing);
  if (before !== undefined && digest === before.digest && before.signer === signer) {
    if (before.error === undefined) return { renewal: "unchanged" };
    const envelope = await storedEnvelope(deps.bucket, peelId);
    await writer.write(peelId, encodeSettingsRecord({ peelId, ...withEnvelope(envelope) }));
    stored.set(peelId, { version: before.version, digest, signer, isEmpty });
    return { renewal: "unchanged" };
  }
  // A master without files must not remove settings compiled by another master.
  const had = before?.digest !== undefined && before.isEmpty !== true;
  if ((had || before?.ofEarlierKey === true) && !compiler.tree.files.has(topFile)) return { renewal: "kept" };
  // The version only grows, even when the clock of this host is behind that of the last holder.
  const version = Math.max(deps.clock.now(), (before?.version ?? 0) + 1);
  const envelope = deps.envelopes.make(bytes, recipient, { version, digest: Buffer.from(digest, "hex") });
  await writer.write(peelId, encodeSettingsRecord({ peelId, envelope }));
  stored.set(peelId, { version, digest, signer, isEmpty });
  deps.hint(peelId);
  return { renewal: "written" };
}

async function storedEnvelope(bucket: Pick<Bucket, "get">, peelId: string): Promise<Uint8Array | undefined> {
  const entry = await bucket.get(peelId);
  return entry === undefined ? undefined : decodeSettingsRecord(entry.value)?.envelope;
}

function withEnvelope(envelope: Uint8Array | undefined): { envelope?: Uint8Array } {
  return defined({ envelope });
}
