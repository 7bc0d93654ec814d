import { clockTime } from "../kit/times.ts";

/** A request that the master refused, or that did not reach one. Its message is written for a person. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 when no master answered. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** Nobody can answer at the moment: no master, or one whose bus is away. */
  get isOutage(): boolean {
    return this.status === 0 || this.status >= 502;
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

/** What masters say when the bus behind them does not answer. */
const noBus = /\bis not available \((?:the bus does not answer|no server of the bus|most servers of the bus)/;

/**
 * What a refusal means for a person.
 *
 * @param answer the body of the response
 * @param now milliseconds since the Unix epoch
 */
export function refusalOf(
  response: Pick<Response, "status" | "headers">,
  answer: unknown,
  now: number,
): ApiError {
  const { status, headers } = response;
  const { error } = Object(answer) as { error?: unknown };
  if (status === 429 && error === "rate limit exceeded") {
    const seconds = Number(headers.get("Retry-After") ?? 10);
    return new ApiError(
      status,
      `Too many requests came from your address, by you or by others behind it. Try again at ${clockTime(now + seconds * 1_000)}, in ${seconds} s.`,
    );
  }
  if (typeof error !== "string") return new ApiError(status, `the master answered ${status}`);
  if (status === 503 && noBus.test(error)) {
    return new ApiError(
      status,
      "The bus of the fleet does not answer, so this cannot be read or done now. svc doctor, on the host of a master, says what is wrong and what to do.",
    );
  }
  return new ApiError(status, error);
}
