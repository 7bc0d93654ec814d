import { encode } from "../../../base/msgpack.ts";
import { formatNetwork } from "../../../base/names/ip-network.ts";
import { sha256 } from "../../../base/sha256.ts";
import { createWebhookAddresses } from "../../../base/webhook/addresses.ts";
import { addressesOf } from "../../../base/webhook/addresses-of.ts";
import type { Recorder } from "../../../fleet/audit/mod.ts";
import type { EnrollDeps } from "../../../fleet/enrollment/joining/mod.ts";
import type { ListOpenWays } from "../../../fleet/enrollment/mod.ts";
import { createExpectedWay, followExpected, openExpected } from "../../../fleet/expected/mod.ts";
import { isOpenToken, openTokens } from "../../../fleet/join-tokens/mod.ts";
import { createPolicyEngine, createPolicyWay, followPolicy, openRules } from "../../../fleet/policy/mod.ts";
import { openReactorRules } from "../../../fleet/reactor/mod.ts";
import type { RecordMac } from "../../../identity/mod.ts";
import { assemble, type CheckResult, type OffersOf } from "../../../program/health/mod.ts";
import { createEvidence } from "../evidence.ts";
import { startJoinTokens } from "../join-tokens.ts";
import { createLabelRight } from "../label-right.ts";
import type { MasterDeps } from "../options.ts";
import type { Audited } from "./audit.ts";
import type { Automation } from "./automation.ts";
import type { Decisions } from "./decisions.ts";
import type { Members } from "./members.ts";
import type { Requests } from "./requests.ts";
import type { Roles } from "./roles.ts";
import type { SignedIn } from "./sign-in.ts";
import type { Opened } from "./storage.ts";

interface JoiningNeed {
  base: MasterDeps;
  opened: Opened;
  audit: Audited;
  decisions: Decisions;
  members: Members;
  automation: Automation;
  roles: Roles;
  requests: Requests;
  signIn: SignedIn;
}

/** What may decide about hosts that request to join, in place of an operator. */
export const joining = {
  start: ({ base, opened, audit, decisions, members, automation, roles, requests, signIn }: JoiningNeed) =>
    assemble(async (stack) => {
      const { config, metrics, clock, log, signal } = base;
      const { recordMac: mac } = opened;
      const { storage } = decisions;
      const { directory } = members;
      const lacks = createLabelRight({
        ...{ roles: roles.roles, rolesOfSigner: requests.rolesOfSigner, signIn: signIn.signIn },
      });
      const joinTokens = startJoinTokens({ ...base, storage, mac, lacks });
      stack.defer(() => joinTokens.stop());
      const { enrollments, expected: bucket } = storage;
      const view = followExpected({ bucket, mac, log });
      stack.defer(() => view.stop());
      const expected = { bucket, view, mac, lacks, enrollments, directory, clock, log };
      const policy = followPolicy(config["enroll.policy"], { clock, log });
      stack.defer(() => policy.stop());
      const engine = createPolicyEngine({
        ...{ policy: policy.current, clock, signal },
        webhook: {
          ...{ fetch, lookup: addressesOf },
          addresses: createWebhookAddresses(config["enroll.policy_webhook_allow"]),
        },
      });
      const { verified, accepted, tpm } = offerEvidence(base, mac);
      const joining: Pick<EnrollDeps, "waysIn" | "begin" | "verifyEvidence"> = {
        // What a host brings counts before what is known of it, and that before rules.
        waysIn: [joinTokens.way, createExpectedWay(expected), createPolicyWay({ engine, metrics, log })],
        begin: recordDecisions(audit.recorder),
        ...verified,
      };
      const ways: ListOpenWays[] = [
        () => openTokens(joinTokens.operations.view, clock),
        () => openExpected(view, clock),
        async () => openRules(policy.current()),
        async () => openReactorRules(automation.reactorRules()),
      ];
      return {
        ...{ joining, joinTokens, expected, accepted, tpm },
        openTokens: { isOpen: (id: string) => isOpenToken(joinTokens.operations.view, clock, id) },
        policy: { policy, ways, networks: listNetworks(config), self: base.name },
        checks: { "enroll-policy": () => checkPolicy(policy) },
        view: {
          policy: () => {
            const { rules } = policy.current();
            return { rules: rules.length, failed: policy.problem() !== undefined, ...engine.load };
          },
        },
      };
    }),
};

export type Joining = OffersOf<typeof joining>;

/** Records what a way in decides about a host in the audit, like a decision of an operator. */
function recordDecisions(recorder: Pick<Recorder, "begin">): EnrollDeps["begin"] {
  return async ({ action, by, enrollment, peel }) => {
    const subjects = { enrollment, peel };
    const content = { operator: by, key: "", via: "policy" as const, action, subjects, requestId: "" };
    const end = await recorder.begin({ ...content, requestDigest: sha256(encode(subjects)) });
    return (outcome) => end({ outcome });
  };
}

/** What the doors need for evidence. Each part is empty on a master that accepts none, so that it is not offered. */
function offerEvidence(base: MasterDeps, recordMac: RecordMac) {
  const { types, verify, challengeTpm } = createEvidence(base.config, { ...base, recordMac });
  const isAccepted = types.length > 0;
  return {
    verified: isAccepted ? { verifyEvidence: verify } : {},
    accepted: isAccepted ? { evidence: types } : {},
    tpm: types.includes("tpm") ? { challengeTpm } : {},
  };
}

/** The networks that have a budget of their own, as they are shown. */
function listNetworks(config: MasterDeps["config"]) {
  return config["enroll.networks"].map(({ cidr, ...budget }) => ({
    ...budget,
    cidr: cidr.map(formatNetwork),
  }));
}

function checkPolicy({ problem }: Pick<ReturnType<typeof followPolicy>, "problem">): CheckResult {
  const message = problem();
  return message === undefined ? { status: "up" } : { status: "degraded", message };
}
