import type { Log } from "../../../base/log.ts";
import { decode } from "../../../base/msgpack.ts";
import type { Bus } from "../../../bus/connect.ts";
import {
  type AdminAction,
  adminQueue,
  adminSubject,
  cancelSubject,
  jobListSubject,
  jobRequestSubject,
  mastersQueue,
} from "../../../bus/subjects.ts";
import { approve } from "../../../fleet/enrollment/approve.ts";
import { reject } from "../../../fleet/enrollment/reject.ts";
import {
  type EnforceRevocation,
  type RevokeDeps,
  type RevokeResult,
  revoke,
} from "../../../fleet/enrollment/revoke.ts";
import type { Board } from "../../../fleet/jobs/board.ts";
import { type CancelDeps, cancelJob } from "../../../fleet/jobs/cancel.ts";
import { checkJobRequest, type DispatchDeps, dispatchJob } from "../../../fleet/jobs/dispatch.ts";
import { type ShowDeps, showJob } from "../../../fleet/jobs/show.ts";
import {
  decodeListRequest,
  encodeCancelReply,
  encodeJobReply,
  encodeListReply,
  operatorOf,
} from "./job-message.ts";
import { type AdminRequest, decodeAdminRequest, encodeEnrollmentReply } from "./message.ts";
import { serveOperators } from "./operator-request.ts";

export interface AdminDeps {
  bus: Bus;
  operations: RevokeDeps & EnforceRevocation;
  dispatch: DispatchDeps;
  cancel: CancelDeps;
  show: ShowDeps;
  board: Pick<Board, "list">;
  log: Log;
}

/**
 * Answers operators over the bus; of all masters one takes each request. Who may ask is decided by the
 * permissions on the subjects.
 */
export function serveAdmin(deps: AdminDeps): void {
  const { operations } = deps;
  const actions: Record<AdminAction, (request: AdminRequest) => Promise<RevokeResult>> = {
    approve: async ({ id, operator, force }) => ({
      record: await approve(operations, { id, operator, force: force === true }),
    }),
    reject: async (request) => ({ record: await reject(operations, request) }),
    revoke: (request) => revoke(operations, request),
  };
  for (const [action, run] of Object.entries(actions)) {
    serveOperators(deps, adminSubject(action as AdminAction), adminQueue, async (data, { log }) => {
      const request = decodeAdminRequest(data);
      const { record, closedInMs } = await run(request);
      log.info("enrollment admin operation", {
        action,
        id: record.id,
        operator: request.operator,
        peel_id: record.peelId,
        closed_in_ms: closedInMs,
      });
      return encodeEnrollmentReply(record, closedInMs);
    });
  }
  serveOperators(deps, jobRequestSubject, mastersQueue, async (data, { requestId, log }) => {
    const request = decode(data);
    const scoped = { ...deps.dispatch, requestId, log };
    const { job, away } = await dispatchJob(scoped, checkJobRequest(request), operatorOf(request));
    return encodeJobReply(job, away);
  });
  serveOperators(deps, jobListSubject, mastersQueue, async (data) => {
    const { limit, status, cursor } = decodeListRequest(decode(data));
    const filter = {
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { after: cursor }),
    };
    const found = await deps.board.list({ limit: limit + 1, ...filter });
    const page = found.slice(0, limit);
    return encodeListReply(page, found.length > limit ? page.at(-1)?.jid : undefined);
  });
  serveOperators(deps, cancelSubject("*"), mastersQueue, async (data, { subject, requestId, log }) => {
    const jid = subject.split(".")[2] ?? "";
    await cancelJob({ ...deps.cancel, requestId, log }, jid, operatorOf(decode(data)));
    return encodeCancelReply(await showJob(deps.show, jid));
  });
}
