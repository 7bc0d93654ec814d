import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { openRequest } from "../../wire/signed-request.ts";
import { judgeRequest, type RequestRegistry } from "../../wire/verify-request.ts";
import { type OperatorCaller, repeatedRequest } from "../operation/mod.ts";
import type { Nonces } from "./nonces.ts";
import { type OperatorBudgets, unnamedSender } from "./operator-budgets.ts";

/** Judges the signed requests of operators, for every door that they come through. */
export interface RequestJudge {
  /** `operators.require_signed`: requests without a signature are refused. */
  readonly required: boolean;
  /** Called with each request without a signature, and the name that it claims. */
  onUnsigned?(subject: string, claimed: unknown): void;
  /**
   * Verifies a signed request and takes its nonce, so it does so once.
   *
   * @param subject on which it arrived
   * @param changes whether the operation may change something
   * @param sender whose budget it spends
   * @returns the bytes of the request, and its operator
   * @throws SvcError `unauthorized` naming the caller and what is missing; `storage` and `unavailable` when nobody
   *   can know whether it was taken before
   */
  open(
    envelope: Uint8Array,
    subject: string,
    changes: boolean,
    sender: string,
  ): Promise<{ body: Uint8Array; caller: OperatorCaller }>;
}

export function createRequestJudge({
  registry,
  nonces,
  budgets,
  required,
  clock,
}: {
  registry: RequestRegistry;
  nonces: Nonces;
  budgets: Pick<OperatorBudgets, "noteForged" | "noteName">;
  required: boolean;
  clock: Pick<Clock, "now">;
}): RequestJudge {
  return {
    required,
    async open(envelope, subject, changes, sender) {
      const request = openRequest(envelope);
      const judged = judgeRequest(request, subject, { registry, now: clock.now() });
      const isNamed = sender !== unnamedSender;
      if ("refused" in judged) {
        if (isNamed && judged.isForged === true) budgets.noteForged(sender);
        throw new SvcError("unauthorized", judged.refused);
      }
      if (isNamed) budgets.noteName(sender, judged.operator.name);
      // Last: only requests of operators may take room.
      if (!(await nonces.take(request.key, request.nonce, changes))) throw repeatedRequest(request.operator);
      const { name, roles } = judged.operator;
      const signed = { envelope, subject, nonce: request.nonce };
      return {
        body: request.body,
        caller: { kind: "operator", name, door: "bus", roles, key: request.key, signed },
      };
    },
  };
}

/** The refusal of a request without a signature. @param claimed the name in the request, which proves nothing */
export function unsigned(claimed: unknown): SvcError {
  const who = typeof claimed === "string" ? ` of ${JSON.stringify(claimed.slice(0, 64))}` : "";
  return new SvcError(
    "unauthorized",
    `the request${who} is not signed, and this fleet takes signed requests only: install your operator file with svc login FILE; an operator with role admin makes one with svc operator add`,
  );
}
