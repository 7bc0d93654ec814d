/**
 * The subjects that operators sign their requests for, as far as peels judge what was signed. They are those of the
 * tables of doors, which no peel loads.
 */
export const signedSubjects = {
  createJob: "svc.job.request",
  startRollout: "svc.rollout.start",
  approveRequest: "svc.admin.approval.approve",
  cancelJob: (jid: string): string => `svc.job.${jid}.cancel`,
};
