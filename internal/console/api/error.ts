/** A request that the master refused, or that did not reach one. Its message is written for a person. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 when no master answered. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Accepted, and done when others have agreed. */
export class WaitsForApproval extends ApiError {
  /** `apr-…` */
  readonly approval: string;

  constructor(approval: string) {
    super(202, `waits until other operators agree: ${approval}`);
    this.approval = approval;
  }
}
