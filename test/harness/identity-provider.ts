import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider, { type ClientMetadata, type JWKS } from "oidc-provider";
import { systemClock } from "../../internal/base/clock.ts";
import type { TestBus } from "./bus.ts";
import { freePorts } from "./free-ports.ts";
import { runRecord } from "./run-record.ts";

/** A person that the provider knows. */
export interface Account {
  email: string;
  groups: readonly string[];
}

/** How the provider answers: as it should, never, with a redirect, or with too much. */
export type Mood = "well" | "silent" | "redirecting" | "huge";

/** A real identity provider over TLS, with a certificate of the CA of a bus. */
export interface IdentityProvider extends AsyncDisposable {
  /** `https://localhost:<port>`; it stays when the provider is started again. */
  readonly issuer: string;
  /** The client that may use the device flow. */
  readonly clientId: string;
  /** Paths that were asked for. */
  readonly requested: string[];
  mood: Mood;
  /** Who signs in where a browser is sent there; nobody is asked for a password. */
  person: string;
  /** Codes that wait for a person. */
  codes(): ReadonlySet<string>;
  /** Confirms a code of the device flow, as a person does. */
  confirm(code: string, account: string): Promise<void>;
  stop(): Promise<void>;
  /** @param newKeys signs with other keys from now on */
  start(newKeys?: boolean): Promise<void>;
}

const clientId = "svc";
const clients: ClientMetadata[] = [
  {
    client_id: clientId,
    token_endpoint_auth_method: "none",
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token", "authorization_code"],
    // The ports of masters are not known before they start: see `redirectUriAllowed`.
    redirect_uris: ["https://localhost/console/oidc"],
    response_types: ["code"],
  },
];

async function newKeys(): Promise<JWKS> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(privateKey)), alg: "RS256", use: "sig" };
  return { keys: [jwk] } as JWKS;
}

export async function startIdentityProvider(
  bus: Pick<TestBus, "dir">,
  options: { accounts: Readonly<Record<string, Account>>; idTokenSeconds?: number },
): Promise<IdentityProvider> {
  const { accounts, idTokenSeconds = 600 } = options;
  const [port = 0] = await freePorts(1);
  const issuer = `https://localhost:${port}`;
  const state = { mood: "well" as Mood, requested: [] as string[], person: "ann" };
  const waiting = new Set<string>();
  let keys = await newKeys();
  let provider: Provider;
  let server: Server | undefined;
  const create = () =>
    new Provider(issuer, {
      clients,
      jwks: keys,
      features: { deviceFlow: { enabled: true }, devInteractions: { enabled: false } },
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      scopes: ["openid", "offline_access", "email", "groups"],
      conformIdTokenClaims: false,
      ttl: { IdToken: idTokenSeconds, AccessToken: 600, DeviceCode: 600, Grant: 6_000, RefreshToken: 6_000 },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      async loadExistingGrant({ oidc }) {
        const accountId = oidc.session?.accountId;
        const clientId = oidc.client?.clientId;
        if (accountId === undefined || clientId === undefined) return undefined;
        const grant = new oidc.provider.Grant({ accountId, clientId });
        grant.addOIDCScope(String(oidc.params?.scope ?? "openid"));
        await grant.save();
        return grant;
      },
      issueRefreshToken: async (_, __, code) => code.scopes.has("offline_access"),
      findAccount: (_, sub) => {
        const account = accounts[sub];
        if (account === undefined) return undefined;
        const { email, groups } = account;
        return {
          accountId: sub,
          claims: async () => ({ sub, email, email_verified: true, groups: [...groups] }),
        };
      },
      cookies: { keys: ["not-a-secret-of-the-tests"] },
    });
  const start = async (replaceKeys = false) => {
    if (replaceKeys) keys = await newKeys();
    provider = create();
    provider.proxy = true;
    provider.Client.prototype.redirectUriAllowed = (uri) =>
      /^https:\/\/localhost:\d+\/console\/oidc$/.test(uri);
    provider.on("device_code.saved", ({ userCode, accountId }) => {
      if (accountId === undefined && userCode !== undefined) waiting.add(userCode);
    });
    const answer = provider.callback();
    const read = (name: string) => readFileSync(join(bus.dir, name));
    server = createServer(
      { cert: read("nats-server.crt"), key: read("nats-server.key") },
      (request, response) => {
        state.requested.push(request.url ?? "");
        if (state.mood === "silent") return;
        if (state.mood === "redirecting") {
          response.writeHead(302, { location: `${issuer}/other` }).end();
          return;
        }
        if (state.mood === "huge") {
          response.writeHead(200).end("[".repeat(1024 * 1024));
          return;
        }
        request.headers["x-forwarded-proto"] = "https";
        request.headers["x-forwarded-host"] = `localhost:${port}`;
        if (request.url?.startsWith("/interaction/")) {
          const login = { accountId: state.person };
          void provider.interactionFinished(request, response, { login });
          return;
        }
        void answer(request, response);
      },
    );
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    if ((server.address() as AddressInfo).port !== port) throw new Error("the provider has another port");
  };
  const stop = async () => {
    const stopping = server;
    server = undefined;
    if (stopping === undefined) return;
    stopping.closeAllConnections();
    await new Promise<void>((resolve) => stopping.close(() => resolve()));
  };
  await start();
  return {
    issuer,
    clientId,
    requested: state.requested,
    get mood() {
      return state.mood;
    },
    set mood(mood) {
      state.mood = mood;
    },
    get person() {
      return state.person;
    },
    set person(person) {
      state.person = person;
    },
    codes: () => waiting,
    async confirm(code, account) {
      waiting.delete(code.replaceAll("-", ""));
      const found = await provider.DeviceCode.findByUserCode(code.replaceAll("-", ""));
      if (found === undefined) throw new Error(`the provider knows no code ${code}`);
      const grant = new provider.Grant({ accountId: account, clientId });
      const scope = String(found.params?.scope ?? "openid");
      grant.addOIDCScope(scope);
      const grantId = await grant.save();
      Object.assign(found, {
        accountId: account,
        grantId,
        scope,
        authTime: Math.floor(systemClock.now() / 1000),
      });
      await found.save();
    },
    stop,
    start,
    [Symbol.asyncDispose]: stop,
  };
}

/** A token of an account, by the device flow. */
export async function idTokenOf(
  { issuer, confirm }: Pick<IdentityProvider, "issuer" | "confirm">,
  ca: string,
  account: string,
  scope = "openid email groups",
): Promise<string> {
  const post = async (path: string, fields: Record<string, string>) => {
    const response = await fetch(`${issuer}${path}`, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, ...fields }),
      tls: { ca },
    });
    return (await response.json()) as Record<string, string>;
  };
  const started = await post("/device/auth", { scope });
  await confirm(started.user_code ?? "", account);
  const { id_token = "" } = await post("/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: started.device_code ?? "",
  });
  runRecord.register("token", id_token);
  return id_token;
}
