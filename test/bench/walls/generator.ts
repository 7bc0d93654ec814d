import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { createInbox } from "nats";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../../internal/base/names/operator-subject.ts";
import { operatorInboxPrefix } from "../../../internal/bus/accounts/operator-users.ts";
import { connectBus } from "../../../internal/bus/connection/connect.ts";
import { targetDoors } from "../../../internal/fleet/targeting/doors.ts";
import { formatCredentials } from "../../../internal/identity/credentials.ts";
import { keyPairFromSeed } from "../../../internal/identity/nkey.ts";
import { costlyTarget } from "../../harness/costly-target.ts";
import { newEnrollee, postJson, submission, takeNonce } from "../../harness/enrollee.ts";
import { recordingLog } from "../../harness/log.ts";
import { requestAs, signedBy } from "../../harness/operators.ts";
import { openStrangers } from "../../harness/strangers.ts";
import type { Attack, Sender } from "./attack.ts";

// The attacker, in a process of its own. It says when it has begun, and works until it is ended.

/** As many as this process may have open. */
const partSize = 4_400;
const perSource = 20;
const { subject } = targetDoors.resolveTarget.bus;

const attack: Attack = JSON.parse(process.argv[2] ?? "");
const begun = () => process.stdout.write("begun\n");
await work(attack);

async function work(given: Attack): Promise<void> {
  switch (given.kind) {
    case "half-open":
      return openRaw(given);
    case "open":
      return openFinished(given);
    case "signed":
      return sendSigned(given);
    case "costly":
      return sendCostly(given.operator);
    case "joining":
      return joinAgain(given);
  }
}

async function openRaw({ port, connections }: Attack & { kind: "half-open" }): Promise<void> {
  begun();
  for (let source = 0; ; ) {
    const parts: Awaited<ReturnType<typeof openStrangers>>[] = [];
    for (let left = connections; left > 0; left -= partSize) {
      const count = Math.min(partSize, left);
      parts.push(await openStrangers(port, count, perSource, source % 10_000));
      source += Math.ceil(count / perSource);
    }
    await sleep(systemClock, 1_000);
    for (const part of parts) part.end();
  }
}

async function openFinished({ port, ca, connections }: Attack & { kind: "open" }): Promise<void> {
  const held: TLSSocket[] = [];
  const openOne = async (at: number) => {
    const localAddress = `127.199.1.${1 + Math.floor(at / 125)}`;
    const socket = connect({
      ...{ host: "127.0.0.1", servername: "localhost", port, ca },
      ...{ localAddress },
    });
    socket.on("error", () => {});
    held.push(socket);
    await Promise.race([once(socket, "secureConnect"), once(socket, "close")]);
  };
  begun();
  for (let at = 0; at < connections; at += 4)
    await Promise.all([0, 1, 2, 3].map((more) => openOne(at + more)));
  await new Promise(() => {});
}

function connectAs({ busUrl, ca, name, seed, jwt }: Sender) {
  const identity = { credentials: formatCredentials(jwt, seed) };
  const key = keyPairFromSeed("user", seed);
  const connected = connectBus({
    ...{ urls: [busUrl], name, identity, ca, clock: systemClock, log: recordingLog() },
    inboxPrefix: operatorInboxPrefix(key.publicKey),
  });
  return { connected, who: { name, key, roles: ["viewer"] } };
}

async function sendSigned({ operator, requests }: Attack & { kind: "signed" }): Promise<void> {
  const { connected, who } = connectAs(operator);
  const { nats } = await connected;
  const { publicKey } = who.key;
  const inbox = createInbox(operatorInboxPrefix(publicKey));
  let answered = 0;
  let wake = () => {};
  nats.subscribe(inbox, {
    callback: () => {
      answered++;
      wake();
    },
  });
  const body = encode({ target: "web-1" });
  begun();
  for (let sent = 0; sent < requests; sent++) {
    nats.publish(fromOperatorSubject(publicKey, subject), signedBy(who, subject, body), { reply: inbox });
    if (sent - answered < 2_000) continue;
    await Promise.race([
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
      sleep(systemClock, 1_000),
    ]);
  }
  await nats.flush();
  process.exit();
}

async function sendCostly(operator: Sender): Promise<void> {
  const { connected, who } = connectAs(operator);
  const bus = await connected;
  const body = encode({ target: costlyTarget });
  begun();
  const lane = async () => {
    for (;;) await requestAs(bus, who, subject, signedBy(who, subject, body)).catch(() => {});
  };
  await Promise.all(Array.from({ length: 6 }, lane));
}

async function joinAgain({ url, ca }: Attack & { kind: "joining" }): Promise<void> {
  begun();
  const lane = async () => {
    for (;;) {
      const peel = newEnrollee();
      const nonce = await takeNonce({ url, ca }, peel).catch(() => undefined);
      if (nonce !== undefined) await postJson({ url, ca }, "/api/v1/enroll", submission(peel, nonce));
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}
