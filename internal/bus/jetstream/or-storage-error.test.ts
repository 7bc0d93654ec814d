import { expect, test } from "bun:test";
import { ErrorCode, NatsError } from "nats";
import { meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import { orStorageError } from "./or-storage-error.ts";
import { errorCodes, JetStreamError, withoutLeader } from "./request.ts";

const failing = (cause: unknown) => orStorageError("the bucket jobs", () => Promise.reject(cause));

test.each(["insufficient resources", "insufficient storage resources available", "maximum bytes exceeded"])(
  "storage without room is named, with what to do: %s",
  async (description) => {
    await expect(failing(new JetStreamError({ code: 503, description }))).rejects.toMatchObject({
      kind: "storage",
      message: `the bucket jobs refuses to store more (${description}): make room on the disk of the bus, or raise max_file_store of its server`,
    });
  },
);

const away = "most servers of the bus are away, or elect a leader";
const refusal = (err_code: number, code = 503) =>
  new JetStreamError({ code, err_code, description: "JetStream system temporarily unavailable" });
const refusedWatch = new NatsError("refused", ErrorCode.JetStreamNotEnabled);
refusedWatch.api_error = { code: 503, err_code: errorCodes.systemUnavailable, description: "temporarily" };

test.each([
  ["10008", refusal(10008), away],
  ["10009", refusal(10009, 500), away],
  ["10118", refusal(10118, 500), away],
  ["10119", refusal(10119, 500), away],
  ["a stream without a leader", withoutLeader(), away],
  ["10008 in the words of the library", refusedWatch, away],
  ["another code", refusal(10049), "the bus answers: JetStream system temporarily unavailable"],
  ["no responders", new NatsError("503", ErrorCode.NoResponders), "no server of the bus has it"],
  ["a timeout", new NatsError("TIMEOUT", ErrorCode.Timeout), "the bus does not answer in time"],
  ["a closed connection", new NatsError("x", ErrorCode.ConnectionClosed), "the bus does not answer"],
  ["anything else", new Error("x"), "the bus does not answer as it should"],
])(
  "storage that is away is 503 and unavailable at the doors, with the reason and the next step: %s",
  async (_, cause, reason) => {
    const thrown = await failing(cause).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      kind: "storage",
      message: `the bucket jobs is not available (${reason}): check the bus with svc doctor`,
      cause,
    });
    expect(meaningOf(toSvcError(thrown).kind)).toEqual({
      http: 503,
      bus: "unavailable",
      exit: 1,
      level: "error",
      retryAfterMs: 2_000,
    });
  },
);

test("what was refused for another reason keeps its kind", async () => {
  const cause = new SvcError("bad_request", "a key holds a character that no key may have");
  await expect(failing(cause)).rejects.toBe(cause);
});
