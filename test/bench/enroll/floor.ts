import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, credsAuthenticator, type KV, StorageType } from "nats";
import { answerCommands } from "../../harness/worker.ts";

// The floor: a plain Bun.serve that answers the same four requests with as many bytes as a master, and does
// only what the protocol requires. It has no checks and no rules.

/** What a request costs on the floor. */
export type Parts =
  /** Only the trivial route. */
  | "requests"
  /** With the signature checks, the JWT's signature and the KV writes. */
  | "writes"
  /** With the KV reads of a compare-and-swap too. */
  | "reads-and-writes";

export type FloorCommand =
  | { start: { busUrl: string; ca: string; credsFile: string; certFile: string; keyFile: string } }
  | { parts: Parts };

const tls13 = 772;
const sizes = { challenge: 190, record: 560, claims: 860, approved: 620, creds: 1_900 };

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const message = randomBytes(88);
const signature = sign(null, message, privateKey);
const check = () => {
  if (!verify(null, message, publicKey, signature)) throw new Error("the signature must be good");
};
const mint = () => {
  generateKeyPairSync("ed25519");
  return sign(null, randomBytes(sizes.claims), privateKey);
};

const text = (size: number) => "x".repeat(size);
const record = randomBytes(sizes.record);
const index = randomBytes(34);
const answers = {
  nonce: (id: string) => ({ challenge_id: id, challenge: text(44), expires_at: text(24) }),
  enroll: (id: string) => ({ id, peel_id: text(14), state: "pending" }),
  approve: () => ({ record: text(sizes.approved) }),
  creds: () => ({ peel_id: text(14), creds_data: text(sizes.creds), expires_at: text(24) }),
};

let parts: Parts = "requests";
let made = 0;
/** The revision of each key that the next compare-and-swap names. */
const revisions = new Map<string, number>();

async function nonce(challenges: KV): Promise<Response> {
  const id = `chl-${made++}`;
  if (parts !== "requests") revisions.set(id, await challenges.create(id, randomBytes(sizes.challenge)));
  return Response.json(answers.nonce(id));
}

async function enroll(request: Request, challenges: KV, enrollments: KV): Promise<Response> {
  const { challenge_id: challenge } = (await request.json()) as { challenge_id: string };
  const id = `enr-${made++}`;
  if (parts !== "requests") {
    if (parts === "reads-and-writes") await challenges.get(challenge);
    await challenges.purge(challenge, { previousSeq: take(challenge) });
    check();
    check();
    if (parts === "reads-and-writes") await enrollments.get(`peel.${id}`);
    revisions.set(id, await enrollments.create(id, record));
    await enrollments.create(`peel.${id}`, index);
  }
  return Response.json(answers.enroll(id), { status: 201 });
}

async function approve(request: Request, id: string, enrollments: KV): Promise<Response> {
  await request.json();
  if (parts !== "requests") {
    if (parts === "reads-and-writes") await readBoth(enrollments, id);
    revisions.set(id, await enrollments.update(id, record, take(id)));
  }
  return Response.json(answers.approve());
}

async function creds(id: string, enrollments: KV): Promise<Response> {
  if (parts !== "requests") {
    if (parts === "reads-and-writes") await enrollments.get(id);
    check();
    mint();
    await enrollments.update(id, record, take(id));
  }
  return Response.json(answers.creds());
}

async function readBoth(enrollments: KV, id: string): Promise<void> {
  await enrollments.get(id);
  await enrollments.get(`peel.${id}`);
}

function take(key: string): number {
  const revision = revisions.get(key);
  if (revision === undefined) throw new Error(`no revision of ${key}`);
  revisions.delete(key);
  return revision;
}

async function start(options: Extract<FloorCommand, { start: unknown }>["start"]): Promise<number> {
  const nats = await connect({
    servers: options.busUrl,
    authenticator: credsAuthenticator(readFileSync(options.credsFile)),
    tls: { ca: options.ca },
  });
  const bucket = { history: 1, allow_direct: false };
  const challenges = await nats.jetstream().views.kv("bench-challenges", {
    ...bucket,
    storage: StorageType.Memory,
    ttl: 300_000,
  });
  const enrollments = await nats.jetstream().views.kv("bench-enrollments", bucket);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: {
      cert: readFileSync(options.certFile, "utf8"),
      key: readFileSync(options.keyFile, "utf8"),
      minVersion: tls13,
    } as Bun.TLSOptions,
    routes: {
      "/api/v1/enroll/nonce": () => nonce(challenges),
      "/api/v1/enroll": (request) => enroll(request, challenges, enrollments),
      "/api/v1/enrollments/:id/approve": (request) => approve(request, request.params.id, enrollments),
      "/api/v1/enroll/:id/creds": (request) => creds(request.params.id, enrollments),
    },
  });
  return server.port ?? 0;
}

answerCommands(async (command: FloorCommand): Promise<number> => {
  if ("start" in command) return start(command.start);
  parts = command.parts;
  return 0;
});
